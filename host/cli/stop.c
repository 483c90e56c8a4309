/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/commands.h"
#include "host/cli/target/runtime.h"
#include "host/cli/text/json.h"

static int report(const struct cli *cli, const struct cli_runtime_place *place, const char *done)
{
    if (!cli_json_wanted(cli)) {
        cli_failure_note(cli, "%s: %s%s", place->guest[0] ? place->guest : place->host, done,
                         place->is_supervisor ? ", with all its children" : "");
        return 0;
    }
    return cli_json_print(stdout, cli->command->schema, MEMBER("host", place->host),
                          MEMBER("guest", place->guest));
}

/* Asks before a host with several guests is stopped, if there is a terminal. */
static bool confirmed(const struct cli *cli, const struct cli_runtime_place *place)
{
    int answer;

    if (place->guest[0] || place->guests < 2 || cli_arguments_flag(&cli->arguments, "yes") ||
        !isatty(STDIN_FILENO))
        return true;
    fprintf(stderr, "stop host '%s' with its %u guests? [y/N] ", place->host, place->guests);
    answer = getchar();
    return answer == 'y' || answer == 'Y';
}

static int ask(struct cli *cli, enum host_frame_kind request, enum cli_runtime_sought sought,
               const char *done)
{
    struct cli_runtime_place place;
    struct control_name name;
    int r = cli_runtime_find(cli, cli->arguments.operands[0], sought, &place);

    if (r < 0)
        return r;
    if (request == HOST_FRAME_STOP && !confirmed(cli, &place))
        return rapahub_fail(RAPAHUB_ECANCELED, "", "not stopped");
    if (request != HOST_FRAME_STOP && !place.guest[0]) {
        cli_failure_hint(cli, "rapahub stop %s", place.host);
        return rapahub_fail(RAPAHUB_EINVAL, "", "that is a host; %s takes a guest%s",
                            cli->command->name,
                            request == HOST_FRAME_RESTART ? " or a supervisor" : "");
    }
    name.name = rapahub_string_of(place.guest);
    r = cli_runtime_ask(cli, request, &name, NULL, NULL);
    if (r == RAPAHUB_ESTATE && request == HOST_FRAME_RESTART)
        cli_failure_hint(cli, "rapahub ps --tree shows it; rapahub restart takes it, too");
    return r == 0 ? report(cli, &place, done) : r;
}

int cli_stop(struct cli *cli)
{
    return ask(cli, HOST_FRAME_STOP, CLI_RUNTIME_NODES, "stopped");
}

int cli_stop_kill(struct cli *cli)
{
    return ask(cli, HOST_FRAME_KILL, CLI_RUNTIME_GUESTS, "killed");
}

int cli_stop_restart(struct cli *cli)
{
    return ask(cli, HOST_FRAME_RESTART, CLI_RUNTIME_NODES_FIRST, "ready again");
}
