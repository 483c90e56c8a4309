/* SPDX-License-Identifier: Apache-2.0 */
/* Faults put into the code on purpose, by the linker: each must be found by a life or by the model,
 * and without them nothing is. */
#include <string.h>

#include "host/supervise/pace.h"
#include "host/supervise/strategy.h"
#include "tests/simulation/pair.h"
#include "tests/simulation/world.h"
#include "tests/support/testing.h"

#define SEEDS 400
#define STEPS 80

static enum {
    RIGHT,
    ENDLESS_BUDGET,
    NEVER_OVER,
    NO_ORDER,
    FORGETS_THE_GROUP,
    NO_PACE,
    NO_DELAY,
    NOT_LINEAR,
    FORGETS_DEPENDANTS,
    MUTANTS
} mutant;

bool __real_host_budget_spend(struct host_budget *budget, uint64_t now_ns);
bool __wrap_host_budget_spend(struct host_budget *budget, uint64_t now_ns);
bool __wrap_host_budget_spend(struct host_budget *budget, uint64_t now_ns)
{
    return __real_host_budget_spend(budget, now_ns) || mutant == ENDLESS_BUDGET;
}

enum host_exit_verdict __real_host_exits_judge(const struct host_exit_rules *rules,
                                               const struct hub_exit *exit,
                                               enum rapahub_exit_class *class);
enum host_exit_verdict __wrap_host_exits_judge(const struct host_exit_rules *rules,
                                               const struct hub_exit *exit,
                                               enum rapahub_exit_class *class);
enum host_exit_verdict __wrap_host_exits_judge(const struct host_exit_rules *rules,
                                               const struct hub_exit *exit,
                                               enum rapahub_exit_class *class)
{
    enum host_exit_verdict verdict = __real_host_exits_judge(rules, exit, class);

    return mutant == NEVER_OVER ? HOST_EXIT_RESTART : verdict;
}

bool __real_host_tree_before(const struct host_tree *tree, uint32_t a, uint32_t b);
bool __wrap_host_tree_before(const struct host_tree *tree, uint32_t a, uint32_t b);
bool __wrap_host_tree_before(const struct host_tree *tree, uint32_t a, uint32_t b)
{
    return __real_host_tree_before(tree, a, b) && mutant != NO_ORDER;
}

void __real_host_strategy_mark(struct host_tree *tree, uint32_t place);
void __wrap_host_strategy_mark(struct host_tree *tree, uint32_t place);
void __wrap_host_strategy_mark(struct host_tree *tree, uint32_t place)
{
    __real_host_strategy_mark(tree, place);
    for (uint32_t i = 0; i < tree->max && mutant == FORGETS_THE_GROUP; i++)
        tree->children[i].marked = i == place;
}

void __real_host_strategy_mark_dependants(struct host_tree *tree, uint32_t place);
void __wrap_host_strategy_mark_dependants(struct host_tree *tree, uint32_t place);
void __wrap_host_strategy_mark_dependants(struct host_tree *tree, uint32_t place)
{
    __real_host_strategy_mark_dependants(tree, place);
    for (uint32_t i = 0; i < tree->max && mutant == FORGETS_DEPENDANTS; i++)
        tree->children[i].marked = i == place;
}

bool __real_host_pace_allows(struct host_pace *pace, uint32_t starting, uint64_t now_ns);
bool __wrap_host_pace_allows(struct host_pace *pace, uint32_t starting, uint64_t now_ns);
bool __wrap_host_pace_allows(struct host_pace *pace, uint32_t starting, uint64_t now_ns)
{
    return __real_host_pace_allows(pace, starting, now_ns) || mutant == NO_PACE;
}

uint64_t __real_host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns);
uint64_t __wrap_host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns);
uint64_t __wrap_host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns)
{
    uint64_t delay = __real_host_backoff_next(backoff, ready_ns);

    return mutant == NO_DELAY ? backoff->max_ns + 1 : delay;
}

bool __real_host_tree_is_linear(const struct host_tree *tree, uint32_t supervisor);
bool __wrap_host_tree_is_linear(const struct host_tree *tree, uint32_t supervisor);
bool __wrap_host_tree_is_linear(const struct host_tree *tree, uint32_t supervisor)
{
    return __real_host_tree_is_linear(tree, supervisor) && mutant != NOT_LINEAR;
}

static const char *find(void)
{
    const char *found = NULL;

    for (uint64_t i = 1; i <= SEEDS && !found; i++)
        found = world_live(i, STEPS);
    for (uint64_t i = 1; i <= SEEDS / 10 && !found; i++)
        found = pair_compare(i, STEPS);
    return found;
}

static void every_fault_is_found(void **state)
{
    (void)state;
    for (mutant = RIGHT; mutant < MUTANTS; mutant++) {
        const char *found = find();

        print_message("fault %d: %s\n", (int)mutant, found ? found : "none");
        assert_int_equal(found != NULL, mutant != RIGHT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_fault_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
