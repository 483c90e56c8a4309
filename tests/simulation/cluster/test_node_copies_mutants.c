/* SPDX-License-Identifier: Apache-2.0 */
/* Faults put into copies on purpose, by the linker: a life must find each, and without them none
 * does. */
#include "cluster/core/calls/admitted.h"
#include "cluster/core/calls/covered.h"
#include "cluster/core/calls/held_ends.h"
#include "cluster/core/copies/copy_owner.h"
#include "tests/simulation/cluster/node_copies.h"
#include "tests/support/testing.h"

#define SEEDS 100
#define STEPS 1500

static enum {
    RIGHT,
    ENDS_ARE_NOT_HELD,
    CALLS_RUN_WHILE_SAVED,
    NOTHING_IS_RESTORED,
    CHAINS_ARE_HELD,
    ONE_CALL_IS_NOT_WRITTEN,
    A_COPY_COVERS_ALL,
    NOTHING_ROLLS_BACK,
    FAILED_COPIES_COUNT,
    NOTHING_IS_GIVEN_OUT,
    MUTANTS
} mutant;

void __real_cluster_held_ends_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container);
void __wrap_cluster_held_ends_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container);
void __wrap_cluster_held_ends_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container)
{
    if (mutant != ENDS_ARE_NOT_HELD)
        __real_cluster_held_ends_begin(dedup, pool, container);
}

uint32_t __real_cluster_dedup_running(const struct cluster_dedup *dedup, uint64_t pool,
                                      uint32_t container);
uint32_t __wrap_cluster_dedup_running(const struct cluster_dedup *dedup, uint64_t pool,
                                      uint32_t container);
uint32_t __wrap_cluster_dedup_running(const struct cluster_dedup *dedup, uint64_t pool,
                                      uint32_t container)
{
    return mutant == CALLS_RUN_WHILE_SAVED ? 0
                                           : __real_cluster_dedup_running(dedup, pool, container);
}

int __real_cluster_covered_read(struct cluster_dedup *dedup,
                                const struct cluster_covered_read *read);
int __wrap_cluster_covered_read(struct cluster_dedup *dedup,
                                const struct cluster_covered_read *read);
int __wrap_cluster_covered_read(struct cluster_dedup *dedup,
                                const struct cluster_covered_read *read)
{
    return mutant == NOTHING_IS_RESTORED ? 0 : __real_cluster_covered_read(dedup, read);
}

bool __real_cluster_admitted_chain_runs(const struct cluster_admitted *all, uint32_t history,
                                        uint64_t chain);
bool __wrap_cluster_admitted_chain_runs(const struct cluster_admitted *all, uint32_t history,
                                        uint64_t chain);
bool __wrap_cluster_admitted_chain_runs(const struct cluster_admitted *all, uint32_t history,
                                        uint64_t chain)
{
    return mutant != CHAINS_ARE_HELD && __real_cluster_admitted_chain_runs(all, history, chain);
}

int __real_cluster_covered_write(struct cluster_dedup *dedup,
                                 const struct cluster_covered_span *span, struct hub_writer *to,
                                 cluster_covered_body *body, void *user);
int __wrap_cluster_covered_write(struct cluster_dedup *dedup,
                                 const struct cluster_covered_span *span, struct hub_writer *to,
                                 cluster_covered_body *body, void *user);
int __wrap_cluster_covered_write(struct cluster_dedup *dedup,
                                 const struct cluster_covered_span *span, struct hub_writer *to,
                                 cluster_covered_body *body, void *user)
{
    struct cluster_covered_span less = *span;

    if (mutant == ONE_CALL_IS_NOT_WRITTEN)
        less.until--;
    return __real_cluster_covered_write(dedup, &less, to, body, user);
}

void __real_cluster_held_ends_cover(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                    uint64_t covered);
void __wrap_cluster_held_ends_cover(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                    uint64_t covered);
void __wrap_cluster_held_ends_cover(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                    uint64_t covered)
{
    __real_cluster_held_ends_cover(dedup, pool, container,
                                   mutant == A_COPY_COVERS_ALL ? UINT64_MAX : covered);
}

int __real_cluster_dedup_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                               uint64_t lineage, uint64_t covered);
int __wrap_cluster_dedup_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                               uint64_t lineage, uint64_t covered);
int __wrap_cluster_dedup_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                               uint64_t lineage, uint64_t covered)
{
    return __real_cluster_dedup_begin(dedup, pool, container, lineage,
                                      mutant == NOTHING_ROLLS_BACK ? UINT64_MAX : covered);
}

bool __real_cluster_copy_owner_copied(struct cluster_copy_owner *owner,
                                      const struct cluster_copy_owner_copied *copied,
                                      uint64_t now_ns);
bool __wrap_cluster_copy_owner_copied(struct cluster_copy_owner *owner,
                                      const struct cluster_copy_owner_copied *copied,
                                      uint64_t now_ns);
bool __wrap_cluster_copy_owner_copied(struct cluster_copy_owner *owner,
                                      const struct cluster_copy_owner_copied *copied,
                                      uint64_t now_ns)
{
    struct cluster_copy_owner_copied told = *copied;

    if (mutant == FAILED_COPIES_COUNT)
        told.status = 0;
    return __real_cluster_copy_owner_copied(owner, &told, now_ns);
}

bool __real_cluster_held_ends_take(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                   uint64_t *asker, struct cluster_dedup_answer *answer);
bool __wrap_cluster_held_ends_take(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                   uint64_t *asker, struct cluster_dedup_answer *answer);
bool __wrap_cluster_held_ends_take(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                   uint64_t *asker, struct cluster_dedup_answer *answer)
{
    return mutant != NOTHING_IS_GIVEN_OUT &&
           __real_cluster_held_ends_take(dedup, pool, container, asker, answer);
}

static const char *find(void)
{
    const char *found = NULL;

    for (uint64_t seed = 1; seed <= SEEDS && !found; seed++)
        found = node_copies_live(seed, STEPS);
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
