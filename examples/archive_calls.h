/* SPDX-License-Identifier: Apache-2.0 */
/* archive_calls: calls to a guest that may be killed at any moment. What can be done again is done
 * again, after a pause, until patience ends. Each worker has one of these. */
#ifndef ARCHIVE_CALLS_H
#define ARCHIVE_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <rapahub/host.h>

#define ARCHIVE_BUCKETS 1024u

struct archive_calls {
    struct rapahub_host *host;
    const atomic_uint_fast64_t *deadline_ns; /* of the whole run */
    uint64_t answered;                       /* calls */
    uint64_t retried;                  /* calls that ended without an answer and were made again */
    uint64_t longest_ns;               /* from the first try of a call to its answer */
    uint64_t buckets[ARCHIVE_BUCKETS]; /* how long answered calls took: log-linear, 16 a power */
};

uint64_t archive_calls_now(void); /* monotonic, ns */

/* Makes the call until it is answered: what rapahub_host_call returns, or the last failure when
 * patience (30 s) or the run's time is over. Everything called here may be done twice. */
int archive_calls_make(struct archive_calls *calls, const struct rapahub_call *call, void *result);

/* Adds the counts of `other`. */
void archive_calls_merge(struct archive_calls *calls, const struct archive_calls *other);

/* The time that `share` of the calls did not take longer than. */
double archive_calls_percentile_us(const struct archive_calls *calls, double share);

#endif
