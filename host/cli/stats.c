/* SPDX-License-Identifier: Apache-2.0 */
/* stats: the figures of one guest come one after the other; they are kept until the next guest's,
 * then shown as a line, as lines, or as an object. */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/listing.h"
#include "host/cli/commands.h"
#include "host/cli/target/runtime.h"
#include "host/cli/text/view.h"
#include "host/config/units.h"
#include "hub/base/printable.h"

#define FIGURES_MAX 128 /* figures of a guest; a later host's further ones are left out */

struct figure {
    char name[48], rule[64];
    bool gauge;
    uint64_t value;
};

struct stats {
    struct cli *cli;
    struct cli_listing listing; /* whole: a line for each figure */
    const char *host;
    char guest[CLI_RUNTIME_NAME]; /* the guest of the kept figures; "": none */
    unsigned count;
    struct figure figures[FIGURES_MAX];
};

/* The sum of all whose name begins so. */
static uint64_t sum_of(const struct stats *stats, const char *name)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < stats->count; i++)
        if (strncmp(stats->figures[i].name, name, strlen(name)) == 0)
            sum += stats->figures[i].value;
    return sum;
}

static void add_line(struct stats *stats)
{
    static const char *const columns[] = {
        "messages_sent", "messages_received", "bytes_sent", "bytes_received", "waits_for_",
        "wakes_by_",     "wakes_saved",       "calls_open", "ring_",          "violations"};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    char texts[COLUMNS][CONFIG_UNITS_TEXT];
    const char *cells[COLUMNS + 3] = {stats->guest, stats->host};

    for (int i = 0; i < COLUMNS; i++) {
        uint64_t sum = sum_of(stats, columns[i]);

        cells[2 + i] = strncmp(columns[i], "bytes", 5) == 0
                           ? config_units_print_size(sum, texts[i])
                           : config_units_print_count(sum, texts[i]);
    }
    cli_table_add(&stats->listing.table, cells);
}

static void add_lines(struct stats *stats)
{
    for (unsigned i = 0; i < stats->count; i++) {
        const struct figure *figure = &stats->figures[i];

        cli_table_add(
            &stats->listing.table,
            (const char *[]){stats->guest, stats->host,
                             CELL("%s%s%s", figure->name, figure->rule[0] ? " " : "", figure->rule),
                             COUNT_TEXT(figure->value), NULL});
    }
}

static unsigned part_of(const struct figure *figure)
{
    return figure->rule[0] ? 2 : figure->gauge ? 1 : 0;
}

static void write_guest(struct stats *stats)
{
    struct cli_json *json = &stats->listing.json;
    static const char *const parts[] = {"counters", "gauges", "violations"};

    cli_json_put(json, BRACKET(CLI_JSON_OBJECT, NULL), MEMBER("name", stats->guest),
                 MEMBER("host", stats->host));
    for (unsigned part = 0; part < 3; part++) {
        cli_json_open(json, parts[part], CLI_JSON_OBJECT);
        for (unsigned i = 0; i < stats->count; i++) {
            const struct figure *figure = &stats->figures[i];

            if (part_of(figure) == part)
                cli_json_put(json,
                             MEMBER(figure->rule[0] ? figure->rule : figure->name, figure->value));
        }
        cli_json_close(json);
    }
    cli_json_close(json);
}

static void show_guest(struct stats *stats)
{
    if (!stats->guest[0])
        return;
    if (cli_json_wanted(stats->cli))
        write_guest(stats);
    else if (stats->cli->output == CLI_OUTPUT_NAME)
        printf("%s\n", stats->guest);
    else if (stats->listing.whole)
        add_lines(stats);
    else
        add_line(stats);
    stats->guest[0] = '\0';
    stats->count = 0;
}

static int take_figure(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct stats *stats = user;
    const struct control_figure *from = &record->figure;
    struct figure *figure;
    char guest[CLI_RUNTIME_NAME];

    if (kind != HOST_FRAME_FIGURE)
        return 0;
    cli_view_copy(guest, sizeof guest, from->guest);
    if (strcmp(guest, stats->guest) != 0) {
        show_guest(stats);
        memcpy(stats->guest, guest, sizeof guest);
    }
    if (stats->count == FIGURES_MAX)
        return 0;
    figure = &stats->figures[stats->count++];
    *figure = (struct figure){.gauge = from->gauge, .value = from->value};
    cli_view_copy(figure->name, sizeof figure->name, from->name);
    cli_view_copy(figure->rule, sizeof figure->rule, from->rule);
    hub_printable_mend(figure->name); /* cut or not, it is a key of a document */
    hub_printable_mend(figure->rule);
    return 0;
}

static int ask(void *user, const struct cli_runtime_place *place)
{
    struct stats *stats = user;
    const struct control_name guest = {rapahub_string_of(place->guest)};
    int r;

    stats->host = place->host;
    r = cli_runtime_ask(stats->cli, HOST_FRAME_STATS, &guest, take_figure, stats);
    show_guest(stats);
    return r;
}

int cli_stats(struct cli *cli)
{
    static const char *const figures[] = {"NAME", "HOST", "FIGURE", "VALUE", NULL};
    static const char *const sums[] = {"NAME", "HOST",       "SENT",  "RECEIVED", "OUT",
                                       "IN",   "WAITS",      "WAKES", "SAVED",    "OPEN",
                                       "RING", "VIOLATIONS", NULL};
    struct stats stats = {.cli = cli, .listing.cli = cli};
    struct cli_runtime_place place = {.guest = ""};
    const char *name = cli->arguments.count > 0 ? cli->arguments.operands[0] : NULL;
    int r = name ? cli_runtime_find(cli, name, CLI_RUNTIME_GUESTS, &place) : 0;

    if (r < 0)
        return r;
    stats.listing.whole = cli->output == CLI_OUTPUT_WIDE || place.guest[0];
    cli_listing_begin(&stats.listing, "guests", stats.listing.whole ? figures : sums);
    r = name ? ask(&stats, &place) : cli_runtime_each_host(cli, ask, &stats);
    return cli_listing_end(&stats.listing, r);
}
