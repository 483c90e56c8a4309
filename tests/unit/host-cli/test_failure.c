/* SPDX-License-Identifier: Apache-2.0 */
/* r[verify exp.next] */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
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

/* "kv: kv: no such file" says one thing twice. */
static void a_text_that_begins_with_the_name_is_told_once(void **state)
{
    static const struct {
        const char *what, *text, *told;
    } cases[] = {
        {"kv", "kv: no such file", "error: kv: no such file\n"},
        {"k", "k: no such file", "error: k: no such file\n"},
        {"kv", "x", "error: kv: x\n"},
        {"kv", "kvs: no such file", "error: kv: kvs: no such file\n"},
        {"kv", "k: no such file", "error: kv: k: no such file\n"},
        {"kv", "kv has ended", "error: kv: kv has ended\n"},
        {"kv", "ab: no such file", "error: kv: ab: no such file\n"},
        {"", ": no such file", "error: : no such file\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cli cli = {.hint = "h"};

        cli_failure_about(&cli, "%s", cases[i].what);
        (void)report(&cli, rapahub_fail(RAPAHUB_ENOENT, "", "%s", cases[i].text));
        assert_int_equal(strncmp(capture.text, cases[i].told, strlen(cases[i].told)), 0);
        assert_string_equal(capture.text + strlen(cases[i].told),
                            "  code RAPAHUB_ENOENT\nhint: h\n");
    }
}

static void what_a_guest_printed_is_set_in_line_by_line(void **state)
{
    struct cli cli = {.quote = "one\n\n  two"};

    (void)state;
    cli_failure_hint(&cli, "%s %d", "do", 7);
    (void)report(&cli, rapahub_fail(RAPAHUB_ENOENT, "", "gone"));
    assert_string_equal(capture.text, "error: gone\n    one\n    \n      two\n"
                                      "  code RAPAHUB_ENOENT\nhint: do 7\n");
}

static void a_terminal_is_told_in_colour(void **state)
{
    struct cli cli = {.color_error = true, .hint = "h"};

    (void)state;
    (void)report(&cli, rapahub_fail(RAPAHUB_ENOENT, "", "gone"));
    assert_string_equal(capture.text,
                        "\033[1;31merror:\033[0m gone\n  code RAPAHUB_ENOENT\nhint: h\n");
}

static void the_diagnosis_of_another_code_is_not_told(void **state)
{
    struct cli cli = {0};
    char wanted[256];

    (void)state;
    (void)rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.generation", "killed");
    (void)report(&cli, -ECANCELED);
    snprintf(wanted, sizeof wanted, "error: %s\n  code %s\n", rapahub_error_text(-ECANCELED),
             rapahub_error_name(-ECANCELED));
    assert_int_equal(strncmp(capture.text, wanted, strlen(wanted)), 0);
}

static void a_note_is_a_line_unless_quiet(void **state)
{
    struct cli cli = {0};

    (void)state;
    capture_begin(&capture, stderr);
    cli_failure_note(&cli, "%s in %d s", "started", 3);
    capture_end(&capture);
    assert_string_equal(capture.text, "started in 3 s\n");
    cli.quiet = true;
    capture_begin(&capture, stderr);
    cli_failure_note(&cli, "%s in %d s", "started", 3);
    capture_end(&capture);
    assert_string_equal(capture.text, "");
}

static void as_json_an_error_has_all_its_parts(void **state)
{
    struct cli cli = {.output = CLI_OUTPUT_JSON, .what = "k", .hint = "h"};
    const json_t *error;
    json_t *read;

    (void)state;
    (void)report(&cli, rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.generation", "killed"));
    read = json_loads(capture.text, 0, NULL);
    error = json_object_get(read, "error");
    assert_int_equal(json_integer_value(json_object_get(error, "code")), RAPAHUB_EPROTOCOL);
    assert_string_equal(json_string_value(json_object_get(error, "rule")), "shm.slot.generation");
    assert_string_equal(json_string_value(json_object_get(error, "message")), "k: killed");
    assert_string_equal(json_string_value(json_object_get(error, "hint")), "h");
    assert_null(json_object_get(error, "application"));
    json_decref(read);
    (void)report(&cli, rapahub_fail_application(RAPAHUB_EINVAL, "division by zero"));
    read = json_loads(capture.text, 0, NULL);
    error = json_object_get(read, "error");
    assert_int_equal(json_integer_value(json_object_get(error, "application")), RAPAHUB_EINVAL);
    assert_string_equal(json_string_value(json_object_get(error, "rule")), "");
    json_decref(read);
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
        cmocka_unit_test(a_text_that_begins_with_the_name_is_told_once),
        cmocka_unit_test(what_a_guest_printed_is_set_in_line_by_line),
        cmocka_unit_test(a_terminal_is_told_in_colour),
        cmocka_unit_test(the_diagnosis_of_another_code_is_not_told),
        cmocka_unit_test(a_note_is_a_line_unless_quiet),
        cmocka_unit_test(as_json_an_error_has_all_its_parts),
        cmocka_unit_test(as_json_it_is_one_document),
        cmocka_unit_test(every_code_of_our_own_has_text_and_hint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
