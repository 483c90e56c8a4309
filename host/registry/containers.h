/* SPDX-License-Identifier: Apache-2.0 */
/* containers: the table of containers, with the place and state of each. The owner changes it under
 * the write lock of routes; any thread looks up under the read lock. A container that was found
 * counts as used until it is dropped. */
#ifndef HOST_REGISTRY_CONTAINERS_H
#define HOST_REGISTRY_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/host.h>

#include "host/registry/roles.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/base/states.h"
#include "hub/wire/lifecycle.h"

#define HOST_CONTAINERS_MAX     4096
#define HOST_CONTAINERS_BUCKETS 1024

/* A bit of `users`: the owner waits until no call is open in the container. It is in the same word
 * as the count, so the last user sees it, or the owner sees that this user has gone. */
#define HOST_CONTAINERS_AWAITED UINT32_C(0x80000000)

enum host_container_state {
    HOST_CONTAINER_STARTING,
    HOST_CONTAINER_READY,
    HOST_CONTAINER_PLUGGED,
    HOST_CONTAINER_HELD, /* calls wait, without an error: on hold, or its guest is being replaced */
    HOST_CONTAINER_DOWN, /* its guest is dead, or restarts */
    HOST_CONTAINER_GONE
};
extern const struct hub_states host_containers_states;

struct host_guest;
struct host_service;
struct host_inquiries;

struct host_container {
    struct rapahub_container_id id;
    uint32_t state;             /* enum host_container_state */
    struct host_guest *guest;   /* NULL: the container is of this process: one of the next two */
    struct host_service *offer; /* a service; else NULL */
    struct host_inquiries *inquiries; /* methods that are answered later; else NULL */
    uint64_t handle;                  /* names it to its guest; the same in all lives */
    char *pool_name;
    struct rapahub_bytes params; /* its own copy */
    struct host_roles *roles;    /* in regions; NULL: none; owner */
    bool routed;                 /* its calls go to the router: host/call/router.h */
    bool plugged;                /* kept across a restart; owner, as the next four */
    bool on_hold;                /* rapahub_host_hold; kept across a restart */
    bool gated;                  /* its guest is being replaced */
    bool moving;                 /* its state goes in or out, by a step of its life */
    bool sealed;           /* no call is open since it was closed: from now on no chain passes */
    bool is_new;           /* it has not begun in any life yet; owner */
    bool managed;          /* under the lease of the host; begun again by who manages it */
    uint64_t token;        /* of its present life, or of the last one; 0: none; owner */
    struct hub_a32 corked; /* asynchronous calls to it may be held back; any thread */
    /* open calls of this host in it, and threads that examine it; and HOST_CONTAINERS_AWAITED; any
     * thread */
    struct hub_a32 users;
    uint32_t awaiters; /* users that only await the end of the calls; owner */
    /* further users, counted by the owner alone, without atomic operations */
    struct hub_a32 own_users;
    struct hub_a32 held;      /* calls that wait until it is no longer held */
    struct hub_a32 held_ever; /* number of calls that ever waited; only increases */
    struct hub_list bucket;   /* in the table, or in the list of containers that are gone */
    struct hub_list of_guest; /* in the guest's list, in the order of their begin */
};

struct host_containers {
    struct hub_list buckets[HOST_CONTAINERS_BUCKETS];
    struct hub_list gone;
    uint32_t count;
    uint64_t handles; /* the last handle given */
};

/* Says whether the container is one of this process, and so lasts as long as the host. */
static inline bool host_containers_is_offered(const struct host_container *container)
{
    return container->offer || container->inquiries;
}

void host_containers_init(struct host_containers *containers);
void host_containers_fini(struct host_containers *containers);

/* NULL if there is none. Under a lock of routes. */
struct host_container *host_containers_find(const struct host_containers *containers,
                                            struct rapahub_container_id id);

/* Adds a container, STARTING, that is in neither a guest nor a service. -EEXIST, RAPAHUB_EFULL,
 * -ENOMEM. Write lock. */
int host_containers_add(struct host_containers *containers,
                        const struct rapahub_container_options *options,
                        struct host_container **out);

/* Removes the container from the table, and its roles from their regions; it is freed when it is no
 * longer used. Harmless twice, for two may end one container at the same time. Write lock. */
void host_containers_remove(struct host_containers *containers, struct host_container *container);

/* Frees containers that are gone and not used, unless `inside` says that a thread uses one without
 * counting; NULL: no thread does. Owner. */
typedef bool host_containers_inside(void *user, const struct host_container *container);
void host_containers_sweep(struct host_containers *containers, host_containers_inside *inside,
                           void *user);

/* Changes the state. Write lock. */
void host_containers_move(struct host_container *container, enum host_container_state to,
                          const char *why);

/* Returns the state of a container whose guest serves: plugged, held or ready. */
enum host_container_state host_containers_open(const struct host_container *container);

/* Changes to that state, if its guest serves. Write lock. */
void host_containers_settle(struct host_container *container, const char *why);

/* Owner: returns the number of users. */
static inline uint32_t host_containers_users(const struct host_container *container)
{
    return (hub_observe(&container->users) & ~HOST_CONTAINERS_AWAITED) +
           hub_load_relaxed(&container->own_users);
}
static inline void host_containers_hold_own(struct host_container *container)
{
    hub_store_relaxed(&container->own_users, hub_load_relaxed(&container->own_users) + 1);
}

/* Remove a user; the container may be freed then. True: the end of its calls is awaited, so the
 * caller tells the owner. The first is for the owner, the second for any thread. */
static inline bool host_containers_drop_own(struct host_container *container)
{
    hub_store_relaxed(&container->own_users, hub_load_relaxed(&container->own_users) - 1);
    return (hub_load_relaxed(&container->users) & HOST_CONTAINERS_AWAITED) != 0;
}
bool host_containers_drop(struct host_container *container);

/* Owner: from now on, or no longer, those two functions say that the end of the calls is awaited. A
 * container that is awaited has a user. */
void host_containers_await(struct host_container *container, bool awaited);

/* Prints the id as "1.0[0]". */
#define HOST_CONTAINERS_ID_SIZE 40
const char *host_containers_print(struct rapahub_container_id id, char *to);

/* Says whether the container waits to be begun again, by who manages it. Under a lock of routes:
 * `is_new` does not change while it is down. */
static inline bool host_containers_unbegun(const struct host_container *container)
{
    return container->managed && container->state == HOST_CONTAINER_DOWN && !container->is_new;
}

/* Fills in the message BEGIN for the container; params and name are not copied. Returns the message
 * that carries it, which has the token as its second argument if that is not 0. */
enum hub_lifecycle_method host_containers_describe(const struct host_container *container,
                                                   uint64_t token, struct hub_begin *out);

#endif
