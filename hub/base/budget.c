/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/budget.h"

#include <stdlib.h>

struct hub_budget *hub_budget_create(uint64_t limit)
{
    struct hub_budget *budget = calloc(1, sizeof *budget);

    if (!budget)
        return NULL;
    budget->limit = limit;
    hub_store_relaxed(&budget->holders, 1);
    return budget;
}

struct hub_budget *hub_budget_hold(struct hub_budget *budget)
{
    hub_add(&budget->holders, 1);
    return budget;
}

void hub_budget_drop(struct hub_budget **pointer)
{
    struct hub_budget *budget = *pointer;

    *pointer = NULL;
    if (budget && hub_add(&budget->holders, (uint32_t)-1) == 1)
        free(budget);
}

bool hub_budget_take(struct hub_budget *budget, size_t bytes)
{
    uint64_t used;

    do {
        used = hub_load_relaxed64(&budget->used);
        if (used > budget->limit || bytes > budget->limit - used)
            return false;
    } while (!hub_claim64(&budget->used, used, used + bytes));
    return true;
}

void hub_budget_charge(struct hub_budget *budget, size_t bytes)
{
    hub_add64(&budget->used, bytes);
}

void hub_budget_give(struct hub_budget *budget, size_t bytes)
{
    hub_add64(&budget->used, -(uint64_t)bytes);
}

bool hub_budget_has_half(const struct hub_budget *budget, size_t own)
{
    uint64_t used = hub_load_relaxed64(&budget->used);

    return used <= own || used - own <= budget->limit / 2;
}

void hub_budget_note_refused(struct hub_budget *budget)
{
    hub_add64(&budget->refused, 1);
}
