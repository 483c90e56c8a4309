/* SPDX-License-Identifier: Apache-2.0 */
/* r[verify exp.honest] */
#include <jansson.h>
#include <string.h>

#include "host/cli/command/cli.h"
#include "host/cli/commands.h"
#include "tests/unit/host-cli/capture.h"

static struct capture capture;

static void look(enum cli_output output)
{
    struct cli cli = {.output = output, .command = cli_command_find(cli_commands, "doctor")};

    cli.arguments.command = cli.command;
    capture_begin(&capture, stdout);
    (void)cli_doctor(&cli);
    capture_end(&capture);
}

static const json_t *find_check(const json_t *document, const char *id)
{
    const json_t *checks = json_object_get(document, "checks");

    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);

        if (strcmp(json_string_value(json_object_get(check, "id")), id) == 0)
            return check;
    }
    return NULL;
}

static void what_is_not_enforced_is_said(void **state)
{
    json_t *document;
    const json_t *levels;

    (void)state;
    look(CLI_OUTPUT_TABLE);
    assert_non_null(strstr(capture.text, "levels     warn"));
    assert_non_null(strstr(capture.text, "no jail"));
    look(CLI_OUTPUT_JSON);
    document = json_loads(capture.text, 0, NULL);
    assert_non_null(document);
    levels = find_check(document, "levels");
    assert_non_null(levels);
    assert_string_equal(json_string_value(json_object_get(levels, "result")), "warn");
    json_decref(document);
}

static void what_is_not_ok_has_a_remedy(void **state)
{
    json_t *document;
    const json_t *checks;

    (void)state;
    look(CLI_OUTPUT_JSON);
    document = json_loads(capture.text, 0, NULL);
    checks = json_object_get(document, "checks");
    assert_int_equal(json_array_size(checks), 7);
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        const char *remedy = json_string_value(json_object_get(check, "remedy"));

        if (strcmp(json_string_value(json_object_get(check, "result")), "ok") != 0)
            assert_true(remedy[0]);
    }
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_enforced_is_said),
        cmocka_unit_test(what_is_not_ok_has_a_remedy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
