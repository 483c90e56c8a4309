/* SPDX-License-Identifier: Apache-2.0 */
/* A role that one side takes, and the other one has: by the description of the region alone. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "hub/bus/fanout.h"
#include "hub/bus/grant/grant.h"
#include "tests/support/testing.h"

static struct rapahub_region *make(enum rapahub_region_kind kind)
{
    const struct rapahub_region_options options = {.kind = kind,
                                                   .profile = RAPAHUB_REGION_HARDENED};
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    return region;
}

static int grant(const struct rapahub_region *region, enum rapahub_region_role role,
                 struct hub_grant *out)
{
    const struct hub_grant_order order = {role, 0, 4711, "holder"};

    return hub_grant_make(region, &order, out);
}

/* r[verify supervise.role.holder] r[verify supervise.role.ready] */
static void a_holder_has_the_role_and_is_given_nothing_at_first(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_SPSC), *held = NULL;
    struct rapahub_consumer *consumer, *another;
    struct rapahub_producer *producer;
    struct rapahub_message message;
    struct hub_grant told;
    uint64_t id = 0;
    char got[8];
    int fd = grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told);

    (void)state;
    assert_true(fd >= 0);
    assert_true(hub_grant_region_of(fd, &id));
    assert_int_equal(id, told.region);
    assert_int_equal(rapahub_consumer_open(region, NULL, &another), RAPAHUB_EROLETAKEN);
    assert_int_equal(hub_grant_adopt(fd, &told, &held), 0);
    assert_int_equal(rapahub_consumer_open(held, NULL, &consumer), 0);
    assert_int_equal(rapahub_consumer_open(held, NULL, &another), RAPAHUB_EROLETAKEN);
    assert_int_equal(rapahub_producer_open(region, NULL, &producer), 0);
    assert_int_equal(rapahub_producer_push(producer, "news", 4, 0), 0);
    assert_int_equal(rapahub_consumer_pop(consumer, got, sizeof got, 0, &message), RAPAHUB_EEMPTY);
    assert_int_equal(rapahub_consumer_pop(consumer, got, sizeof got, 1000000, &message),
                     RAPAHUB_ETIMEDOUT);
    hub_grant_open(held);
    assert_int_equal(rapahub_consumer_pop(consumer, got, sizeof got, 0, &message), 0);
    assert_int_equal(message.size, 4);
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(held), 0);
    assert_int_equal(rapahub_consumer_open(region, NULL, &another), 0); /* it is free again */
    rapahub_consumer_close(another);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify supervise.role.grant] */
static void a_description_that_is_never_taken_up_frees_the_role(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_MPSC);
    struct hub_grant told;
    int fd = grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told), RAPAHUB_EROLETAKEN);
    assert_non_null(strstr(rapahub_last_error()->text, "pid 4711"));
    close(fd);
    hub_grant_reap(region);
    fd = grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify supervise.role.holder] */
static void numbers_that_do_not_fit_are_refused(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_SPSC), *held;
    struct hub_grant told, wrong[4];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        int fd = grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told);

        assert_true(fd >= 0);
        wrong[i] = told;
        wrong[i].region += i == 0;
        wrong[i].lease = i == 1 ? 9999 : i == 2 ? (told.lease + 1) : told.lease;
        wrong[i].role = i == 3 ? RAPAHUB_REGION_ROLE_PRODUCER : told.role;
        assert_int_equal(hub_grant_adopt(fd, &wrong[i], &held), RAPAHUB_EPROTOCOL);
        hub_grant_reap(region);
    }
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify supervise.role.holder] */
static void each_grant_is_held_by_its_own_description(void **state)
{
    struct rapahub_region *claimed = make(RAPAHUB_REGION_MPSC), *other = make(RAPAHUB_REGION_MPSC);
    struct hub_grant first, second, third;
    int one = grant(claimed, RAPAHUB_REGION_ROLE_PRODUCER, &first);
    int two = grant(claimed, RAPAHUB_REGION_ROLE_PRODUCER, &second);
    int three = grant(other, RAPAHUB_REGION_ROLE_PRODUCER, &third);

    (void)state;
    assert_true(one >= 0 && two >= 0 && three >= 0);
    assert_int_not_equal(first.lease, second.lease);
    assert_true(hub_grant_is_held(one, &first) && hub_grant_is_held(two, &second));
    assert_false(hub_grant_is_held(one, &second) || hub_grant_is_held(two, &first));
    assert_false(hub_grant_is_held(three, &first) || hub_grant_is_held(one, &third));
    close(one);
    close(two);
    close(three);
    assert_int_equal(rapahub_region_close(claimed), 0);
    assert_int_equal(rapahub_region_close(other), 0);
}

/* r[verify supervise.role.holder] */
static void without_a_lease_the_lock_of_the_role_says_it(void **state)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_SPSC};
    struct rapahub_region *region = NULL;
    struct hub_grant pops, pushes;
    int one, two;

    (void)state;
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    one = grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &pops);
    two = grant(region, RAPAHUB_REGION_ROLE_PRODUCER, &pushes);
    assert_true(one >= 0 && two >= 0);
    assert_int_equal(pops.lease, HUB_GRANT_NO_LEASE);
    assert_true(hub_grant_is_held(one, &pops) && hub_grant_is_held(two, &pushes));
    assert_false(hub_grant_is_held(one, &pushes) || hub_grant_is_held(two, &pops));
    close(one);
    close(two);
    assert_int_equal(rapahub_region_close(region), 0);
}

static uint32_t flags_of(const struct rapahub_region *region)
{
    return hub_observe(&hub_fanout_consumer(region, 0)->flags);
}

/* r[verify supervise.role.kept] r[verify supervise.role.gone] */
static void a_subscription_is_the_granters_to_end(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_FANOUT), *held = NULL;
    struct rapahub_consumer *consumer;
    struct hub_grant told;

    (void)state;
    assert_int_equal(
        hub_grant_adopt(grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told), &told, &held), 0);
    assert_int_equal(rapahub_consumer_open(held, NULL, &consumer), 0);
    assert_int_equal(flags_of(region), HUB_CONSUMER_SUBSCRIBED);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(held), 0);
    assert_int_equal(flags_of(region), HUB_CONSUMER_SUBSCRIBED | HUB_CONSUMER_SUSPENDED);
    hub_grant_unsubscribe(region, &told);
    assert_int_equal(flags_of(region), 0);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* The holder died, another one took the role meanwhile; and a holder that still ends.
 * r[verify supervise.role.gone] */
static void a_subscription_of_another_one_stays(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_FANOUT);
    struct rapahub_consumer *another;
    struct hub_grant told;
    int fd = grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rapahub_consumer_open(region, NULL, &another), 0);
    hub_grant_unsubscribe(region, &told);
    assert_int_equal(flags_of(region), HUB_CONSUMER_SUBSCRIBED);
    rapahub_consumer_close(another);
    fd = grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told);
    assert_true(fd >= 0);
    hub_grant_unsubscribe(region, &told);
    assert_int_equal(flags_of(region), 0);
    close(fd);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify supervise.role.checked] */
static void each_kind_has_its_places(void **state)
{
    struct rapahub_region *fanout = make(RAPAHUB_REGION_FANOUT);
    struct rapahub_region *latch = make(RAPAHUB_REGION_STATE_LATCH);
    struct rapahub_region *sequencer = make(RAPAHUB_REGION_SEQUENCER);
    struct hub_grant told;
    bool shared;

    (void)state;
    assert_int_equal(hub_grant_places(fanout, RAPAHUB_REGION_ROLE_CONSUMER, &shared), 1);
    assert_false(shared);
    assert_int_equal(hub_grant_places(fanout, RAPAHUB_REGION_ROLE_PRODUCER, &shared), 1);
    assert_true(shared);
    assert_int_equal(hub_grant_places(fanout, RAPAHUB_REGION_ROLE_WRITER, &shared), 0);
    assert_int_equal(hub_grant_places(latch, RAPAHUB_REGION_ROLE_WRITER, &shared), 1);
    assert_int_equal(hub_grant_places(latch, RAPAHUB_REGION_ROLE_CONSUMER, &shared), 0);
    assert_int_equal(grant(latch, RAPAHUB_REGION_ROLE_CONSUMER, &told), RAPAHUB_EBADKIND);
    assert_int_equal(hub_grant_places(sequencer, RAPAHUB_REGION_ROLE_PRODUCER, &shared), 1);
    assert_int_equal(hub_grant_places(sequencer, RAPAHUB_REGION_ROLE_CONSUMER, &shared), 0);
    assert_int_equal(rapahub_region_close(sequencer), 0);
    assert_int_equal(rapahub_region_close(fanout), 0);
    assert_int_equal(rapahub_region_close(latch), 0);
}

/* A router that waits for a queue takes a role without a holder for a dead one, unless it is kept.
 * r[verify region.keep] */
static void a_subscription_that_is_kept_is_not_suspended(void **state)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_FANOUT,
                                                   .profile = RAPAHUB_REGION_HARDENED,
                                                   .credit = RAPAHUB_REGION_PARK,
                                                   .cells = 8,
                                                   .credit_max = 1};
    struct rapahub_region *region = NULL, *other = NULL, *held = NULL;
    const struct hub_region_consumer *entry;
    struct rapahub_consumer *consumer;
    struct rapahub_producer *producer;
    struct rapahub_router *router;
    struct hub_grant told;
    uint32_t count;

    (void)state;
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(region), NULL, &other), 0);
    assert_int_equal(
        hub_grant_adopt(grant(region, RAPAHUB_REGION_ROLE_CONSUMER, &told), &told, &held), 0);
    assert_int_equal(rapahub_consumer_open(held, NULL, &consumer), 0);
    assert_int_equal(rapahub_router_open(other, 0, &router), 0);
    assert_int_equal(rapahub_producer_open(region, NULL, &producer), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rapahub_producer_push(producer, "news", 4, 0), 0);
    hub_grant_keep(region, &told, true);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(held), 0);
    entry = hub_fanout_consumer(region, 0);
    assert_int_equal(rapahub_router_run(router, 1, 0, &count), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rapahub_router_run(router, 1, 0, &count), RAPAHUB_EFULL);
    assert_int_equal(hub_observe(&entry->flags), HUB_CONSUMER_SUBSCRIBED);
    hub_grant_keep(region, &told, false);
    assert_int_equal(rapahub_router_run(router, 1, 0, &count), RAPAHUB_EFULL);
    assert_int_equal(hub_observe(&entry->flags), HUB_CONSUMER_SUBSCRIBED | HUB_CONSUMER_SUSPENDED);
    assert_int_equal(rapahub_router_run(router, 1, 0, &count), 0);
    rapahub_router_close(router);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(other), 0);
    assert_int_equal(rapahub_region_close(region), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_has_the_role_and_is_given_nothing_at_first),
        cmocka_unit_test(a_description_that_is_never_taken_up_frees_the_role),
        cmocka_unit_test(numbers_that_do_not_fit_are_refused),
        cmocka_unit_test(each_grant_is_held_by_its_own_description),
        cmocka_unit_test(without_a_lease_the_lock_of_the_role_says_it),
        cmocka_unit_test(a_subscription_is_the_granters_to_end),
        cmocka_unit_test(a_subscription_of_another_one_stays),
        cmocka_unit_test(each_kind_has_its_places),
        cmocka_unit_test(a_subscription_that_is_kept_is_not_suspended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
