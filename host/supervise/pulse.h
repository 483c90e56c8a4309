/* SPDX-License-Identifier: Apache-2.0 */
/* pulse: does a guest's heart beat? Its beats are readings of the clock that its host has too, so
 * how old one is says it all; that it changes says nothing. Pure: beats and time are given. */
#ifndef HOST_SUPERVISE_PULSE_H
#define HOST_SUPERVISE_PULSE_H

#include <stdbool.h>
#include <stdint.h>

struct host_pulse {       /* zeroed: no beat yet */
    uint64_t beat_ns;     /* seen last */
    uint64_t forgiven_ns; /* no time before that counts */
};

struct host_pulse_sight {
    uint64_t beat_ns; /* what the guest wrote; 0: nothing yet */
    uint64_t now_ns;
    uint64_t most_ns; /* how old it may be */
};

enum host_pulse_verdict {
    HOST_PULSE_WELL,
    HOST_PULSE_LATE, /* no beat for too long */
    HOST_PULSE_WRONG /* no reading of this clock: ahead of it, or going back */
};

/* How old a beat may be where `misses` intervals may pass without one. */
uint64_t host_pulse_most(uint64_t interval_ns, uint32_t misses);

enum host_pulse_verdict host_pulse_judge(struct host_pulse *pulse,
                                         const struct host_pulse_sight *sight);

/* The time until now does not count. */
void host_pulse_forgive(struct host_pulse *pulse, uint64_t now_ns);

/* Did a host that looks once an interval stand still, where it comes to look only now? */
bool host_pulse_stood_still(uint64_t due_ns, uint64_t interval_ns, uint64_t now_ns);

#endif
