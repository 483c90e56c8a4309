/* SPDX-License-Identifier: Apache-2.0 */
/* Faults put into the core on purpose, by the linker: a life must find each, and without them none
 * does. */
#include "cluster/core/calls/admitted.h"
#include "cluster/core/calls/send.h"
#include "cluster/core/map/catch_up.h"
#include "tests/simulation/cluster/node_world.h"
#include "tests/support/testing.h"

#define SEEDS 300
#define STEPS 400

static enum {
    RIGHT,
    ACROSS_A_GAP,
    NOTHING_IS_REMOVED,
    MAYBE_RUNS,
    RUNNING_RUNS,
    NO_MEMORY_OF_CALLS,
    RUNS_WHERE_IT_WAITS,
    ONE_CONTAINER_LESS,
    PARKED_FOR_EVER,
    NO_DEADLINES,
    PAYLOADS_STAY,
    CHANGES_ARE_NOT_HANDED_ON,
    AN_ENTRY_IS_NOT_READ,
    HISTORIES_STAY,
    DEATH_KEEPS_NO_ORDER,
    MUTANTS
} mutant;

enum cluster_delta_step __real_cluster_delta_step(uint64_t own, uint64_t revision,
                                                  uint64_t previous);
enum cluster_delta_step __wrap_cluster_delta_step(uint64_t own, uint64_t revision,
                                                  uint64_t previous);
enum cluster_delta_step __wrap_cluster_delta_step(uint64_t own, uint64_t revision,
                                                  uint64_t previous)
{
    enum cluster_delta_step step = __real_cluster_delta_step(own, revision, previous);

    return mutant == ACROSS_A_GAP && step == CLUSTER_DELTA_ASK ? CLUSTER_DELTA_APPLY : step;
}

void __real_cluster_address_map_remove(struct cluster_address_map *map, uint64_t pool,
                                       uint32_t container);
void __wrap_cluster_address_map_remove(struct cluster_address_map *map, uint64_t pool,
                                       uint32_t container);
void __wrap_cluster_address_map_remove(struct cluster_address_map *map, uint64_t pool,
                                       uint32_t container)
{
    if (mutant != NOTHING_IS_REMOVED)
        __real_cluster_address_map_remove(map, pool, container);
}

enum cluster_dedup_verdict __real_cluster_dedup_look(struct cluster_dedup *dedup,
                                                     const struct cluster_dedup_call *call,
                                                     struct cluster_dedup_answer *answer);
enum cluster_dedup_verdict __wrap_cluster_dedup_look(struct cluster_dedup *dedup,
                                                     const struct cluster_dedup_call *call,
                                                     struct cluster_dedup_answer *answer);
enum cluster_dedup_verdict __wrap_cluster_dedup_look(struct cluster_dedup *dedup,
                                                     const struct cluster_dedup_call *call,
                                                     struct cluster_dedup_answer *answer)
{
    enum cluster_dedup_verdict verdict = __real_cluster_dedup_look(dedup, call, answer);

    if ((mutant == MAYBE_RUNS && verdict == CLUSTER_VERDICT_MAYBE) ||
        (mutant == RUNNING_RUNS && verdict == CLUSTER_VERDICT_RUNNING))
        return CLUSTER_VERDICT_NEW;
    return verdict;
}

uint32_t __real_cluster_admitted_find_call(const struct cluster_admitted *all, uint32_t origin,
                                           uint64_t number);
uint32_t __wrap_cluster_admitted_find_call(const struct cluster_admitted *all, uint32_t origin,
                                           uint64_t number);
uint32_t __wrap_cluster_admitted_find_call(const struct cluster_admitted *all, uint32_t origin,
                                           uint64_t number)
{
    return mutant == NO_MEMORY_OF_CALLS ? 0
                                        : __real_cluster_admitted_find_call(all, origin, number);
}

int __real_cluster_resolve_target(const struct cluster_resolve *resolve, uint64_t pool,
                                  uint32_t container, uint32_t hops,
                                  struct cluster_resolve_target *out);
int __wrap_cluster_resolve_target(const struct cluster_resolve *resolve, uint64_t pool,
                                  uint32_t container, uint32_t hops,
                                  struct cluster_resolve_target *out);
int __wrap_cluster_resolve_target(const struct cluster_resolve *resolve, uint64_t pool,
                                  uint32_t container, uint32_t hops,
                                  struct cluster_resolve_target *out)
{
    int status = __real_cluster_resolve_target(resolve, pool, container, hops, out);

    if (mutant == RUNS_WHERE_IT_WAITS && out->way == CLUSTER_WAY_WAIT && out->lineage != 0)
        out->way = CLUSTER_WAY_RUN;
    return status;
}

int __real_cluster_resolve_members(const struct cluster_resolve *resolve, uint64_t pool,
                                   const struct cluster_resolve_query *query,
                                   struct cluster_resolve_members *out);
int __wrap_cluster_resolve_members(const struct cluster_resolve *resolve, uint64_t pool,
                                   const struct cluster_resolve_query *query,
                                   struct cluster_resolve_members *out);
int __wrap_cluster_resolve_members(const struct cluster_resolve *resolve, uint64_t pool,
                                   const struct cluster_resolve_query *query,
                                   struct cluster_resolve_members *out)
{
    int status = __real_cluster_resolve_members(resolve, pool, query, out);

    if (mutant == ONE_CONTAINER_LESS && status == 0 && out->count > 1)
        out->count--;
    return status;
}

bool __real_cluster_parking_take(struct cluster_parking *parking, uint64_t pool, uint32_t container,
                                 uint64_t *number);
bool __wrap_cluster_parking_take(struct cluster_parking *parking, uint64_t pool, uint32_t container,
                                 uint64_t *number);
bool __wrap_cluster_parking_take(struct cluster_parking *parking, uint64_t pool, uint32_t container,
                                 uint64_t *number)
{
    return mutant != PARKED_FOR_EVER &&
           __real_cluster_parking_take(parking, pool, container, number);
}

void __real_cluster_send_tick(struct cluster_send *send, uint64_t now_ns);
void __wrap_cluster_send_tick(struct cluster_send *send, uint64_t now_ns);
void __wrap_cluster_send_tick(struct cluster_send *send, uint64_t now_ns)
{
    if (mutant != NO_DEADLINES)
        __real_cluster_send_tick(send, now_ns);
}

void __real_cluster_payload_drop(struct cluster_payload *payload, uint32_t place);
void __wrap_cluster_payload_drop(struct cluster_payload *payload, uint32_t place);
void __wrap_cluster_payload_drop(struct cluster_payload *payload, uint32_t place)
{
    if (mutant != PAYLOADS_STAY)
        __real_cluster_payload_drop(payload, place);
}

void __real_cluster_send_changed(struct cluster_send *send, uint64_t pool, uint32_t container,
                                 uint64_t now_ns);
void __wrap_cluster_send_changed(struct cluster_send *send, uint64_t pool, uint32_t container,
                                 uint64_t now_ns);
void __wrap_cluster_send_changed(struct cluster_send *send, uint64_t pool, uint32_t container,
                                 uint64_t now_ns)
{
    if (mutant != CHANGES_ARE_NOT_HANDED_ON)
        __real_cluster_send_changed(send, pool, container, now_ns);
}

int __real_cluster_catch_up_entry(struct cluster_catch_up *catch_up, uint64_t pool,
                                  uint32_t container, uint64_t revision,
                                  const struct cluster_entry *entry);
int __wrap_cluster_catch_up_entry(struct cluster_catch_up *catch_up, uint64_t pool,
                                  uint32_t container, uint64_t revision,
                                  const struct cluster_entry *entry);
int __wrap_cluster_catch_up_entry(struct cluster_catch_up *catch_up, uint64_t pool,
                                  uint32_t container, uint64_t revision,
                                  const struct cluster_entry *entry)
{
    if (mutant == AN_ENTRY_IS_NOT_READ && container == 2)
        return 0;
    return __real_cluster_catch_up_entry(catch_up, pool, container, revision, entry);
}

void __real_cluster_dedup_forget(struct cluster_dedup *dedup, uint64_t pool, uint32_t container);
void __wrap_cluster_dedup_forget(struct cluster_dedup *dedup, uint64_t pool, uint32_t container);
void __wrap_cluster_dedup_forget(struct cluster_dedup *dedup, uint64_t pool, uint32_t container)
{
    if (mutant != HISTORIES_STAY)
        __real_cluster_dedup_forget(dedup, pool, container);
}

void __real_cluster_order_lose(struct cluster_order *order, uint64_t id);
void __wrap_cluster_order_lose(struct cluster_order *order, uint64_t id);
void __wrap_cluster_order_lose(struct cluster_order *order, uint64_t id)
{
    if (mutant != DEATH_KEEPS_NO_ORDER)
        __real_cluster_order_lose(order, id);
}

static const char *find(void)
{
    const char *found = NULL;

    for (uint64_t seed = 1; seed <= SEEDS && !found; seed++)
        found = node_world_live(seed, STEPS);
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
