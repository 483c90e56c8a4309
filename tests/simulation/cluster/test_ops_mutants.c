/* SPDX-License-Identifier: Apache-2.0 */
/* Faults put into the operations of a core on purpose, by the linker: a life must find each, and
 * without them none does. */
#include "cluster/base/ids.h"
#include "cluster/core/ops/create.h"
#include "cluster/core/ops/map_writer.h"
#include "cluster/core/ops/restart.h"
#include "tests/simulation/cluster/ops_world.h"
#include "tests/support/testing.h"

#define SEEDS 300
#define STEPS 600

static enum {
    RIGHT,
    EPOCHS_OF_BEFORE,
    CHANGES_ARE_NOT_WAITED_FOR,
    THE_MAP_IS_NOT_WAITED_FOR,
    NOTHING_IS_COMPARED,
    ENDED_SESSIONS_WRITE,
    RESULTS_ARE_NOT_WRITTEN,
    EACH_BEGIN_SUCCEEDS,
    EACH_REMOVAL_SUCCEEDS,
    DEATHS_ARE_NOT_SEEN,
    LIVES_ARE_NEVER_SPENT,
    ORDERS_DO_NOT_END,
    HISTORIES_GO_ON,
    REFUSED_ONES_STAY,
    CONFLICTS_ARE_NOT_READ,
    POOLS_STAY,
    STATES_OF_POOLS_STAY,
    MODULES_ARE_NOT_COMPARED,
    MUTANTS
} mutant;

uint64_t __real_cluster_ids_next_life(uint64_t token);
uint64_t __wrap_cluster_ids_next_life(uint64_t token);
uint64_t __wrap_cluster_ids_next_life(uint64_t token)
{
    return cluster_ids_life(token) < 2 ? __real_cluster_ids_next_life(token) : 0;
}

uint64_t __real_cluster_session_token(const struct cluster_session *session, uint64_t epoch,
                                      uint32_t life);
uint64_t __wrap_cluster_session_token(const struct cluster_session *session, uint64_t epoch,
                                      uint32_t life);
uint64_t __wrap_cluster_session_token(const struct cluster_session *session, uint64_t epoch,
                                      uint32_t life)
{
    return __real_cluster_session_token(
        session, mutant == EPOCHS_OF_BEFORE && epoch > 1 ? epoch - 1 : epoch, life);
}

bool __real_cluster_map_writer_changes(const struct cluster_map_writer *writer,
                                       const struct cluster_address *address);
bool __wrap_cluster_map_writer_changes(const struct cluster_map_writer *writer,
                                       const struct cluster_address *address);
bool __wrap_cluster_map_writer_changes(const struct cluster_map_writer *writer,
                                       const struct cluster_address *address)
{
    return mutant != CHANGES_ARE_NOT_WAITED_FOR &&
           __real_cluster_map_writer_changes(writer, address);
}

bool __real_cluster_map_writer_is_ready(struct cluster_map_writer *writer,
                                        struct cluster_context *context);
bool __wrap_cluster_map_writer_is_ready(struct cluster_map_writer *writer,
                                        struct cluster_context *context);
bool __wrap_cluster_map_writer_is_ready(struct cluster_map_writer *writer,
                                        struct cluster_context *context)
{
    if (mutant == THE_MAP_IS_NOT_WAITED_FOR && writer->state == CLUSTER_MAP_WRITER_APPLYING)
        writer->state = CLUSTER_MAP_WRITER_IDLE;
    return __real_cluster_map_writer_is_ready(writer, context);
}

void __real_cluster_txns_expect(struct cluster_txns *txns, uint32_t place,
                                const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect(struct cluster_txns *txns, uint32_t place,
                                const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect(struct cluster_txns *txns, uint32_t place,
                                const struct cluster_key *key, uint64_t revision)
{
    if (mutant == MODULES_ARE_NOT_COMPARED && key->kind == CLUSTER_KEY_MODULE)
        return;
    if (mutant != NOTHING_IS_COMPARED || revision == 0)
        __real_cluster_txns_expect(txns, place, key, revision);
}

void __real_cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                        const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                        const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                        const struct cluster_key *key, uint64_t revision)
{
    if (mutant != ENDED_SESSIONS_WRITE)
        __real_cluster_txns_expect_created(txns, place, key, revision);
}

struct cluster_record_operation __real_cluster_operations_record(
    const struct cluster_operations_row *row, uint32_t state, int32_t result, const char *text,
    uint8_t arguments[CLUSTER_OPERATIONS_ARGUMENTS]);
struct cluster_record_operation __wrap_cluster_operations_record(
    const struct cluster_operations_row *row, uint32_t state, int32_t result, const char *text,
    uint8_t arguments[CLUSTER_OPERATIONS_ARGUMENTS]);
struct cluster_record_operation __wrap_cluster_operations_record(
    const struct cluster_operations_row *row, uint32_t state, int32_t result, const char *text,
    uint8_t arguments[CLUSTER_OPERATIONS_ARGUMENTS])
{
    return __real_cluster_operations_record(
        row, state, mutant == RESULTS_ARE_NOT_WRITTEN ? 0 : result, text, arguments);
}

int __real_cluster_lives_begun(struct cluster_lives *lives, struct cluster_context *context,
                               const struct cluster_lives_answer *answer);
int __wrap_cluster_lives_begun(struct cluster_lives *lives, struct cluster_context *context,
                               const struct cluster_lives_answer *answer);
int __wrap_cluster_lives_begun(struct cluster_lives *lives, struct cluster_context *context,
                               const struct cluster_lives_answer *answer)
{
    struct cluster_lives_answer other = *answer;

    if (mutant == EACH_BEGIN_SUCCEEDS)
        other.status = 0;
    return __real_cluster_lives_begun(lives, context, &other);
}

int __real_cluster_lives_removed(struct cluster_lives *lives, struct cluster_context *context,
                                 const struct cluster_lives_answer *answer);
int __wrap_cluster_lives_removed(struct cluster_lives *lives, struct cluster_context *context,
                                 const struct cluster_lives_answer *answer);
int __wrap_cluster_lives_removed(struct cluster_lives *lives, struct cluster_context *context,
                                 const struct cluster_lives_answer *answer)
{
    struct cluster_lives_answer other = *answer;

    if (mutant == EACH_REMOVAL_SUCCEEDS)
        other.status = 0;
    return __real_cluster_lives_removed(lives, context, &other);
}

void __real_cluster_lives_down(struct cluster_lives *lives, struct cluster_context *context,
                               uint64_t pool, uint32_t container);
void __wrap_cluster_lives_down(struct cluster_lives *lives, struct cluster_context *context,
                               uint64_t pool, uint32_t container);
void __wrap_cluster_lives_down(struct cluster_lives *lives, struct cluster_context *context,
                               uint64_t pool, uint32_t container)
{
    if (mutant != DEATHS_ARE_NOT_SEEN)
        __real_cluster_lives_down(lives, context, pool, container);
}

bool __real_cluster_lives_are_spent(const struct cluster_context *context,
                                    const struct cluster_address *address);
bool __wrap_cluster_lives_are_spent(const struct cluster_context *context,
                                    const struct cluster_address *address);
bool __wrap_cluster_lives_are_spent(const struct cluster_context *context,
                                    const struct cluster_address *address)
{
    return mutant != LIVES_ARE_NEVER_SPENT && __real_cluster_lives_are_spent(context, address);
}

void __real_cluster_orders_settle(struct cluster_orders *orders, struct cluster_context *context,
                                  const struct cluster_operations *operations);
void __wrap_cluster_orders_settle(struct cluster_orders *orders, struct cluster_context *context,
                                  const struct cluster_operations *operations);
void __wrap_cluster_orders_settle(struct cluster_orders *orders, struct cluster_context *context,
                                  const struct cluster_operations *operations)
{
    if (mutant != ORDERS_DO_NOT_END)
        __real_cluster_orders_settle(orders, context, operations);
}

struct cluster_entry __real_cluster_restart_raised(const struct cluster_context *context,
                                                   const struct cluster_address *address,
                                                   enum cluster_entry_state state);
struct cluster_entry __wrap_cluster_restart_raised(const struct cluster_context *context,
                                                   const struct cluster_address *address,
                                                   enum cluster_entry_state state);
struct cluster_entry __wrap_cluster_restart_raised(const struct cluster_context *context,
                                                   const struct cluster_address *address,
                                                   enum cluster_entry_state state)
{
    struct cluster_entry entry = __real_cluster_restart_raised(context, address, state);

    if (mutant == HISTORIES_GO_ON)
        entry.lineage = address->entry.lineage;
    return entry;
}

void __real_cluster_create_forget(struct cluster_context *context,
                                  struct cluster_operations *operations, uint32_t place);
void __wrap_cluster_create_forget(struct cluster_context *context,
                                  struct cluster_operations *operations, uint32_t place);
void __wrap_cluster_create_forget(struct cluster_context *context,
                                  struct cluster_operations *operations, uint32_t place)
{
    if (mutant != REFUSED_ONES_STAY)
        __real_cluster_create_forget(context, operations, place);
}

void __real_cluster_catch_up_doubt(struct cluster_catch_up *catch_up);
void __wrap_cluster_catch_up_doubt(struct cluster_catch_up *catch_up);
void __wrap_cluster_catch_up_doubt(struct cluster_catch_up *catch_up)
{
    if (mutant != CONFLICTS_ARE_NOT_READ)
        __real_cluster_catch_up_doubt(catch_up);
}

void __real_cluster_plan_delete_pool(struct cluster_plan *plan, uint64_t pool);
void __wrap_cluster_plan_delete_pool(struct cluster_plan *plan, uint64_t pool);
void __wrap_cluster_plan_delete_pool(struct cluster_plan *plan, uint64_t pool)
{
    if (mutant != POOLS_STAY)
        __real_cluster_plan_delete_pool(plan, pool);
}

void __real_cluster_pools_set_state(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
                                    enum cluster_pool_state state);
void __wrap_cluster_pools_set_state(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
                                    enum cluster_pool_state state);
void __wrap_cluster_pools_set_state(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
                                    enum cluster_pool_state state)
{
    if (mutant == STATES_OF_POOLS_STAY)
        state = cluster_pools_find(pools, pool)->state;
    __real_cluster_pools_set_state(pools, pool, revision, state);
}

static const char *find(void)
{
    const char *found = NULL;

    for (uint64_t seed = 1; seed <= SEEDS && !found; seed++)
        found = ops_world_live(seed, STEPS);
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
