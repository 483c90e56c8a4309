/* SPDX-License-Identifier: Apache-2.0 */
/* Faults put into the calls between nodes on purpose, by the linker: a life must find each, and
 * without them none does. */
#include "cluster/base/ids.h"
#include "cluster/core/calls/look.h"
#include "cluster/core/calls/peer_calls.h"
#include "tests/simulation/cluster/peer_world.h"
#include "tests/support/testing.h"

#define SEEDS  600
#define RIGHTS 40 /* lives without a fault */
#define STEPS  300

static enum {
    RIGHT,
    ANY_LINEAGE,
    MAYBE_IS_FORGOTTEN,
    LINK_STAYS,
    STALE_ANSWERS,
    ANY_ATTEMPT,
    SENDS_INTO_NOTHING,
    CALLS_STAY,
    NO_CALL_BEFORE,
    RUNNING_RUNS,
    SENT_ARE_NOT_COUNTED,
    LOST_IS_REFUSED,
    MUTANTS
} mutant;

void __real_cluster_resolve_arrived(const struct cluster_resolve *resolve,
                                    const struct cluster_resolve_arrival *call,
                                    struct cluster_resolve_verdict *out);
void __wrap_cluster_resolve_arrived(const struct cluster_resolve *resolve,
                                    const struct cluster_resolve_arrival *call,
                                    struct cluster_resolve_verdict *out);
void __wrap_cluster_resolve_arrived(const struct cluster_resolve *resolve,
                                    const struct cluster_resolve_arrival *call,
                                    struct cluster_resolve_verdict *out)
{
    __real_cluster_resolve_arrived(resolve, call, out);
    if (mutant == ANY_LINEAGE && out->step == CLUSTER_ARRIVED_RUN)
        out->lineage = call->lineage;
}

struct cluster_dedup_call __real_cluster_open_calls_asks(const struct cluster_open_call *call,
                                                         const struct cluster_open_member *member);
struct cluster_dedup_call __wrap_cluster_open_calls_asks(const struct cluster_open_call *call,
                                                         const struct cluster_open_member *member);
struct cluster_dedup_call __wrap_cluster_open_calls_asks(const struct cluster_open_call *call,
                                                         const struct cluster_open_member *member)
{
    struct cluster_dedup_call asks = __real_cluster_open_calls_asks(call, member);

    if (mutant == MAYBE_IS_FORGOTTEN && call->asked.from.node != 0)
        asks.maybe = false;
    return asks;
}

void __real_cluster_peer_calls_lost(struct cluster_send *send, uint32_t node, uint64_t now_ns);
void __wrap_cluster_peer_calls_lost(struct cluster_send *send, uint32_t node, uint64_t now_ns);
void __wrap_cluster_peer_calls_lost(struct cluster_send *send, uint32_t node, uint64_t now_ns)
{
    if (mutant != LINK_STAYS)
        __real_cluster_peer_calls_lost(send, node, now_ns);
}

bool __real_cluster_resolve_is_stale(const struct cluster_resolve *resolve, uint64_t pool,
                                     uint32_t container, uint64_t token);
bool __wrap_cluster_resolve_is_stale(const struct cluster_resolve *resolve, uint64_t pool,
                                     uint32_t container, uint64_t token);
bool __wrap_cluster_resolve_is_stale(const struct cluster_resolve *resolve, uint64_t pool,
                                     uint32_t container, uint64_t token)
{
    return mutant != STALE_ANSWERS &&
           __real_cluster_resolve_is_stale(resolve, pool, container, token);
}

uint32_t __real_cluster_open_calls_find_sent(const struct cluster_open_calls *open,
                                             const struct cluster_open_calls_sent *sent);
uint32_t __wrap_cluster_open_calls_find_sent(const struct cluster_open_calls *open,
                                             const struct cluster_open_calls_sent *sent);
uint32_t __wrap_cluster_open_calls_find_sent(const struct cluster_open_calls *open,
                                             const struct cluster_open_calls_sent *sent)
{
    struct cluster_open_calls_sent any = *sent;

    if (mutant == ANY_ATTEMPT && any.attempt != CLUSTER_OPEN_CALLS_OVER)
        any.attempt = CLUSTER_OPEN_CALLS_ANY;
    return __real_cluster_open_calls_find_sent(open, &any);
}

bool __real_cluster_peers_may_send(const struct cluster_peers *peers, uint32_t node);
bool __wrap_cluster_peers_may_send(const struct cluster_peers *peers, uint32_t node);
bool __wrap_cluster_peers_may_send(const struct cluster_peers *peers, uint32_t node)
{
    return __real_cluster_peers_may_send(peers, node) ||
           (mutant == SENDS_INTO_NOTHING && cluster_peers_find(peers, node));
}

void __real_cluster_call_ends_forget(struct cluster_send *send, uint32_t place, uint64_t now_ns);
void __wrap_cluster_call_ends_forget(struct cluster_send *send, uint32_t place, uint64_t now_ns);
void __wrap_cluster_call_ends_forget(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    if (mutant != CALLS_STAY)
        __real_cluster_call_ends_forget(send, place, now_ns);
}

uint64_t __real_cluster_order_previous(const struct cluster_order *order, uint64_t id);
uint64_t __wrap_cluster_order_previous(const struct cluster_order *order, uint64_t id);
uint64_t __wrap_cluster_order_previous(const struct cluster_order *order, uint64_t id)
{
    return mutant == NO_CALL_BEFORE ? 0 : __real_cluster_order_previous(order, id);
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

    return mutant == RUNNING_RUNS && verdict == CLUSTER_VERDICT_RUNNING ? CLUSTER_VERDICT_NEW
                                                                        : verdict;
}

void __real_cluster_peers_count_sent(struct cluster_peers *peers, uint32_t node, int change);
void __wrap_cluster_peers_count_sent(struct cluster_peers *peers, uint32_t node, int change);
void __wrap_cluster_peers_count_sent(struct cluster_peers *peers, uint32_t node, int change)
{
    if (mutant != SENT_ARE_NOT_COUNTED)
        __real_cluster_peers_count_sent(peers, node, change);
}

/* That it was not admitted is not known. */
void __real_cluster_look_lost(struct cluster_send *send, uint32_t place, uint64_t now_ns);
void __wrap_cluster_look_lost(struct cluster_send *send, uint32_t place, uint64_t now_ns);
void __wrap_cluster_look_lost(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_look_refusal refusal = {.revision = 0};

    if (mutant == LOST_IS_REFUSED)
        cluster_look_refused(send, place, &refusal, now_ns);
    else
        __real_cluster_look_lost(send, place, now_ns);
}

static const char *find(void)
{
    const char *found = NULL;

    for (uint64_t seed = 1; seed <= (mutant == RIGHT ? RIGHTS : SEEDS) && !found; seed++)
        found = peer_world_live(seed, STEPS);
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
