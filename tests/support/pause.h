/* SPDX-License-Identifier: Apache-2.0 */
/* pause: the only sleep of the tests. It is for a pause that is itself the subject (a slow method,
 * a stopped peer), and for a word that another process writes without a signal. Wherever there is
 * an event, a test waits for the event, with a deadline. */
#ifndef TESTS_SUPPORT_PAUSE_H
#define TESTS_SUPPORT_PAUSE_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

/* Returns after `ms` milliseconds, or earlier if a signal is handled; below 0: only then. */
static inline void pause_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

static inline void pause_ns(uint64_t ns)
{
    const struct timespec span = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    (void)ppoll(NULL, 0, &span, NULL);
}

#endif
