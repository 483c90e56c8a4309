/* SPDX-License-Identifier: Apache-2.0 */
/* Faults put into the lead on purpose, by the linker: a life must find each, and without them none
 * does. */
#include "cluster/core/session/lead.h"
#include "tests/simulation/cluster/term_world.h"
#include "tests/support/testing.h"

#define SEEDS  300
#define FAULTS 24

static enum {
    RIGHT,
    SILENCE_IS_SHORT,
    SILENCE_IS_ENDLESS,
    RENEWALS_ARE_NOT_SEEN,
    THE_TERM_IS_NOT_COMPARED,
    THE_SESSION_IS_NOT_COMPARED,
    NOTHING_IS_RENEWED,
    CLAIMS_ARE_BELIEVED,
    RECORDS_ARE_NOT_TAKEN,
    WRITES_ARE_OF_ANY_TERM,
    MUTANTS
} mutant;

void __real_cluster_lead_see(struct cluster_lead *lead, uint64_t session, uint64_t put,
                             uint64_t now_ns);
void __wrap_cluster_lead_see(struct cluster_lead *lead, uint64_t session, uint64_t put,
                             uint64_t now_ns);
void __wrap_cluster_lead_see(struct cluster_lead *lead, uint64_t session, uint64_t put,
                             uint64_t now_ns)
{
    uint64_t seen = lead->seen;

    if (mutant == RENEWALS_ARE_NOT_SEEN && lead->seen != 0 && session == lead->record.session)
        put = lead->seen;
    __real_cluster_lead_see(lead, session, put, now_ns);
    if (lead->seen != seen && mutant == SILENCE_IS_SHORT)
        lead->seen_ns = now_ns - CLUSTER_LEAD_TTL_NS / 2;
    if (mutant == SILENCE_IS_ENDLESS && lead->seen != 0)
        lead->seen_ns = now_ns;
}

struct cluster_lead_step __real_cluster_lead_step(struct cluster_lead *lead, uint32_t rank,
                                                  uint64_t now_ns);
struct cluster_lead_step __wrap_cluster_lead_step(struct cluster_lead *lead, uint32_t rank,
                                                  uint64_t now_ns);
struct cluster_lead_step __wrap_cluster_lead_step(struct cluster_lead *lead, uint32_t rank,
                                                  uint64_t now_ns)
{
    struct cluster_lead_step step = __real_cluster_lead_step(lead, rank, now_ns);

    if (mutant == THE_TERM_IS_NOT_COMPARED && step.action == CLUSTER_LEAD_CLAIM)
        step.term = TERM_WORLD_ANY;
    if (mutant == THE_SESSION_IS_NOT_COMPARED)
        step.seen = 0;
    if (mutant == NOTHING_IS_RENEWED && step.action == CLUSTER_LEAD_RENEW)
        step.action = CLUSTER_LEAD_NOTHING;
    return step;
}

void __real_cluster_lead_claimed(struct cluster_lead *lead, uint64_t revision, uint64_t now_ns);
void __wrap_cluster_lead_claimed(struct cluster_lead *lead, uint64_t revision, uint64_t now_ns);
void __wrap_cluster_lead_claimed(struct cluster_lead *lead, uint64_t revision, uint64_t now_ns)
{
    if (mutant == CLAIMS_ARE_BELIEVED && revision == 0)
        revision = lead->record.term + 1000;
    __real_cluster_lead_claimed(lead, revision, now_ns);
}

void __real_cluster_lead_take(struct cluster_lead *lead, const struct cluster_lead_record *record,
                              uint64_t now_ns);
void __wrap_cluster_lead_take(struct cluster_lead *lead, const struct cluster_lead_record *record,
                              uint64_t now_ns);
void __wrap_cluster_lead_take(struct cluster_lead *lead, const struct cluster_lead_record *record,
                              uint64_t now_ns)
{
    if (mutant != RECORDS_ARE_NOT_TAKEN || lead->state != CLUSTER_LEAD_LEADS)
        __real_cluster_lead_take(lead, record, now_ns);
}

uint64_t __real_cluster_lead_term(const struct cluster_lead *lead);
uint64_t __wrap_cluster_lead_term(const struct cluster_lead *lead);
uint64_t __wrap_cluster_lead_term(const struct cluster_lead *lead)
{
    uint64_t term = __real_cluster_lead_term(lead);

    return mutant == WRITES_ARE_OF_ANY_TERM && term != 0 ? TERM_WORLD_ANY : term;
}

static const char *find(uint64_t *seed)
{
    for (*seed = 1; *seed <= SEEDS; ++*seed) {
        const char *broken = term_world_live(*seed, FAULTS);

        if (broken)
            return broken;
    }
    return NULL;
}

/* r[verify cluster.lead.term] r[verify cluster.lead.gone] r[verify cluster.lead.renew] */
static void each_fault_is_found(void **state)
{
    uint64_t seed;

    (void)state;
    for (mutant = RIGHT; mutant < MUTANTS; mutant++) {
        const char *broken = find(&seed);

        print_message("%d: %s\n", (int)mutant, broken ? broken : "nothing");
        assert_true(!broken == (mutant == RIGHT));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_fault_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
