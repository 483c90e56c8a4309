/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/guests/spec_options.h"
#include "hub/base/bytes.h"
#include "tests/support/testing.h"

static struct cluster_spec_options read;

/* Options as a node gets them: from the bytes of a spec. */
static int read_options(const struct cluster_pool_option *options, uint32_t count)
{
    static uint8_t to[16384];
    static const uint8_t digest[CLUSTER_POOL_SPEC_DIGEST];
    struct cluster_pool_spec spec = {.name = rapahub_string_of("kv"),
                                     .module = rapahub_string_of("kv"),
                                     .version = rapahub_string_of("1"),
                                     .digest = {digest, sizeof digest},
                                     .containers = 1,
                                     .options = {.of = options, .count = count}};
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_pool_spec_put(&writer, &spec), 0);
    assert_int_equal(cluster_pool_spec_read((struct rapahub_bytes){to, writer.size}, &spec), 0);
    return cluster_spec_options_read(&spec, &read);
}

static struct cluster_pool_option number(const char *key, uint64_t value)
{
    return (struct cluster_pool_option){.key = rapahub_string_of(key), .number = value};
}

static struct cluster_pool_option word(const char *key, const char *value)
{
    return (struct cluster_pool_option){.key = rapahub_string_of(key),
                                        .word = rapahub_string_of(value)};
}

/* r[verify cluster.node.options] */
static void each_type_of_option_is_set(void **state)
{
    const struct cluster_pool_option options[] = {number("start_timeout", 7),
                                                  word("backoff.initial", "none"),
                                                  word("intensity.period", "forever"),
                                                  word("intensity.max", "none"),
                                                  number("limits.memory_max", 1 << 26),
                                                  number("log.rate", 5),
                                                  word("backoff.factor", "1.5"),
                                                  word("debug", "true"),
                                                  word("backoff.first_immediate", "true"),
                                                  word("trust", "trusted"),
                                                  word("restart", "signal"),
                                                  word("restart", "oom"),
                                                  number("watchdog_signal", 6),
                                                  number("success_exit", 0x103),
                                                  number("success_exit", 0x20f),
                                                  word("finish", "/bin/true"),
                                                  word("finish", "now"),
                                                  word("stop", "brutal"),
                                                  word("when_down", "fail")};

    (void)state;
    assert_int_equal(read_options(options, sizeof options / sizeof *options), 0);
    assert_int_equal(read.node.how.start_timeout_ns, 7);
    assert_true(read.node.how.backoff_initial_ns == RAPAHUB_NONE);
    assert_true(read.node.how.period_ns == RAPAHUB_FOREVER);
    assert_int_equal(read.node.how.restarts_max, -1);
    assert_int_equal(read.node.limits.memory_max, 1 << 26);
    assert_int_equal(read.node.how.log_rate, 5);
    assert_true(read.node.how.backoff_factor == 1.5);
    assert_true(read.node.how.debug && !read.node.how.backoff_first && read.node.how.brutal);
    assert_int_equal(read.node.trust, RAPAHUB_TRUST_TRUSTED);
    assert_int_equal(read.node.how.restart, RAPAHUB_RESTART_MASK);
    assert_int_equal(read.node.how.restart_mask,
                     1u << RAPAHUB_EXIT_SIGNAL | 1u << RAPAHUB_EXIT_OOM);
    assert_int_equal(read.node.how.watchdog_signal, 6);
    assert_true(read.node.how.success_exit[0] == RAPAHUB_STATUS(3) &&
                read.node.how.success_exit[1] == RAPAHUB_SIGNAL(15) &&
                read.node.how.success_exit[2] == 0);
    assert_string_equal(read.node.how.finish[0], "/bin/true");
    assert_string_equal(read.node.how.finish[1], "now");
    assert_null(read.node.how.finish[2]);
    assert_int_equal(read.node.how.when_down, RAPAHUB_WHEN_DOWN_FAIL);
}

/* r[verify cluster.node.options] */
static void calls_wait_for_a_guest_unless_the_pool_says_otherwise(void **state)
{
    (void)state;
    assert_int_equal(read_options(NULL, 0), 0);
    assert_int_equal(read.node.how.when_down, RAPAHUB_WHEN_DOWN_WAIT);
    assert_null(read.node.how.finish);
    assert_null(read.node.how.success_exit);
}

/* r[verify cluster.node.options] */
static void a_key_or_a_value_that_is_none_is_refused(void **state)
{
    const struct cluster_pool_option wrong[] = {
        word("no_such_key", "x"),           number("start_timeout", 0),
        word("start_timeout", "soon"),      word("start_timeout", "none"),
        number("limits.memory_max", 1),     number("log.rate", 100001),
        number("log.rate", 1ULL << 32),     word("backoff.factor", "0.5"),
        word("backoff.factor", "2x"),       word("debug", "maybe"),
        word("restart", "never"),           word("trust", "blind"),
        number("success_exit", 3),          number("intensity.max", 257),
        word("requires", "other"),          word("name", "another"),
        word("module", "another"),          word("intensity", "5/60s"),
        number("intensity.max", 1ULL << 33)};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_options(&wrong[i], 1), RAPAHUB_ECONFIG);
        assert_true(strlen(rapahub_last_error()->text) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_of_option_is_set),
        cmocka_unit_test(calls_wait_for_a_guest_unless_the_pool_says_otherwise),
        cmocka_unit_test(a_key_or_a_value_that_is_none_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
