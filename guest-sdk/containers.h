/* SPDX-License-Identifier: Apache-2.0 */
/* containers: the containers of this process, from begin to fini. Serving thread. */
#ifndef GUEST_SDK_CONTAINERS_H
#define GUEST_SDK_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/chimod.h>

#include "guest-sdk/state_transfer.h"
#include "hub/base/id_map.h"
#include "hub/base/list.h"
#include "hub/wire/lifecycle.h"

#define GUEST_CONTAINERS_MAX 1024

/* Which calls may reach a container. */
enum guest_container_gate {
    GUEST_CONTAINER_CLOSED, /* none: it has not begun, or load has not run yet */
    GUEST_CONTAINER_OPEN,
    GUEST_CONTAINER_LEASED /* calls that begin while the host has a lease */
};

struct guest_container {
    uint64_t handle;
    uint64_t token; /* given by who manages the container; 0: none */
    struct rapahub_container_id id;
    char *pool_name;
    void *self; /* state_size bytes, zeroed at first; aligned to 64 */
    enum guest_container_gate gate;
    uint64_t open; /* running calls of the container */
    uint32_t held; /* running callbacks of the container */
    bool let_go;   /* another version has its roles, see guest_roles_change */
    struct guest_state_transfer carry;
    struct hub_list link; /* in the order of their begin */
};

struct guest_containers {
    struct hub_id_map *by_handle;
    struct hub_list list;
    struct guest_container *asked; /* a callback of it runs; NULL: of none */
};

/* init fails with -ENOMEM. fini ends the containers, the last one first; without `ops` it only
 * frees them. A zeroed struct is allowed. */
int guest_containers_init(struct guest_containers *containers);
void guest_containers_fini(struct guest_containers *containers,
                           const struct rapahub_container_ops *ops);

/* Makes a container and runs its init, restart or recover. It is open to calls unless a load
 * follows. A failure leaves nothing. r[impl hub.limits] */
struct guest_containers_order {
    struct hub_begin begin;
    uint64_t token;
};
int guest_containers_begin(struct guest_containers *containers, const struct rapahub_chimod *chimod,
                           const struct rapahub_container_ops *ops,
                           const struct guest_containers_order *order);

/* Lets calls reach a container that has begun, as far as its handle says. */
void guest_containers_show(struct guest_container *container);

/* Finds a container by its handle; 0 means the first. NULL if there is none. */
struct guest_container *guest_containers_find(const struct guest_containers *containers,
                                              uint64_t handle);

/* Runs the container's fini and frees it. */
void guest_containers_end(struct guest_containers *containers,
                          const struct rapahub_container_ops *ops,
                          struct guest_container *container);

#endif
