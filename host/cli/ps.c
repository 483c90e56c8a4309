/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/host.h>

#include "host/cli/cli.h"
#include "host/cli/commands.h"
#include "host/cli/json.h"
#include "host/cli/ps_tree.h"
#include "host/cli/runtime.h"
#include "host/cli/table.h"
#include "host/cli/view.h"
#include "host/config/units.h"

struct listing {
    struct cli *cli;
    struct cli_table table;
    struct cli_json json;
};

static const char *trust_name(uint8_t trust)
{
    static const char *const names[] = {"standard", "strict", "trusted"};

    return trust < sizeof names / sizeof *names ? names[trust] : "?";
}

static void write_guest(struct cli_json *json, const char *host, const struct control_guest *guest)
{
    cli_json_object(json, NULL,
                    MEMBERS(MEMBER("name", guest->name), MEMBER("host", host),
                            MEMBER("pid", guest->pid), MEMBER("state", guest->state),
                            MEMBER("trust", trust_name(guest->trust)),
                            MEMBER("epoch", guest->epoch), MEMBER("restarts", guest->restarts),
                            MEMBER("uptime_ns", guest->uptime_ns), MEMBER("calls", guest->calls),
                            MEMBER("resident_bytes", guest->resident_bytes)));
}

static void add_row(struct listing *listing, const char *host, const struct control_guest *guest)
{
    char name[CLI_RUNTIME_NAME], state[32], chimod[512], pid[16] = "-", restarts[16];
    char uptime[CONFIG_UNITS_TEXT] = "-", calls[CONFIG_UNITS_TEXT], memory[CONFIG_UNITS_TEXT] = "-";

    cli_view_copy(name, sizeof name, guest->name);
    cli_view_copy(state, sizeof state, guest->state);
    cli_view_copy(chimod, sizeof chimod, guest->chimod);
    snprintf(restarts, sizeof restarts, "%" PRIu32, guest->restarts);
    config_units_print_count(guest->calls, calls);
    if (guest->pid > 0) {
        snprintf(pid, sizeof pid, "%" PRId32, guest->pid);
        config_units_print_span(guest->uptime_ns, uptime);
    }
    if (guest->resident_bytes)
        config_units_print_size(guest->resident_bytes, memory);
    cli_table_add(&listing->table,
                  (const char *[]){name, host, pid, state, trust_name(guest->trust), restarts,
                                   uptime, calls, memory,
                                   listing->cli->output == CLI_OUTPUT_WIDE ? chimod : NULL, NULL});
}

static int show(void *user, const char *host, const struct control_guest *guest)
{
    struct listing *listing = user;

    if (!guest)
        return 0;
    if (cli_json_wanted(listing->cli))
        write_guest(&listing->json, host, guest);
    else if (listing->cli->output == CLI_OUTPUT_NAME)
        printf("%.*s\n", (int)guest->name.size, guest->name.size ? guest->name.data : "");
    else
        add_row(listing, host, guest);
    return 0;
}

static int list(struct cli *cli)
{
    struct listing listing = {.cli = cli};
    bool wide = cli->output == CLI_OUTPUT_WIDE, json = cli_json_wanted(cli);
    int r, end = 0;

    if (json) {
        cli_json_begin(&listing.json, stdout, cli->command->schema);
        cli_json_open(&listing.json, "guests", CLI_JSON_LIST);
    } else if (cli->output != CLI_OUTPUT_NAME) {
        cli_table_add(&listing.table,
                      (const char *[]){"NAME", "HOST", "PID", "STATE", "TRUST", "RESTARTS",
                                       "UPTIME", "CALLS", "MEMORY", wide ? "MODULE" : NULL, NULL});
    }
    r = cli_runtime_each(cli, show, &listing);
    if (json) {
        cli_json_close(&listing.json);
        end = cli_json_end(&listing.json);
    }
    cli_table_print(&listing.table, stdout, wide ? 0 : cli_table_width(stdout));
    return r < 0 ? r : end;
}

int cli_ps(struct cli *cli)
{
    return cli_arguments_flag(&cli->arguments, "tree") ? cli_ps_tree(cli) : list(cli);
}
