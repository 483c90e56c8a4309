/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the only reader of the time. Intervals and deadlines are monotonic nanoseconds. */
#ifndef HUB_BASE_CLOCK_H
#define HUB_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HUB_MICROSECOND UINT64_C(1000)
#define HUB_MILLISECOND UINT64_C(1000000)
#define HUB_SECOND      UINT64_C(1000000000)
#define HUB_NEVER       UINT64_MAX /* a deadline that does not come */

/* CLOCK_MONOTONIC. Never 0. */
uint64_t hub_clock_now(void);

/* Wall-clock time since 1970, for people: logs and reports. */
uint64_t hub_clock_wall(void);

/* The moment `span_ns` from now; HUB_NEVER if that does not fit. */
uint64_t hub_clock_after(uint64_t span_ns);

/* The same, up to 50 ms later, where the span is a second or more: a quarter of the cost. */
uint64_t hub_clock_about(uint64_t span_ns);

/* Is it still to come? As cheap: also false in the last 50 ms and more before it. */
bool hub_clock_is_far(uint64_t deadline_ns);

/* Nanoseconds left until `deadline_ns`; 0 once it has passed; HUB_NEVER of HUB_NEVER. */
uint64_t hub_clock_left(uint64_t deadline_ns);

/* The same for poll and epoll: milliseconds, rounded up; at most `most_ms`. */
int hub_clock_left_ms(uint64_t deadline_ns, int most_ms);

/* Sleeps. Only for what nobody tells: each use says why no event can be waited for, and has a
 * deadline of its own. */
void hub_clock_pause(uint64_t span_ns);

/* `deadline_ns` as an absolute time for futex and ppoll. */
struct timespec hub_clock_timespec(uint64_t ns);

#endif
