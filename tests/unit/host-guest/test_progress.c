/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that is this very thread: both ends of a link, and a host that looks when it is told. */
#include "host/guest/progress.h"
#include "hub/call/call_ends.h"
#include "tests/unit/host-guest/stage.h"
#include "tests/unit/link/pair.h"

struct rig {
    struct host_supervision *host;
    struct pair pair;
    struct host_guest *guest;
    struct host_life life;
};

static uint64_t stopped_ns; /* where the clock stands still; 0: it runs */

uint64_t __real_hub_clock_now(void);
uint64_t __wrap_hub_clock_now(void);
uint64_t __wrap_hub_clock_now(void)
{
    return stopped_ns != 0 ? stopped_ns : __real_hub_clock_now();
}

static uint32_t stuck_count;
static enum host_cause stuck_cause;

static void note_stuck(struct host_life *life, enum host_cause cause)
{
    (void)life;
    stuck_count++;
    stuck_cause = cause;
}

static struct rig *open_rig(struct rapahub_supervision how)
{
    static struct host_supervision_hooks hooks;
    const struct hub_limits limits = pair_limits();
    struct rig *rig = test_calloc(1, sizeof *rig);

    rig->host = stage_new();
    hooks = stage_hooks;
    hooks.lives.stuck = note_stuck;
    rig->host->hooks = &hooks;
    pair_open(&rig->pair, &limits, 0);
    rig->guest = stage_enter(rig->host, "guest");
    rig->guest->supervision = how;
    rig->guest->state = HOST_GUEST_READY;
    rig->life = (struct host_life){.host = &rig->host->call.process,
                                   .guest = rig->guest,
                                   .segment.view = rig->pair.host.view,
                                   .segment.peer_state = HUB_PEER_ATTACHED,
                                   .process.pidfd = -1};
    rig->life.connection.link = rig->pair.host.connection.link;
    rig->life.connection.calls = rig->pair.host.connection.calls;
    rig->life.connection.served = rig->pair.host.connection.served;
    rig->life.connection.channels = rig->pair.host.connection.channels;
    stuck_count = 0;
    stuck_cause = HOST_CAUSE_NONE;
    host_progress_begin(&rig->life);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_progress_end(&rig->life.progress);
    assert_false(host_loop_is_set(&rig->life.progress.timer));
    pair_close(&rig->pair);
    stage_free(rig->host);
    test_free(rig);
}

/* A look in time, however long this thread stood still. */
static void look(struct rig *rig)
{
    host_loop_clear(&rig->life.progress.timer);
    rig->life.progress.timer.due_ns = hub_clock_now() + 3600 * HUB_SECOND;
    rig->life.progress.timer.on(rig->life.progress.timer.user);
}

/* As if what it saw so far had been so since the machine started. */
static void pass_long(struct rig *rig)
{
    if (rig->life.progress.stall.unread_ns)
        rig->life.progress.stall.unread_ns = 1;
    if (rig->life.progress.stall.runs_ns)
        rig->life.progress.stall.runs_ns = 1;
}

static void look_twice(struct rig *rig)
{
    look(rig);
    pass_long(rig);
    look(rig);
}

static void on_done(void *user, int code, struct hub_answer *answer)
{
    (void)user;
    (void)code;
    (void)answer;
}

static void call_from(struct end *end, uint64_t deadline_ns)
{
    static const uint8_t no_metadata = 0;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {&no_metadata, 1}},
                                  .deadline_ns = deadline_ns,
                                  .done = on_done};
    uint64_t number;

    assert_int_equal(hub_calls_begin(end->connection.calls, &call, &number), 0);
}

static struct hub_request *take_at(struct end *end)
{
    struct hub_request *request;

    assert_true(hub_link_sweep(end->connection.link, UINT32_MAX) >= 0);
    request = hub_inbound_calls_next(end->connection.served, NULL, NULL);
    assert_non_null(request);
    return request;
}

static void answer_from(struct end *end, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct rapahub_bytes nothing = {NULL, 0};

    assert_int_equal(hub_inbound_calls_answer(end->connection.served, request, &ok, nothing), 0);
}

static const struct rapahub_supervision stalls = {.stall_ns = HUB_MILLISECOND};

static void without_a_limit_nobody_looks(void **state)
{
    struct rig *rig = open_rig((struct rapahub_supervision){.stall_ns = 0});

    (void)state;
    assert_null(rig->life.progress.timer.on);
    assert_false(host_loop_is_set(&rig->life.progress.timer));
    close_rig(rig); /* and the end of it is harmless */
}

static void each_look_is_followed_by_another(void **state)
{
    struct rig *rig = open_rig(stalls);

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(host_loop_is_set(&rig->life.progress.timer));
        look(rig);
    }
    assert_int_equal(stuck_count, 0); /* it was asked nothing */
    close_rig(rig);
}

/* r[verify supervise.stall] */
static void one_that_leaves_a_request_in_its_ring_is_stuck(void **state)
{
    struct rig *rig = open_rig(stalls);

    (void)state;
    call_from(&rig->pair.host, hub_clock_after(SOON));
    look(rig);
    assert_int_equal(stuck_count, 0);
    pass_long(rig);
    look(rig);
    assert_int_equal(stuck_count, 1);
    assert_int_equal(stuck_cause, HOST_CAUSE_STALL);
    close_rig(rig);
}

static void one_that_takes_its_requests_and_answers_is_not(void **state)
{
    struct rig *rig = open_rig(stalls);

    (void)state;
    for (int i = 0; i < 3; i++) {
        call_from(&rig->pair.host, hub_clock_after(SOON));
        look(rig);
        pass_long(rig);
        answer_from(&rig->pair.guest, take_at(&rig->pair.guest));
        look(rig);
        assert_true(hub_link_sweep(rig->pair.host.connection.link, UINT32_MAX) >= 0);
        look_twice(rig);
    }
    assert_int_equal(stuck_count, 0);
    close_rig(rig);
}

/* Its ring is never found empty; but what is in it is not the same. */
static void one_that_takes_some_of_its_requests_gets_on(void **state)
{
    struct rig *rig = open_rig(stalls);

    (void)state;
    hub_store_relaxed(&rig->pair.guest.view.entry->guest_wait, HUB_WAIT_RX);
    call_from(&rig->pair.host, hub_clock_after(SOON));
    look(rig);
    pass_long(rig);
    (void)take_at(&rig->pair.guest);
    call_from(&rig->pair.host, hub_clock_after(SOON));
    look(rig);
    assert_int_equal(stuck_count, 0);
    pass_long(rig);
    look(rig);
    assert_int_equal(stuck_count, 1);
    close_rig(rig);
}

/* r[verify supervise.stall] */
static void one_that_owes_an_answer_and_does_not_wait_for_the_host_is_stuck(void **state)
{
    struct rig *rig = open_rig(stalls);
    struct hub_peer_entry *entry = rig->pair.guest.view.entry;

    (void)state;
    call_from(&rig->pair.host, hub_clock_after(SOON));
    (void)take_at(&rig->pair.guest);
    for (int i = 0; i < 2; i++) {
        hub_store_relaxed(&entry->guest_wait, i == 0 ? HUB_WAIT_RX : HUB_WAIT_TX);
        look_twice(rig);
        assert_int_equal(stuck_count, 0);
    }
    hub_store_relaxed(&entry->guest_wait, 0);
    look_twice(rig);
    assert_int_equal(stuck_count, 1);
    assert_int_equal(stuck_cause, HOST_CAUSE_STALL);
    close_rig(rig);
}

static void one_that_has_asked_the_host_itself_waits_for_it(void **state)
{
    struct rig *rig = open_rig(stalls);
    struct hub_request *request;

    (void)state;
    call_from(&rig->pair.host, hub_clock_after(SOON));
    (void)take_at(&rig->pair.guest);
    call_from(&rig->pair.guest, hub_clock_after(SOON));
    request = take_at(&rig->pair.host);
    look_twice(rig);
    assert_int_equal(stuck_count, 0);
    answer_from(&rig->pair.host, request);
    assert_true(hub_link_sweep(rig->pair.guest.connection.link, UINT32_MAX) >= 0);
    look_twice(rig);
    assert_int_equal(stuck_count, 1);
    close_rig(rig);
}

/* r[verify supervise.overrun] */
static void one_that_goes_on_with_a_call_that_was_given_up_overruns(void **state)
{
    struct rig *rig = open_rig((struct rapahub_supervision){.overrun_ns = 1});
    uint64_t soon = hub_clock_after(HUB_MILLISECOND);
    struct hub_request *request;

    (void)state;
    call_from(&rig->pair.host, soon);
    request = take_at(&rig->pair.guest);
    look_twice(rig);
    assert_int_equal(stuck_count, 0); /* nobody has given it up */
    while (hub_clock_left(soon + 1) > 0)
        continue;
    assert_int_equal(hub_call_ends_deliver(rig->pair.host.connection.calls), 1);
    look(rig);
    assert_int_equal(stuck_count, 1);
    assert_int_equal(stuck_cause, HOST_CAUSE_OVERRUN);
    answer_from(&rig->pair.guest, request);
    assert_true(hub_link_sweep(rig->pair.host.connection.link, UINT32_MAX) >= 0);
    look(rig);
    assert_int_equal(stuck_count, 1);
    close_rig(rig);
}

/* r[verify supervise.watchdog.pause] */
static void where_the_host_stood_still_itself_nobody_is_stuck(void **state)
{
    struct rig *rig = open_rig(stalls);

    (void)state;
    call_from(&rig->pair.host, hub_clock_after(SOON));
    look(rig);
    pass_long(rig);
    host_loop_clear(&rig->life.progress.timer);
    rig->life.progress.timer.due_ns = 1; /* far more than one look ago */
    rig->life.progress.timer.on(&rig->life);
    assert_int_equal(stuck_count, 0);
    assert_true(rig->life.progress.stall.forgiven_ns > 1);
    pass_long(rig);
    look(rig);
    assert_int_equal(stuck_count, 1);
    close_rig(rig);
}

static void one_with_debug_is_excused_for_as_long_as_it_has_it(void **state)
{
    struct rig *rig = open_rig(stalls);

    (void)state;
    rig->guest->supervision.debug = true;
    call_from(&rig->pair.host, hub_clock_after(SOON));
    look_twice(rig);
    assert_int_equal(stuck_count, 0);
    assert_int_equal(rig->life.progress.stall.unread_ns,
                     0); /* the time until then does not count */
    assert_true(host_loop_is_set(&rig->life.progress.timer));
    rig->guest->supervision.debug = false;
    look_twice(rig);
    assert_int_equal(stuck_count, 1);
    close_rig(rig);
}

/* It is killed once; and what it still owes is no reason to kill it sooner. */
static void one_that_ends_already_is_not_looked_at_any_more(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig *rig = open_rig(stalls);

        call_from(&rig->pair.host, hub_clock_after(SOON));
        look(rig);
        pass_long(rig);
        if (i == 0)
            rig->guest->state = HOST_GUEST_STOPPING;
        else if (i == 1)
            hub_publish(&rig->life.exit.cause, HOST_CAUSE_WATCHDOG);
        else if (i == 2)
            rig->life.death.proven_ns = 1;
        else
            rig->life.segment.peer_state = HUB_PEER_GOODBYE;
        look(rig);
        assert_int_equal(stuck_count, 0);
        assert_false(host_loop_is_set(&rig->life.progress.timer));
        close_rig(rig);
    }
}

/* A look may come late by as much as there is between two. r[verify supervise.watchdog.pause] */
static void more_than_one_look_late_is_a_host_that_stood_still(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct rig *rig = open_rig(stalls);
        uint64_t every = host_stall_every(&rig->guest->supervision);

        call_from(&rig->pair.host, hub_clock_after(SOON));
        look(rig);
        pass_long(rig);
        host_loop_clear(&rig->life.progress.timer);
        stopped_ns = hub_clock_now();
        rig->life.progress.timer.due_ns = stopped_ns - every - (uint64_t)late;
        rig->life.progress.timer.on(&rig->life);
        stopped_ns = 0;
        assert_int_equal(stuck_count, late ? 0 : 1);
        close_rig(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_limit_nobody_looks),
        cmocka_unit_test(each_look_is_followed_by_another),
        cmocka_unit_test(one_that_leaves_a_request_in_its_ring_is_stuck),
        cmocka_unit_test(one_that_takes_its_requests_and_answers_is_not),
        cmocka_unit_test(one_that_takes_some_of_its_requests_gets_on),
        cmocka_unit_test(one_that_owes_an_answer_and_does_not_wait_for_the_host_is_stuck),
        cmocka_unit_test(one_that_has_asked_the_host_itself_waits_for_it),
        cmocka_unit_test(one_that_goes_on_with_a_call_that_was_given_up_overruns),
        cmocka_unit_test(where_the_host_stood_still_itself_nobody_is_stuck),
        cmocka_unit_test(one_with_debug_is_excused_for_as_long_as_it_has_it),
        cmocka_unit_test(one_that_ends_already_is_not_looked_at_any_more),
        cmocka_unit_test(more_than_one_look_late_is_a_host_that_stood_still),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
