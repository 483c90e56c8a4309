/* SPDX-License-Identifier: Apache-2.0 */
/* pulse: judges a guest's heartbeat. A beat is a reading of the clock that the host also has, so
 * its age alone counts; a change of its value proves nothing. Pure: beats and time are
 * arguments. */
#ifndef HOST_SUPERVISE_PULSE_H
#define HOST_SUPERVISE_PULSE_H

#include <stdbool.h>
#include <stdint.h>

struct host_pulse {       /* zeroed: no beat yet */
    uint64_t beat_ns;     /* the last beat seen */
    uint64_t forgiven_ns; /* time before that does not count */
};

struct host_pulse_sight {
    uint64_t beat_ns; /* written by the guest; 0: nothing yet */
    uint64_t now_ns;
    uint64_t most_ns; /* limit of the beat's age */
};

enum host_pulse_verdict {
    HOST_PULSE_WELL,
    HOST_PULSE_LATE, /* no beat for too long */
    HOST_PULSE_WRONG /* no reading of this clock: ahead of it, or running backwards */
};

/* Returns the greatest age of a beat if `misses` intervals may pass without one. */
uint64_t host_pulse_most(uint64_t interval_ns, uint32_t misses);

enum host_pulse_verdict host_pulse_judge(struct host_pulse *pulse,
                                         const struct host_pulse_sight *sight);

/* The time until now does not count. */
void host_pulse_forgive(struct host_pulse *pulse, uint64_t now_ns);

/* Says whether the host, which checks once in each interval, was stopped and checks only now. */
bool host_pulse_stood_still(uint64_t due_ns, uint64_t interval_ns, uint64_t now_ns);

#endif
