/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include <rapahub/error.h>
#include <rapahub/host.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/listing.h"
#include "host/cli/commands.h"
#include "host/cli/target/runtime.h"
#include "host/cli/text/view.h"
#include "host/config/units.h"

/* ---- the guests ---- */

static void write_guest(struct cli_json *json, const char *host, const struct control_guest *guest)
{
    cli_json_object(json, NULL, MEMBER("name", guest->name), MEMBER("host", host),
                    MEMBER("pid", guest->pid), MEMBER("state", guest->state),
                    MEMBER("trust", cli_view_trust(guest->trust)), MEMBER("epoch", guest->epoch),
                    MEMBER("restarts", guest->restarts), MEMBER("uptime_ns", guest->uptime_ns),
                    MEMBER("calls", guest->calls), MEMBER("resident_bytes", guest->resident_bytes));
}

static void add_row(struct cli_listing *listing, const char *host,
                    const struct control_guest *guest)
{
    bool lives = guest->pid > 0;

    cli_table_add(&listing->table,
                  (const char *[]){
                      CELL("%.*s", VIEW(guest->name)), host,
                      lives ? CELL("%" PRId32, guest->pid) : "-", CELL("%.*s", VIEW(guest->state)),
                      cli_view_trust(guest->trust), CELL("%" PRIu32, guest->restarts),
                      lives ? SPAN_TEXT(guest->uptime_ns) : "-", COUNT_TEXT(guest->calls),
                      guest->resident_bytes ? SIZE_TEXT(guest->resident_bytes) : "-",
                      listing->whole ? CELL("%.*s", VIEW(guest->chimod)) : NULL, NULL});
}

static int show_guest(void *user, const char *host, const struct control_guest *guest)
{
    struct cli_listing *listing = user;

    if (!guest)
        return 0;
    if (cli_json_wanted(listing->cli))
        write_guest(&listing->json, host, guest);
    else if (listing->cli->output == CLI_OUTPUT_NAME)
        cli_view_print(guest->name);
    else
        add_row(listing, host, guest);
    return 0;
}

static int list_guests(struct cli *cli)
{
    struct cli_listing listing = {.cli = cli, .whole = cli->output == CLI_OUTPUT_WIDE};

    cli_listing_begin(&listing, "guests",
                      (const char *[]){"NAME", "HOST", "PID", "STATE", "TRUST", "RESTARTS",
                                       "UPTIME", "CALLS", "MEMORY", listing.whole ? "MODULE" : NULL,
                                       NULL});
    return cli_listing_end(&listing, cli_runtime_each(cli, show_guest, &listing));
}

/* ---- the tree ---- */

#define KNOWN_MAX 512 /* children of a host; further ones are not indented */

struct children {
    struct cli *cli;
    struct cli_listing listing;
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
static int depth_of(struct children *children, const struct control_child *child)
{
    int depth = -1;

    for (unsigned i = 0; i < children->known_count; i++)
        if (children->known[i].number == child->parent)
            depth = children->known[i].depth;
    if (child->is_supervisor && children->known_count < KNOWN_MAX)
        children->known[children->known_count++] = (struct known){child->number, depth + 1};
    return depth + 1;
}

static void write_child(struct children *children, const struct control_child *child)
{
    struct cli_json *json = &children->listing.json;

    cli_json_object(json, NULL, MEMBER("name", child->name), MEMBER("host", children->host),
                    MEMBER("number", child->number), MEMBER("parent", child->parent),
                    MEMBER("supervisor", child->is_supervisor),
                    MEMBER("strategy", child->is_supervisor ? kind_of(child) : ""),
                    MEMBER("state", child->state), MEMBER("pid", child->pid),
                    MEMBER("incarnation", child->incarnation), MEMBER("restarts", child->restarts),
                    MEMBER("failures", child->failures), MEMBER("budget", child->failures_max),
                    MEMBER("due_ns", child->due_ns));
}

/* Names are set in below their supervisor; the host's own, at the top, is not shown. */
static void add_child(struct children *children, const struct control_child *child, int depth)
{
    int set_in = depth > 1 ? 2 * (depth < 32 ? depth - 1 : 31) : 0;
    const char *due = child->due_ns ? SPAN_TEXT(child->due_ns) : "";

    cli_table_add(&children->listing.table,
                  (const char *[]){
                      CELL("%*s%.*s", set_in, "", VIEW(child->name)), children->host,
                      kind_of(child), CELL("%.*s%s%s", VIEW(child->state), due[0] ? " " : "", due),
                      child->pid > 0 ? CELL("%" PRId32, child->pid) : "-",
                      CELL("%" PRIu64, child->incarnation),
                      child->is_supervisor ? "-" : CELL("%" PRIu32, child->restarts),
                      child->failures_max > 0
                          ? CELL("%" PRIu32 " of %" PRIu32, child->failures, child->failures_max)
                          : "-",
                      NULL});
}

static int show_child(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct children *children = user;
    const struct control_child *child = &record->child;
    int depth;

    if (kind != HOST_FRAME_CHILD)
        return 0;
    depth = depth_of(children, child);
    if (cli_json_wanted(children->cli))
        write_child(children, child);
    else if (depth > 0 && children->cli->output == CLI_OUTPUT_NAME)
        cli_view_print(child->name);
    else if (depth > 0)
        add_child(children, child, depth);
    return 0;
}

static int ask_host(void *user, const struct cli_runtime_place *place)
{
    struct children *children = user;

    children->host = place->host;
    children->known_count = 0;
    return cli_runtime_ask(children->cli, HOST_FRAME_TREE, &(struct control_none){1}, show_child,
                           children);
}

static int list_children(struct cli *cli)
{
    struct children children = {.cli = cli,
                                .listing = {.cli = cli, .whole = cli->output == CLI_OUTPUT_WIDE}};

    cli_listing_begin(&children.listing, "children",
                      (const char *[]){"NAME", "HOST", "KIND", "STATE", "PID", "INCARNATION",
                                       "RESTARTS", "FAILURES", NULL});
    return cli_listing_end(&children.listing, cli_runtime_each_host(cli, ask_host, &children));
}

int cli_ps(struct cli *cli)
{
    return cli_arguments_flag(&cli->arguments, "tree") ? list_children(cli) : list_guests(cli);
}
