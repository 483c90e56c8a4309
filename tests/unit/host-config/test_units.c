/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/config/units.h"
#include "tests/support/testing.h"

static uint64_t span(const char *text)
{
    uint64_t ns = 0;

    assert_int_equal(config_units_span(text, &ns), 0);
    return ns;
}

static uint64_t size(const char *text)
{
    uint64_t bytes = 0;

    assert_int_equal(config_units_size(text, &bytes), 0);
    return bytes;
}

static void durations_have_units(void **state)
{
    static const char *const bad[] = {"5",   "",   "s",     "-1s", "1.5",
                                      "5 s", "1x", "1e30s", "nan", "infs"};
    uint64_t ns;

    (void)state;
    assert_int_equal(span("7ns"), 7);
    assert_int_equal(span("1.5us"), 1500);
    assert_int_equal(span("200ms"), 200000000);
    assert_int_equal(span("30s"), 30000000000);
    assert_int_equal(span("2m"), 120000000000);
    assert_int_equal(span("1h"), 3600000000000);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(config_units_span(bad[i], &ns), RAPAHUB_ECONFIG);
}

static void sizes_are_powers_of_1024(void **state)
{
    uint64_t bytes;

    (void)state;
    assert_int_equal(size("65536"), 65536);
    assert_int_equal(size("64K"), 65536);
    assert_int_equal(size("4MB"), 4194304);
    assert_int_equal(size("1GiB"), 1073741824);
    assert_int_equal(size("0.5K"), 512);
    assert_int_equal(config_units_size("4X", &bytes), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_size("-4", &bytes), RAPAHUB_ECONFIG);
}

static void counts_begin_at_one(void **state)
{
    uint64_t count;

    (void)state;
    assert_int_equal(config_units_count("18446744073709551615", &count), 0);
    assert_true(count == UINT64_MAX);
    assert_int_equal(config_units_count("18446744073709551616", &count), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_count("0", &count), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_count("-1", &count), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_count("1x", &count), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_count("", &count), RAPAHUB_ECONFIG);
}

static void a_budget_is_restarts_within_a_period(void **state)
{
    uint64_t period_ns = 1;
    int32_t count = 0;

    (void)state;
    assert_int_equal(config_units_budget("5/60s", &count, &period_ns), 0);
    assert_int_equal(count, 5);
    assert_int_equal(period_ns, 60000000000);
    assert_int_equal(config_units_budget("12/1s", &count, &period_ns), 0); /* decimal */
    assert_int_equal(count, 12);
    assert_int_equal(config_units_budget("256/1s", &count, &period_ns), 0);
    assert_int_equal(count, 256);
    assert_int_equal(config_units_budget("none", &count, &period_ns), 0);
    assert_int_equal(count, -1);
    assert_int_equal(config_units_budget("5", &count, &period_ns), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_budget("0/60s", &count, &period_ns), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_budget("257/60s", &count, &period_ns), RAPAHUB_ECONFIG);
    assert_int_equal(config_units_budget("5/60", &count, &period_ns), RAPAHUB_ECONFIG);
}

static void texts_have_three_digits(void **state)
{
    char to[CONFIG_UNITS_TEXT];

    (void)state;
    assert_string_equal(config_units_print_span(999, to), "999 ns");
    assert_string_equal(config_units_print_span(1234, to), "1.23 µs");
    assert_string_equal(config_units_print_span(999499, to), "999 µs");
    assert_string_equal(config_units_print_span(999600, to), "1.00 ms");
    assert_string_equal(config_units_print_span(8100000000, to), "8.10 s");
    assert_string_equal(config_units_print_span(99960000000, to), "100 s");
    assert_string_equal(config_units_print_span(600000000000, to), "10 m");
    assert_string_equal(config_units_print_span(UINT64_C(7500000000000), to), "2 h 5 m");
    assert_string_equal(config_units_print_size(1023, to), "1023 B");
    assert_string_equal(config_units_print_size(0, to), "0 B");
    assert_string_equal(config_units_print_size(1024, to), "1 KiB");
    assert_string_equal(config_units_print_size(15400, to), "15 KiB");
    assert_string_equal(config_units_print_size(1048063, to), "1023 KiB");
    assert_string_equal(config_units_print_size(1048064, to), "1.0 MiB");
    assert_string_equal(config_units_print_size(10423000, to), "9.9 MiB");
    assert_string_equal(config_units_print_size(10434000, to), "10 MiB");
    assert_string_equal(config_units_print_size(1048575, to), "1.0 MiB");
    assert_string_equal(config_units_print_size(UINT64_C(2254857830), to), "2.1 GiB");
    assert_string_equal(config_units_print_size(UINT64_MAX, to), "16 EiB");
    assert_string_equal(config_units_print_count(0, to), "0");
    assert_string_equal(config_units_print_count(999, to), "999");
    assert_string_equal(config_units_print_count(1204331, to), "1,204,331");
    assert_string_equal(config_units_print_time(UINT64_C(1700000000000000007), to),
                        "2023-11-14T22:13:20.000000007Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(counts_begin_at_one),
        cmocka_unit_test(a_budget_is_restarts_within_a_period),
        cmocka_unit_test(texts_have_three_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
