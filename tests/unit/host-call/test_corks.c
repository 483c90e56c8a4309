/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/call/corks.h"
#include "tests/unit/host-call/stage.h"

/* Puts a message into the ring of the guest that others follow soon. */
static void hold_back(struct stage *stage)
{
    static const uint8_t byte;
    static uint32_t last; /* no two requests have the same number */
    const struct hub_message message = {HUB_REQUEST, ++last, 99};
    const struct hub_parts parts = {.head = {&byte, 1}, .more = true};

    assert_int_equal(hub_link_send(stage->life.connection.link, &message, &parts, 0), 0);
    assert_int_equal(hub_link_sweep(stage->pair.guest.connection.link, 8), 0);
}

/* How many messages the guest sees. */
static int seen(struct stage *stage)
{
    return hub_link_sweep(stage->pair.guest.connection.link, 8);
}

static void what_is_not_there_cannot_be_corked(void **state)
{
    struct stage *stage = stage_open();
    const struct rapahub_container_id nowhere = {{9, 9}, 9};

    (void)state;
    assert_int_equal(host_corks_set(&stage->host, nowhere, true), RAPAHUB_ENOENT);
    assert_int_equal(host_corks_set(&stage->host, nowhere, false), RAPAHUB_ENOENT);
    stage_close(stage);
}

/* r[verify hub.ring.cork] */
static void what_is_held_back_is_seen_once_it_is_uncorked(void **state)
{
    struct stage *stage = stage_open();

    (void)state;
    assert_false(host_corks_holds(stage->container));
    assert_int_equal(host_corks_set(&stage->host, stage_here, true), 0);
    assert_true(host_corks_holds(stage->container));
    hold_back(stage);
    assert_int_equal(host_corks_set(&stage->host, stage_here, true), 0);
    assert_int_equal(seen(stage), 0);
    assert_int_equal(host_corks_set(&stage->host, stage_here, false), 0);
    assert_false(host_corks_holds(stage->container));
    assert_int_equal(seen(stage), 1);
    assert_int_equal(hub_observe(&stage->container->users), 0);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    stage_close(stage);
}

/* Also where it gets no calls now, for a call may have gone out just before. */
static void a_container_is_corked_while_its_guest_is_not_ready(void **state)
{
    struct stage *stage = stage_open();

    (void)state;
    stage->look = RAPAHUB_ERESTARTING;
    stage->guest.state = HOST_GUEST_DEGRADED;
    assert_int_equal(host_corks_set(&stage->host, stage_here, true), 0);
    assert_true(host_corks_holds(stage->container));
    hold_back(stage);
    host_corks_sent(&stage->host, stage->container, &stage->life);
    assert_int_equal(host_corks_set(&stage->host, stage_here, false), 0);
    assert_false(host_corks_holds(stage->container));
    assert_int_equal(seen(stage), 1);
    stage_close(stage);
}

/* r[verify hub.ring.cork] */
static void a_call_that_goes_out_after_the_cork_is_seen_at_once(void **state)
{
    struct stage *stage = stage_open();

    (void)state;
    hub_publish(&stage->container->corked, 1);
    hold_back(stage);
    host_corks_sent(&stage->host, stage->container, &stage->life);
    assert_int_equal(hub_observe(&stage->host.held), 1);
    assert_int_equal(seen(stage), 0);
    hub_publish(&stage->container->corked, 0);
    hold_back(stage);
    host_corks_sent(&stage->host, stage->container, &stage->life);
    assert_int_equal(seen(stage), 2);
    stage_close(stage);
}

/* r[verify hub.ring.cork] */
static void before_a_wait_all_is_seen_that_guests_that_are_up_have(void **state)
{
    static const enum host_guest_state up[] = {HOST_GUEST_READY, HOST_GUEST_DEGRADED};
    struct stage *stage = stage_open();

    (void)state;
    for (int i = 0; i < 2; i++) {
        stage->guest.state = up[i];
        hold_back(stage);
        host_corks_push(&stage->host);
        assert_int_equal(seen(stage), 0); /* no call went out since */
        hub_publish(&stage->host.held, 1);
        host_corks_push(&stage->host);
        assert_int_equal(seen(stage), 1);
        assert_int_equal(hub_observe(&stage->host.held), 0);
    }
    stage_close(stage);
}

static void guests_without_a_life_that_serves_are_left_alone(void **state)
{
    struct stage *stage = stage_open();

    (void)state;
    hold_back(stage);
    stage->guest.state = HOST_GUEST_STOPPING;
    hub_publish(&stage->host.held, 1);
    host_corks_push(&stage->host);
    assert_int_equal(seen(stage), 0);
    stage->guest.state = HOST_GUEST_READY;
    stage->guest.life = NULL;
    hub_publish(&stage->host.held, 1);
    host_corks_push(&stage->host);
    stage->guests[0] = NULL;
    hub_publish(&stage->host.held, 1);
    host_corks_push(&stage->host);
    assert_int_equal(seen(stage), 0);
    assert_int_equal(hub_observe(&stage->host.held), 0);
    stage_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_there_cannot_be_corked),
        cmocka_unit_test(what_is_held_back_is_seen_once_it_is_uncorked),
        cmocka_unit_test(a_container_is_corked_while_its_guest_is_not_ready),
        cmocka_unit_test(a_call_that_goes_out_after_the_cork_is_seen_at_once),
        cmocka_unit_test(before_a_wait_all_is_seen_that_guests_that_are_up_have),
        cmocka_unit_test(guests_without_a_life_that_serves_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
