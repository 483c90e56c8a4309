/* SPDX-License-Identifier: Apache-2.0 */
/* containers: those of this process, from begin to fini. */
#ifndef GUEST_SDK_CONTAINERS_H
#define GUEST_SDK_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/chimod.h>

#include "guest-sdk/carry.h"
#include "hub/base/id_map.h"
#include "hub/base/list.h"
#include "hub/wire/lifecycle.h"

#define GUEST_CONTAINERS_MAX 1024

struct guest_container {
    uint64_t handle;
    struct rapahub_container_id id;
    char *pool_name;
    void *self;    /* state_size bytes, zeroed at first; aligned to 64 */
    bool live;     /* its begin, and load, have succeeded: calls may reach it */
    uint64_t open; /* calls that run in it now */
    uint32_t held; /* callbacks of it that run now */
    struct guest_carry carry;
    struct hub_list link; /* in the order they began */
};

struct guest_containers {
    struct hub_id_map *by_handle;
    struct hub_list list;
};

/* -ENOMEM. fini ends each container, the last one first; without `ops` it only frees them. Accepts
 * the zeroed one. */
int guest_containers_init(struct guest_containers *containers);
void guest_containers_fini(struct guest_containers *containers,
                           const struct rapahub_container_ops *ops);

/* Makes one and runs its init, restart or recover; it is live unless a load follows. What fails
 * leaves nothing. r[impl hub.limits] */
int guest_containers_begin(struct guest_containers *containers, const struct rapahub_chimod *chimod,
                           const struct rapahub_container_ops *ops, const struct hub_begin *begin);

/* By handle; 0: the first. NULL: there is none. */
struct guest_container *guest_containers_find(const struct guest_containers *containers,
                                              uint64_t handle);

/* Runs its fini and frees it. */
void guest_containers_end(struct guest_containers *containers,
                          const struct rapahub_container_ops *ops,
                          struct guest_container *container);

#endif
