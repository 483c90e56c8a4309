/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/cli/cluster_commands.h"
#include "cluster/cli/pool/pool_file.h"
#include "cluster/cli/pool/pool_words.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/listing.h"
#include "host/cli/text/view.h"

/* ---- the pools of the file ---- */

/* Its durability follows from its module, which a node has. */
static bool is_complete(const struct cluster_pool_file_pool *pool)
{
    return pool->bytes.size > 0;
}

static const char *guests_of(const struct cluster_pool_spec *spec)
{
    return spec->own_guests ? "own" : "shared";
}

static void write_pool(struct cli_json *json, const struct cluster_pool_file_pool *pool)
{
    const struct cluster_pool_spec *spec = &pool->spec;
    bool complete = is_complete(pool);

    cli_json_object(
        json, NULL, MEMBER("name", spec->name), MEMBER("module", spec->module),
        MEMBER_IF(spec->version.size > 0, "version", spec->version),
        MEMBER("containers", spec->containers), MEMBER("guests", guests_of(spec)),
        MEMBER_IF(complete, "durability", cluster_pool_words_durabilities[spec->durability]),
        MEMBER_IF(complete, "copies", spec->copies), MEMBER("trust", spec->trust));
}

static void add_row(struct cli_listing *listing, const struct cluster_pool_file_pool *pool)
{
    const struct cluster_pool_spec *spec = &pool->spec;

    cli_table_add(&listing->table,
                  (const char *[]){
                      CELL("%.*s", VIEW(spec->name)), CELL("%.*s", VIEW(spec->module)),
                      spec->version.size > 0 ? CELL("%.*s", VIEW(spec->version)) : "-",
                      spec->containers > 0 ? CELL("%" PRIu32, spec->containers) : "each node",
                      guests_of(spec),
                      is_complete(pool) ? cluster_pool_words_durabilities[spec->durability] : "-",
                      NULL});
}

static int list_pools(struct cli *cli, const struct cluster_pool_file *file)
{
    struct cli_listing listing = {.cli = cli};

    cli_listing_begin(
        &listing, "pools",
        (const char *[]){"NAME", "MODULE", "VERSION", "CONTAINERS", "GUESTS", "DURABILITY", NULL});
    for (unsigned i = 0; i < file->count; i++) {
        if (cli_json_wanted(cli))
            write_pool(&listing.json, &file->pools[i]);
        else if (cli->output == CLI_OUTPUT_NAME)
            cli_view_print(file->pools[i].spec.name);
        else
            add_row(&listing, &file->pools[i]);
    }
    return cli_listing_end(&listing, 0);
}

static void tell_notes(struct cli *cli, const struct cluster_pool_file *file)
{
    for (unsigned i = 0; i < file->notes.count; i++)
        cli_failure_note(cli, "%s", file->notes.texts[i]);
    for (unsigned i = 0; i < file->count; i++)
        if (!is_complete(&file->pools[i]))
            cli_failure_note(cli, "%.*s: only a node can say whether it has the module %.*s",
                             VIEW(file->pools[i].spec.name), VIEW(file->pools[i].spec.module));
}

static int check(struct cli *cli, struct cluster_pool_file *file)
{
    tell_notes(cli, file);
    return list_pools(cli, file);
}

int cluster_apply(struct cli *cli)
{
    const char *path = cli_arguments_text(&cli->arguments, "file");
    struct cluster_pool_file *file = calloc(1, sizeof *file);
    int r;

    if (!file)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a pool file");
    r = path ? cluster_pool_file_open(path, file)
             : rapahub_fail(RAPAHUB_ECONFIG, "", "-f FILE is missing");
    if (r == 0)
        r = check(cli, file);
    else
        snprintf(cli->quote, sizeof cli->quote, "%s", file->yaml.quote);
    cluster_pool_file_close(file);
    free(file);
    return r;
}
