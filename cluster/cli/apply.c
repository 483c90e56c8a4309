/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/cli/client/node_client.h"
#include "cluster/cli/cluster_commands.h"
#include "cluster/cli/node_modules.h"
#include "cluster/cli/pool/pool_file.h"
#include "cluster/cli/push.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/listing.h"
#include "host/cli/text/view.h"
#include "hub/base/own.h"

#define DONE ".done"

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
        MEMBER_IF(complete, "durability", cluster_pool_spec_durabilities[spec->durability]),
        MEMBER_IF(complete, "copies", spec->copies), MEMBER("trust", spec->trust));
}

static void add_row(struct cli_listing *listing, const struct cluster_pool_file_pool *pool)
{
    const struct cluster_pool_spec *spec = &pool->spec;

    cli_table_add(
        &listing->table,
        (const char *[]){CELL("%.*s", VIEW(spec->name)), CELL("%.*s", VIEW(spec->module)),
                         spec->version.size > 0 ? CELL("%.*s", VIEW(spec->version)) : "-",
                         spec->containers > 0 ? CELL("%" PRIu32, spec->containers) : "each node",
                         guests_of(spec),
                         is_complete(pool) ? cluster_pool_spec_durabilities[spec->durability] : "-",
                         NULL});
}

static void show_pool(struct cli_listing *listing, const struct cluster_pool_file_pool *pool)
{
    if (cli_json_wanted(listing->cli))
        write_pool(&listing->json, pool);
    else if (listing->cli->output == CLI_OUTPUT_NAME)
        cli_view_print(pool->spec.name);
    else
        add_row(listing, pool);
}

static int list_pools(struct cli *cli, const struct cluster_pool_file *file)
{
    struct cli_listing listing = {.cli = cli};

    cli_listing_begin(
        &listing, "pools",
        (const char *[]){"NAME", "MODULE", "VERSION", "CONTAINERS", "GUESTS", "DURABILITY", NULL});
    for (unsigned i = 0; i < file->count; i++)
        show_pool(&listing, &file->pools[i]);
    return cli_listing_end(&listing, 0);
}

static void tell_notes(const struct cli *cli, const struct cluster_pool_file *file)
{
    for (unsigned i = 0; i < file->notes.count; i++)
        cli_failure_note(cli, "%s", file->notes.texts[i]);
}

static int check(struct cli *cli, const struct cluster_pool_file *file)
{
    for (unsigned i = 0; i < file->count; i++)
        if (!is_complete(&file->pools[i]))
            cli_failure_note(cli, "%.*s: only a node can say whether it has the module %.*s",
                             VIEW(file->pools[i].spec.name), VIEW(file->pools[i].spec.module));
    return list_pools(cli, file);
}

/* ---- the orders ---- */

static void about(struct cli *cli, const struct cluster_pool_file_pool *pool)
{
    cli_failure_about(cli, "%.*s", VIEW(pool->spec.name));
}

/* The module of a pool that names one which the node has. */
static int complete_by_node(const struct cluster_node_client *node, struct cluster_pool_file *file,
                            unsigned index)
{
    const struct cluster_pool_spec *spec = &file->pools[index].spec;
    struct cluster_pool_module module = {.name = ""};
    int r = cluster_node_modules_find(node, spec->module, spec->version, &module);

    if (r == 0)
        r = cluster_pool_file_complete(file, index, &module);
    cluster_pool_module_fini(&module);
    return r;
}

/* All pools are complete before the node is told of the first. */
static int complete(const struct cluster_node_client *node, struct cluster_pool_file *file)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < file->count; i++) {
        if (is_complete(&file->pools[i]))
            continue;
        about(node->cli, &file->pools[i]);
        r = complete_by_node(node, file, i);
    }
    return r;
}

static int push(const struct cluster_node_client *node, const struct cluster_pool_file_pool *pool)
{
    uint8_t digest[CLUSTER_POOL_SPEC_DIGEST];

    if (!pool->path)
        return 0;
    memcpy(digest, pool->spec.digest.data, sizeof digest);
    return cluster_push_file(node, pool->path, digest);
}

static int order(const struct cluster_node_client *node, const struct cluster_pool_file_pool *pool,
                 uint64_t *operation)
{
    const bool only_check = false;

    return cluster_node_client_ask(node, CLUSTER_ASK_APPLY,
                                   (const void *[]){&pool->bytes, &only_check, NULL}, operation);
}

/* The node has all modules before it is told of the first pool. */
static int push_all(const struct cluster_node_client *node, const struct cluster_pool_file *file)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < file->count; i++) {
        about(node->cli, &file->pools[i]);
        r = push(node, &file->pools[i]);
    }
    return r;
}

/* Pools are made side by side: each is ordered before the first is waited for. */
static int apply_all(const struct cluster_node_client *node, const struct cluster_pool_file *file)
{
    uint64_t operations[CLUSTER_POOL_FILE_POOLS];
    bool waits = !cli_arguments_flag(&node->cli->arguments, "no-wait") &&
                 !cli_arguments_flag(&node->cli->arguments, "once");
    int r = 0;

    for (unsigned i = 0; r == 0 && i < file->count; i++) {
        about(node->cli, &file->pools[i]);
        r = order(node, &file->pools[i], &operations[i]);
    }
    for (unsigned i = 0; r == 0 && waits && i < file->count; i++) {
        about(node->cli, &file->pools[i]);
        r = cluster_node_client_wait(node, operations[i]);
    }
    return r;
}

/* The file is not applied again by its name: it gets another one, durably. An earlier file of that
 * name is lost. r[impl cluster.daemon.restart] */
static int mark_done(const char *path)
{
    const char *slash = strrchr(path, '/');
    char done[PATH_MAX], folder[PATH_MAX];
    OWN(hub_fd) int fd = -1;

    if (snprintf(done, sizeof done, "%s" DONE, path) >= (int)sizeof done)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%.100s...' is too long for a path", path);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || rename(path, done) < 0 || fsync(fd) < 0)
        return rapahub_fail(-errno, "", "its pools are applied, but '%s' cannot become '%s': %s",
                            path, done, strerrordesc_np(errno));
    return 0;
}

static int apply(struct cli *cli, struct cluster_pool_file *file)
{
    struct cluster_node_client node;
    int r = cluster_node_client_open(cli, &node);

    if (r == 0)
        r = complete(&node, file);
    if (r == 0)
        r = push_all(&node, file);
    if (r == 0)
        r = apply_all(&node, file);
    if (r == 0 && cli_arguments_flag(&cli->arguments, "once"))
        r = mark_done(file->yaml.path);
    if (r == 0)
        r = list_pools(cli, file);
    snprintf(cli->quote, sizeof cli->quote, "%s", file->yaml.quote);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}

static int read_file(struct cli *cli, struct cluster_pool_file *file)
{
    const char *path = cli_arguments_text(&cli->arguments, "file");
    int r;

    if (!path)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "-f FILE is missing");
    r = cluster_pool_file_open(path, file);
    snprintf(cli->quote, sizeof cli->quote, "%s", file->yaml.quote);
    return r;
}

int cluster_apply(struct cli *cli)
{
    struct cluster_pool_file *file = calloc(1, sizeof *file);
    int r;

    if (!file)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a pool file");
    r = read_file(cli, file);
    tell_notes(cli, file);
    if (r == 0)
        r = cli_arguments_flag(&cli->arguments, "check") ? check(cli, file) : apply(cli, file);
    cluster_pool_file_close(file);
    free(file);
    return r;
}
