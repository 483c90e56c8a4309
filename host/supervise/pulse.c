/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/pulse.h"

#include "hub/base/clock.h"

#define AHEAD_MOST HUB_SECOND

uint64_t host_pulse_most(uint64_t interval_ns, uint32_t misses)
{
    return misses != 0 && interval_ns > HUB_NEVER / misses ? HUB_NEVER : interval_ns * misses;
}

/* r[impl shm.crash.heartbeat] r[impl shm.crash.heartbeat-clock] */
enum host_pulse_verdict host_pulse_judge(struct host_pulse *pulse,
                                         const struct host_pulse_sight *sight)
{
    uint64_t beat = sight->beat_ns, now = sight->now_ns, since;

    if (beat < pulse->beat_ns || (beat > now && beat - now > AHEAD_MOST))
        return HOST_PULSE_WRONG;
    pulse->beat_ns = beat;
    since = beat > pulse->forgiven_ns ? beat : pulse->forgiven_ns;
    return now > since && now - since > sight->most_ns ? HOST_PULSE_LATE : HOST_PULSE_WELL;
}

void host_pulse_forgive(struct host_pulse *pulse, uint64_t now_ns)
{
    pulse->forgiven_ns = now_ns;
}

bool host_pulse_stood_still(uint64_t due_ns, uint64_t interval_ns, uint64_t now_ns)
{
    return now_ns > due_ns && now_ns - due_ns > interval_ns;
}
