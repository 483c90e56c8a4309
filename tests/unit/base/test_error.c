/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/version.h>

#include "tests/support/testing.h"

static void a_failure_is_its_code_and_a_diagnosis(void **state)
{
    const struct rapahub_diagnosis *why = rapahub_last_error();

    (void)state;
    assert_int_equal(rapahub_fail(RAPAHUB_EFULL, "shm.file.create", "%s %d", "table", 5),
                     RAPAHUB_EFULL);
    assert_int_equal(why->code, RAPAHUB_EFULL);
    assert_string_equal(why->rule, "shm.file.create");
    assert_string_equal(why->text, "table 5");
    assert_int_equal(why->application, 0);
}

static void an_error_of_a_method_keeps_its_own_code(void **state)
{
    (void)state;
    assert_int_equal(rapahub_fail_application(-7, "no %s here"), RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_last_error()->application, -7);
    assert_string_equal(rapahub_last_error()->text, "no %s here");
    rapahub_fail(RAPAHUB_EINVAL, "", "next");
    assert_int_equal(rapahub_last_error()->application, 0);
}

static void a_cleared_diagnosis_is_empty_and_never_null(void **state)
{
    (void)state;
    rapahub_fail(RAPAHUB_EINVAL, "shm.file.create", "text");
    rapahub_clear_error();
    assert_int_equal(rapahub_last_error()->code, 0);
    assert_string_equal(rapahub_last_error()->rule, "");
    assert_string_equal(rapahub_last_error()->text, "");
}

static void a_failure_keeps_errno(void **state)
{
    (void)state;
    errno = EXDEV;
    rapahub_fail(RAPAHUB_EINVAL, "", "%s", "text");
    rapahub_fail_application(1, "text");
    assert_int_equal(errno, EXDEV);
}

static void a_text_may_hold_the_text_of_the_last_failure(void **state)
{
    (void)state;
    rapahub_fail(RAPAHUB_EINVAL, "", "inner");
    rapahub_fail(RAPAHUB_EINVAL, "", "outer: %s", rapahub_last_error()->text);
    assert_string_equal(rapahub_last_error()->text, "outer: inner");
    rapahub_fail_application(1, rapahub_last_error()->text);
    assert_string_equal(rapahub_last_error()->text, "outer: inner");
}

/* A peer's text in a diagnosis must not move the cursor of who reads the log. */
static void control_characters_become_question_marks(void **state)
{
    (void)state;
    rapahub_fail(RAPAHUB_EINVAL, "", "%s",
                 "a\nb\x1b[2Jc\x7f\xc3\xa4\xc2\x9b"
                 "2J\xe2\x80\xae\xff");
    assert_string_equal(rapahub_last_error()->text, "a?b?[2Jc?\xc3\xa4??2J????");
}

static void a_long_text_is_cut_at_1023_bytes(void **state)
{
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    rapahub_fail(RAPAHUB_EINVAL, "", "%s", text);
    assert_int_equal(strlen(rapahub_last_error()->text), 1023);
    rapahub_fail_application(1, text);
    assert_int_equal(strlen(rapahub_last_error()->text), 1023);
}

static void *fail_elsewhere(void *user)
{
    (void)user;
    rapahub_fail(RAPAHUB_EDIED, "", "of another thread");
    return NULL;
}

static void each_thread_has_its_own_diagnosis(void **state)
{
    pthread_t other;

    (void)state;
    rapahub_fail(RAPAHUB_EINVAL, "", "mine");
    assert_int_equal(pthread_create(&other, NULL, fail_elsewhere, NULL), 0);
    pthread_join(other, NULL);
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->text, "mine");
}

/* Programs branch on these numbers: they are only ever appended. */
static void the_codes_have_their_published_numbers(void **state)
{
    (void)state;
    assert_int_equal(RAPAHUB_EFORMAT, -4097);
    assert_int_equal(RAPAHUB_EDIED, -4101);
    assert_int_equal(RAPAHUB_ERESET, -4109);
    assert_int_equal(RAPAHUB_ESTOPPED, -4161);
    assert_int_equal(RAPAHUB_ELOAD, -4167);
    assert_int_equal(RAPAHUB_ETIMEDOUT, -ETIMEDOUT);
}

static void each_code_has_a_name_that_leads_back_to_it(void **state)
{
    unsigned count = 0;

    (void)state;
    for (int code; (code = rapahub_error_at(count)) != 0; count++) {
        const char *name = rapahub_error_name(code);

        assert_true(code < 0);
        assert_int_equal(strncmp(name, "RAPAHUB_E", 9), 0);
        assert_int_equal(rapahub_error_of_name(name), code);
        assert_int_equal(rapahub_error_of_name(name + strlen("RAPAHUB_")), code);
        assert_true(strlen(rapahub_error_text(code)) > 0);
        assert_non_null(rapahub_error_hint(code));
        assert_in_range(rapahub_error_exit(code), 1, 255);
    }
    assert_true(count > 30);
    assert_int_equal(rapahub_error_at(UINT32_MAX), 0);
}

static void no_two_codes_are_the_same(void **state)
{
    (void)state;
    for (unsigned i = 0; rapahub_error_at(i) != 0; i++)
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(rapahub_error_at(i), rapahub_error_at(j));
}

static void unknown_codes_are_answered_too(void **state)
{
    (void)state;
    assert_string_equal(rapahub_error_name(-9999), "RAPAHUB_UNKNOWN");
    assert_string_equal(rapahub_error_text(-9999), "unknown error");
    assert_string_equal(rapahub_error_text(5), "unknown error");
    assert_string_equal(rapahub_error_hint(-9999), "");
    assert_int_equal(rapahub_error_exit(-9999), 1);
    assert_int_equal(rapahub_error_of_name("RAPAHUB_ENONSENSE"), 0);
    assert_int_equal(rapahub_error_of_name(""), 0);
    assert_string_equal(rapahub_error_text(-ELOOP), "Too many levels of symbolic links");
}

static void the_library_tells_its_version(void **state)
{
    (void)state;
    assert_string_equal(rapahub_version(), RAPAHUB_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_its_code_and_a_diagnosis),
        cmocka_unit_test(an_error_of_a_method_keeps_its_own_code),
        cmocka_unit_test(a_cleared_diagnosis_is_empty_and_never_null),
        cmocka_unit_test(a_failure_keeps_errno),
        cmocka_unit_test(a_text_may_hold_the_text_of_the_last_failure),
        cmocka_unit_test(control_characters_become_question_marks),
        cmocka_unit_test(a_long_text_is_cut_at_1023_bytes),
        cmocka_unit_test(each_thread_has_its_own_diagnosis),
        cmocka_unit_test(the_codes_have_their_published_numbers),
        cmocka_unit_test(each_code_has_a_name_that_leads_back_to_it),
        cmocka_unit_test(no_two_codes_are_the_same),
        cmocka_unit_test(unknown_codes_are_answered_too),
        cmocka_unit_test(the_library_tells_its_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
