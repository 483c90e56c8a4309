/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>
#include <rapahub/region.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/listing.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/region/region_report.h"
#include "host/config/units.h"

static void add_row(struct cli_listing *listing, const char *name,
                    const struct rapahub_region_report *report)
{
    cli_table_add(
        &listing->table,
        (const char *[]){name, cli_region_report_kind(report), cli_region_report_profile(report),
                         COUNT_TEXT(report->tail - report->head),
                         COUNT_TEXT(cli_region_report_room(report)), report->producer ? "yes" : "-",
                         report->consumer ? "yes" : "-", SIZE_TEXT(report->bytes),
                         cli_region_report_verdict(report), NULL});
}

/* A region that is removed meanwhile is no longer to be listed. */
static int show(void *user, const char *name)
{
    struct cli_listing *listing = user;
    struct rapahub_region_report report;

    if (listing->cli->output == CLI_OUTPUT_NAME) {
        puts(name);
        return 0;
    }
    if (rapahub_region_inspect(name, false, &report) < 0)
        return 0;
    if (!cli_json_wanted(listing->cli)) {
        add_row(listing, name, &report);
        return 0;
    }
    cli_json_open(&listing->json, NULL, CLI_JSON_OBJECT);
    cli_region_report_write(&listing->json, name, &report);
    cli_json_put(&listing->json, MEMBER("action", (const char *)report.action));
    cli_json_close(&listing->json);
    return 0;
}

int cli_region_ls(struct cli *cli)
{
    struct cli_listing listing = {.cli = cli, .whole = cli->output == CLI_OUTPUT_WIDE};

    cli_listing_begin(&listing, "regions",
                      (const char *[]){"NAME", "KIND", "PROFILE", "MESSAGES", "CELLS", "PRODUCER",
                                       "CONSUMER", "SIZE", "VERDICT", NULL});
    return cli_listing_end(&listing, rapahub_region_list(show, &listing));
}
