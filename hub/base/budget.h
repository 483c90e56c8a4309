/* SPDX-License-Identifier: Apache-2.0 */
/* budget: limits the bytes that one side stores for one peer, in all places together, to a bound
 * fixed at creation. A user reserves the bytes before it allocates memory, and returns them after
 * it frees the memory. A budget is reference-counted. Any thread. */
#ifndef HUB_BASE_BUDGET_H
#define HUB_BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/atomic.h"

struct hub_budget {
    uint64_t limit;
    struct hub_a64 used, refused;
    struct hub_a32 holders;
};

/* Create a budget with one reference (NULL if there is no memory), and add a reference. */
struct hub_budget *hub_budget_create(uint64_t limit);
struct hub_budget *hub_budget_hold(struct hub_budget *budget);
void hub_budget_drop(struct hub_budget **budget); /* NULL is allowed in it */

/* Reserves `bytes`. False if that would exceed the bound; then nothing is reserved. */
bool hub_budget_take(struct hub_budget *budget, size_t bytes);

/* Reserve bytes that must be stored in any case and whose number is bounded otherwise, and return
 * bytes. */
void hub_budget_charge(struct hub_budget *budget, size_t bytes);
void hub_budget_give(struct hub_budget *budget, size_t bytes);

/* Says whether at most half is used, not counting `own` bytes. The rest is for calls under way. */
bool hub_budget_has_half(const struct hub_budget *budget, size_t own);

/* Counts a refusal for lack of budget. */
void hub_budget_note_refused(struct hub_budget *budget);

#endif
