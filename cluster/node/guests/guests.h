/* SPDX-License-Identifier: Apache-2.0 */
/* guests: the guests of this node's pools. A guest is made when its first container begins, from
 * the blob that the pool's spec names, and started again by the host's supervisor as the spec says.
 * It is in the file of guests, durably, before it counts as ready; it is closed with its last
 * container. Owner, and in no callback of the host.
 */
#ifndef CLUSTER_NODE_GUESTS_GUESTS_H
#define CLUSTER_NODE_GUESTS_GUESTS_H

#include <rapahub/host.h>

#include "cluster/node/base/pool_records.h"
#include "cluster/node/blobs/blob_fetches.h"
#include "cluster/node/disk/store_thread.h"
#include "hub/base/list.h"
#include "hub/base/states.h"

#define CLUSTER_GUESTS_MAX 255
#define CLUSTER_GUESTS_SHARED                                          \
    1024 /* containers of a pool in one guest, unless each has its own \
          */

enum cluster_guest_state {
    CLUSTER_GUEST_FETCHING, /* its module is read and checked, or comes from another node */
    CLUSTER_GUEST_STARTING, /* its supervisor starts it, or will do so */
    CLUSTER_GUEST_NOTING,   /* it is up, and is being written to the file of guests */
    CLUSTER_GUEST_READY,
    CLUSTER_GUEST_FAILED, /* it is not started again */
    CLUSTER_GUEST_CLOSING,
    CLUSTER_GUEST_STATES
};

extern const struct hub_states cluster_guest_states;

struct cluster_guests;

struct cluster_guest {
    struct cluster_guests *guests;
    struct hub_list link;
    uint64_t pool;
    uint32_t index; /* its number in the pool, from 0 */
    uint32_t users; /* containers */
    uint32_t state;
    bool busy;                     /* a request of it is open */
    struct rapahub_child_id child; /* 0: none yet */
    uint64_t incarnation;
    uint64_t again_ns; /* STARTING: when its process is looked at again; 0: when it changes */
    struct rapahub_guest_id life;
    struct cluster_guest_record record; /* pid 0: none is noted */
    int status;                         /* FAILED: why, in words too */
    char text[256];
};

/* The user of guests: a constant table. */
struct cluster_guests_hooks {
    void (*ready)(void *user, struct cluster_guest *guest);
    void (*down)(void *user, struct cluster_guest *guest);   /* it was ready */
    void (*failed)(void *user, struct cluster_guest *guest); /* see its status and text */
    void (*closed)(void *user, struct cluster_guest *guest); /* it is dead, and gone after this */
};

struct cluster_guests_parts { /* all live longer */
    struct rapahub_host *host;
    struct cluster_store_thread *disk;
    struct cluster_blob_fetches *modules;
    const struct cluster_pool_records *pools;
    uint32_t guests_max;
    const struct cluster_guests_hooks *hooks;
    void *user;
};

/* Makes the supervisor of all guests, below that of the host. */
int cluster_guests_create(const struct cluster_guests_parts *parts, struct cluster_guests **out);

/* Ends all guests, by the time-out with SIGKILL, and waits for that. Nothing is told of it. */
void cluster_guests_stop(struct cluster_guests *guests, uint64_t timeout_ns);
void cluster_guests_release(struct cluster_guests **guests);

/* Readable when cluster_guests_step has something to do, which calls hooks. */
int cluster_guests_fd(const struct cluster_guests *guests);
int cluster_guests_step(struct cluster_guests *guests);

/* Looks again at guests whose process could not be looked at, and may call hooks. Returns when it
 * is to be called again at the latest, or HUB_NEVER. */
uint64_t cluster_guests_look_again(struct cluster_guests *guests, uint64_t now_ns);

/* Returns the guest of a container, which has one user more; NULL with a diagnosis, RAPAHUB_EFULL:
 * there are too many. A guest that has failed is tried anew. Its state may be FAILED already: then
 * `failed` was told before. */
struct cluster_guest *cluster_guests_take(struct cluster_guests *guests, uint64_t pool,
                                          uint32_t container);

/* Tries a guest anew that has failed. */
void cluster_guests_revive(struct cluster_guest *guest);

/* Takes a user away. If that was the last one `closed` comes, perhaps before this returns. */
void cluster_guests_drop(struct cluster_guest *guest);

#endif
