/* SPDX-License-Identifier: Apache-2.0 */
/* budget: a ring of failure times. */
#include "host/supervise/budget.h"

#include <rapahub/error.h>

int host_budget_init(struct host_budget *budget, uint32_t max, uint64_t period_ns)
{
    if (period_ns > 0 && max > HOST_BUDGET_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "restarts_max is %u; at most %u", max,
                            (unsigned)HOST_BUDGET_MAX);
    *budget = (struct host_budget){.period_ns = period_ns, .max = max};
    return 0;
}

static bool in_period(const struct host_budget *budget, uint64_t then_ns, uint64_t now_ns)
{
    return then_ns >= now_ns || now_ns - then_ns < budget->period_ns;
}

uint32_t host_budget_used(const struct host_budget *budget, uint64_t now_ns)
{
    uint32_t used = 0;

    if (budget->period_ns == 0)
        return budget->count;
    for (uint32_t i = 0; i < budget->count; i++)
        used += in_period(budget, budget->times[i], now_ns);
    return used;
}

static void record(struct host_budget *budget, uint64_t now_ns)
{
    if (budget->max == 0)
        return;
    if (budget->period_ns > 0) {
        budget->times[budget->next] = now_ns;
        budget->next = (budget->next + 1) % budget->max;
    }
    if (budget->count < budget->max)
        budget->count++;
}

bool host_budget_spend(struct host_budget *budget, uint64_t now_ns)
{
    bool within = host_budget_used(budget, now_ns) < budget->max;

    record(budget, now_ns);
    return within;
}

void host_budget_reset(struct host_budget *budget)
{
    budget->count = 0;
    budget->next = 0;
}
