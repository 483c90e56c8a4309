/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/help.h"
#include "host/cli/text/json.h"

#define EXIT_USAGE 2

static bool colored(const struct cli_arguments *arguments, int fd)
{
    const char *when = cli_arguments_text(arguments, "color");
    const char *no_color = getenv("NO_COLOR");

    if (strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    return isatty(fd) && !(no_color && *no_color);
}

static void take_global_options(struct cli *cli)
{
    const struct cli_arguments *arguments = &cli->arguments;

    cli->command = arguments->command;
    cli->output = cli_arguments_flag(arguments, "json")
                      ? CLI_OUTPUT_JSON
                      : (enum cli_output)cli_arguments_choice(arguments, "output");
    cli->quiet = cli_arguments_flag(arguments, "quiet");
    cli->verbose = cli_arguments_flag(arguments, "verbose");
    cli->progress = !cli->quiet && !cli_arguments_flag(arguments, "no-progress");
    cli->timeout_ns = cli_arguments_number(arguments, "timeout");
    cli->color_out = colored(arguments, STDOUT_FILENO);
    cli->color_error = colored(arguments, STDERR_FILENO);
}

static int refuse_usage(struct cli *cli, int r)
{
    const char *command =
        cli->arguments.command ? cli->arguments.command->name : cli->arguments.group;

    if (command)
        cli_failure_about(cli, "%s", command);
    cli_failure_hint(cli, "rapahub %s%s--help", command ? command : "", command ? " " : "");
    return cli_failure_report(cli, r);
}

/* The refusal is told as text. */
static int check_output(struct cli *cli)
{
    if (!cli_json_wanted(cli) || cli_json_is_there())
        return 0;
    cli->output = CLI_OUTPUT_TABLE;
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "this rapahub was built without jansson and prints no JSON; build it with "
                        "libjansson-dev, or leave out --json");
}

static int run_command(struct cli *cli)
{
    int r;

    if (cli_arguments_flag(&cli->arguments, "version"))
        return cli_help_version(cli);
    if (cli_arguments_flag(&cli->arguments, "help")) {
        cli_help_print(&cli->arguments, stdout);
        return 0;
    }
    if (!cli->command) {
        cli_help_print(&cli->arguments, stderr);
        return EXIT_USAGE;
    }
    r = cli->command->run(cli);
    return r < 0 ? cli_failure_report(cli, r) : r;
}

/* Flushes standard output, which may fail at the last moment: a full disk, a closed pipe. */
static int finish_output(struct cli *cli, int status)
{
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
        return status;
    return cli_failure_report(cli, rapahub_fail(-errno, "", "cannot write to standard output"));
}

/* Where one of them is closed, the next file that is opened would get its number, and what is
 * written for people would go there. In its place stands a descriptor of which every use fails. */
static void hold_standard_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY}; /* the wrong ones */

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", modes[fd]);
}

int cli_start(const struct cli_command *const *tables, int argc, char **argv)
{
    struct cli cli = {0};
    int r;

    hold_standard_streams();
    /* A reader that goes is an error of a write, not the end of a host. */
    signal(SIGPIPE, SIG_IGN);
    r = cli_arguments_parse(tables, argc, argv, &cli.arguments);
    take_global_options(&cli);
    if (check_output(&cli) < 0)
        r = RAPAHUB_ECONFIG;
    /* Commands report all that matters to the user; warnings of the library would repeat it. */
    rapahub_log_to(NULL, NULL, cli.verbose ? RAPAHUB_LOG_DEBUG : RAPAHUB_LOG_ERROR);
    r = r < 0 ? refuse_usage(&cli, r) : run_command(&cli);
    r = finish_output(&cli, r);
    host_client_release(&cli.client);
    cli_arguments_fini(&cli.arguments);
    return r;
}
