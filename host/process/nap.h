/* SPDX-License-Identifier: Apache-2.0 */
/* nap: an owner whose guests all wake by futexes only sleeps where they wake, and needs no thread
 * in between. The lookout ends that sleep for what comes in the loop. */
#ifndef HOST_PROCESS_NAP_H
#define HOST_PROCESS_NAP_H

#include <stdbool.h>
#include <stdint.h>

struct host_process;

/* Owner: is that so, and does nobody else wait for the loop's descriptor? */
bool host_nap_may(const struct host_process *host);

/* Owner, instead of a wait in its loop: sleeps until a guest wakes or something comes in the loop,
 * at most `timeout_ms`. What guests sent is noted as work of theirs; the loop is looked at behind
 * it without a wait. False where it could not, and the loop waits as ever. */
bool host_nap(struct host_process *host, int timeout_ms);

#endif
