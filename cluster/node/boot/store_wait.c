/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/store_wait.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

/* An operation. It outlives a wait that was too short: its callback frees it then. */
struct pending {
    bool ended, given_up, more;
    int status, failure;
    uint64_t rev;
    cluster_store_wait_visit *visit;
    void *user;
    uint8_t last[CLUSTER_TXN_KEY_MAX + 1]; /* key of the last pair, and a byte 0 */
    size_t last_size;
};

static void end(struct pending *pending, int status, uint64_t rev)
{
    pending->ended = true;
    pending->status = status;
    pending->rev = rev;
    if (pending->given_up)
        free(pending);
}

static void on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                   size_t count)
{
    (void)gets;
    (void)count;
    end(user, status, rev);
}

static void note_last(struct pending *pending, struct rapahub_bytes key)
{
    pending->last_size = key.size < CLUSTER_TXN_KEY_MAX ? key.size : CLUSTER_TXN_KEY_MAX;
    memcpy(pending->last, key.data, pending->last_size);
    pending->last[pending->last_size++] = 0;
}

static void on_range(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct pending *pending = user;

    pending->more = page->more;
    for (size_t i = 0; i < page->count && !pending->given_up && pending->failure == 0; i++) {
        pending->failure = pending->visit(pending->user, &page->pairs[i]);
        note_last(pending, page->pairs[i].key);
    }
    end(pending, status, rev);
}

static int fail_later_life(const struct cluster_store_wait *wait)
{
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.boot.store",
                        "%s: a later life of this node has written it: 'node.boot' is older than "
                        "the metastore: put the newer file back",
                        wait->url);
}

static int fail_status(const struct cluster_store_wait *wait, int status)
{
    switch (status) {
    case CLUSTER_TXN_NO_SPACE:
        return rapahub_fail(RAPAHUB_ENOSPC, "",
                            "%s: no space is left for it: free some on its disk, or in its etcd",
                            wait->url);
    case CLUSTER_TXN_DENIED:
        return fail_later_life(wait);
    case CLUSTER_TXN_NOT_APPLIED:
    case CLUSTER_TXN_UNKNOWN:
        return rapahub_fail(
            RAPAHUB_ETIMEDOUT, "cluster.boot.order",
            "%s: the metastore has not answered: look at the node or the etcd that has it",
            wait->url);
    case CLUSTER_TXN_CORRUPT:
        return rapahub_fail(RAPAHUB_EIO, "", "%s is damaged: put a backup of it in its place",
                            wait->url);
    default:
        return rapahub_fail(RAPAHUB_EIO, "", "%s: the metastore says %s: look at its disk",
                            wait->url, cluster_txn_status_name((uint32_t)status));
    }
}

/* Waits until the store has something, or wants to be stepped, which *next_ns says, and steps it.
 */
static int step(const struct cluster_store_wait *wait, uint64_t deadline_ns, uint64_t *next_ns)
{
    uint64_t until_ns = *next_ns < deadline_ns ? *next_ns : deadline_ns, marker_ns = HUB_NEVER;
    struct pollfd fds[2] = {{.fd = cluster_metastore_fd(wait->store), .events = POLLIN},
                            {.fd = wait->stop_fd > 0 ? wait->stop_fd : -1, .events = POLLIN}};
    int r;

    if (poll(fds, 2, hub_clock_left_ms(until_ns, 1000)) < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "%s: cannot wait for it: %s", wait->url,
                            strerrordesc_np(errno));
    if (fds[1].revents != 0)
        return rapahub_fail(RAPAHUB_ECANCELED, "cluster.join.waits",
                            "%s: it is to end before the metastore has answered", wait->url);
    r = cluster_metastore_step(wait->store, hub_clock_now(), next_ns);
    if (wait->marker)
        cluster_marker_step(wait->marker, hub_clock_now(), &marker_ns);
    if (marker_ns < *next_ns)
        *next_ns = marker_ns;
    return r;
}

/* Waits for the end of an operation that was begun with the result `r`. After a failure the
 * operation is not the caller's any more. */
static int wait_for(const struct cluster_store_wait *wait, struct pending *pending, int r)
{
    uint64_t deadline_ns = hub_clock_after(wait->wait_ns), next_ns = hub_clock_now();

    if (r < 0) {
        free(pending);
        return r;
    }
    while (!pending->ended && r == 0 && hub_clock_left(deadline_ns) > 0)
        r = step(wait, deadline_ns, &next_ns);
    if (pending->ended)
        return 0;
    pending->given_up = true;
    if (r < 0)
        return r;
    return rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.boot.order",
                        "%s: the metastore does not answer: look at its disk, or its etcd",
                        wait->url);
}

static struct pending *make(void)
{
    struct pending *pending = calloc(1, sizeof *pending);

    if (!pending)
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an operation of the metastore");
    return pending;
}

int cluster_store_wait_txn(const struct cluster_store_wait *wait, const struct cluster_txn *txn,
                           int *status, uint64_t *rev)
{
    struct pending *pending = make();
    int r;

    if (!pending)
        return -ENOMEM;
    r = wait_for(wait, pending, cluster_marker_submit(wait->marker, txn, on_txn, pending));
    if (r < 0)
        return r;
    *status = pending->status;
    *rev = pending->rev;
    free(pending);
    if (*status == CLUSTER_TXN_OK && cluster_txn_mutates(txn) && *rev <= wait->opened)
        return fail_later_life(wait);
    return *status == CLUSTER_TXN_OK || *status == CLUSTER_TXN_CONFLICT
               ? 0
               : fail_status(wait, *status);
}

int cluster_store_wait_sync(const struct cluster_store_wait *wait, uint64_t *rev)
{
    struct pending *pending = make();
    int r, status;

    if (!pending)
        return -ENOMEM;
    r = wait_for(wait, pending, cluster_metastore_sync(wait->store, on_txn, pending));
    if (r < 0)
        return r;
    status = pending->status;
    *rev = pending->rev;
    free(pending);
    return status == CLUSTER_TXN_OK ? 0 : fail_status(wait, status);
}

/* Reads a page. Returns 1 if there is another one, which begins at *span then. */
static int read_page(const struct cluster_store_wait *wait, struct cluster_span *span,
                     uint8_t last[CLUSTER_TXN_KEY_MAX + 1], cluster_store_wait_visit *visit,
                     void *user)
{
    struct pending *pending = make();
    int r;

    if (!pending)
        return -ENOMEM;
    pending->visit = visit;
    pending->user = user;
    r = wait_for(wait, pending, cluster_metastore_range(wait->store, span, on_range, pending));
    if (r < 0)
        return r;
    r = pending->failure;
    if (pending->status != CLUSTER_TXN_OK)
        r = fail_status(wait, pending->status);
    else if (r == 0 && pending->more && pending->last_size > 0) {
        memcpy(last, pending->last, pending->last_size);
        span->from = (struct rapahub_bytes){last, pending->last_size};
        r = 1;
    }
    free(pending);
    return r;
}

int cluster_store_wait_range(const struct cluster_store_wait *wait, const struct cluster_span *span,
                             cluster_store_wait_visit *visit, void *user)
{
    uint8_t last[CLUSTER_TXN_KEY_MAX + 1];
    struct cluster_span left = *span;
    int r;

    do
        r = read_page(wait, &left, last, visit, user);
    while (r == 1);
    return r;
}
