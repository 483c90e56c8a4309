/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/commands.h"
#include "host/cli/target/runtime.h"
#include "host/cli/text/json.h"
#include "host/cli/text/terminal.h"
#include "host/cli/text/view.h"
#include "host/config/units.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

struct printing {
    const struct cli *cli;
    const struct cli_runtime_place *place;
    const char *topic; /* "guest.NAME": the topic of the chosen guest */
};

/* Lines of other guests are not asked for. */
static bool is_wanted(const struct printing *printing, struct rapahub_string topic)
{
    static const char guest[] = "guest.";
    size_t size = strlen(guest);

    return !printing->place->guest[0] || topic.size < size ||
           memcmp(topic.data, guest, size) != 0 || cli_view_is(topic, printing->topic);
}

static int print_line(const struct printing *printing, const struct control_line *line)
{
    const char *level = rapahub_log_level_name((enum rapahub_log_level)line->level);
    char time[CONFIG_UNITS_TEXT];

    if (!is_wanted(printing, line->topic))
        return 0;
    if (!cli_json_wanted(printing->cli)) {
        printf("%s %-5s ", config_units_print_clock(line->time_ns, time), level);
        cli_terminal_put(stdout, line->topic);
        fputs(": ", stdout);
        cli_terminal_put(stdout, line->text);
        putchar('\n');
        return 0;
    }
    return cli_json_print(stdout, printing->cli->command->schema,
                          MEMBER_TIME("time", line->time_ns), MEMBER("level", level),
                          MEMBER("topic", line->topic), MEMBER("event", line->text));
}

static int print_lines(struct cli *cli, const struct printing *printing, uint64_t deadline_ns,
                       int interrupt)
{
    union host_frame_record record;
    enum host_frame_kind kind;
    int r;

    while ((r = host_client_receive(cli->client, deadline_ns, interrupt, &kind, &record)) > 0) {
        if (kind == HOST_FRAME_LINE && (r = print_line(printing, &record.line)) < 0)
            return r;
        if (deadline_ns == HUB_NEVER)
            fflush(stdout);
    }
    return r;
}

int cli_logs(struct cli *cli)
{
    const struct cli_arguments *arguments = &cli->arguments;
    bool follow = cli_arguments_flag(arguments, "follow");
    uint64_t deadline_ns = follow ? HUB_NEVER : hub_clock_after(cli->timeout_ns);
    struct control_logs request = {.since_ns = UINT64_MAX,
                                   .level = (uint8_t)cli_arguments_choice(arguments, "level"),
                                   .follow = follow};
    OWN(hub_fd) int interrupt = -1;
    struct cli_runtime_place place;
    char topic[CLI_RUNTIME_NAME + 8];
    struct printing printing = {cli, &place, topic};
    int r;

    r = cli_runtime_find(cli, arguments->operands[0], CLI_RUNTIME_GUESTS, &place);
    if (r == 0)
        r = cli_interrupt_open(&interrupt);
    if (r < 0)
        return r;
    snprintf(topic, sizeof topic, "guest.%s", place.guest);
    if (cli_arguments_text(arguments, "since"))
        request.since_ns = cli_arguments_number(arguments, "since");
    r = host_client_send(cli->client, HOST_FRAME_LOGS, &request, hub_clock_after(cli->timeout_ns));
    if (r == 0)
        r = print_lines(cli, &printing, deadline_ns, interrupt);
    /* A follower ends with the host, or when it is told to. */
    return follow && (r == RAPAHUB_EINTR || r == RAPAHUB_ECLOSED) ? 0 : r;
}
