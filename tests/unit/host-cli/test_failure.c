/* SPDX-License-Identifier: Apache-2.0 */
/* r[verify exp.next] */
#include <jansson.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/cli.h"
#include "host/cli/failure.h"
#include "tests/unit/host-cli/capture.h"

static struct capture capture;

static int report(struct cli *cli, int code)
{
    int status;

    capture_begin(&capture, stderr);
    status = cli_failure_report(cli, code);
    capture_end(&capture);
    return status;
}

static void an_error_names_cause_code_rule_and_what_to_do(void **state)
{
    struct cli cli = {.what = "calc"};
    int status = report(&cli, rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.generation", "killed"));

    (void)state;
    assert_int_equal(status, 9);
    assert_int_equal(strncmp(capture.text,
                             "error: calc: killed\n"
                             "  code RAPAHUB_EPROTOCOL  rule shm.slot.generation\n"
                             "hint: ",
                             77),
                     0);
}

static void the_methods_own_error_keeps_its_code(void **state)
{
    struct cli cli = {.what = "calc.divide"};
    int status = report(&cli, rapahub_fail_application(RAPAHUB_EINVAL, "division by zero"));

    (void)state;
    assert_int_equal(status, 12);
    assert_non_null(strstr(capture.text, "error: calc.divide: division by zero\n"
                                         "  code RAPAHUB_EAPPLICATION (RAPAHUB_EINVAL)\n"));
}

static void a_command_may_know_better_than_the_code(void **state)
{
    struct cli cli = {.exit_status = 4, .hint = "rapahub run FILE"};
    int status = report(&cli, rapahub_fail(RAPAHUB_ENOENT, "", "nobody"));

    (void)state;
    assert_int_equal(status, 4);
    assert_string_equal(capture.text,
                        "error: nobody\n  code RAPAHUB_ENOENT\nhint: rapahub run FILE\n");
}

static void a_code_without_a_diagnosis_has_its_own_text(void **state)
{
    struct cli cli = {.what = "x"};

    (void)state;
    rapahub_clear_error();
    assert_int_equal(report(&cli, RAPAHUB_EDIED), 9);
    assert_non_null(strstr(capture.text, rapahub_error_text(RAPAHUB_EDIED)));
}

static void as_json_it_is_one_document(void **state)
{
    struct cli cli = {.what = "calc", .output = CLI_OUTPUT_JSON};
    const json_t *error;
    json_t *read;

    (void)state;
    report(&cli, rapahub_fail(RAPAHUB_EFULL, "", "16 guests of 16"));
    read = json_loads(capture.text, 0, NULL);
    assert_non_null(read);
    error = json_object_get(read, "error");
    assert_string_equal(json_string_value(json_object_get(read, "schema")), "rapahub.error/1");
    assert_string_equal(json_string_value(json_object_get(error, "name")), "RAPAHUB_EFULL");
    assert_string_equal(json_string_value(json_object_get(error, "message")),
                        "calc: 16 guests of 16");
    assert_int_equal(json_integer_value(json_object_get(error, "exit")), 13);
    json_decref(read);
}

static void every_code_of_our_own_has_text_and_hint(void **state)
{
    unsigned count = 0;
    int code;

    (void)state;
    for (unsigned i = 0; (code = rapahub_error_at(i)) != 0; i++) {
        assert_true(rapahub_error_text(code)[0]);
        if (code <= -4097) {
            assert_true(rapahub_error_hint(code)[0]);
            count++;
        }
    }
    assert_true(count > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_names_cause_code_rule_and_what_to_do),
        cmocka_unit_test(the_methods_own_error_keeps_its_code),
        cmocka_unit_test(a_command_may_know_better_than_the_code),
        cmocka_unit_test(a_code_without_a_diagnosis_has_its_own_text),
        cmocka_unit_test(as_json_it_is_one_document),
        cmocka_unit_test(every_code_of_our_own_has_text_and_hint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
