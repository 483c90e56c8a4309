/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/timers.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"
#include "hub/base/memory.h"

struct row {
    struct cluster_timer timer;
    uint64_t set; /* counts up */
    uint32_t at;  /* in the heap */
};

/* A heap of places, and the rows that they name. */
struct cluster_timers {
    struct cluster_table rows;
    uint32_t *heap;
    uint64_t sets;
};

int cluster_timers_create(uint32_t max, struct cluster_timers **out)
{
    struct cluster_timers *timers = calloc(1, sizeof *timers);

    *out = timers;
    if (timers && cluster_table_init(&timers->rows, max, sizeof(struct row)) == 0)
        timers->heap = hub_memory_sparse(max * sizeof *timers->heap);
    if (timers && timers->heap)
        return 0;
    cluster_timers_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u timers", max);
}

void cluster_timers_release(struct cluster_timers **timers)
{
    if (*timers && (*timers)->heap)
        hub_memory_free_sparse((*timers)->heap, (*timers)->rows.max * sizeof *(*timers)->heap);
    if (*timers)
        cluster_table_fini(&(*timers)->rows);
    free(*timers);
    *timers = NULL;
}

static struct row *row_of(const struct cluster_timers *timers, uint32_t at)
{
    return cluster_table_at(&timers->rows, timers->heap[at]);
}

static bool is_before(const struct row *one, const struct row *other)
{
    return one->timer.at_ns < other->timer.at_ns ||
           (one->timer.at_ns == other->timer.at_ns && one->set < other->set);
}

static void swap(struct cluster_timers *timers, uint32_t a, uint32_t b)
{
    uint32_t place = timers->heap[a];

    timers->heap[a] = timers->heap[b];
    timers->heap[b] = place;
    row_of(timers, a)->at = a;
    row_of(timers, b)->at = b;
}

static void rise(struct cluster_timers *timers, uint32_t at)
{
    for (; at > 0 && is_before(row_of(timers, at), row_of(timers, (at - 1) / 2)); at = (at - 1) / 2)
        swap(timers, at, (at - 1) / 2);
}

static void sink(struct cluster_timers *timers, uint32_t count, uint32_t at)
{
    for (;;) {
        uint32_t least = at;

        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < count && is_before(row_of(timers, child), row_of(timers, least)))
                least = child;
        if (least == at)
            return;
        swap(timers, at, least);
        at = least;
    }
}

/* An id has the count of sets above the place, so that it never comes again. */
static uint64_t id_of(const struct row *row, uint32_t place)
{
    return row->set << 32 | place;
}

uint64_t cluster_timers_set(struct cluster_timers *timers, const struct cluster_timer *timer)
{
    uint32_t place = cluster_table_take(&timers->rows);
    struct row *row;

    if (place == 0)
        return 0;
    row = cluster_table_at(&timers->rows, place);
    *row = (struct row){*timer, ++timers->sets, timers->rows.count - 1};
    timers->heap[row->at] = place;
    rise(timers, row->at);
    return id_of(row, place);
}

static void remove_at(struct cluster_timers *timers, uint32_t at)
{
    uint32_t last = timers->rows.count - 1;
    uint32_t place = timers->heap[at];

    if (at != last) {
        swap(timers, at, last);
        sink(timers, last, at);
        rise(timers, at);
    }
    cluster_table_give(&timers->rows, place);
}

bool cluster_timers_clear(struct cluster_timers *timers, uint64_t id)
{
    uint32_t place = (uint32_t)id;
    const struct row *row;

    if (!cluster_table_has(&timers->rows, place))
        return false;
    row = cluster_table_at(&timers->rows, place);
    if (id_of(row, place) != id)
        return false;
    remove_at(timers, row->at);
    return true;
}

bool cluster_timers_take(struct cluster_timers *timers, uint64_t now_ns, struct cluster_timer *out)
{
    if (cluster_timers_next(timers) > now_ns || timers->rows.count == 0)
        return false;
    *out = row_of(timers, 0)->timer;
    remove_at(timers, 0);
    return true;
}

uint64_t cluster_timers_next(const struct cluster_timers *timers)
{
    return timers->rows.count > 0 ? row_of(timers, 0)->timer.at_ns : CLUSTER_TIMERS_NEVER;
}
