/* SPDX-License-Identifier: Apache-2.0 */
/* copy_fetches: the copies with which lives of containers of this node begin. Where the record
 * names this node its own disk is sealed, and the copy there is the newest. Else, or where the disk
 * has lost it, the other holders that can be reached are sealed, and the file of the newest copy is
 * fetched to the own disk. Owner.
 */
#ifndef CLUSTER_NODE_HOLDERS_COPY_FETCHES_H
#define CLUSTER_NODE_HOLDERS_COPY_FETCHES_H

#include "cluster/core/core.h"
#include "cluster/node/disk/copy_jobs.h"
#include "cluster/node/peers/peer_links.h"

struct cluster_copy_fetches;

/* Comes once: 0, and the own disk has the copy, if there is one; or why not. RAPAHUB_ENOCOPY: no
 * holder could be reached in time, or none has a copy. */
typedef void cluster_copy_fetch_on_done(void *user, int status, const char *text);

struct cluster_copy_fetch_order {
    uint64_t pool, token, deadline_ns; /* token: of the life that begins */
    uint32_t container;
    cluster_copy_fetch_on_done *on_done;
    void *user;
};

/* All live longer; the thread of the disk ends before the release. -ENOMEM. */
int cluster_copy_fetches_create(const struct cluster_core *core, struct cluster_peer_links *links,
                                struct cluster_store_thread *disk,
                                struct cluster_copy_fetches **out);
void cluster_copy_fetches_release(struct cluster_copy_fetches **fetches);

/* Begins. Returns 1: `on_done` comes, never inside of this function; 0: this node is the one
 * holder, and nothing is to be done. -ENOMEM; failures of the disk. */
int cluster_copy_fetches_begin(struct cluster_copy_fetches *fetches,
                               const struct cluster_copy_fetch_order *order);

/* The links tell this. RAPAHUB_EPROTOCOL: a holder says what cannot be. */
void cluster_copy_fetches_lost(struct cluster_copy_fetches *fetches, uint32_t node);
int cluster_copy_fetches_sealed(struct cluster_copy_fetches *fetches, uint32_t from,
                                const struct cluster_body_copy_sealed *sealed);
int cluster_copy_fetches_piece(struct cluster_copy_fetches *fetches, uint32_t from,
                               const struct cluster_body_copy_piece *piece);

/* Goes on with all. Returns when it is to be called again at the latest, or HUB_NEVER. */
uint64_t cluster_copy_fetches_step(struct cluster_copy_fetches *fetches, uint64_t now_ns);

/* Ends all: -ECANCELED. None begins any more. NULL is ignored. */
void cluster_copy_fetches_stop(struct cluster_copy_fetches *fetches);

#endif
