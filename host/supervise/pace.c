/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/pace.h"

void host_pace_init(struct host_pace *pace, uint32_t parallel_max, uint32_t burst, uint64_t each_ns)
{
    *pace = (struct host_pace){
        .parallel_max = parallel_max, .burst = burst, .each_ns = each_ns, .tokens = burst};
}

static void refill(struct host_pace *pace, uint64_t now_ns)
{
    uint64_t grown;

    if (pace->each_ns == 0 || pace->tokens == pace->burst || now_ns < pace->since_ns) {
        pace->since_ns = now_ns;
        return;
    }
    grown = (now_ns - pace->since_ns) / pace->each_ns;
    if (grown >= pace->burst - pace->tokens) {
        pace->tokens = pace->burst;
        pace->since_ns = now_ns;
        return;
    }
    pace->tokens += (uint32_t)grown;
    pace->since_ns += grown * pace->each_ns;
}

/* r[impl supervise.start.pace] */
bool host_pace_allows(struct host_pace *pace, uint32_t starting, uint64_t now_ns)
{
    refill(pace, now_ns);
    return starting < pace->parallel_max && (pace->each_ns == 0 || pace->tokens > 0);
}

void host_pace_take(struct host_pace *pace, uint64_t now_ns)
{
    refill(pace, now_ns);
    if (pace->each_ns > 0 && pace->tokens > 0)
        pace->tokens--;
}

uint64_t host_pace_due(const struct host_pace *pace)
{
    return pace->each_ns == 0 || pace->tokens > 0 ? 0 : pace->since_ns + pace->each_ns;
}
