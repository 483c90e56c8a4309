/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has the commands of rapahub and others of its own, whose names have two words. */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/help.h"
#include "host/cli/commands.h"
#include "host/cli/start.h"
#include "tests/unit/host-cli/capture.h"

static struct capture capture;
static const char *ran;
static int operands;

static int run(struct cli *cli)
{
    ran = cli->command->name;
    operands = cli->arguments.count;
    return 0;
}

static const struct cli_option drain_options[] = {FLAG("now", "do not wait for calls"), END};

#define COMMAND(name_, summary_, options_, max_, hidden_)                                          \
    {                                                                                              \
        .name = name_, .summary = summary_, .operands = "[NODE]", .text = "It is for tests.",      \
        .example = "rapahub " name_, .schema = "rapahub.test/1", .members = "none",                \
        .operand = CLI_OPERAND_NONE, .operands_max = max_, .options = options_, .hidden = hidden_, \
        .run = run                                                                                 \
    }

static const struct cli_command more[] = {
    COMMAND("node ls", "nodes of the cluster", NULL, 0, false),
    COMMAND("node drain-slowly", "move all away", drain_options, 1, false),
    COMMAND("node __hidden", "of no interest", NULL, 0, true),
    COMMAND("pool ls", "pools of the cluster", NULL, 0, false),
    COMMAND("secret __one", "of no interest", NULL, 0, true),
    END};
static const struct cli_command *const tables[] = {cli_commands, more, NULL};

/* Runs a line of at most 15 words; the output is in `capture`, that for errors too. */
static int type(const char *line)
{
    static char copy[256];
    char *words[16], *rest = copy, *word;
    int count = 0, status;
    struct capture errors;

    snprintf(copy, sizeof copy, "%s", line);
    while ((word = strsep(&rest, " ")) && count < 15)
        words[count++] = word;
    words[count] = NULL;
    ran = NULL;
    operands = -1;
    capture_begin(&capture, stdout);
    capture_begin(&errors, stderr);
    status = cli_start(tables, count, words);
    capture_end(&errors);
    capture_end(&capture);
    if (errors.text[0])
        snprintf(capture.text, sizeof capture.text, "%s", errors.text);
    return status;
}

static void two_words_are_one_command(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub node ls"), 0);
    assert_ptr_equal(ran, more[0].name);
    assert_int_equal(type("rapahub -q node --json ls"), 0);
    assert_ptr_equal(ran, more[0].name);
    assert_int_equal(type("rapahub node drain-slowly --now n1"), 0);
    assert_ptr_equal(ran, more[1].name);
    assert_int_equal(operands, 1);
    assert_int_equal(type("rapahub pool ls"), 0);
    assert_ptr_equal(ran, more[3].name);
    assert_int_equal(type("rapahub node __hidden"), 0);
    assert_ptr_equal(ran, more[2].name);
}

/* A program of a room above has its own way to carry out a command of this one. */
static void a_command_of_a_later_table_replaces_one_in_its_place(void **state)
{
    static const struct cli_command other[] = {COMMAND("stop", "another one", NULL, 1, false),
                                               COMMAND("late", "a new one", NULL, 0, false), END};
    static const struct cli_command *const with[] = {cli_commands, other, NULL};
    static const struct cli_command *const alone[] = {cli_commands, NULL};
    const struct cli_command *c;
    unsigned i = 0;

    (void)state;
    for (; (c = cli_command_at(alone, i)); i++)
        assert_ptr_equal(cli_command_at(with, i), strcmp(c->name, "stop") == 0 ? &other[0] : c);
    assert_ptr_equal(cli_command_at(with, i), &other[1]);
    assert_null(cli_command_at(with, i + 1));
    assert_ptr_equal(cli_command_find(with, "stop"), &other[0]);
    assert_ptr_equal(cli_command_find_in(with, NULL, "stop"), &other[0]);
}

static void assert_says(const char *line, int status, const char *words)
{
    assert_int_equal(type(line), status);
    assert_null(ran);
    if (!strstr(capture.text, words))
        print_error("%s\n", capture.text);
    assert_non_null(strstr(capture.text, words));
}

static void what_is_no_command_is_refused_with_the_nearest(void **state)
{
    (void)state;
    assert_says("rapahub node", 2, "error: node: 'node' needs a second word");
    assert_says("rapahub node", 2, "hint: rapahub node --help");
    assert_says("rapahub node sl", 2, "unknown command 'node sl', did you mean 'node ls'?");
    assert_says("rapahub node ps", 2, "unknown command 'node ps'");
    assert_says("rapahub ls", 2, "unknown command 'ls'");
    assert_says("rapahub ls node", 2, "unknown command 'ls'");
    assert_says("rapahub node -- ls more", 2, "error: node ls: 'more' is one argument too many");
    assert_says("rapahub node ls --now", 2, "unknown option '--now'");
    assert_says("rapahub node --now drain-slowly", 2, "unknown option '--now'");
    assert_says("rapahub secret", 2, "unknown command 'secret'");
}

static void help_knows_groups(void **state)
{
    (void)state;
    assert_says("rapahub node --help", 0, "  node ls            nodes of the cluster\n");
    assert_null(strstr(capture.text, "pool ls"));
    assert_null(strstr(capture.text, "__hidden"));
    assert_says("rapahub help node", 0, "  node drain-slowly  move all away\n");
    assert_says("rapahub help node drain-slowly", 0, "rapahub node drain-slowly [OPTION...]");
    assert_says("rapahub node drain-slowly --help", 0, "--now");
    assert_says("rapahub help", 0, "  pool ls            pools of the cluster\n");
    assert_says("rapahub help", 0, "  call               call a method once\n");
    assert_says("rapahub help node sl", 2, "unknown command 'node sl'");
    assert_says("rapahub help ls", 2, "unknown command 'ls'");
    assert_says("rapahub __manual node-drain-slowly", 0, "do not wait for calls");
}

static void completion_offers_one_word_after_the_other(void **state)
{
    (void)state;
    assert_says("rapahub __complete -- rapahub n", 0, "new\nnode\n");
    assert_string_equal(capture.text, "new\nnode\n");
    assert_says("rapahub __complete -- rapahub node ", 0, "ls\ndrain-slowly\n");
    assert_string_equal(capture.text, "ls\ndrain-slowly\n");
    assert_says("rapahub __complete -- rapahub -q node d", 0, "drain-slowly\n");
    assert_says("rapahub __complete -- rapahub node drain-slowly --n", 0, "--now\n");
    assert_says("rapahub __complete -- rapahub s", 0, "stats\nstop\n");
    assert_null(strstr(capture.text, "secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_words_are_one_command),
        cmocka_unit_test(a_command_of_a_later_table_replaces_one_in_its_place),
        cmocka_unit_test(what_is_no_command_is_refused_with_the_nearest),
        cmocka_unit_test(help_knows_groups),
        cmocka_unit_test(completion_offers_one_word_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
