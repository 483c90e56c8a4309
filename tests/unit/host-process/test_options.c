/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host/process/options.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

static void nothing_given_means_the_defaults(void **state)
{
    struct host_options options;

    (void)state;
    assert_int_equal(host_options_take(NULL, &options), 0);
    assert_string_equal(options.name, "host");
    assert_int_equal(options.limits.guests_max, 16);
    assert_int_equal(options.limits.ring_size, 256);
    assert_int_equal(options.limits.slot_size, 4096);
    assert_int_equal(options.limits.payload_max, 1 << 20);
    assert_int_equal(options.limits.var_bytes_max, 256 << 20);
    assert_int_equal(options.limits.heartbeat_ns, HUB_SECOND);
    assert_int_equal(options.call_timeout_ns, 30 * HUB_SECOND);
    assert_non_null(strstr(options.guest_program, "rapahub-guest"));
    host_options_fini(&options);
}

static void what_is_given_holds(void **state)
{
    const struct rapahub_host_options given = {.name = "h",
                                               .guests_max = 255,
                                               .slot_size = 4096,
                                               .heartbeat_ns = UINT64_MAX,
                                               .guest_program = "/x"};
    struct host_options options;

    (void)state;
    assert_int_equal(host_options_take(&given, &options), 0);
    assert_int_equal(options.limits.guests_max, 255);
    assert_int_equal(options.limits.payload_max, 4092);
    assert_int_equal(options.limits.heartbeat_ns, 0);
    assert_string_equal(options.guest_program, "/x");
    host_options_fini(&options);
}

static void what_is_out_of_range_is_refused(void **state)
{
    const struct rapahub_host_options bad[] = {
        {.guests_max = 256},
        {.ring_size = 100},
        {.slot_size = 100},
        {.slot_size = 1},
        {.payload_max = (1u << 30) + 1},
        {.slot_count = 100000},
        {.heartbeat_ns = 1},
        {.credit_size = UINT32_MAX},
        {.channels_max = 1},
        {.starts_parallel_max = 256},
        {.starts_burst = 65537},
        {.starts_per_s = 1000001},
        {.reserved = {0, 1}},
    };
    struct host_options options;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(host_options_take(&bad[i], &options), RAPAHUB_EINVAL);
}

static void a_guest_is_checked(void **state)
{
    char long_name[65] = "";
    const struct rapahub_guest_options bad[] = {
        {.chimod = NULL},
        {.chimod = ""},
        {.chimod = "x", .name = ""},
        {.chimod = "x", .name = "a b"},
        {.chimod = "x", .name = "../x"},
        {.chimod = "x", .name = "a\x1b"},
        {.chimod = "x", .name = long_name},
        {.chimod = "x", .trust = (enum rapahub_trust)7},
        {.chimod = "x", .reserved = {[6] = 1}},
        {.chimod = "x", .module_fd = -1},
    };
    const struct rapahub_guest_options good = {.chimod = "x", .name = "kv-1.main"},
                                       strict = {.chimod = "x", .trust = RAPAHUB_TRUST_STRICT};

    (void)state;
    memset(long_name, 'a', 64);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(host_options_check_guest(&bad[i]), RAPAHUB_EINVAL);
    assert_int_equal(host_options_check_guest(&good), 0);
    assert_int_equal(host_options_check_guest(&strict), RAPAHUB_ESANDBOX);
}

static void a_container_is_checked(void **state)
{
    const struct rapahub_container_options good = {.pool_name = "p", .params = {"", 32768}},
                                           large = {.pool_name = "p", .params = {"", 32769}},
                                           nameless = {.pool_name = NULL},
                                           odd = {.pool_name = "p", .reserved = {1}};

    (void)state;
    assert_int_equal(host_options_check_container(&good), 0);
    assert_int_equal(host_options_check_container(&large), RAPAHUB_EMSGSIZE);
    assert_int_equal(host_options_check_container(&nameless), RAPAHUB_EINVAL);
    assert_int_equal(host_options_check_container(&odd), RAPAHUB_EINVAL);
    assert_int_equal(host_options_check_container(NULL), RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_means_the_defaults), cmocka_unit_test(what_is_given_holds),
        cmocka_unit_test(what_is_out_of_range_is_refused),  cmocka_unit_test(a_guest_is_checked),
        cmocka_unit_test(a_container_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
