/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/clock.h"

/* Linux ticks take 10 ms at most; a hypervisor may delay them */
#define TICK (50 * HUB_MILLISECOND)

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * HUB_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t hub_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t hub_clock_boot(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

uint64_t hub_clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

static uint64_t sum(uint64_t now, uint64_t span_ns)
{
    return span_ns > HUB_NEVER - now ? HUB_NEVER : now + span_ns;
}

uint64_t hub_clock_after(uint64_t span_ns)
{
    return sum(hub_clock_now(), span_ns);
}

/* The coarse clock shows the time of the kernel's last tick. */
uint64_t hub_clock_about(uint64_t span_ns)
{
    if (span_ns < HUB_SECOND)
        return hub_clock_after(span_ns);
    return sum(read_clock(CLOCK_MONOTONIC_COARSE) + TICK, span_ns);
}

bool hub_clock_is_far(uint64_t deadline_ns)
{
    return deadline_ns == HUB_NEVER || read_clock(CLOCK_MONOTONIC_COARSE) + TICK < deadline_ns;
}

uint64_t hub_clock_left(uint64_t deadline_ns)
{
    uint64_t now;

    if (deadline_ns == HUB_NEVER)
        return HUB_NEVER;
    now = hub_clock_now();
    return deadline_ns > now ? deadline_ns - now : 0;
}

int hub_clock_left_ms(uint64_t deadline_ns, int most_ms)
{
    uint64_t left = hub_clock_left(deadline_ns), ms = left / HUB_MILLISECOND;

    if (left % HUB_MILLISECOND != 0)
        ms++;
    return ms > (uint64_t)most_ms ? most_ms : (int)ms;
}

struct timespec hub_clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / HUB_SECOND),
                             .tv_nsec = (long)(ns % HUB_SECOND)};
}

void hub_clock_pause(uint64_t span_ns)
{
    const struct timespec span = hub_clock_timespec(span_ns);

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}
