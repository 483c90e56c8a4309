/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/marker.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/metastore/txn_copy.h"
#include "hub/base/clock.h"

#define BACKOFF_FIRST (50 * HUB_MILLISECOND)
#define BACKOFF_MOST  (1600 * HUB_MILLISECOND)

struct cluster_marker_slot {
    struct cluster_marker *marker;
    struct cluster_txn *txn; /* NULL: free */
    cluster_on_txn *on_txn;
    void *user;
    bool unsure;     /* it was sent once, and its outcome is not known */
    uint64_t due_ns; /* 0: the store has it */
    uint64_t backoff_ns;
};

struct cluster_marker {
    struct cluster_metastore *store;
    uint64_t client, seq; /* the last transaction has it */
    uint64_t now_ns;      /* the last step was at this time */
    struct cluster_marker_slot slots[CLUSTER_TXN_FLIGHT_MAX];
};

int cluster_marker_open(struct cluster_metastore *store, uint64_t client,
                        struct cluster_marker **out)
{
    struct cluster_marker *marker = calloc(1, sizeof *marker);

    *out = marker;
    if (!marker)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "the metastore's markers: out of memory");
    marker->store = store;
    marker->client = client;
    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++)
        marker->slots[i].marker = marker;
    return 0;
}

/* The slot is free before the callback, which may submit. */
static void end(struct cluster_marker_slot *slot, int status, uint64_t rev,
                const struct cluster_pair *gets, size_t count)
{
    struct cluster_marker_slot was = *slot;

    *slot = (struct cluster_marker_slot){.marker = was.marker};
    was.on_txn(was.user, status, rev, gets, count);
    free(was.txn);
}

static void wait_for_turn(struct cluster_marker_slot *slot)
{
    slot->backoff_ns = slot->backoff_ns == 0 ? BACKOFF_FIRST : 2 * slot->backoff_ns;
    if (slot->backoff_ns > BACKOFF_MOST)
        slot->backoff_ns = BACKOFF_MOST;
    slot->due_ns = slot->marker->now_ns + slot->backoff_ns;
}

/* That it was not done when it was sent again says nothing of the time before.
 * r[impl cluster.store.retry] */
static void on_outcome(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                       size_t count)
{
    struct cluster_marker_slot *slot = user;

    slot->unsure |= status == CLUSTER_TXN_UNKNOWN;
    if (status == CLUSTER_TXN_UNKNOWN || (status == CLUSTER_TXN_NOT_APPLIED && slot->unsure))
        wait_for_turn(slot);
    else
        end(slot, status, rev, gets, count);
}

/* The next number whose slot is free; NULL if none is. */
static struct cluster_marker_slot *next_slot(struct cluster_marker *marker, uint64_t *out_seq)
{
    for (uint64_t seq = marker->seq + 1; seq <= marker->seq + CLUSTER_TXN_FLIGHT_MAX; seq++) {
        struct cluster_marker_slot *slot = &marker->slots[seq % CLUSTER_TXN_FLIGHT_MAX];

        if (!slot->txn) {
            *out_seq = seq;
            return slot;
        }
    }
    rapahub_fail(RAPAHUB_EBUSY, "cluster.store.bounds",
                 "%d transactions of the metastore are open, no more are taken",
                 CLUSTER_TXN_FLIGHT_MAX);
    return NULL;
}

int cluster_marker_submit(struct cluster_marker *marker, const struct cluster_txn *txn,
                          cluster_on_txn *on_txn, void *user)
{
    struct cluster_txn named = *txn;
    struct cluster_marker_slot *slot = next_slot(marker, &named.id.seq);
    int r;

    if (!slot)
        return -EBUSY;
    named.id.client = marker->client;
    r = cluster_txn_check(&named);
    if (r != 0)
        return r;
    slot->txn = cluster_txn_copy(&named);
    if (!slot->txn)
        return -ENOMEM;
    slot->on_txn = on_txn;
    slot->user = user;
    r = cluster_metastore_submit(marker->store, slot->txn, on_outcome, slot);
    if (r != 0) {
        free(slot->txn);
        *slot = (struct cluster_marker_slot){.marker = marker};
        return r;
    }
    marker->seq = named.id.seq;
    return 0;
}

/* r[impl cluster.store.retry] */
static void send_again(struct cluster_marker_slot *slot)
{
    int r;

    slot->due_ns = 0;
    r = cluster_metastore_submit(slot->marker->store, slot->txn, on_outcome, slot);
    if (r == -EBUSY || r == -ENOMEM)
        wait_for_turn(slot);
    else if (r != 0)
        end(slot, CLUSTER_TXN_CORRUPT, 0, NULL, 0);
}

void cluster_marker_step(struct cluster_marker *marker, uint64_t now_ns, uint64_t *out_next_ns)
{
    *out_next_ns = HUB_NEVER;
    marker->now_ns = now_ns;
    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++) {
        struct cluster_marker_slot *slot = &marker->slots[i];

        if (slot->due_ns != 0 && slot->due_ns <= now_ns)
            send_again(slot);
        if (slot->due_ns != 0 && slot->due_ns < *out_next_ns)
            *out_next_ns = slot->due_ns;
    }
}

void cluster_marker_close(struct cluster_marker *marker)
{
    for (unsigned i = 0; marker && i < CLUSTER_TXN_FLIGHT_MAX; i++)
        if (marker->slots[i].txn)
            end(&marker->slots[i], CLUSTER_TXN_CLOSED, 0, NULL, 0);
    free(marker);
}
