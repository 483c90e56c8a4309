/* SPDX-License-Identifier: Apache-2.0 */
/* progress: looks, if its options ask for it, whether a guest gets on with its work: it reads its
 * ring, answers its calls, and ends calls that were given up. The result is only a hint: a stuck
 * guest is killed like one without a heartbeat. Owner. */
#ifndef HOST_GUEST_PROGRESS_H
#define HOST_GUEST_PROGRESS_H

#include "host/process/life.h"

/* Begins to look at a life that is ready. */
void host_progress_begin(struct host_life *life);

/* Ends it, for a life that is proven dead. Harmless if it did not begin. */
void host_progress_end(struct host_progress *progress);

#endif
