/* SPDX-License-Identifier: Apache-2.0 */
/* The table itself: an entry missing in it is missing in --help, in the completion and in the man
 * pages. r[verify exp.table] */
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "tests/support/testing.h"

static const struct cli_command *const tables[] = {cli_commands, NULL};

static void assert_option(const struct cli_option *option)
{
    assert_non_null(option->text);
    assert_true(strlen(option->text) > 10);
    assert_int_equal(option->value == CLI_FLAG, option->what == NULL);
    assert_int_equal(option->value == CLI_CHOICE, option->choices != NULL);
    if (option->value == CLI_CHOICE)
        assert_non_null(option->fallback ? strstr(option->choices, option->fallback)
                                         : option->choices);
    if (option->letter)
        assert_true(option->letter < '0' || option->letter > '9');
}

static void every_option_says_what_it_does(void **state)
{
    unsigned count = 0;

    (void)state;
    for (const struct cli_option *o = cli_command_global; o->name; o++, count++)
        assert_option(o);
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        for (const struct cli_option *o = c->options; o && o->name; o++, count++)
            assert_option(o);
    }
    assert_true(count > 25);
}

static void every_command_has_a_schema_and_all_else(void **state)
{
    (void)state;
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        assert_non_null(c->schema);
        assert_int_equal(strncmp(c->schema, "rapahub.", 8), 0);
        assert_non_null(strstr(c->schema, "/1"));
        assert_true(c->members && *c->members);
        assert_true(c->summary && *c->summary);
        assert_true(c->text && strlen(c->text) > 20);
        assert_non_null(c->example);
        assert_non_null(strstr(c->example, "rapahub "));
        assert_non_null(c->operands);
        assert_non_null(c->run);
        assert_int_equal(c->operands_max != 0, c->operands[0] != '\0');
    }
}

static void names_and_letters_are_there_once(void **state)
{
    (void)state;
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        assert_ptr_equal(cli_command_find(tables, c->name), c);
        for (const struct cli_option *o = c->options; o && o->name; o++) {
            assert_ptr_equal(cli_command_option(c, o->name), o);
            assert_null(cli_command_option(NULL, o->name));
            for (const struct cli_option *g = cli_command_global; g->name; g++)
                assert_true(!o->letter || o->letter != g->letter);
        }
    }
}

static void a_name_typed_wrong_finds_the_one_that_was_meant(void **state)
{
    (void)state;
    assert_null(cli_command_find(tables, "rnu"));
    assert_string_equal(cli_command_suggest(tables, "rnu"), "run");
    assert_string_equal(cli_command_suggest(tables, "insepct"), "inspect");
    assert_string_equal(cli_command_suggest(tables, "stopp"), "stop");
    assert_null(cli_command_suggest(tables, "frobnicate"));
    assert_null(cli_command_suggest(tables, "x"));
    assert_null(cli_command_suggest(tables, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_says_what_it_does),
        cmocka_unit_test(every_command_has_a_schema_and_all_else),
        cmocka_unit_test(names_and_letters_are_there_once),
        cmocka_unit_test(a_name_typed_wrong_finds_the_one_that_was_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
