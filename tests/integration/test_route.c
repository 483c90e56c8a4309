/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose container is in another host: a router carries them there as bytes, and they end as
 * they do at home. */
#include "tests/integration/routing.h"
#include "tests/support/pause.h"

#define MS     UINT64_C(1000000)
#define CALLER MODULE("caller")

static const struct rapahub_container_id caller = {.pool = {2, 0}};
static const struct rapahub_container_id both = {.pool = {9, 0}};

static int near_add(struct routing *on, int64_t a, int64_t b, int64_t *sum)
{
    return call_at(on->near.host, here, "add(i64, i64) -> i64", (const void *const[]){&a, &b, NULL},
                   sum);
}

/* ---- of the host itself ---- */

/* r[verify hub.route.away] r[verify hub.route.begin] */
static void a_call_that_is_waited_for_gives_what_it_gives_at_home(void **state)
{
    const int64_t one = 1, zero = 0;
    struct routing on;
    int64_t sum = 0;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.far, CALC, here, NULL));
    for (int i = 0; i < 100; i++) {
        assert_done(near_add(&on, i, 2 * i, &sum));
        assert_int_equal(sum, 3 * i);
    }
    assert_refused(call_at(on.near.host, here, "divide(i64, i64) -> i64",
                           (const void *const[]){&one, &zero, NULL}, &sum),
                   RAPAHUB_EAPPLICATION, "division by zero");
    assert_int_equal(rapahub_last_error()->application, RAPAHUB_EINVAL);
    assert_refused(call_at(on.near.host, here, "ad()", NULL, NULL), RAPAHUB_ENOMETHOD, "");
    routing_close(&on);
}

/* The owner itself waits: it takes turns, in which the router gets the call and ends it. */
static void the_owner_may_wait_for_a_call_that_crosses(void **state)
{
    struct routing on;
    int64_t sum = 0;

    (void)state;
    routing_open_as(&on, false);
    assert_done(start(&on.near, CALLER, caller, NULL));
    assert_done(start(&on.far, CALC, here, NULL));
    for (int i = 0; i < 100; i++) {
        assert_done(near_add(&on, i, i, &sum));
        assert_int_equal(sum, 2 * i);
    }
    assert_int_equal(on.out.begun, 100);
    routing_close(&on);
}

static void bytes_of_all_sizes_come_back(void **state)
{
    static const size_t sizes[] = {0, 1, 20, 31, 32, 33, 300, 4096, 5000, 60000, 900000};
    static uint8_t data[900000];
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.far, CALC, here, NULL));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct rapahub_bytes in = {data, sizes[i]};
        struct rapahub_bytes out = {NULL, 0};

        memset(data, (int)i + 1, sizes[i]);
        assert_done(call_at(on.near.host, here, "echo(bytes) -> bytes",
                            (const void *const[]){&in, NULL}, &out));
        assert_int_equal(out.size, sizes[i]);
        assert_memory_equal(out.size > 0 ? out.data : data, data, sizes[i]);
    }
    routing_close(&on);
}

static int begin_nap(struct rapahub_host *host, uint32_t ms, uint64_t timeout_ns, struct done *done,
                     struct rapahub_request_id *id)
{
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "nap(u32)", .arguments = arguments, .timeout_ns = timeout_ns};

    return rapahub_host_call_async(host, &call, on_done, done, id);
}

static void asynchronous_calls_end_each_with_its_result(void **state)
{
    struct done done = {0};
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.far, CALC, here, NULL));
    for (int64_t i = 0; i < 500; i++) {
        const void *const arguments[] = {&i, &i, NULL};
        const struct rapahub_call call = {
            .target = here, .method = "add(i64, i64) -> i64", .arguments = arguments};

        assert_done(rapahub_host_call_async(on.near.host, &call, on_done, &done, NULL));
    }
    assert_true(ends(&done, 500));
    assert_int_equal(done.sum, 500 * 499);
    routing_close(&on);
}

/* r[verify hub.route.once] */
static void a_cancelled_call_ends_at_once_and_the_router_is_told(void **state)
{
    struct rapahub_request_id id;
    struct done done = {0};
    struct routing on;
    uint64_t begun;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.far, CALC, here, NULL));
    assert_done(begin_nap(on.near.host, 20000, 0, &done, &id));
    pause_ms(20);
    begun = now_ms();
    rapahub_host_cancel(on.near.host, id);
    rapahub_host_cancel(on.near.host, id);
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, RAPAHUB_ECANCELED);
    assert_in_range(now_ms() - begun, 0, 5000);
    assert_int_equal(on.out.cancelled, 1);
    rapahub_host_cancel(on.near.host, id); /* it has ended: harmless */
    routing_close(&on);
    assert_int_equal(done.count, 1);
}

/* r[verify hub.route.deadline] */
static void a_deadline_ends_a_call_without_an_answer(void **state)
{
    const uint32_t ms = 20000;
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "nap(u32)", .arguments = arguments, .timeout_ns = 50 * MS};
    struct done done = {0};
    struct routing on;
    uint64_t begun;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.far, CALC, here, NULL));
    assert_done(begin_nap(on.near.host, ms, 50 * MS, &done, NULL));
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, RAPAHUB_ETIMEDOUT);
    begun = now_ms();
    assert_int_equal(rapahub_host_call(on.near.host, &call, NULL), RAPAHUB_ETIMEDOUT);
    assert_in_range(now_ms() - begun, 45, 5000);
    routing_close(&on);
}

/* r[verify hub.route.loan] */
static void a_loan_is_refused_where_the_container_is_not(void **state)
{
    struct rapahub_loan loan;
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.far, CALC, here, NULL));
    assert_refused(rapahub_host_loan(on.near.host, here, 100, &loan), RAPAHUB_ENOTLOCAL,
                   "takes no loan");
    assert_done(rapahub_host_loan(on.far.host, here, 100, &loan));
    rapahub_host_drop_loan(on.far.host, &loan);
    routing_close(&on);
}

struct listed {
    unsigned count;
    bool add;
};

static void visit(void *user, const char *signature)
{
    struct listed *listed = user;

    listed->count++;
    listed->add = listed->add || strcmp(signature, "add(i64, i64) -> i64") == 0;
}

static void the_methods_of_a_container_elsewhere_are_those_that_the_router_knows(void **state)
{
    struct listed listed = {0};
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.far, CALC, here, NULL));
    assert_done(rapahub_host_methods(on.near.host, here, visit, &listed));
    assert_true(listed.count > 10 && listed.add);
    routing_close(&on);
}

/* ---- of guests ---- */

/* r[verify hub.route.from] */
static void a_guest_calls_a_container_of_another_host(void **state)
{
    const uint32_t pool = 5;
    const int64_t number = 21;
    struct routing on;
    int64_t result = 0;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.near, CALLER, caller, NULL));
    assert_done(start(&on.far, CALLER, (struct rapahub_container_id){.pool = {5, 0}}, NULL));
    assert_done(call_at(on.near.host, caller, "ask(u32, i64) -> i64",
                        (const void *const[]){&pool, &number, NULL}, &result));
    assert_int_equal(result, 42);
    assert_int_equal(on.out.begun, 1);
    assert_memory_equal(&on.out.guest, &on.near.guest, sizeof on.out.guest);
    assert_int_equal(on.out.pool.major, 2);
    assert_true(on.out.chain != 0);
    routing_close(&on);
}

/* A guest that waits serves the calls of its chain, which come back over the other host.
 * r[verify hub.route.chain] */
static void nested_calls_go_back_and_forth_in_one_chain(void **state)
{
    const struct rapahub_guest_options guest = {.chimod = CALLER};
    const struct rapahub_container_options routed = {
        .id = both, .pool_name = "both", .routed = true};
    const int64_t depth = 7;
    struct rapahub_guest_id id;
    struct routing on;
    int64_t result = 0;

    (void)state;
    routing_open(&on);
    assert_done(rapahub_host_spawn(on.near.host, &guest, &id));
    assert_done(rapahub_host_add_container(on.near.host, id, &routed));
    assert_done(rapahub_host_spawn(on.far.host, &guest, &id));
    assert_done(rapahub_host_add_container(on.far.host, id, &routed));
    assert_done(call_at(on.near.host, both, "descend(i64) -> i64",
                        (const void *const[]){&depth, NULL}, &result));
    assert_int_equal(result, depth + 1);
    assert_int_equal(on.out.begun, 4);
    assert_int_equal(on.back.begun, 4);
    routing_close(&on);
}

static void a_guest_that_dies_has_its_calls_cancelled(void **state)
{
    const uint32_t pool = 1, ms = 20000;
    const void *const arguments[] = {&pool, &ms, NULL};
    const struct rapahub_call call = {
        .target = caller, .method = "hold(u32, u32)", .arguments = arguments};
    struct done done = {0};
    struct routing on;
    uint64_t end = now_ms() + 10000;
    unsigned begun = 0, cancelled = 0;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.near, CALLER, caller, NULL));
    assert_done(start(&on.far, CALC, here, NULL));
    assert_done(rapahub_host_call_async(on.near.host, &call, on_done, &done, NULL));
    for (; begun == 0 && now_ms() < end; pause_ms(1))
        way_look(&on.out, &begun, &cancelled);
    assert_done(rapahub_host_kill(on.near.host, on.near.guest));
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, RAPAHUB_EDIED);
    for (; cancelled == 0 && now_ms() < end; pause_ms(1))
        way_look(&on.out, &begun, &cancelled);
    assert_int_equal(cancelled, 1);
    routing_close(&on);
}

/* ---- a container that is here ---- */

static void calls_of_a_container_go_to_the_router_where_it_says_so(void **state)
{
    const struct rapahub_guest_options guest = {.chimod = CALC};
    const struct rapahub_container_options routed = {
        .id = here, .pool_name = "test", .routed = true};
    struct rapahub_guest_id id;
    struct routing on;
    int64_t sum = 0;

    (void)state;
    routing_open(&on);
    assert_done(rapahub_host_spawn(on.near.host, &guest, &id));
    assert_done(rapahub_host_add_container(on.near.host, id, &routed));
    assert_done(start(&on.far, CALC, here, NULL));
    assert_done(near_add(&on, 1, 2, &sum));
    assert_int_equal(on.out.begun, 1);
    assert_done(rapahub_host_set_router(on.near.host, NULL));
    assert_refused(near_add(&on, 1, 2, &sum), RAPAHUB_ENOTLOCAL, "this host has none");
    routing_close(&on);
}

static void a_container_that_leaves_is_looked_for_elsewhere(void **state)
{
    struct routing on;
    int64_t sum = 0;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.near, CALC, here, NULL));
    assert_done(start(&on.far, CALC, here, NULL));
    assert_done(near_add(&on, 1, 2, &sum));
    assert_int_equal(on.out.begun, 0);
    assert_done(rapahub_host_remove_container(on.near.host, here));
    assert_done(near_add(&on, 1, 2, &sum));
    assert_int_equal(sum, 3);
    assert_int_equal(on.out.begun, 1);
    routing_close(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_is_waited_for_gives_what_it_gives_at_home),
        cmocka_unit_test(the_owner_may_wait_for_a_call_that_crosses),
        cmocka_unit_test(bytes_of_all_sizes_come_back),
        cmocka_unit_test(asynchronous_calls_end_each_with_its_result),
        cmocka_unit_test(a_cancelled_call_ends_at_once_and_the_router_is_told),
        cmocka_unit_test(a_deadline_ends_a_call_without_an_answer),
        cmocka_unit_test(a_loan_is_refused_where_the_container_is_not),
        cmocka_unit_test(the_methods_of_a_container_elsewhere_are_those_that_the_router_knows),
        cmocka_unit_test(a_guest_calls_a_container_of_another_host),
        cmocka_unit_test(nested_calls_go_back_and_forth_in_one_chain),
        cmocka_unit_test(a_guest_that_dies_has_its_calls_cancelled),
        cmocka_unit_test(calls_of_a_container_go_to_the_router_where_it_says_so),
        cmocka_unit_test(a_container_that_leaves_is_looked_for_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
