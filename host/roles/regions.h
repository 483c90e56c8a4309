/* SPDX-License-Identifier: Apache-2.0 */
/* regions: the regions of a host, which live from their making to its end. Owner. */
#ifndef HOST_ROLES_REGIONS_H
#define HOST_ROLES_REGIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rapahub/roles.h>

#include "hub/base/atomic.h"
#include "hub/base/list.h"

struct host_region {
    char name[RAPAHUB_REGION_NAME_MAX + 1];
    struct rapahub_region *region;
    struct hub_list roles; /* the roles of all containers that name it */
    struct hub_list link;  /* in the host's list */
    bool routed;           /* a thread routes it */
    struct hub_a32 ends;   /* 1: that thread is to end */
    pthread_t router;
};

struct host_regions {
    struct hub_list list;
    uint32_t count;
};

void host_regions_init(struct host_regions *regions);

/* Ends the threads that route, and closes all regions. No guest and no role is left. */
void host_regions_fini(struct host_regions *regions);

/* In a forked child: closes the descriptors only. */
void host_regions_forget(const struct host_regions *regions);

/* See rapahub_host_region. */
int host_regions_add(struct host_regions *regions, const char *name,
                     const struct rapahub_host_region_options *options, struct host_region **out);

/* -ENOENT, with the remedy. */
int host_regions_find(const struct host_regions *regions, const char *name,
                      struct host_region **out);

#endif
