/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/arguments.h"
#include "host/cli/commands.h"
#include "tests/support/testing.h"

#define WORDS_MAX 80

/* getopt moves words about: each parse gets its own list. */
struct line {
    char *words[WORDS_MAX];
    struct cli_arguments arguments;
};

static int parse_by(const struct cli_command *commands, struct line *line, const char *text)
{
    static const struct cli_command *tables[2];
    static char copy[2048];
    char *rest = copy, *word;
    int count = 0;

    assert_true(strlen(text) < sizeof copy);
    memcpy(copy, text, strlen(text) + 1);
    while ((word = strsep(&rest, " ")) && count < WORDS_MAX - 1)
        line->words[count++] = word;
    line->words[count] = NULL;
    tables[0] = commands;
    return cli_arguments_parse(tables, count, line->words, &line->arguments);
}

static int parse(struct line *line, const char *text)
{
    return parse_by(cli_commands, line, text);
}

static void assert_refused(const char *text, const char *why)
{
    struct line line;

    assert_int_equal(parse(&line, text), RAPAHUB_ECONFIG);
    assert_string_equal(rapahub_last_error()->text, why);
    cli_arguments_fini(&line.arguments);
    cli_arguments_fini(&line.arguments);
}

static void assert_operands(const char *text, const char *command, const char *operands)
{
    char joined[256] = "";
    struct line line;

    assert_int_equal(parse(&line, text), 0);
    assert_string_equal(line.arguments.command->name, command);
    for (int i = 0; i < line.arguments.count; i++) {
        strncat(joined, line.arguments.operands[i], 100);
        strncat(joined, "|", 2);
    }
    assert_string_equal(joined, operands);
    cli_arguments_fini(&line.arguments);
}

static void options_stand_before_and_behind_the_operands(void **state)
{
    struct line line;

    (void)state;
    assert_operands("rapahub call calc.add 40 2 --json", "call", "calc.add|40|2|");
    assert_operands("rapahub --json call --repeat 2 calc.add 40 -q 2", "call", "calc.add|40|2|");
    assert_int_equal(parse(&line, "rapahub -o name call --deadline=2s x.y"), 0);
    assert_string_equal(cli_arguments_text(&line.arguments, "output"), "name");
    assert_int_equal(cli_arguments_number(&line.arguments, "deadline"), 2000000000);
    assert_false(cli_arguments_flag(&line.arguments, "json"));
    assert_int_equal(cli_arguments_number(&line.arguments, "repeat"), 1);
    cli_arguments_fini(&line.arguments);
}

static void a_negative_number_is_an_operand(void **state)
{
    (void)state;
    assert_operands("rapahub call calc.add -40 -q -.5 -inf", "call", "calc.add|-40|-.5|-inf|");
    assert_operands("rapahub call calc.add -1", "call", "calc.add|-1|");
    assert_operands("rapahub call calc.add -0 -9e3 -12", "call", "calc.add|-0|-9e3|-12|");
    assert_refused("rapahub call calc.add -/", "unknown option '-/'");
    assert_refused("rapahub call calc.add -:", "unknown option '-:'");
    assert_refused("rapahub call calc.add -infinite", "unknown option '-i'");
}

static void behind_two_dashes_all_are_operands(void **state)
{
    (void)state;
    assert_operands("rapahub call x.y -- --json -q", "call", "x.y|--json|-q|");
    assert_operands("rapahub call -- x.y -", "call", "x.y|-|");
    assert_refused("rapahub -- rnu", "unknown command 'rnu', did you mean 'run'?");
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    assert_refused("rapahub rnu", "unknown command 'rnu', did you mean 'run'?");
    assert_refused("rapahub frobnicate", "unknown command 'frobnicate'");
    assert_refused("rapahub ps --foo", "unknown option '--foo'");
    assert_refused("rapahub ps -x", "unknown option '-x'");
    assert_refused("rapahub ps --json=1", "option '--json=1' takes no value");
    assert_refused("rapahub call x.y --deadline", "option '--deadline' needs a value");
    assert_refused("rapahub ps more", "'more' is one argument too many");
    assert_refused("rapahub call", "TARGET [ARG...] is missing");
    assert_refused("rapahub ps -o xml", "--output: 'xml' is none of table|wide|json|ndjson|name");
    assert_refused("rapahub ps -o tab", "--output: 'tab' is none of table|wide|json|ndjson|name");
    assert_refused("rapahub call x.y --repeat 0", "--repeat: '0' is no whole number from 1 on");
    assert_refused("rapahub call x.y --deadline 5",
                   "--deadline: '5' is no duration: a number and ns, us, ms, s, m or h");
}

static void each_choice_is_taken_and_what_is_nearly_one_refused(void **state)
{
    static const char *const good[] = {"table", "wide", "json", "ndjson", "name"};
    static const char *const wrong[] = {"jsom", "tables", "able", "", "table|wide", "|", "tab"};
    struct line line;
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, "rapahub ps --output=%s", good[i]);
        assert_int_equal(parse(&line, text), 0);
        assert_string_equal(cli_arguments_text(&line.arguments, "output"), good[i]);
        cli_arguments_fini(&line.arguments);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char why[128];

        snprintf(text, sizeof text, "rapahub ps --output=%s", wrong[i]);
        snprintf(why, sizeof why, "--output: '%s' is none of table|wide|json|ndjson|name",
                 wrong[i]);
        assert_refused(text, why);
    }
}

static void assert_takes_no_value(const struct cli_command *command,
                                  const struct cli_option *option)
{
    char text[128], why[128];

    snprintf(text, sizeof text, "rapahub %s --%s=1", command->name, option->name);
    snprintf(why, sizeof why, "option '--%s=1' takes no value", option->name);
    assert_refused(text, why);
}

static void assert_needs_a_value(const struct cli_command *command, const struct cli_option *option)
{
    char text[128], why[128];

    snprintf(text, sizeof text, "rapahub %s --%s", command->name, option->name);
    snprintf(why, sizeof why, "option '--%s' needs a value", option->name);
    assert_refused(text, why);
}

static void each_option_of_each_command_knows_whether_it_has_a_value(void **state)
{
    (void)state;
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        const struct cli_option *lists[] = {cli_command_global, command->options};

        for (int i = 0; i < 2; i++)
            for (const struct cli_option *option = lists[i]; option && option->name; option++)
                if (option->value == CLI_FLAG)
                    assert_takes_no_value(command, option);
                else
                    assert_needs_a_value(command, option);
    }
}

static void what_is_not_given_and_has_no_default_is_0(void **state)
{
    static const struct cli_option options[] = {
        {.name = "span", .value = CLI_SPAN}, {.name = "count", .value = CLI_COUNT}, {0}};
    static const struct cli_command commands[] = {{.name = "c", .options = options}, {0}};
    struct line line;

    (void)state;
    assert_int_equal(parse_by(commands, &line, "rapahub c"), 0);
    assert_int_equal(cli_arguments_number(&line.arguments, "span"), 0);
    assert_int_equal(cli_arguments_number(&line.arguments, "count"), 0);
    cli_arguments_fini(&line.arguments);
    assert_int_equal(parse_by(commands, &line, "rapahub c --span 7ms --count 8"), 0);
    assert_int_equal(cli_arguments_number(&line.arguments, "span"), 7000000);
    assert_int_equal(cli_arguments_number(&line.arguments, "count"), 8);
    cli_arguments_fini(&line.arguments);
}

static void an_option_of_one_command_is_unknown_to_another(void **state)
{
    (void)state;
    assert_refused("rapahub ps --template basic", "unknown option '--template'");
    assert_refused("rapahub --template basic new x", "unknown option '--template'");
}

static void more_options_than_there_is_room_for_are_refused(void **state)
{
    char text[1024] = "rapahub ps";

    (void)state;
    for (int i = 0; i <= CLI_ARGUMENTS_GIVEN; i++)
        strncat(text, " -q", 4);
    assert_refused(text, "more than 64 options");
}

static void help_needs_no_operands(void **state)
{
    struct line line;

    (void)state;
    assert_int_equal(parse(&line, "rapahub call --help"), 0);
    cli_arguments_fini(&line.arguments);
    assert_int_equal(parse(&line, "rapahub"), 0);
    assert_null(line.arguments.command);
    cli_arguments_fini(&line.arguments);
}

static void the_last_one_counts_and_each_can_be_asked(void **state)
{
    const char *limits[CLI_ARGUMENTS_GIVEN + 1];
    struct line line;

    (void)state;
    assert_int_equal(parse(&line, "rapahub run --limit a=1 --name x --limit b=2 --name y f.so"), 0);
    assert_string_equal(cli_arguments_text(&line.arguments, "name"), "y");
    assert_int_equal(cli_arguments_all(&line.arguments, "limit", limits), 2);
    assert_string_equal(limits[0], "a=1");
    assert_string_equal(limits[1], "b=2");
    assert_null(limits[2]);
    cli_arguments_fini(&line.arguments);
}

static void a_variable_stands_in_for_an_option(void **state)
{
    struct line line;

    (void)state;
    setenv("RAPAHUB_TIMEOUT", "3s", 1);
    assert_int_equal(parse(&line, "rapahub ps"), 0);
    assert_int_equal(cli_arguments_number(&line.arguments, "timeout"), 3000000000);
    cli_arguments_fini(&line.arguments);
    setenv("RAPAHUB_TIMEOUT", "", 1);
    assert_int_equal(parse(&line, "rapahub ps"), 0);
    assert_string_equal(cli_arguments_text(&line.arguments, "timeout"), "30s");
    cli_arguments_fini(&line.arguments);
    setenv("RAPAHUB_TIMEOUT", "soon", 1);
    assert_refused("rapahub ps",
                   "RAPAHUB_TIMEOUT: 'soon' is no duration: a number and ns, us, ms, s, m or h");
    unsetenv("RAPAHUB_TIMEOUT");
    setenv("RAPAHUB_OUTPUT", "xml", 1);
    assert_refused("rapahub ps", "RAPAHUB_OUTPUT: 'xml' is none of table|wide|json|ndjson|name");
    unsetenv("RAPAHUB_OUTPUT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_before_and_behind_the_operands),
        cmocka_unit_test(a_negative_number_is_an_operand),
        cmocka_unit_test(behind_two_dashes_all_are_operands),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(each_choice_is_taken_and_what_is_nearly_one_refused),
        cmocka_unit_test(each_option_of_each_command_knows_whether_it_has_a_value),
        cmocka_unit_test(what_is_not_given_and_has_no_default_is_0),
        cmocka_unit_test(an_option_of_one_command_is_unknown_to_another),
        cmocka_unit_test(more_options_than_there_is_room_for_are_refused),
        cmocka_unit_test(help_needs_no_operands),
        cmocka_unit_test(the_last_one_counts_and_each_can_be_asked),
        cmocka_unit_test(a_variable_stands_in_for_an_option),
    };

    unsetenv("RAPAHUB_TIMEOUT");
    unsetenv("RAPAHUB_OUTPUT");
    unsetenv("RAPAHUB_TRUST");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
