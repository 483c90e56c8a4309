/* SPDX-License-Identifier: Apache-2.0 */
/* fsck: what is wrong with the data folder of a node that does not run. r[impl cluster.fsck] */
#include <stdio.h>

#include <rapahub/error.h>

#include "cluster/cli/client/data_option.h"
#include "cluster/cli/cluster_commands.h"
#include "cluster/metastore/kinds/store_kinds.h"
#include "cluster/node/boot/folder_check.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/listing.h"
#include "host/cli/text/terminal.h"

#define EXIT_FINDINGS 1
#define SCRATCH       "/dev/shm" /* for the copy of the metastore */

static const char *const grades[CLUSTER_FOLDER_CHECK_GRADES] = {
    [CLUSTER_FOLDER_CHECK_FINE] = "ok",
    [CLUSTER_FOLDER_CHECK_MENDED] = "mended",
    [CLUSTER_FOLDER_CHECK_WRONG] = "wrong",
    [CLUSTER_FOLDER_CHECK_STRAY] = "stray"};

static const char *const colors[CLUSTER_FOLDER_CHECK_GRADES] = {
    [CLUSTER_FOLDER_CHECK_FINE] = "\033[32m",
    [CLUSTER_FOLDER_CHECK_MENDED] = "\033[33m",
    [CLUSTER_FOLDER_CHECK_WRONG] = "\033[31m",
    [CLUSTER_FOLDER_CHECK_STRAY] = "\033[33m"};

/* A name in the folder may be anybody's. */
static void print_finding(const struct cli *cli, enum cluster_folder_check_grade grade,
                          const char *place, const char *text)
{
    printf("%s%-6s%s ", cli->color_out ? colors[grade] : "", grades[grade],
           cli->color_out ? "\033[0m" : "");
    cli_terminal_put(stdout, rapahub_string_of(place));
    fputs(": ", stdout);
    (void)cli_terminal_print(stdout, text);
}

static void show_finding(void *user, enum cluster_folder_check_grade grade, const char *place,
                         const char *text)
{
    struct cli_listing *listing = user;
    const struct cli *cli = listing->cli;

    if (cli_json_wanted(cli))
        cli_json_object(&listing->json, NULL, MEMBER("result", grades[grade]),
                        MEMBER("path", place), MEMBER("text", text));
    else if (grade == CLUSTER_FOLDER_CHECK_FINE && (cli->quiet || cli->output == CLI_OUTPUT_NAME))
        return;
    else if (cli->output == CLI_OUTPUT_NAME)
        (void)cli_terminal_print(stdout, place);
    else
        print_finding(cli, grade, place, text);
}

static int check(struct cli *cli, const char *data)
{
    const struct cluster_folder_check_options options = {
        .data = data, .scratch = SCRATCH, .ends = cluster_store_kinds, .wait_ns = cli->timeout_ns};
    struct cli_listing listing = {.cli = cli};
    int findings, r;

    cli_listing_begin(&listing, "findings", NULL);
    findings = cluster_folder_check_run(&options, show_finding, &listing);
    if (findings == RAPAHUB_EBUSY)
        cli_failure_hint(cli, "rapahub ps shows what runs");
    r = cli_listing_end(&listing, findings < 0 ? findings : 0);
    if (r < 0)
        return r;
    if (!cli_json_wanted(cli) && !cli->quiet && cli->output != CLI_OUTPUT_NAME)
        printf("%d finding%s\n", findings, findings == 1 ? "" : "s");
    return findings > 0 ? EXIT_FINDINGS : 0;
}

int cluster_fsck(struct cli *cli)
{
    struct daemon_settings settings;
    const char *data;
    int r = cluster_data_option_find(cli, &settings, &data);

    if (r == 0)
        r = check(cli, data);
    daemon_settings_fini(&settings);
    return r;
}
