/* SPDX-License-Identifier: Apache-2.0 */
/* roles: what lasts of the roles of a container: which region, role and index. The lives of its
 * guest come and go meanwhile. Owner. */
#ifndef HOST_REGISTRY_ROLES_H
#define HOST_REGISTRY_ROLES_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/roles.h>

#include "hub/base/list.h"

struct host_container;
struct host_region; /* host/roles/regions.h */

struct host_role {
    struct host_container *container; /* NULL: it is just being made */
    struct host_region *region;
    char name[RAPAHUB_ROLE_NAME_MAX + 1];
    enum rapahub_region_role kind;
    uint32_t index; /* RAPAHUB_ROLE_ANY: not chosen yet */
    enum rapahub_on_full on_full;
    bool deliver;
    /* the life for which it was built last; 0: none, or its guest does not come again. It stands
     * while this is `linked` of its guest. */
    uint64_t incarnation;
    bool granted;   /* to some life, since its guest began or was last over */
    uint32_t lease; /* the last grant's, and its word */
    uint64_t owner;
    struct hub_list of_region; /* in the list of its region */
};

/* The roles of a container, in the order of its options. */
struct host_roles {
    uint32_t count;
    struct host_role of[];
};

/* Removes them from their regions' lists, and frees them. NULL is allowed. */
void host_roles_release(struct host_roles **roles);

#endif
