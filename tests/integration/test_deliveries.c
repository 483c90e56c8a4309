/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are delivered to a callback of the guest. */
#include "tests/integration/linking.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BEAT UINT64_C(100000000) /* a guest that is slow is not to be taken for a silent one */
#else
#define BEAT UINT64_C(50000000)
#endif

static const struct rapahub_role producer[] = {
    {.name = "out", .region = "news", .kind = RAPAHUB_REGION_ROLE_PRODUCER}, {.name = NULL}};

static void open_news_with(struct hosting *on, struct rapahub_host_options how)
{
    open_host(on, how);
    make_region(
        on, "news",
        (struct rapahub_host_region_options){.region = {.kind = RAPAHUB_REGION_SPSC, .cells = 64}});
}

static const struct rapahub_role deliverer[] = {
    {.name = "in", .region = "news", .kind = RAPAHUB_REGION_ROLE_CONSUMER, .deliver = true},
    {.name = NULL}};

static void await_delivered(struct hosting *on, int64_t wanted)
{
    uint64_t end = now_ms() + 10000;

    while (number_of(on, 2, "delivered() -> i64") < wanted && now_ms() < end)
        assert_true(rapahub_host_dispatch(on->host, 1) >= 0);
    assert_int_equal(number_of(on, 2, "delivered() -> i64"), wanted);
}

/* r[verify supervise.role.deliver] */
static void messages_are_delivered_in_order(void **state)
{
    static const uint64_t values[] = {1, 2, 999999, 3, 1000000, 4};
    struct rapahub_guest_id guest;
    struct hosting on;
    uint64_t wanted = 0, sum = 0;

    (void)state;
    open_news_with(&on, (struct rapahub_host_options){0});
    assert_done(start_with(&on, 1, "writer", producer, &guest));
    assert_done(push_to(&on, 1, values[0]));
    assert_done(start_with(&on, 2, "reader", deliverer, &guest));
    await_delivered(&on, 1);
    for (size_t i = 1; i < sizeof values / sizeof *values; i++)
        assert_done(push_to(&on, 1, values[i]));
    await_delivered(&on, 5); /* one is passed over, and one comes a third time */
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i] != 999999)
            wanted = wanted * 31 + values[i];
    assert_done(ask_of(&on, 2, "sum() -> u64", NULL, &sum));
    assert_int_equal(sum, wanted);
    end_life_of(&on, 2);
    for (uint64_t i = 0; i < 60; i++)
        assert_done(push_to(&on, 1, i));
    await_delivered(&on, 60);
    close_host(&on);
}

/* Twenty intervals of the heartbeat. r[verify supervise.role.deliver] */
static void a_delivery_may_last_as_a_method_may(void **state)
{
    struct rapahub_guest_id guest;
    struct hosting on;
    int32_t before = 0, after = 0;

    (void)state;
    open_news_with(&on, (struct rapahub_host_options){.heartbeat_ns = BEAT});
    assert_done(start_with(&on, 1, "writer", producer, &guest));
    assert_done(start_with(&on, 2, "reader", deliverer, &guest));
    assert_done(ask_of(&on, 2, "pid() -> i32", NULL, &before));
    assert_done(push_to(&on, 1, 5000000 + 20 * (BEAT / 1000000)));
    await_delivered(&on, 1);
    assert_done(ask_of(&on, 2, "pid() -> i32", NULL, &after));
    assert_int_equal(before, after);
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* r[verify supervise.role.deliver] */
static void a_module_without_the_callback_cannot_deliver(void **state)
{
    const struct rapahub_container_options container = {
        .id = here, .pool_name = "test", .roles = deliverer};
    const struct rapahub_guest_options options = {
        .chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED, .container = &container};
    struct rapahub_guest_id guest;
    struct hosting on;

    (void)state;
    open_news_with(&on, (struct rapahub_host_options){0});
    assert_refused(rapahub_host_spawn(on.host, &options, &guest), RAPAHUB_EAPPLICATION,
                   "no callback 'message'");
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_delivered_in_order),
        cmocka_unit_test(a_delivery_may_last_as_a_method_may),
        cmocka_unit_test(a_module_without_the_callback_cannot_deliver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
