/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "tests/support/pause.h"
#include "tests/unit/host-call/desk.h"

static uint32_t count_of(struct stage *stage)
{
    uint32_t count;

    hub_mutex_lock(&stage->host.asyncs.lock);
    count = stage->host.asyncs.routed;
    hub_mutex_unlock(&stage->host.asyncs.lock);
    return count;
}

static void set_count(struct stage *stage, uint32_t count)
{
    hub_mutex_lock(&stage->host.asyncs.lock);
    stage->host.asyncs.routed = count;
    hub_mutex_unlock(&stage->host.asyncs.lock);
}

static void a_record_has_a_query_of_its_own(void **state)
{
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_HASH, .number = 77};
    const struct host_routed_origin origin = {.query = &query, .uid = {1, 2}};
    struct stage *stage = desk_open();
    struct host_async *async = desk_make();

    (void)state;
    assert_int_equal(host_routed_add(&stage->host.asyncs, async, &origin), 0);
    query.number = 0;
    (void)desk_call(async);
    assert_int_equal(desk.begun, 1);
    assert_true(desk.query.mode == RAPAHUB_QUERY_HASH && desk.query.number == 77);
    assert_true(desk.last.uid.origin == 1 && desk.last.uid.number == 2);
    desk_close();
}

/* r[verify hub.route.bound] */
static void only_so_many_calls_of_the_host_are_at_its_router(void **state)
{
    const struct host_routed_origin nobody = {0};
    struct stage *stage = desk_open();
    struct host_async *last = desk_make(), *over = desk_make(), *foreign = desk_make();

    (void)state;
    foreign->foreign = true;
    set_count(stage, HOST_ROUTED_OWN_MAX - 1);
    assert_int_equal(host_routed_add(&stage->host.asyncs, last, &nobody), 0);
    assert_int_equal(host_routed_add(&stage->host.asyncs, over, &nobody), RAPAHUB_EBUSY);
    assert_null(over->routed);
    assert_string_equal(rapahub_last_error()->rule, "hub.route.bound");
    assert_int_equal(host_routed_add(&stage->host.asyncs, foreign, &nobody), 0);
    assert_int_equal(count_of(stage), HOST_ROUTED_OWN_MAX);
    host_routed_free(&stage->host.asyncs, foreign);
    host_routed_free(&stage->host.asyncs, over); /* it has none */
    assert_int_equal(count_of(stage), HOST_ROUTED_OWN_MAX);
    host_routed_free(&stage->host.asyncs, last);
    host_routed_free(&stage->host.asyncs, last);
    assert_int_equal(count_of(stage), HOST_ROUTED_OWN_MAX - 1);
    set_count(stage, HOST_ROUTED_OWN_MAX);
    (void)desk_call(over); /* it turns out late that its container is elsewhere */
    assert_true(desk_ends.count == 1 && desk_ends.code == RAPAHUB_EBUSY);
    set_count(stage, 0);
    free(last);
    free(foreign);
    desk_close();
}

/* The router may use the streams of a call until it has answered.
 * r[verify hub.route.streams] */
static void streams_are_lent_until_the_router_has_answered(void **state)
{
    struct host_routed_ends *ends = calloc(1, sizeof *ends);
    const struct host_routed_origin origin = {.ends = ends};
    struct stage *stage = desk_open();
    struct host_async *async = desk_make();
    uint64_t number;

    (void)state;
    assert_non_null(ends);
    hub_store_relaxed(&ends->holders, 1);
    ends->count = 1;
    assert_int_equal(host_routed_add(&stage->host.asyncs, async, &origin), 0);
    number = desk_call(async);
    assert_int_equal(hub_observe(&ends->holders), 2);
    assert_true(desk.last.streams == ends->list && desk.last.streams_count == 1);
    desk.lends = true; /* so its cancel does not answer */
    host_asyncs_cancel(&stage->host, number);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(desk_ends.code, RAPAHUB_ECANCELED);
    assert_true(hub_observe(&ends->holders) == 2 && count_of(stage) == 1);
    assert_int_equal(desk_answer(number + 1, 0, "", 0), RAPAHUB_ESTALE);
    assert_int_equal(hub_observe(&ends->holders), 2);
    assert_int_equal(desk_answer(number, 0, "", 0), RAPAHUB_ESTALE);
    assert_true(hub_observe(&ends->holders) == 1 && count_of(stage) == 0);
    async = desk_make();
    assert_int_equal(host_routed_add(&stage->host.asyncs, async, &origin), 0);
    number = desk_call(async);
    host_asyncs_cancel(&stage->host, number);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(hub_observe(&ends->holders), 2);
    host_routed_take_back_all(&stage->host.router, &stage->host.asyncs);
    assert_int_equal(hub_observe(&ends->holders), 1);
    host_routed_streams_release(&(struct host_routed_ends *){ends});
    desk_close();
}

/* The router answers after the cancel, and before the owner ends the call: it does so once.
 * r[verify hub.route.streams] */
static void an_answer_that_meets_the_end_gives_the_streams_back(void **state)
{
    struct host_routed_ends *ends = calloc(1, sizeof *ends);
    const struct host_routed_origin origin = {.ends = ends};
    struct stage *stage = desk_open();
    struct host_async *async = desk_make();
    uint64_t number;

    (void)state;
    assert_non_null(ends);
    hub_store_relaxed(&ends->holders, 1);
    ends->count = 1;
    assert_int_equal(host_routed_add(&stage->host.asyncs, async, &origin), 0);
    number = desk_call(async);
    desk.lends = true;
    host_asyncs_cancel(&stage->host, number);
    assert_int_equal(desk_answer(number, 0, "", 0), RAPAHUB_ESTALE);
    assert_int_equal(hub_observe(&ends->holders), 2); /* they are the call's until it has ended */
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk_ends.code == RAPAHUB_ECANCELED && desk.cancelled == 1);
    assert_true(hub_observe(&ends->holders) == 1 && count_of(stage) == 0);
    host_routed_streams_release(&ends);
    desk_close();
}

static struct host_routed_ends *moving;

static void done_that_moves(struct host_async *async, int code, struct hub_answer *answer)
{
    hub_store_relaxed64(&moving->moved_ns, hub_clock_now());
    desk_done(async, code, answer);
}

/* Its time was over before, and nobody has cancelled it. r[verify hub.route.deadline] */
static void a_byte_that_moves_too_late_leaves_the_call_overdue(void **state)
{
    struct host_routed_ends *ends = calloc(1, sizeof *ends);
    const struct host_routed_origin nobody = {0}, origin = {.ends = ends, .patience_ns = SOON};
    struct stage *stage = desk_open();
    struct host_async *first = desk_make(), *second = desk_make();

    (void)state;
    assert_non_null(ends);
    hub_store_relaxed(&ends->holders, 1);
    moving = ends;
    first->done = done_that_moves;
    first->deadline_ns = second->deadline_ns = hub_clock_after(20 * HUB_MILLISECOND);
    assert_int_equal(host_routed_add(&stage->host.asyncs, first, &nobody), 0);
    assert_int_equal(host_routed_add(&stage->host.asyncs, second, &origin), 0);
    (void)desk_call(first);
    (void)desk_call(second);
    while (hub_clock_left(host_router_next_deadline(&stage->host)) > 0)
        pause_ms(1);
    assert_int_equal(host_router_serve(&stage->host), 2);
    assert_true(desk_ends.count == 2 && desk_ends.code == RAPAHUB_ETIMEDOUT);
    host_routed_streams_release(&ends);
    desk_close();
}

static void lend(struct stage *stage, struct rapahub_guest_id from, struct host_routed_ends *ends)
{
    const struct host_routed_origin origin = {.ends = ends, .from = from};
    struct host_async *async = desk_make();

    async->foreign = true;
    assert_int_equal(host_routed_add(&stage->host.asyncs, async, &origin), 0);
    desk.begun = desk.cancelled = 0;
    host_asyncs_cancel(&stage->host, desk_call(async));
    assert_int_equal(host_router_serve(&stage->host), 1);
}

/* However often it makes and cancels them. r[verify hub.route.bound] */
static void a_guest_has_only_so_many_streams_of_ended_requests_at_the_router(void **state)
{
    const struct rapahub_guest_id one = {1, 2, 3}, other = {1, 2, 4}, later = {1, 3, 3};
    struct host_routed_ends *ends = calloc(1, sizeof *ends);
    struct stage *stage = desk_open();
    struct host_router *router = &stage->host.router;

    (void)state;
    assert_non_null(ends);
    hub_store_relaxed(&ends->holders, 1);
    desk.lends = true;
    for (int i = 0; i < HOST_ROUTED_LENT_MAX; i++) {
        assert_int_equal(host_routed_check_lent(router, &stage->host.asyncs, one), 0);
        lend(stage, one, ends);
    }
    lend(stage, (struct rapahub_guest_id){0}, ends);
    assert_int_equal(host_routed_check_lent(router, &stage->host.asyncs, one), RAPAHUB_EBUSY);
    assert_string_equal(rapahub_last_error()->rule, "hub.route.bound");
    assert_int_equal(host_routed_check_lent(router, &stage->host.asyncs, other), 0);
    assert_int_equal(host_routed_check_lent(router, &stage->host.asyncs, later), 0);
    assert_int_equal(
        host_routed_check_lent(router, &stage->host.asyncs, (struct rapahub_guest_id){0}), 0);
    host_routed_take_back_all(router, &stage->host.asyncs);
    assert_int_equal(host_routed_check_lent(router, &stage->host.asyncs, one), 0);
    host_routed_streams_release(&ends);
    desk_close();
}

/* r[verify hub.route.streams] */
static void a_byte_that_moves_puts_off_the_deadline(void **state)
{
    struct host_routed_ends ends = {.count = 1};
    struct host_async async = {.deadline_ns = 1000};
    struct host_routed routed = {.async = &async, .origin = {.patience_ns = 100}};

    (void)state;
    assert_true(host_routed_due(&routed) == 1000);
    routed.origin.ends = &ends;
    assert_true(host_routed_due(&routed) == 1000);
    hub_store_relaxed64(&ends.moved_ns, 800);
    assert_true(host_routed_due(&routed) == 1000);
    hub_store_relaxed64(&ends.moved_ns, 950);
    assert_true(host_routed_due(&routed) == 1050);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_has_a_query_of_its_own),
        cmocka_unit_test(only_so_many_calls_of_the_host_are_at_its_router),
        cmocka_unit_test(streams_are_lent_until_the_router_has_answered),
        cmocka_unit_test(an_answer_that_meets_the_end_gives_the_streams_back),
        cmocka_unit_test(a_byte_that_moves_too_late_leaves_the_call_overdue),
        cmocka_unit_test(a_guest_has_only_so_many_streams_of_ended_requests_at_the_router),
        cmocka_unit_test(a_byte_that_moves_puts_off_the_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
