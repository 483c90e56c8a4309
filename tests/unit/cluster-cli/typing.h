/* SPDX-License-Identifier: Apache-2.0 */
/* typing: a command line, what it prints, and what it asks of the fake node. */
#ifndef TESTS_UNIT_CLUSTER_CLI_TYPING_H
#define TESTS_UNIT_CLUSTER_CLI_TYPING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/cli/cluster_commands.h"
#include "host/cli/commands.h"
#include "host/cli/start.h"
#include "tests/unit/cluster-cli/fake_node.h"
#include "tests/unit/host-cli/capture.h"

#define UNUSED __attribute__((unused))

static struct capture output, errors;

/* Runs a line of at most 15 words. */
UNUSED static int type(const char *line)
{
    static const struct cli_command *const tables[] = {cli_commands, cluster_commands, NULL};
    static char copy[512];
    char *words[16], *rest = copy, *word;
    int count = 0, status;

    snprintf(copy, sizeof copy, "%s", line);
    while ((word = strsep(&rest, " ")) && count < 15)
        words[count++] = word;
    words[count] = NULL;
    fake_node.asked[0] = '\0';
    capture_begin(&output, stdout);
    capture_begin(&errors, stderr);
    status = cli_start(tables, count, words);
    capture_end(&errors);
    capture_end(&output);
    return status;
}

UNUSED static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("'%s' is not in:\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

UNUSED static void assert_is(const char *text, const char *wanted)
{
    if (strcmp(text, wanted) != 0)
        print_error("is:\n%s\nwanted:\n%s\n", text, wanted);
    assert_string_equal(text, wanted);
}

UNUSED static int reset(void **state)
{
    (void)state;
    fake_node_reset();
    unsetenv("RAPAHUB_NODE");
    setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
    return 0;
}

#define TYPING(name) cmocka_unit_test_setup(name, reset)

#endif
