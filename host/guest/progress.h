/* SPDX-License-Identifier: Apache-2.0 */
/* progress: looks, where its options ask for that, whether a guest gets on with what it was asked:
 * takes from its ring, answers its calls, ends those that nobody waits for. Only hints follow: one
 * that is stuck is killed as one without a heartbeat is. Owner. */
#ifndef HOST_GUEST_PROGRESS_H
#define HOST_GUEST_PROGRESS_H

#include "host/process/life.h"

/* It is ready: looked at from now on. */
void host_progress_begin(struct host_life *life);

/* It is proven dead. Harmless where it is not looked at. */
void host_progress_end(struct host_life *life);

#endif
