/* SPDX-License-Identifier: Apache-2.0 */
/* archive_calls: calls to a guest that may be killed at any moment. A call that can be repeated is
 * repeated after a pause, until a time limit. Each worker has one of these. */
#ifndef ARCHIVE_CALLS_H
#define ARCHIVE_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <rapahub/host.h>

#define ARCHIVE_BUCKETS 1024u

/* Where the plugins are: how they are called. */
struct archive_way {
    int (*call)(void *to, const struct rapahub_call *call, void *result);
    void *to;
};

struct archive_calls {
    const struct archive_way *way;
    atomic_uint_fast64_t *answered_ns;       /* when the last call of any worker was answered */
    const atomic_uint_fast64_t *deadline_ns; /* limit of the whole run */
    uint64_t answered;                       /* calls */
    uint64_t retried;    /* calls that ended without an answer and were repeated */
    uint64_t longest_ns; /* from the first try of a call to its answer */
    /* durations of answered calls: log-linear, 16 buckets a power of two */
    uint64_t buckets[ARCHIVE_BUCKETS];
};

uint64_t archive_calls_now(void); /* monotonic, ns */

/* Repeats the call until it is answered. Returns the result of the way, or the last
 * failure after 30 s or at the end of the run. All calls made here may be done twice. */
int archive_calls_make(struct archive_calls *calls, const struct rapahub_call *call, void *result);

/* Adds the counts of `other`. */
void archive_calls_merge(struct archive_calls *calls, const struct archive_calls *other);

/* Returns the duration that `share` of the calls did not exceed, in microseconds. */
double archive_calls_percentile_us(const struct archive_calls *calls, double share);

#endif
