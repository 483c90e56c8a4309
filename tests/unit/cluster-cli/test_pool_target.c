/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that name a method of a pool. r[verify cluster.call.target] */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/cli/pool_target.h"
#include "hub/wire/signature.h"
#include "tests/support/testing.h"

static struct cluster_pool_target read_good(const char *text)
{
    struct cluster_pool_target target;

    if (cluster_pool_target_read(text, &target) < 0)
        print_error("%s: %s\n", text, rapahub_last_error()->text);
    assert_int_equal(cluster_pool_target_read(text, &target), 0);
    return target;
}

static void a_name_and_a_container(void **state)
{
    struct cluster_pool_target target = read_good("tally.add");

    (void)state;
    assert_string_equal(target.name, "tally");
    assert_string_equal(target.method, "add");
    assert_false(target.has_mode || target.has_container);
    target = read_good("tally#4095.add");
    assert_string_equal(target.name, "tally");
    assert_true(target.has_container);
    assert_int_equal(target.container, 4095);
}

/* Names have dots, and so have keys and records in a signature. */
static void the_method_begins_after_the_last_dot_before_its_bracket(void **state)
{
    struct cluster_pool_target target = read_good("shop.v1.2.add({x: f64}) -> i64.");

    (void)state;
    assert_string_equal(target.name, "shop.v1.2");
    assert_string_equal(target.method, "add({x: f64}) -> i64.");
}

static void modes(void **state)
{
    struct cluster_pool_target target = read_good("a@local.f");

    (void)state;
    assert_true(target.has_mode);
    assert_int_equal(target.query.mode, RAPAHUB_QUERY_LOCAL);
    assert_false(cluster_pool_target_is_many(&target));
    target = read_good("a@physical:4294967295.f");
    assert_int_equal(target.query.mode, RAPAHUB_QUERY_PHYSICAL);
    assert_int_equal(target.query.number, UINT32_MAX);
    target = read_good("a@range:2+3.f");
    assert_int_equal(target.query.mode, RAPAHUB_QUERY_RANGE);
    assert_int_equal(target.query.offset, 2);
    assert_int_equal(target.query.count, 3);
    assert_true(cluster_pool_target_is_many(&target));
    target = read_good("a@dynamic.f");
    assert_int_equal(target.query.mode, RAPAHUB_QUERY_DYNAMIC);
    assert_int_equal(target.query.number, 0);
    target = read_good("a@dynamic:apples.f");
    assert_int_equal(target.query.mode, RAPAHUB_QUERY_DYNAMIC);
    assert_int_equal(target.query.number, hub_signature_hash("apples"));
    target = read_good("a@broadcast.f");
    assert_int_equal(target.query.mode, RAPAHUB_QUERY_BROADCAST);
    assert_true(cluster_pool_target_is_many(&target));
}

/* FNV-1a 64, so that programs in any language find the container of a key. */
static void a_key_is_hashed(void **state)
{
    struct cluster_pool_target target = read_good("a@hash:a.f");

    (void)state;
    assert_int_equal(target.query.mode, RAPAHUB_QUERY_HASH);
    assert_true(target.query.number == UINT64_C(0xaf63dc4c8601ec8c));
    target = read_good("a@hash:foobar.f");
    assert_true(target.query.number == UINT64_C(0x85944171f73967e8));
    target = read_good("a@hash:us#er@x:1/y.z.f");
    assert_true(target.query.number == hub_signature_hash("us#er@x:1/y.z"));
    assert_string_equal(target.name, "a");
}

static void what_may_be_a_pool_and_what_must_be_one(void **state)
{
    (void)state;
    assert_true(cluster_pool_target_has_mode("a@local.f"));
    assert_false(cluster_pool_target_has_mode("a.f(string) -> x@y"));
    assert_false(cluster_pool_target_has_mode("host/a@b.f"));
    assert_true(cluster_pool_target_may_be("a.f"));
    assert_true(cluster_pool_target_may_be("a#2.f({x: f64}) -> a/b"));
    assert_true(cluster_pool_target_may_be("a@hash:x/y.f"));
    assert_false(cluster_pool_target_may_be("host/a.f"));
    assert_false(cluster_pool_target_may_be("calc.so:f"));
}

static void what_is_wrong_is_said(void **state)
{
    static const char *const wrong[][2] = {
        {"add", "names no method"},
        {".add", "names no method"},
        {"tally.", "names no method"},
        {"", "names no method"},
        {"-a.f", "'-a' is no name of a pool"},
        {"a#.f", "'' is no number of a container, from 0 to 4095"},
        {"a#4096.f", "'4096' is no number of a container"},
        {"a#1x.f", "'1x' is no number of a container"},
        {"a#18446744073709551616.f", "is no number of a container"},
        {"a@.f", "'' is no mode; there are local, physical:N, hash:KEY, range:O+N, broadcast, "
                 "dynamic and dynamic:KEY"},
        {"a@dynamo.f", "'dynamo' is no mode"},
        {"a@dynamic:.f", "hash:KEY and dynamic:KEY need a key"},
        {"a@localx.f", "'localx' is no mode"},
        {"a@physical:0.f", "'0' is no number of a node"},
        {"a@physical:x.f", "'x' is no number of a node"},
        {"a@physical:4294967296.f", "is no number of a node"},
        {"a@hash:.f", "hash:KEY and dynamic:KEY need a key"},
        {"a@range:2.f", "'2' is no range; 2+3 is 2, 3 and 4"},
        {"a@range:2+0.f", "'2+0' is no range"},
        {"a@range:+3.f", "'+3' is no range"},
        {"a@range:-1+3.f", "'-1+3' is no range"},
        {"a@range:1+4097.f", "is no range"},
    };
    struct cluster_pool_target target;

    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int r = cluster_pool_target_read(wrong[i][0], &target);

        if (r != RAPAHUB_ECONFIG || !strstr(rapahub_last_error()->text, wrong[i][1]))
            fail_msg("%s: %d %s", wrong[i][0], r, rapahub_last_error()->text);
    }
}

static void a_container_alone(void **state)
{
    char name[CLUSTER_KEYS_NAME_MAX + 1];
    uint32_t container;

    (void)state;
    assert_int_equal(cluster_pool_target_container("a.b#7", name, &container), 0);
    assert_string_equal(name, "a.b");
    assert_int_equal(container, 7);
    assert_int_equal(cluster_pool_target_container("a", name, &container), RAPAHUB_ECONFIG);
    assert_int_equal(cluster_pool_target_container("#7", name, &container), RAPAHUB_ECONFIG);
    assert_int_equal(cluster_pool_target_container("a#", name, &container), RAPAHUB_ECONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_and_a_container),
        cmocka_unit_test(the_method_begins_after_the_last_dot_before_its_bracket),
        cmocka_unit_test(modes),
        cmocka_unit_test(a_key_is_hashed),
        cmocka_unit_test(what_may_be_a_pool_and_what_must_be_one),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_container_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
