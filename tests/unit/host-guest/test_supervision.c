/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/supervise.h>

#include "host/supervise/supervisor.h"
#include "tests/unit/host-guest/stage.h"

static const struct rapahub_supervision eager = {.restarts_max = 5};
static const struct rapahub_supervision by_hand = {.start = RAPAHUB_START_MANUAL};

/* What supervision has had done, in its order: + starts, - asks, ! finishes, x ends. */
static char done[16];
static bool settles_inside; /* what carries out a decision reports an event */
static unsigned inside;
static struct host_guest *dies_too; /* with the first that is asked */

static void note(char what)
{
    size_t size = strlen(done);

    assert_true(size + 1 < sizeof done);
    done[size] = what;
}

static void on_start(struct host_guest *guest)
{
    (void)guest;
    note('+');
}

static void exited(struct host_guest *guest)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};

    host_supervision_exited(guest, &ending);
}

static void on_ask(struct host_guest *guest)
{
    struct host_guest *other = dies_too;

    assert_int_equal(inside, 0);
    inside++;
    note('-');
    dies_too = NULL;
    if (settles_inside)
        host_supervision_settle(HOST_SUPERVISION(guest->host));
    if (other)
        exited(other);
    inside--;
}

static void on_finish(struct host_guest *guest)
{
    (void)guest;
    note('!');
}

static void on_end(struct host_life *life, enum host_cause cause, const char *why)
{
    (void)life;
    (void)why;
    assert_int_equal(cause, HOST_CAUSE_STOP_TIMEOUT);
    note('x');
}

static struct host_supervision *open_noted(void)
{
    static struct host_supervision_hooks hooks;
    struct host_supervision *host = stage_new();

    hooks = stage_hooks;
    hooks.decisions.start = on_start;
    hooks.decisions.ask = on_ask;
    hooks.decisions.finish = on_finish;
    hooks.decisions.end = on_end;
    host->hooks = &hooks;
    memset(done, 0, sizeof done);
    settles_inside = false;
    inside = 0;
    dies_too = NULL;
    return host;
}

static void close_noted(struct host_supervision *host)
{
    host->hooks = &stage_hooks;
    stage_free(host);
}

/* As when its time has come. */
static void pass_the_time(struct host_supervision *host)
{
    host_loop_clear(&host->supervise);
    host->supervise.on(host->supervise.user);
}

/* Events that came before are told first: a start takes milliseconds. */
static void a_start_after_a_death_comes_with_the_timer(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);

    (void)state;
    assert_string_equal(done, "+");
    stage_serve(guest);
    exited(guest);
    assert_string_equal(done, "+");
    assert_int_equal(host->begins, 1);
    assert_true(host_loop_is_set(&host->supervise));
    assert_true(hub_clock_left(host->supervise.due_ns) == 0);
    pass_the_time(host);
    assert_string_equal(done, "++");
    assert_int_equal(host->begins, 0);
    close_noted(host);
}

static void a_guest_that_is_to_stop_before_it_has_begun_begins_and_stops(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);

    (void)state;
    stage_serve(guest);
    exited(guest);
    assert_true(guest->child.begins);
    host_supervision_end(guest);
    assert_string_equal(done, "++-");
    assert_int_equal(host->begins, 0);
    close_noted(host);
}

static void a_forgotten_guest_does_not_begin(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);

    (void)state;
    stage_serve(guest);
    exited(guest);
    host_supervision_forget(guest);
    assert_int_equal(host->begins, 0);
    assert_int_equal(guest->child.node, HOST_TREE_NONE);
    pass_the_time(host);
    assert_string_equal(done, "+");
    host_supervision_forget(guest);
    close_noted(host);
}

/* The life that it was meant for has ended. */
static void an_event_of_an_earlier_life_decides_nothing(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);

    (void)state;
    guest->child.incarnation--;
    host_supervision_attached(guest);
    host_supervision_ready(guest);
    assert_int_equal(guest->state, HOST_GUEST_STARTING);
    guest->child.incarnation++;
    stage_serve(guest);
    close_noted(host);
}

static void a_guest_whose_time_is_over_is_killed_after_its_command(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);
    struct host_life life = {.guest = guest};

    (void)state;
    stage_serve(guest);
    guest->life = &life;
    host_supervision_stop_all(host, hub_clock_now() + 100 * HUB_MILLISECOND);
    assert_string_equal(done, "+-");
    assert_true(guest->child.asked);
    while (hub_clock_left(host->supervise.due_ns) > 0)
        sched_yield();
    pass_the_time(host);
    assert_string_equal(done, "+-!x");
    guest->life = NULL;
    exited(guest);
    close_noted(host);
}

/* Its own loop goes on with the new decisions. */
static void decisions_are_not_carried_out_inside_of_each_other(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *first = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);
    struct host_guest *second = stage_add(host, HOST_SUPERVISION_ROOT, "kv", eager);

    (void)state;
    stage_serve(first);
    stage_serve(second);
    settles_inside = true;
    host_supervision_stop_all(host, HUB_NEVER);
    assert_string_equal(done, "++--");
    assert_false(host->deciding);
    settles_inside = false;
    close_noted(host);
}

static void a_guest_that_ended_before_it_could_be_asked_is_not_asked(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *first = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);
    struct host_guest *second = stage_add(host, HOST_SUPERVISION_ROOT, "kv", eager);

    (void)state;
    stage_serve(first);
    stage_serve(second);
    dies_too = second;
    host_supervision_stop_all(host, HUB_NEVER);
    assert_string_equal(done, "++-");
    assert_int_equal(first->state, HOST_GUEST_STOPPING);
    assert_int_equal(second->state, HOST_GUEST_STOPPED);
    close_noted(host);
}

static void all_are_stopped_also_those_that_nobody_supervises(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_enter(host, "stranger");

    (void)state;
    host_supervision_stop_all(host, HUB_NEVER);
    assert_string_equal(done, "-");
    assert_true(guest->child.asked);
    close_noted(host);
}

static void events_of_a_guest_that_nobody_supervises_change_its_state_only(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_enter(host, "stranger");

    (void)state;
    guest->state = HOST_GUEST_STARTING;
    host_supervision_attached(guest);
    assert_int_equal(guest->state, HOST_GUEST_ATTACHED);
    host_supervision_ready(guest);
    assert_int_equal(guest->state, HOST_GUEST_READY);
    host_supervision_degraded(guest);
    assert_int_equal(guest->state, HOST_GUEST_READY);
    host_supervision_called(guest);
    host_supervision_leaving(guest, "");
    assert_int_equal(guest->state, HOST_GUEST_STOPPING);
    assert_true(host_supervision_is_closed(guest));
    close_noted(host);
}

/* r[verify supervise.probe.readiness] */
static void a_degraded_guest_is_up_again_when_it_is_restored(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);

    (void)state;
    stage_serve(guest);
    host_supervision_degraded(guest);
    assert_int_equal(guest->state, HOST_GUEST_DEGRADED);
    host_supervision_restored(guest);
    assert_int_equal(guest->state, HOST_GUEST_READY);
    assert_false(host_supervision_is_closed(guest));
    close_noted(host);
}

/* A call that looks at it wakes a waiting thread only for a change. */
static void a_call_sees_whether_a_guest_that_is_down_will_come(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc",
                                         (struct rapahub_supervision){.start = RAPAHUB_START_LAZY});
    struct hub_a32 *changes = &HOST_REGISTRY(host)->routes.changes;
    uint32_t before;

    (void)state;
    assert_int_equal(guest->child.outlook, HOST_OUTLOOK_CALL);
    before = hub_observe(changes);
    host_supervision_settle(host);
    assert_int_equal(hub_observe(changes), before);
    host_supervision_called(guest);
    pass_the_time(host);
    assert_string_equal(done, "+");
    close_noted(host);
}

static void a_manual_guest_starts_when_it_is_told_to(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);

    (void)state;
    assert_string_equal(done, "");
    assert_int_equal(guest->child.outlook, HOST_OUTLOOK_NONE);
    host_supervision_start(guest);
    assert_string_equal(done, "+");
    close_noted(host);
}

static void siblings_of_one_name_are_told_apart(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest;

    (void)state;
    guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);
    assert_string_equal(stage_child(guest)->name, "calc");
    guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);
    assert_string_equal(stage_child(guest)->name, "calc#2");
    guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);
    assert_string_equal(stage_child(guest)->name, "calc#3");
    assert_string_equal(guest->name, "calc");
    close_noted(host);
}

static void a_start_that_finds_no_place_is_no_failure(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", eager);
    uint64_t due = hub_clock_after(HUB_SECOND);

    (void)state;
    host_supervision_deferred(guest, due);
    assert_true(guest->child.deferred);
    assert_int_equal(guest->state, HOST_GUEST_BACKOFF);
    assert_int_equal(stage_child(guest)->budget.count, 0);
    assert_true(host->supervise.due_ns <= due);
    close_noted(host);
}

static uint32_t callbacks_seen;

static int on_budget(void *user, struct rapahub_child_id child, enum rapahub_exit_class class)
{
    struct host_supervision *host = user;

    (void)child;
    assert_int_equal(class, RAPAHUB_EXIT_SIGNAL);
    callbacks_seen = HOST_OWNER(host)->callbacks;
    return RAPAHUB_EXHAUSTED_PARK;
}

static void the_embedder_decides_over_a_spent_budget_in_a_callback(void **state)
{
    struct host_supervision *host = open_noted();
    struct host_guest *guest =
        stage_add(host, HOST_SUPERVISION_ROOT, "calc",
                  (struct rapahub_supervision){.restarts_max = -1,
                                               .on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK,
                                               .on_budget = on_budget,
                                               .user = host});

    (void)state;
    callbacks_seen = 99;
    stage_serve(guest);
    exited(guest);
    assert_int_equal(callbacks_seen, 1);
    assert_int_equal(HOST_OWNER(host)->callbacks, 0);
    assert_int_equal(guest->state, HOST_GUEST_FAILED);
    close_noted(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_after_a_death_comes_with_the_timer),
        cmocka_unit_test(a_guest_that_is_to_stop_before_it_has_begun_begins_and_stops),
        cmocka_unit_test(a_forgotten_guest_does_not_begin),
        cmocka_unit_test(an_event_of_an_earlier_life_decides_nothing),
        cmocka_unit_test(a_guest_whose_time_is_over_is_killed_after_its_command),
        cmocka_unit_test(decisions_are_not_carried_out_inside_of_each_other),
        cmocka_unit_test(a_guest_that_ended_before_it_could_be_asked_is_not_asked),
        cmocka_unit_test(all_are_stopped_also_those_that_nobody_supervises),
        cmocka_unit_test(events_of_a_guest_that_nobody_supervises_change_its_state_only),
        cmocka_unit_test(a_degraded_guest_is_up_again_when_it_is_restored),
        cmocka_unit_test(a_call_sees_whether_a_guest_that_is_down_will_come),
        cmocka_unit_test(a_manual_guest_starts_when_it_is_told_to),
        cmocka_unit_test(siblings_of_one_name_are_told_apart),
        cmocka_unit_test(a_start_that_finds_no_place_is_no_failure),
        cmocka_unit_test(the_embedder_decides_over_a_spent_budget_in_a_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
