/* SPDX-License-Identifier: Apache-2.0 */
/* budget: how many bytes one side keeps for one peer, in all places where it does: never more than
 * a bound that is fixed at creation. Who keeps something takes its bytes before it takes memory,
 * and gives them back behind it. It lasts as long as anybody holds it. Any thread. */
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

/* Held once; NULL for no memory. */
struct hub_budget *hub_budget_create(uint64_t limit);
struct hub_budget *hub_budget_hold(struct hub_budget *budget);
void hub_budget_drop(struct hub_budget **budget); /* accepts NULL in it */

/* False where it would be more than the bound; then nothing is taken. */
bool hub_budget_take(struct hub_budget *budget, size_t bytes);

/* The same for what has to be kept whatever there is, and is bounded by number. */
void hub_budget_charge(struct hub_budget *budget, size_t bytes);
void hub_budget_give(struct hub_budget *budget, size_t bytes);

/* Is at most half of it used but for `own` bytes? Then the rest is for what is under way. */
bool hub_budget_has_half(const struct hub_budget *budget, size_t own);

/* Somebody was refused for it. */
void hub_budget_note_refused(struct hub_budget *budget);

#endif
