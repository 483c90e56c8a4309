/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/ps_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/hosts.h"
#include "host/cli/json.h"
#include "host/cli/table.h"
#include "host/config/units.h"

#define KNOWN_MAX 512 /* children of a host; further ones are not indented */

struct listing {
    struct cli *cli;
    struct cli_table table;
    struct cli_json json;
    const char *host;
    unsigned known_count;
    struct known {
        uint32_t number;
        int depth;
    } known[KNOWN_MAX];
};

static const char *kind_of(const struct control_child *child)
{
    static const char *const strategies[] = {"one_for_one", "one_for_all", "rest_for_one",
                                             "simple"};

    if (!child->is_supervisor)
        return "guest";
    return child->strategy < sizeof strategies / sizeof *strategies ? strategies[child->strategy]
                                                                    : "?";
}

/* A supervisor comes before its children. */
static int depth_of(struct listing *listing, const struct control_child *child)
{
    int depth = -1;

    for (unsigned i = 0; i < listing->known_count; i++)
        if (listing->known[i].number == child->parent)
            depth = listing->known[i].depth;
    if (child->is_supervisor && listing->known_count < KNOWN_MAX)
        listing->known[listing->known_count++] = (struct known){child->number, depth + 1};
    return depth + 1;
}

static void write_child(struct listing *listing, const struct control_child *child)
{
    struct cli_json *json = &listing->json;

    cli_json_object(
        json, NULL,
        MEMBERS(MEMBER("name", child->name), MEMBER("host", listing->host),
                MEMBER("number", child->number), MEMBER("parent", child->parent),
                MEMBER("supervisor", child->is_supervisor),
                MEMBER("strategy", child->is_supervisor ? kind_of(child) : ""),
                MEMBER("state", child->state), MEMBER("pid", child->pid),
                MEMBER("incarnation", child->incarnation), MEMBER("restarts", child->restarts),
                MEMBER("failures", child->failures), MEMBER("budget", child->failures_max),
                MEMBER("due_ns", child->due_ns)));
}

/* Names are set in below their supervisor; the host's own, at the top, is not shown. */
static void add_row(struct listing *listing, const struct control_child *child, int depth)
{
    char name[CLI_RUNTIME_NAME + 2 * 32], state[32 + CONFIG_UNITS_TEXT], pid[16] = "-", life[24];
    char restarts[16] = "-", failures[32] = "-", due[CONFIG_UNITS_TEXT];
    int set_in = depth > 1 ? 2 * (depth < 32 ? depth - 1 : 31) : 0;

    snprintf(name, sizeof name, "%*s%.*s", set_in, "", (int)child->name.size,
             child->name.size ? child->name.data : "");
    snprintf(state, sizeof state, "%.*s%s%s", (int)child->state.size,
             child->state.size ? child->state.data : "", child->due_ns ? " " : "",
             child->due_ns ? config_units_print_span(child->due_ns, due) : "");
    snprintf(life, sizeof life, "%" PRIu64, child->incarnation);
    if (child->pid > 0)
        snprintf(pid, sizeof pid, "%" PRId32, child->pid);
    if (!child->is_supervisor)
        snprintf(restarts, sizeof restarts, "%" PRIu32, child->restarts);
    if (child->failures_max > 0)
        snprintf(failures, sizeof failures, "%" PRIu32 " of %" PRIu32, child->failures,
                 child->failures_max);
    cli_table_add(&listing->table, (const char *[]){name, listing->host, kind_of(child), state, pid,
                                                    life, restarts, failures, NULL});
}

static int show(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct listing *listing = user;
    const struct control_child *child = &record->child;
    int depth;

    if (kind != HOST_FRAME_CHILD)
        return 0;
    depth = depth_of(listing, child);
    if (cli_json_wanted(listing->cli))
        write_child(listing, child);
    else if (depth > 0 && listing->cli->output == CLI_OUTPUT_NAME)
        printf("%.*s\n", (int)child->name.size, child->name.size ? child->name.data : "");
    else if (depth > 0)
        add_row(listing, child, depth);
    return 0;
}

static int ask(void *user, const struct cli_runtime_place *place)
{
    struct listing *listing = user;

    listing->host = place->host;
    listing->known_count = 0;
    return cli_runtime_ask(listing->cli, HOST_FRAME_TREE, &(struct control_none){1}, show, listing);
}

int cli_ps_tree(struct cli *cli)
{
    struct listing listing = {.cli = cli};
    bool json = cli_json_wanted(cli);
    int r, end = 0;

    if (json) {
        cli_json_begin(&listing.json, stdout, cli->command->schema);
        cli_json_open(&listing.json, "children", CLI_JSON_LIST);
    } else if (cli->output != CLI_OUTPUT_NAME) {
        cli_table_add(&listing.table,
                      (const char *[]){"NAME", "HOST", "KIND", "STATE", "PID", "INCARNATION",
                                       "RESTARTS", "FAILURES", NULL});
    }
    r = cli_hosts_each(cli, ask, &listing);
    if (json) {
        cli_json_close(&listing.json);
        end = cli_json_end(&listing.json);
    }
    cli_table_print(&listing.table, stdout,
                    cli->output == CLI_OUTPUT_WIDE ? 0 : cli_table_width(stdout));
    return r < 0 ? r : end;
}
