/* SPDX-License-Identifier: Apache-2.0 */
#include "host/observe/observe.h"
#include "host/upgrade/gate.h"
#include "tests/unit/host-guest/stage.h"

#define CONTAINERS 3

/* A guest with containers that serve, and the gate before them. */
struct rig {
    struct host_observe host;
    struct host_guest *guest;
    struct host_container *containers[CONTAINERS];
    struct host_gate gate;
};

static struct rig *open_rig(void)
{
    struct rig *rig = test_calloc(1, sizeof *rig);

    stage_open(&rig->host.supervision);
    rig->guest = stage_enter(&rig->host.supervision, "calc");
    for (uint32_t i = 0; i < CONTAINERS; i++) {
        rig->containers[i] = stage_container(rig->guest, i);
        host_containers_move(rig->containers[i], HOST_CONTAINER_READY, "");
    }
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_gate_fini(&rig->gate);
    assert_true(!rig->gate.list && rig->gate.count == 0);
    for (int i = 0; i < CONTAINERS; i++)
        if (rig->containers[i])
            assert_int_equal(
                host_containers_users(rig->containers[i]) + rig->containers[i]->awaiters, 0);
    stage_close(&rig->host.supervision);
    test_free(rig);
}

static void close_gate(struct rig *rig)
{
    assert_int_equal(host_gate_init(&rig->gate, rig->guest), 0);
    host_gate_begin(&rig->host, &rig->gate);
}

static void check_states(const struct rig *rig, uint32_t first, uint32_t second, uint32_t third)
{
    assert_int_equal(rig->containers[0]->state, first);
    assert_int_equal(rig->containers[1]->state, second);
    assert_int_equal(rig->containers[2]->state, third);
}

static void a_gate_has_each_container_in_its_order_and_holds_it(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(host_gate_init(&rig->gate, rig->guest), 0);
    assert_int_equal(rig->gate.count, CONTAINERS);
    for (int i = 0; i < CONTAINERS; i++) {
        assert_ptr_equal(rig->gate.list[i], rig->containers[i]);
        assert_int_equal(host_containers_users(rig->containers[i]), 1);
        assert_int_equal(rig->containers[i]->awaiters, 1); /* no drain waits for it */
    }
    check_states(rig, HOST_CONTAINER_READY, HOST_CONTAINER_READY, HOST_CONTAINER_READY);
    close_rig(rig);
}

static void a_guest_without_containers_has_a_gate_too(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *empty = stage_enter(&rig->host.supervision, "empty");

    (void)state;
    assert_int_equal(host_gate_init(&rig->gate, empty), 0);
    assert_int_equal(rig->gate.count, 0);
    host_gate_begin(&rig->host, &rig->gate);
    assert_true(host_gate_is_whole(&rig->gate, empty));
    assert_false(host_gate_is_whole(&rig->gate, rig->guest));
    assert_int_equal(host_gate_calls(&rig->gate), 0);
    host_gate_end(&rig->host, &rig->gate);
    host_gate_fini(&rig->gate);
    close_rig(rig); /* where it is ended once more */
}

static void a_container_on_hold_stays_so_when_the_gate_opens(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->containers[1]->on_hold = true;
    host_containers_settle(rig->containers[1], "");
    close_gate(rig);
    check_states(rig, HOST_CONTAINER_HELD, HOST_CONTAINER_HELD, HOST_CONTAINER_HELD);
    host_gate_seal(&rig->gate);
    assert_true(rig->containers[0]->sealed && rig->containers[2]->sealed);
    host_gate_end(&rig->host, &rig->gate);
    check_states(rig, HOST_CONTAINER_READY, HOST_CONTAINER_HELD, HOST_CONTAINER_READY);
    assert_false(rig->containers[0]->sealed);
    close_rig(rig);
}

/* r[verify cluster.token] */
static void a_managed_container_that_is_down_is_left_out_and_the_others_have_the_next_token(
    void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->containers[0]->token = 7;
    rig->containers[1]->managed = true;
    host_containers_move(rig->containers[1], HOST_CONTAINER_DOWN, "");
    close_gate(rig);
    assert_int_equal(rig->gate.count, 2);
    assert_ptr_equal(rig->gate.list[1], rig->containers[2]);
    assert_true(host_gate_is_whole(&rig->gate, rig->guest));
    host_gate_renew(&rig->gate);
    assert_true(rig->containers[0]->token == 8 && rig->containers[2]->token == 0);
    host_gate_end(&rig->host, &rig->gate);
    check_states(rig, HOST_CONTAINER_READY, HOST_CONTAINER_DOWN, HOST_CONTAINER_READY);
    close_rig(rig);
}

/* r[verify supervise.upgrade.hold] */
static void those_that_serve_are_held_and_serve_again(void **state)
{
    struct rig *rig = open_rig();
    uint32_t changes, version;

    (void)state;
    rig->containers[1]->plugged = true;
    host_containers_move(rig->containers[1], HOST_CONTAINER_PLUGGED, "");
    host_containers_move(rig->containers[2], HOST_CONTAINER_DOWN, "");
    version = hub_observe(&HOST_REGISTRY(&rig->host)->routes.version);
    close_gate(rig);
    check_states(rig, HOST_CONTAINER_HELD, HOST_CONTAINER_PLUGGED, HOST_CONTAINER_DOWN);
    assert_true(hub_observe(&HOST_REGISTRY(&rig->host)->routes.version) != version);
    changes = hub_observe(&HOST_REGISTRY(&rig->host)->routes.changes);
    host_gate_end(&rig->host, &rig->gate);
    check_states(rig, HOST_CONTAINER_READY, HOST_CONTAINER_PLUGGED, HOST_CONTAINER_DOWN);
    assert_true(hub_observe(&HOST_REGISTRY(&rig->host)->routes.changes) != changes);
    host_gate_end(&rig->host, &rig->gate);
    check_states(rig, HOST_CONTAINER_READY, HOST_CONTAINER_PLUGGED, HOST_CONTAINER_DOWN);
    close_rig(rig);
}

static void one_that_is_gone_meanwhile_stays_gone_and_is_not_freed(void **state)
{
    struct rig *rig = open_rig();
    struct host_registry *registry = HOST_REGISTRY(&rig->host);

    (void)state;
    close_gate(rig);
    host_containers_move(rig->containers[1], HOST_CONTAINER_GONE, "");
    host_containers_remove(&registry->containers, rig->containers[1]);
    host_containers_sweep(&registry->containers, NULL, NULL);
    assert_int_equal(rig->gate.list[1]->id.container, 1);
    host_gate_end(&rig->host, &rig->gate);
    assert_int_equal(rig->containers[1]->state, HOST_CONTAINER_GONE);
    host_gate_fini(&rig->gate);
    host_containers_sweep(&registry->containers, NULL, NULL);
    assert_true(hub_list_empty(&registry->containers.gone));
    rig->containers[1] = NULL;
    close_rig(rig);
}

static void a_gate_is_whole_as_long_as_no_container_comes_goes_or_serves(void **state)
{
    struct rig *rig = open_rig();
    struct host_container *another;

    (void)state;
    close_gate(rig);
    assert_true(host_gate_is_whole(&rig->gate, rig->guest));
    host_containers_move(rig->containers[1], HOST_CONTAINER_READY, "");
    assert_false(host_gate_is_whole(&rig->gate, rig->guest));
    host_containers_move(rig->containers[1], HOST_CONTAINER_PLUGGED, "");
    assert_true(host_gate_is_whole(&rig->gate, rig->guest));
    host_containers_move(rig->containers[1], HOST_CONTAINER_READY, "");
    host_containers_move(rig->containers[1], HOST_CONTAINER_HELD, "");
    assert_true(host_gate_is_whole(&rig->gate, rig->guest));

    another = stage_container(rig->guest, CONTAINERS);
    host_containers_move(another, HOST_CONTAINER_READY, "");
    host_containers_move(another, HOST_CONTAINER_HELD, "");
    assert_false(host_gate_is_whole(&rig->gate, rig->guest));
    hub_list_remove(&another->of_guest);
    assert_true(host_gate_is_whole(&rig->gate, rig->guest));

    hub_list_remove(&rig->containers[2]->of_guest); /* the last one */
    assert_false(host_gate_is_whole(&rig->gate, rig->guest));
    hub_list_append(&rig->guest->containers, &rig->containers[2]->of_guest);
    assert_true(host_gate_is_whole(&rig->gate, rig->guest));
    hub_list_remove(&rig->containers[0]->of_guest); /* in another order they are others */
    hub_list_append(&rig->guest->containers, &rig->containers[0]->of_guest);
    assert_false(host_gate_is_whole(&rig->gate, rig->guest));
    close_rig(rig);
}

static void one_that_somebody_uses_is_not_idle(void **state)
{
    struct rig *rig = open_rig();
    struct host_container *container = rig->containers[0];

    (void)state;
    close_gate(rig);
    assert_true(host_gate_is_idle(&rig->host, container));
    hub_add(&container->users, 1);
    assert_false(host_gate_is_idle(&rig->host, container));
    host_containers_drop(container);
    assert_true(host_gate_is_idle(&rig->host, container));
    host_containers_hold_own(container);
    assert_false(host_gate_is_idle(&rig->host, container));
    host_containers_drop_own(container);
    close_rig(rig);
}

/* So the owner need not look by time whether the calls have ended. */
static void the_end_of_a_call_is_told_while_the_gate_is_closed(void **state)
{
    struct rig *rig = open_rig();
    struct host_container *container = rig->containers[0];

    (void)state;
    assert_int_equal(host_gate_init(&rig->gate, rig->guest), 0);
    hub_add(&container->users, 3);
    assert_false(host_containers_drop(container));
    host_gate_begin(&rig->host, &rig->gate);
    assert_true(host_containers_drop(container));
    host_gate_end(&rig->host, &rig->gate);
    assert_false(host_containers_drop(container));
    host_gate_begin(&rig->host, &rig->gate);
    hub_add(&container->users, 1);
    host_gate_fini(&rig->gate);
    assert_false(host_containers_drop(container));
    close_rig(rig);
}

/* One that has called before finds its way without being counted. */
static void one_that_a_thread_is_inside_of_is_not_idle(void **state)
{
    struct rig *rig = open_rig();
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(&rig->host)->callers);
    struct host_life *life = (struct host_life *)(uintptr_t)64; /* never looked at */

    (void)state;
    host_caller_set_place(caller, life, rig->containers[0], 1);
    close_gate(rig);
    assert_true(host_gate_is_idle(&rig->host, rig->containers[0]));
    host_caller_enter(caller);
    assert_false(host_gate_is_idle(&rig->host, rig->containers[0]));
    assert_true(host_gate_is_idle(&rig->host, rig->containers[1]));
    host_caller_leave(caller);
    assert_true(host_gate_is_idle(&rig->host, rig->containers[0]));
    close_rig(rig);
}

static void the_calls_that_waited_are_counted_over_all_containers(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    close_gate(rig);
    assert_int_equal(host_gate_calls(&rig->gate), 0);
    hub_add(&rig->containers[0]->held_ever, 3);
    hub_add(&rig->containers[2]->held_ever, 4);
    assert_int_equal(host_gate_calls(&rig->gate), 7);
    hub_add(&rig->containers[1]->held_ever, UINT32_MAX);
    assert_int_equal(host_gate_calls(&rig->gate), UINT64_C(7) + UINT32_MAX);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_has_each_container_in_its_order_and_holds_it),
        cmocka_unit_test(a_guest_without_containers_has_a_gate_too),
        cmocka_unit_test(a_container_on_hold_stays_so_when_the_gate_opens),
        cmocka_unit_test(
            a_managed_container_that_is_down_is_left_out_and_the_others_have_the_next_token),
        cmocka_unit_test(those_that_serve_are_held_and_serve_again),
        cmocka_unit_test(one_that_is_gone_meanwhile_stays_gone_and_is_not_freed),
        cmocka_unit_test(a_gate_is_whole_as_long_as_no_container_comes_goes_or_serves),
        cmocka_unit_test(one_that_somebody_uses_is_not_idle),
        cmocka_unit_test(the_end_of_a_call_is_told_while_the_gate_is_closed),
        cmocka_unit_test(one_that_a_thread_is_inside_of_is_not_idle),
        cmocka_unit_test(the_calls_that_waited_are_counted_over_all_containers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
