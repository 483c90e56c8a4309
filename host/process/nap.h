/* SPDX-License-Identifier: Apache-2.0 */
/* nap: an owner whose guests all wake by futexes sleeps on these futexes itself, without a thread
 * in between. The lookout ends that sleep for events of the loop. */
#ifndef HOST_PROCESS_NAP_H
#define HOST_PROCESS_NAP_H

#include <stdbool.h>
#include <stdint.h>

struct host_process;

/* Owner: says whether a nap is possible: all guests wake by futexes, and no other thread waits for
 * the loop's descriptor. */
bool host_nap_may(const struct host_process *host);

/* Owner, instead of a wait in its loop: sleeps until a guest wakes it or the loop has an event, at
 * most `timeout_ms`. Marks the lives that have sent messages as having work. The caller then runs
 * the loop without a wait. False if a nap was not possible: the loop has to wait as usual. */
bool host_nap(struct host_process *host, int timeout_ms);

#endif
