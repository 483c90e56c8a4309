/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hub/base/printable.h"
#include "tests/support/testing.h"

/* r[verify exp.terminal] */
static void what_a_person_may_see_stays(void **state)
{
    static const char *const good[] = {"a",
                                       "~",
                                       " ",
                                       "\xc2\xa0",
                                       "\xc3\xa9",
                                       "\xe2\x80\xa6",
                                       "\xef\xbb\xbf",
                                       "\xf0\x9f\x98\x80",
                                       "\xf4\x8f\xbf\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(hub_printable_size(good[i], strlen(good[i]) + 1), strlen(good[i]));
}

/* r[verify exp.terminal] */
static void controls_and_what_is_no_text_do_not(void **state)
{
    static const char *const bad[] = {"\x1b[",        "\x7f",         "\n",
                                      "\t",           "\xc2\x80",     "\xc2\x9b",
                                      "\xc2\x9f",     "\xd8\x9c",     "\xe2\x80\x8e",
                                      "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae",
                                      "\xe2\x81\xa6", "\xe2\x81\xa9", "\x9b",
                                      "\xc0\x80",     "\xc3",         "\xe2\x80",
                                      "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hub_printable_size(bad[i], strlen(bad[i])), 0);
    assert_int_equal(hub_printable_size("", 1), 0);
    assert_int_equal(hub_printable_size("a", 0), 0);
}

static void a_text_is_mended_in_place(void **state)
{
    char text[] = "a\x1b[31m\xc2\x9b"
                  "b\xe2\x80\xae\xc3\xa9\xc3";

    (void)state;
    hub_printable_mend(text);
    assert_string_equal(text, "a?[31m??b???\xc3\xa9?");
}

/* Long texts are looked at in steps of several bytes. */
static void each_byte_is_seen_wherever_it_stands(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++)
        for (size_t at = 0; at < 19; at++) {
            char text[] = "nineteen characters", mended[sizeof text];

            memcpy(mended, text, sizeof text);
            text[at] = (char)byte;
            mended[at] = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
            hub_printable_mend(text);
            assert_string_equal(text, mended);
        }
}

static void what_is_escaped_can_be_read_back(void **state)
{
    static const char text[] = "\xc3\xa9\x1b\n\xc2\x9b";
    char to[64];

    (void)state;
    assert_int_equal(hub_printable_escape(text, 6, "\n", to, sizeof to), 15);
    assert_string_equal(to, "\xc3\xa9\\x1b\n\\xc2\\x9b");
    assert_int_equal(hub_printable_escape(text, 6, "", NULL, 0), 18);
    assert_int_equal(hub_printable_escape(text, 6, "\n", to, 6), 15); /* cut at a character */
    assert_string_equal(to, "\xc3\xa9");
    assert_int_equal(hub_printable_escape("", 1, "\n", to, sizeof to), 4); /* a 0 is one, too */
    assert_string_equal(to, "\\x00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_person_may_see_stays),
        cmocka_unit_test(controls_and_what_is_no_text_do_not),
        cmocka_unit_test(a_text_is_mended_in_place),
        cmocka_unit_test(each_byte_is_seen_wherever_it_stands),
        cmocka_unit_test(what_is_escaped_can_be_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
