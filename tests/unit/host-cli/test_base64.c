/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "host/cli/text/base64.h"
#include "tests/support/testing.h"

static void assert_decodes(const char *text, const char *expected)
{
    char buffer[64];
    size_t size = 99;

    snprintf(buffer, sizeof buffer, "%s", text);
    assert_true(cli_base64_decode(buffer, strlen(text), &size));
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(buffer, expected, size);
}

static void the_vectors_of_rfc_4648_decode(void **state)
{
    (void)state;
    assert_decodes("", "");
    assert_decodes("Zg==", "f");
    assert_decodes("Zm8=", "fo");
    assert_decodes("Zm9v", "foo");
    assert_decodes("Zm9vYg==", "foob");
    assert_decodes("Zm9vYmE=", "fooba");
    assert_decodes("Zm9vYmFy", "foobar");
}

static void what_stands_before_a_text_is_not_its_own(void **state)
{
    char text[] = "==Zg==";
    size_t size = 99;

    (void)state;
    assert_true(cli_base64_decode(text + 2, 0, &size));
    assert_int_equal(size, 0);
}

static void what_is_no_base64_is_refused(void **state)
{
    static const char *const bad[] = {
        "Z", "Zg=", "Zg", "Zg=g", "Z===", "====", "Zm9v!mFy", "Zg==Zg==", "=Zg="};

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        char buffer[16];
        size_t size;

        snprintf(buffer, sizeof buffer, "%s", bad[i]);
        assert_false(cli_base64_decode(buffer, strlen(bad[i]), &size));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_rfc_4648_decode),
        cmocka_unit_test(what_stands_before_a_text_is_not_its_own),
        cmocka_unit_test(what_is_no_base64_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
