/* SPDX-License-Identifier: Apache-2.0 */
/* Faults put into the operations of several nodes on purpose, by the linker: a life must find each,
 * and without them none does. */
#include "cluster/base/ids.h"
#include "cluster/core/base/txns.h"
#include "cluster/core/ops/ops.h"
#include "cluster/core/ops/owners.h"
#include "cluster/core/ops/removal.h"
#include "tests/simulation/cluster/lead_world.h"
#include "tests/support/testing.h"

#define SEEDS 300
#define STEPS 500

static enum {
    RIGHT,
    ALL_HAVE_BEGUN,
    EPOCHS_ARE_NOT_COMPARED,
    TELLERS_ARE_NOT_COMPARED,
    REMOVALS_ARE_NOT_AWAITED,
    NOTHING_IS_TOLD,
    ALL_IS_TOLD_ONCE,
    SESSIONS_STAY,
    FAILURES_STAY,
    OTHERS_REMOVE_NOTHING,
    WHERE_IT_WAS_IS_FORGOTTEN,
    LIVES_ARE_NEVER_SPENT,
    ENDED_LEADERS_WRITE,
    LINKS_ARE_NOT_SEEN,
    MUTANTS
} mutant;

/* An epoch has three lives here, so that they are used up. */
uint64_t __real_cluster_ids_next_life(uint64_t token);
uint64_t __wrap_cluster_ids_next_life(uint64_t token);
uint64_t __wrap_cluster_ids_next_life(uint64_t token)
{
    return cluster_ids_life(token) < 2 ? __real_cluster_ids_next_life(token) : 0;
}

struct cluster_report __real_cluster_owners_report(const struct cluster_owners *owners,
                                                   const struct cluster_context *context,
                                                   const struct cluster_lives *lives,
                                                   const struct cluster_address *address);
struct cluster_report __wrap_cluster_owners_report(const struct cluster_owners *owners,
                                                   const struct cluster_context *context,
                                                   const struct cluster_lives *lives,
                                                   const struct cluster_address *address);
struct cluster_report __wrap_cluster_owners_report(const struct cluster_owners *owners,
                                                   const struct cluster_context *context,
                                                   const struct cluster_lives *lives,
                                                   const struct cluster_address *address)
{
    struct cluster_report report = __real_cluster_owners_report(owners, context, lives, address);

    if (mutant == ALL_HAVE_BEGUN && address->entry.state != CLUSTER_ENTRY_ACTIVE &&
        address->entry.owner != context->node)
        report.step = CLUSTER_STEP_BEGUN;
    return report;
}

int __real_cluster_owners_take(struct cluster_owners *owners, const struct cluster_context *context,
                               uint32_t node, uint64_t session,
                               const struct cluster_body_step_done *done);
int __wrap_cluster_owners_take(struct cluster_owners *owners, const struct cluster_context *context,
                               uint32_t node, uint64_t session,
                               const struct cluster_body_step_done *done);
int __wrap_cluster_owners_take(struct cluster_owners *owners, const struct cluster_context *context,
                               uint32_t node, uint64_t session,
                               const struct cluster_body_step_done *done)
{
    const struct cluster_address *address =
        cluster_address_map_find(context->map, done->pool, done->container);
    struct cluster_body_step_done other = *done;

    if (mutant == EPOCHS_ARE_NOT_COMPARED && address)
        other.epoch = address->entry.epoch;
    if (mutant == TELLERS_ARE_NOT_COMPARED && address)
        node = cluster_entry_holder(&address->entry);
    if (mutant == TELLERS_ARE_NOT_COMPARED)
        session = cluster_nodes_session(context->nodes, node);
    return __real_cluster_owners_take(owners, context, node, session, &other);
}

struct cluster_report __real_cluster_reports_of(const struct cluster_context *context,
                                                const struct cluster_lives *lives,
                                                const struct cluster_address *address);
struct cluster_report __wrap_cluster_reports_of(const struct cluster_context *context,
                                                const struct cluster_lives *lives,
                                                const struct cluster_address *address);
struct cluster_report __wrap_cluster_reports_of(const struct cluster_context *context,
                                                const struct cluster_lives *lives,
                                                const struct cluster_address *address)
{
    struct cluster_report report = __real_cluster_reports_of(context, lives, address);
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);

    if (mutant == REMOVALS_ARE_NOT_AWAITED && pool && pool->state == CLUSTER_POOL_DESTROYING)
        report.step = CLUSTER_STEP_REMOVED;
    return report;
}

void __real_cluster_reports_tell(struct cluster_context *context, const struct cluster_lives *lives,
                                 const struct cluster_address *address);
void __wrap_cluster_reports_tell(struct cluster_context *context, const struct cluster_lives *lives,
                                 const struct cluster_address *address);
void __wrap_cluster_reports_tell(struct cluster_context *context, const struct cluster_lives *lives,
                                 const struct cluster_address *address)
{
    const struct cluster_life *life = cluster_lives_find(lives, address->pool, address->container);

    if (mutant == NOTHING_IS_TOLD ||
        (mutant == ALL_IS_TOLD_ONCE && life && life->told_epoch == address->entry.epoch))
        return;
    __real_cluster_reports_tell(context, lives, address);
}

int __real_cluster_nodes_put(struct cluster_nodes *nodes, uint32_t node, uint64_t session,
                             const struct cluster_record_node *record);
int __wrap_cluster_nodes_put(struct cluster_nodes *nodes, uint32_t node, uint64_t session,
                             const struct cluster_record_node *record);
int __wrap_cluster_nodes_put(struct cluster_nodes *nodes, uint32_t node, uint64_t session,
                             const struct cluster_record_node *record)
{
    uint64_t before = cluster_nodes_session(nodes, node);

    return __real_cluster_nodes_put(
        nodes, node, mutant == SESSIONS_STAY && before != 0 ? before : session, record);
}

void __real_cluster_lives_forgive(struct cluster_lives *lives,
                                  const struct cluster_address *address);
void __wrap_cluster_lives_forgive(struct cluster_lives *lives,
                                  const struct cluster_address *address);
void __wrap_cluster_lives_forgive(struct cluster_lives *lives,
                                  const struct cluster_address *address)
{
    if (mutant != FAILURES_STAY)
        __real_cluster_lives_forgive(lives, address);
}

void __real_cluster_removal_entry(struct cluster_context *context, struct cluster_lives *lives,
                                  const struct cluster_address *address);
void __wrap_cluster_removal_entry(struct cluster_context *context, struct cluster_lives *lives,
                                  const struct cluster_address *address);
void __wrap_cluster_removal_entry(struct cluster_context *context, struct cluster_lives *lives,
                                  const struct cluster_address *address)
{
    if (mutant != OTHERS_REMOVE_NOTHING || cluster_context_leads(context))
        __real_cluster_removal_entry(context, lives, address);
}

uint32_t __real_cluster_entry_holder(const struct cluster_entry *entry);
uint32_t __wrap_cluster_entry_holder(const struct cluster_entry *entry);
uint32_t __wrap_cluster_entry_holder(const struct cluster_entry *entry)
{
    return mutant == WHERE_IT_WAS_IS_FORGOTTEN ? entry->owner : __real_cluster_entry_holder(entry);
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

void __real_cluster_txns_expect(struct cluster_txns *txns, uint32_t place,
                                const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect(struct cluster_txns *txns, uint32_t place,
                                const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect(struct cluster_txns *txns, uint32_t place,
                                const struct cluster_key *key, uint64_t revision)
{
    if (mutant != ENDED_LEADERS_WRITE || key->kind != CLUSTER_KEY_LEAD)
        __real_cluster_txns_expect(txns, place, key, revision);
}

void __real_cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                        const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                        const struct cluster_key *key, uint64_t revision);
void __wrap_cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                        const struct cluster_key *key, uint64_t revision)
{
    if (mutant != ENDED_LEADERS_WRITE)
        __real_cluster_txns_expect_created(txns, place, key, revision);
}

void __real_cluster_ops_link(struct cluster_ops *ops, uint32_t node, bool up);
void __wrap_cluster_ops_link(struct cluster_ops *ops, uint32_t node, bool up);
void __wrap_cluster_ops_link(struct cluster_ops *ops, uint32_t node, bool up)
{
    if (mutant != LINKS_ARE_NOT_SEEN)
        __real_cluster_ops_link(ops, node, up);
}

/* Returns what was found, and in `tries` in how many lives. */
static const char *find(unsigned *tries)
{
    const char *found = NULL;

    for (*tries = 0; *tries < SEEDS && !found; ++*tries)
        found = lead_world_live(1 + *tries, STEPS);
    return found;
}

static void every_fault_is_found(void **state)
{
    (void)state;
    for (mutant = RIGHT; mutant < MUTANTS; mutant++) {
        unsigned tries;
        const char *found = find(&tries);

        print_message("fault %d, %u lives: %s\n", (int)mutant, tries, found ? found : "none");
        assert_int_equal(found != NULL, mutant != RIGHT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_fault_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
