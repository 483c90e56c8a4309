/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_has_a_query_of_its_own),
        cmocka_unit_test(only_so_many_calls_of_the_host_are_at_its_router),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
