/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/stream/bell.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/base/own.h"

struct cluster_bell {
    struct hub_a32 holders, rung, streams;
    uint32_t streams_max;
    int fd; /* an eventfd */
};

int cluster_bell_create(uint32_t streams_max, struct cluster_bell **out)
{
    struct cluster_bell *bell = calloc(1, sizeof *bell);

    if (!bell)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for streams");
    bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell->fd < 0) {
        free(bell);
        return rapahub_fail(-errno, "", "cannot make an eventfd for streams");
    }
    bell->streams_max = streams_max;
    hub_store_relaxed(&bell->holders, 1);
    *out = bell;
    return 0;
}

struct cluster_bell *cluster_bell_hold(struct cluster_bell *bell)
{
    hub_add(&bell->holders, 1);
    return bell;
}

void cluster_bell_drop(struct cluster_bell **pointer)
{
    struct cluster_bell *bell = *pointer;

    *pointer = NULL;
    if (!bell || hub_add(&bell->holders, UINT32_MAX) != 1)
        return;
    hub_fd_release(&bell->fd);
    free(bell);
}

/* r[impl cluster.stream.bounds] */
bool cluster_bell_count(struct cluster_bell *bell, uint32_t streams)
{
    if (hub_add(&bell->streams, streams) + streams <= bell->streams_max)
        return true;
    cluster_bell_uncount(bell, streams);
    return false;
}

void cluster_bell_uncount(struct cluster_bell *bell, uint32_t streams)
{
    hub_add(&bell->streams, 0 - streams);
}

int cluster_bell_fd(const struct cluster_bell *bell)
{
    return bell->fd;
}

/* It writes the word also where that was set: the side that hears, and clears it, sees what was
 * done before. A compare-and-swap that fails would only have read it, and orders nothing after a
 * store.
 */
void cluster_bell_ring(struct cluster_bell *bell)
{
    const uint64_t one = 1;

    if (hub_exchange(&bell->rung, 1) == 0)
        (void)!write(bell->fd, &one, sizeof one);
}

/* Read first: a ring after that writes once more. */
void cluster_bell_hear(struct cluster_bell *bell)
{
    uint64_t count;

    (void)!read(bell->fd, &count, sizeof count);
    hub_exchange(&bell->rung, 0);
}
