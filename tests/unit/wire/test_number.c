/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/random.h"
#include "hub/wire/number.h"
#include "tests/support/testing.h"

static int parse(const struct rapahub_type *type, const char *text, void *value)
{
    return hub_number_parse(type, text, strlen(text), value);
}

static void integers_go_to_the_edge_of_their_type_and_no_further(void **state)
{
    static const struct {
        const struct rapahub_type *type;
        const char *least, *below, *most, *above;
    } cases[] = {
        {&rapahub_type_i8, "-128", "-129", "127", "128"},
        {&rapahub_type_i16, "-32768", "-32769", "32767", "0x8000"},
        {&rapahub_type_i32, "-2147483648", "-2147483649", "2147483647", "2147483648"},
        {&rapahub_type_i64, "-9223372036854775808", "-9223372036854775809", "9223372036854775807",
         "9223372036854775808"},
        {&rapahub_type_u8, "0", "-1", "255", "256"},
        {&rapahub_type_u16, "0", "-1", "65535", "65536"},
        {&rapahub_type_u32, "0", "-1", "4294967295", "0x100000000"},
        {&rapahub_type_u64, "0", "-1", "18446744073709551615", "18446744073709551616"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rapahub_type *type = cases[i].type;
        char text[HUB_NUMBER_TEXT];
        uint64_t value = UINT64_C(0xaaaaaaaaaaaaaaaa);

        assert_int_equal(parse(type, cases[i].least, &value), 0);
        hub_number_print(type, &value, text);
        assert_string_equal(text, cases[i].least);
        assert_int_equal(parse(type, cases[i].most, &value), 0);
        hub_number_print(type, &value, text);
        assert_string_equal(text, cases[i].most);
        assert_int_equal(parse(type, cases[i].below, &value), -EINVAL);
        assert_non_null(strstr(rapahub_last_error()->text, " goes from "));
        assert_non_null(strstr(rapahub_last_error()->text, cases[i].most));
        assert_int_equal(parse(type, cases[i].above, &value), -EINVAL);
        assert_non_null(strstr(rapahub_last_error()->text, cases[i].least));
    }
}

static void only_its_own_bytes_are_written(void **state)
{
    uint8_t bytes[4] = {9, 9, 9, 9};

    (void)state;
    assert_int_equal(parse(&rapahub_type_u16, "0", bytes), 0);
    assert_int_equal(bytes[2], 9);
}

static void what_is_no_number_is_named(void **state)
{
    static const char *const integers[] = {"x",   "",   "-",   "+1",  " 1", "1 ",
                                           "1.0", "0x", "0xg", "1e3", "-x", "--1"};
    static const char *const floats[] = {"x",  "",    "-",    ".",    "+1",  " 1",   "1,5",
                                         "1e", "1e+", "-nan", "infi", "0xg", "1.5x", "nan(0x1)"};
    uint64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
        char expected[32];

        snprintf(expected, sizeof(expected), "'%s' is no i64", integers[i]);
        assert_int_equal(parse(&rapahub_type_i64, integers[i], &value), -EINVAL);
        assert_string_equal(rapahub_last_error()->text, expected);
    }
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
        assert_int_equal(parse(&rapahub_type_f64, floats[i], &value), -EINVAL);
}

static void hexadecimal_is_read(void **state)
{
    int64_t whole;
    double real;

    (void)state;
    assert_int_equal(parse(&rapahub_type_i64, "-0xFf", &whole), 0);
    assert_int_equal(whole, -255);
    assert_int_equal(parse(&rapahub_type_f64, "0x10", &real), 0);
    assert_true(real == 16);
}

static void check_f64(double value, const char *expected)
{
    char text[HUB_NUMBER_TEXT];
    double back;

    hub_number_print(&rapahub_type_f64, &value, text);
    if (expected)
        assert_string_equal(text, expected);
    assert_int_equal(parse(&rapahub_type_f64, text, &back), 0);
    assert_int_equal(memcmp(&back, &value, sizeof(value)), 0);
}

static void floats_are_the_shortest_that_reads_back(void **state)
{
    struct hub_random random;
    float third = 1.0F / 3;
    char text[HUB_NUMBER_TEXT];

    (void)state;
    check_f64(0.1, "0.1");
    check_f64(-0.0, "-0");
    check_f64(1e300, "1e+300");
    check_f64(1.0 / 3, "0.3333333333333333");
    check_f64(DBL_MAX, "1.7976931348623157e+308");
    check_f64(4.9406564584124654e-324, "5e-324");
    check_f64(__builtin_inf(), "inf");
    check_f64(-__builtin_inf(), "-inf");
    hub_number_print(&rapahub_type_f32, &third, text);
    assert_string_equal(text, "0.33333334");
    hub_random_init(&random, 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t bits = hub_random_next(&random);
        double value;

        memcpy(&value, &bits, sizeof(value));
        if (!__builtin_isnan(value))
            check_f64(value, NULL);
    }
}

static void not_a_number_is_a_word_without_sign(void **state)
{
    double value = -__builtin_nan("");
    char text[HUB_NUMBER_TEXT];

    (void)state;
    hub_number_print(&rapahub_type_f64, &value, text);
    assert_string_equal(text, "nan");
    value = 0;
    assert_int_equal(parse(&rapahub_type_f64, "nan", &value), 0);
    assert_true(__builtin_isnan(value));
}

static void a_float_that_is_too_large_is_refused(void **state)
{
    float narrow;
    double wide;

    (void)state;
    assert_int_equal(parse(&rapahub_type_f32, "1e39", &narrow), -EINVAL);
    assert_string_equal(rapahub_last_error()->text, "'1e39' is too large for f32");
    assert_int_equal(parse(&rapahub_type_f64, "1e39", &wide), 0);
    assert_int_equal(parse(&rapahub_type_f64, "-1e309", &wide), -EINVAL);
}

/* Rounded once from the text, not twice by way of a double. */
static void an_f32_is_rounded_once(void **state)
{
    float value;

    (void)state;
    assert_int_equal(parse(&rapahub_type_f32, "1.00000017881393432617187499", &value), 0);
    assert_true(value == 1.00000011920928955078125F);
}

static void the_locale_changes_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF"};
    bool found = false;

    (void)state;
    for (size_t i = 0; i < 4 && !found; i++)
        found = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!found)
        skip();
    check_f64(-1234.5, "-1234.5");
    setlocale(LC_NUMERIC, "C");
}

static void a_text_of_any_length_is_bounded(void **state)
{
    char text[5000];
    double value;

    (void)state;
    memset(text, '1', sizeof(text));
    text[1] = '.';
    assert_int_equal(hub_number_parse(&rapahub_type_f64, text, 1024, &value), 0);
    assert_int_equal(hub_number_parse(&rapahub_type_f64, text, 1025, &value), -EINVAL);
    assert_int_equal(parse(&rapahub_type_u64, "184467440737095516160", &value), -EINVAL);
    memset(text, '0', sizeof(text));
    assert_int_equal(hub_number_parse(&rapahub_type_u64, text, sizeof(text), &value), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_go_to_the_edge_of_their_type_and_no_further),
        cmocka_unit_test(only_its_own_bytes_are_written),
        cmocka_unit_test(what_is_no_number_is_named),
        cmocka_unit_test(hexadecimal_is_read),
        cmocka_unit_test(floats_are_the_shortest_that_reads_back),
        cmocka_unit_test(not_a_number_is_a_word_without_sign),
        cmocka_unit_test(a_float_that_is_too_large_is_refused),
        cmocka_unit_test(an_f32_is_rounded_once),
        cmocka_unit_test(the_locale_changes_nothing),
        cmocka_unit_test(a_text_of_any_length_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
