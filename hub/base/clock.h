/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the only reader of the time. Intervals and deadlines are monotonic nanoseconds. Any
 * thread. */
#ifndef HUB_BASE_CLOCK_H
#define HUB_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HUB_MICROSECOND UINT64_C(1000)
#define HUB_MILLISECOND UINT64_C(1000000)
#define HUB_SECOND      UINT64_C(1000000000)
#define HUB_NEVER       UINT64_MAX /* a deadline that never comes */

/* Returns CLOCK_MONOTONIC in nanoseconds, never 0. */
uint64_t hub_clock_now(void);

/* Returns CLOCK_BOOTTIME in nanoseconds, never 0. It goes on while the machine is suspended, so it
 * is the clock of leases. */
uint64_t hub_clock_boot(void);

/* Returns the wall-clock time in nanoseconds since 1970, for logs and reports. */
uint64_t hub_clock_wall(void);

/* Returns the time `span_ns` from now, or HUB_NEVER if that does not fit. */
uint64_t hub_clock_after(uint64_t span_ns);

/* The same, but up to 50 ms later if the span is a second or more. It costs a quarter. */
uint64_t hub_clock_about(uint64_t span_ns);

/* Says whether the deadline is still to come. It costs as little; it may be false
 * from 50 ms before the deadline on. */
bool hub_clock_is_far(uint64_t deadline_ns);

/* Returns the nanoseconds left until `deadline_ns`, 0 once it has passed, HUB_NEVER for
 * HUB_NEVER. */
uint64_t hub_clock_left(uint64_t deadline_ns);

/* The same for poll and epoll: milliseconds, rounded up, at most `most_ms`. */
int hub_clock_left_ms(uint64_t deadline_ns, int most_ms);

/* Sleeps. Only for conditions that no event reports: each use says why it cannot wait for an event,
 * and has a deadline of its own. */
void hub_clock_pause(uint64_t span_ns);

/* Converts `ns` to an absolute time for futex and ppoll. */
struct timespec hub_clock_timespec(uint64_t ns);

#endif
