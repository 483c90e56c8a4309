/* SPDX-License-Identifier: Apache-2.0 */
/* Two guests have lives on links that end in this thread; no process is started. */
#include "host/observe/observe.h"
#include "host/upgrade/successor.h"
#include "tests/unit/host-guest/module_file.h"
#include "tests/unit/host-guest/stage.h"
#include "tests/unit/link/pair.h"

struct side {
    struct pair pair;
    struct host_life life;
};

struct rig {
    struct host_observe host;
    struct module_file file;
    struct host_group group; /* shared: nobody else's */
    struct host_guest *guest, *successor;
    struct side old, new;
};

static void open_side(struct rig *rig, struct side *side, struct host_guest *guest)
{
    const struct hub_limits limits = pair_limits();

    pair_open(&side->pair, &limits, 0);
    side->life.host = HOST_PROCESS(&rig->host);
    side->life.loop = &HOST_OWNER(&rig->host)->loop;
    side->life.guest = guest;
    side->life.segment.group = &rig->group;
    side->life.segment.view = side->pair.host.view;
    side->life.connection = side->pair.host.connection;
    side->life.process.pidfd = side->life.doorbell.fd = side->life.on_keep.fd = -1;
    guest->life = &side->life;
    guest->state = HOST_GUEST_READY;
}

static struct rig *open_rig(void)
{
    struct rig *rig = test_calloc(1, sizeof *rig);

    module_file_make(&rig->file, "calc.so");
    stage_open(&rig->host.supervision);
    rig->group.shared = true;
    rig->guest = stage_enter(&rig->host.supervision, "calc");
    rig->guest->supervision.ready = RAPAHUB_READY_ATTACH;
    rig->guest->supervision.goodbye_ns = 7 * HUB_SECOND;
    rig->guest->totals.lives = 4;
    open_side(rig, &rig->old, rig->guest);
    assert_int_equal(host_successor_create(
                         rig->guest, &(struct rapahub_upgrade_options){.chimod = rig->file.path},
                         &rig->successor),
                     0);
    return rig;
}

static void close_rig(struct rig *rig)
{
    for (uint32_t i = 0; i < GUESTS_MAX; i++) {
        struct host_guest *guest = HOST_REGISTRY(&rig->host)->guests[i];

        if (guest) {
            host_loop_clear(&guest->timer);
            guest->life = NULL;
        }
    }
    pair_close(&rig->old.pair);
    if (rig->new.life.guest)
        pair_close(&rig->new.pair);
    stage_close(&rig->host.supervision);
    module_file_remove(&rig->file);
    test_free(rig);
}

static uint32_t guests_of(struct rig *rig)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < GUESTS_MAX; i++)
        count += HOST_REGISTRY(&rig->host)->guests[i] != NULL;
    return count;
}

static void a_successor_is_like_its_guest_but_nobody_s_child(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    assert_string_equal(rig->successor->name, "calc.next");
    assert_int_equal(rig->successor->child.node, HOST_TREE_NONE);
    assert_true(rig->successor->supervision.goodbye_ns == 7 * HUB_SECOND);
    assert_int_equal(rig->successor->totals.lives, 4);
    /* it must tell its name and methods before it takes over */
    assert_int_equal(rig->successor->supervision.ready, RAPAHUB_READY_MESSAGE);
    assert_int_equal(rig->guest->supervision.ready, RAPAHUB_READY_ATTACH);
    close_rig(rig);
}

static void a_successor_that_finds_no_place_leaves_no_trace(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *more = NULL;

    (void)state;
    stage_enter(&rig->host.supervision, "kv");
    rig->successor->state = HOST_GUEST_STARTING;
    assert_int_equal(guests_of(rig), GUESTS_MAX);
    HOST_REGISTRY(&rig->host)->guests[2]->state = HOST_GUEST_STARTING; /* none may go */
    assert_int_equal(
        host_successor_create(rig->guest,
                              &(struct rapahub_upgrade_options){.chimod = rig->file.path}, &more),
        RAPAHUB_EFULL);
    assert_null(more);
    close_rig(rig);
}

/* r[verify supervise.upgrade.child] */
static void an_exchange_gives_the_guest_the_new_process_and_keeps_its_name(void **state)
{
    struct rig *rig = open_rig();
    const char *chimod = rig->successor->module.chimod;

    (void)state;
    open_side(rig, &rig->new, rig->successor);
    rig->guest->child.incarnation = 9;
    rig->successor->id.peer = 2;
    rig->successor->totals.lives = 5;
    rig->guest->totals.calls = 3;
    snprintf(rig->new.life.name, sizeof rig->new.life.name, "calc.next");
    host_routes_write(&HOST_REGISTRY(&rig->host)->routes);
    host_successor_exchange(rig->guest, rig->successor);
    host_routes_unlock(&HOST_REGISTRY(&rig->host)->routes);
    assert_ptr_equal(rig->guest->life, &rig->new.life);
    assert_ptr_equal(rig->new.life.guest, rig->guest);
    assert_ptr_equal(rig->successor->life, &rig->old.life);
    assert_ptr_equal(rig->old.life.guest, rig->successor);
    assert_int_equal(rig->guest->id.peer, 2);
    assert_ptr_equal(rig->guest->module.chimod, chimod);
    assert_string_equal(rig->guest->name, "calc");
    assert_string_equal(rig->new.life.name, "calc");
    assert_string_equal(rig->successor->name, "calc.old");
    assert_int_equal(rig->guest->totals.lives, 5);
    assert_true(rig->guest->totals.calls == 3);
    assert_true(rig->new.life.incarnation == 9);
    close_rig(rig);
}

static void a_successor_that_is_not_to_take_over_is_killed_unless_it_leaves(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    host_successor_kill(rig->successor); /* it has no process yet */
    assert_true(rig->successor->child.asked);
    open_side(rig, &rig->new, rig->successor);
    hub_publish(&rig->new.life.goodbye.leaving, 1);
    host_successor_kill(rig->successor);
    assert_false(rig->new.life.death.killed);
    hub_publish(&rig->new.life.goodbye.leaving, 0);
    host_successor_kill(rig->successor);
    assert_true(rig->new.life.death.killed);
    assert_int_equal(rig->successor->state, HOST_GUEST_STOPPING);
    close_rig(rig);
}

static void the_old_process_is_asked_to_go_in_order(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    open_side(rig, &rig->new, rig->successor);
    host_successor_retire(rig->successor);
    assert_true(rig->successor->child.asked && rig->successor->stop.told);
    assert_false(rig->new.life.death.killed);
    assert_in_range(hub_clock_left(rig->successor->timer.due_ns), HUB_SECOND, 7 * HUB_SECOND);
    close_rig(rig);
}

static void a_successor_stays_while_it_has_a_process_or_is_waited_for(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    open_side(rig, &rig->new, rig->successor);
    host_successor_drop(rig->successor);
    assert_int_equal(guests_of(rig), 2);
    rig->successor->life = NULL;
    rig->successor->pins = 1;
    host_successor_drop(rig->successor);
    assert_int_equal(guests_of(rig), 2);
    rig->successor->pins = 0;
    host_successor_drop(rig->successor);
    assert_int_equal(guests_of(rig), 1);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_successor_is_like_its_guest_but_nobody_s_child),
        cmocka_unit_test(a_successor_that_finds_no_place_leaves_no_trace),
        cmocka_unit_test(an_exchange_gives_the_guest_the_new_process_and_keeps_its_name),
        cmocka_unit_test(a_successor_that_is_not_to_take_over_is_killed_unless_it_leaves),
        cmocka_unit_test(the_old_process_is_asked_to_go_in_order),
        cmocka_unit_test(a_successor_stays_while_it_has_a_process_or_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
