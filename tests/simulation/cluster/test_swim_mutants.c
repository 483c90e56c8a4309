/* SPDX-License-Identifier: Apache-2.0 */
/* The worlds of the detector of dead nodes find a fault in each of its parts: one function after
 * another is replaced by a wrong one. */
#include "cluster/core/swim/gossip.h"
#include "cluster/core/swim/probe_order.h"
#include "cluster/core/swim/relays.h"
#include "cluster/core/swim/suspicion.h"
#include "cluster/core/swim/verdicts.h"
#include "tests/simulation/cluster/swim_world.h"
#include "tests/support/testing.h"

#define NODES 16

enum mutant {
    NONE,
    NO_NEWS,          /* a datagram has no news */
    HASTE,            /* a suspicion lasts a period */
    ONE_PLACE,        /* the same member is probed again and again */
    NO_RELAY,         /* answers by way of others are lost */
    NO_PARDON,        /* an answer changes nothing */
    BELIEVED_HEARSAY, /* Dead is merged as Dead */
    ALL_ALIVE,        /* everything is told as alive */
    MUTANTS
};

static enum mutant mutant;

void __real_cluster_gossip_fill(struct cluster_gossip *, uint32_t, struct cluster_datagram *);
void __wrap_cluster_gossip_fill(struct cluster_gossip *, uint32_t, struct cluster_datagram *);
uint64_t __real_cluster_suspicion_span(const struct cluster_suspicion_rule *, uint32_t, uint32_t);
uint64_t __wrap_cluster_suspicion_span(const struct cluster_suspicion_rule *, uint32_t, uint32_t);
uint32_t __real_cluster_probe_order_next(struct cluster_probe_order *, struct hub_random *,
                                         uint32_t);
uint32_t __wrap_cluster_probe_order_next(struct cluster_probe_order *, struct hub_random *,
                                         uint32_t);
struct cluster_relay *__real_cluster_relays_find(struct cluster_relays *, uint32_t, uint32_t);
struct cluster_relay *__wrap_cluster_relays_find(struct cluster_relays *, uint32_t, uint32_t);
void __real_cluster_verdicts_answered(struct cluster_verdicts *, struct cluster_member *);
void __wrap_cluster_verdicts_answered(struct cluster_verdicts *, struct cluster_member *);
void __real_cluster_verdicts_hear(struct cluster_verdicts *, uint64_t,
                                  const struct cluster_update *, bool);
void __wrap_cluster_verdicts_hear(struct cluster_verdicts *, uint64_t,
                                  const struct cluster_update *, bool);
struct cluster_update __real_cluster_gossip_update(const struct cluster_member *);
struct cluster_update __wrap_cluster_gossip_update(const struct cluster_member *);

void __wrap_cluster_gossip_fill(struct cluster_gossip *gossip, uint32_t limit,
                                struct cluster_datagram *datagram)
{
    struct cluster_datagram aside = {0};

    __real_cluster_gossip_fill(gossip, limit, mutant == NO_NEWS ? &aside : datagram);
}

uint64_t __wrap_cluster_suspicion_span(const struct cluster_suspicion_rule *rule, uint32_t present,
                                       uint32_t confirmations)
{
    return mutant == HASTE ? rule->period_ns
                           : __real_cluster_suspicion_span(rule, present, confirmations);
}

uint32_t __wrap_cluster_probe_order_next(struct cluster_probe_order *order,
                                         struct hub_random *random, uint32_t places)
{
    uint32_t place = __real_cluster_probe_order_next(order, random, places);

    return mutant == ONE_PLACE ? 2 : place;
}

struct cluster_relay *__wrap_cluster_relays_find(struct cluster_relays *relays, uint32_t sequence,
                                                 uint32_t target)
{
    return mutant == NO_RELAY ? NULL : __real_cluster_relays_find(relays, sequence, target);
}

void __wrap_cluster_verdicts_answered(struct cluster_verdicts *verdicts,
                                      struct cluster_member *member)
{
    if (mutant != NO_PARDON)
        __real_cluster_verdicts_answered(verdicts, member);
}

void __wrap_cluster_verdicts_hear(struct cluster_verdicts *verdicts, uint64_t now_ns,
                                  const struct cluster_update *update, bool merged)
{
    __real_cluster_verdicts_hear(verdicts, now_ns, update, merged && mutant != BELIEVED_HEARSAY);
}

struct cluster_update __wrap_cluster_gossip_update(const struct cluster_member *member)
{
    struct cluster_update update = __real_cluster_gossip_update(member);

    if (mutant == ALL_ALIVE)
        update.state = CLUSTER_DATAGRAM_ALIVE;
    return update;
}

/* ---- worlds ---- */

static const struct cluster_swim_options lan = {CLUSTER_SWIM_LAN};

/* Each death is known to all in time. */
static bool deaths_are_known(uint64_t seed)
{
    struct swim_world *world = swim_world_make(NODES, &lan, seed);
    bool known = true;

    for (uint32_t i = 0; i < 5 && known; i++) {
        swim_world_run(world, 3 * SWIM_SECOND);
        swim_world_kill(world, 1 + 3 * i);
        swim_world_run(world, 20 * SWIM_SECOND);
        known = swim_world_all_hold(world, 1 + 3 * i, CLUSTER_MEMBER_DEAD);
    }
    swim_world_free(world);
    return known;
}

/* Nobody dies of losses, few probes fail even where no link helps, and all is forgotten later. */
static bool losses_do_no_harm(uint64_t seed)
{
    struct swim_world *world = swim_world_make(NODES, &lan, seed);
    uint64_t probes = 0, failed = 0;
    bool well;

    swim_world_lose(world, 200);
    swim_world_break_links(world);
    swim_world_run(world, 200 * SWIM_SECOND);
    well = swim_world_figures(world)->false_deaths == 0;
    for (uint32_t i = 1; i <= NODES; i++) {
        probes += cluster_swim_figures(swim_world_node(world, i)).probes;
        failed += cluster_swim_figures(swim_world_node(world, i)).failed;
    }
    swim_world_lose(world, 0);
    swim_world_run(world, 30 * SWIM_SECOND);
    well = well && failed * 8 < probes && swim_world_views_are_equal(world);
    swim_world_free(world);
    return well;
}

/* After a cut nobody is held for dead because another one says that he held it so. */
static bool cuts_heal(uint64_t seed)
{
    struct swim_world *world = swim_world_make(NODES, &lan, seed);
    bool well;

    for (uint32_t i = 1; i <= NODES; i += 2)
        swim_world_put(world, i, 1);
    swim_world_run(world, 100 * SWIM_SECOND);
    for (uint32_t i = 1; i <= NODES; i++)
        swim_world_put(world, i, 0);
    swim_world_figures(world)->false_deaths = 0;
    swim_world_run(world, 4 * SWIM_SECOND);
    well = swim_world_views_are_equal(world) && swim_world_figures(world)->false_deaths == 0;
    swim_world_free(world);
    return well;
}

/* Returns the first seed of which a world is not well, or 0. */
static uint64_t find_fault(uint64_t seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++)
        if (!deaths_are_known(seed) || !losses_do_no_harm(seed) || !cuts_heal(seed))
            return seed;
    return 0;
}

static void each_fault_is_found(void **state)
{
    (void)state;
    assert_int_equal(find_fault(10), 0);
    for (mutant = NONE + 1; mutant < MUTANTS; mutant++) {
        uint64_t seed = find_fault(10);

        print_message("mutant %d found with seed %llu\n", (int)mutant, (unsigned long long)seed);
        assert_true(seed > 0);
    }
    mutant = NONE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_fault_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
