/* SPDX-License-Identifier: Apache-2.0 */
/* typed_call: the result of a call that its caller has typed. */
#include <rapahub/error.h>

#include "cluster/client/typed_call.h"
#include "hub/base/own.h"
#include "tests/support/testing.h"

static int result_of(const char *method, struct rapahub_bytes payload, void *result)
{
    const struct rapahub_call call = {.method = method};
    struct hub_align memory = {0};
    struct cluster_typed_call typed;
    int r;

    assert_int_equal(cluster_typed_call_make(&call, 1000, &typed), 0);
    r = cluster_typed_call_result(&typed, payload, &memory, result);
    cluster_typed_call_fini(&typed);
    return r;
}

/* r[verify cluster.client.result] */
static void a_method_without_a_result_sends_no_bytes(void **state)
{
    const struct rapahub_bytes none = {"", 0}, one = {"\x02", 1};
    int64_t number = 0;

    (void)state;
    assert_int_equal(result_of("nothing() -> void", none, NULL), 0);
    assert_int_equal(result_of("nothing() -> void", none, &number), 0);
    assert_int_equal(result_of("nothing() -> void", one, NULL), RAPAHUB_EPROTOCOL);
    assert_int_equal(result_of("count() -> i64", one, &number), 0);
    assert_int_equal(number, 1);
    assert_int_equal(result_of("count() -> i64", none, &number), RAPAHUB_EPROTOCOL);
    assert_int_equal(result_of("count() -> i64", none, NULL), 0); /* its caller takes none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_without_a_result_sends_no_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
