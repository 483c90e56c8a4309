/* SPDX-License-Identifier: Apache-2.0 */
/* node_ps: the containers of all pools, as a node has them. */
#include <inttypes.h>

#include <rapahub/error.h>

#include "cluster/cli/client/node_client.h"
#include "cluster/cli/cluster_commands.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/listing.h"
#include "host/cli/text/document.h"

#define CELL_SIZE 256

/* The members of a container that are shown, and the heads of their columns. */
static const struct {
    const char *key, *head;
} shown[] = {{"container", "CONTAINER"}, {"state", "STATE"},       {"here", "HERE"},
             {"token", "TOKEN"},         {"failures", "FAILURES"}, {"cause", "CAUSE"}};

#define SHOWN (sizeof shown / sizeof *shown)

static void add_row(struct cli_listing *listing, const char *pool, const struct json_t *container)
{
    const char *cells[SHOWN + 2] = {pool};
    char texts[SHOWN][CELL_SIZE];

    for (unsigned i = 0; i < SHOWN; i++) {
        cli_document_print(cli_document_member(container, shown[i].key), texts[i], CELL_SIZE);
        cells[1 + i] = texts[i];
    }
    cli_table_add(&listing->table, cells);
}

static void write_container(struct cli_listing *listing, const char *pool,
                            const struct json_t *container)
{
    int64_t number;

    cli_json_put(&listing->json, BRACKET(CLI_JSON_OBJECT, NULL), MEMBER("pool", pool));
    for (unsigned i = 0; i < SHOWN; i++) {
        const struct json_t *value = cli_document_member(container, shown[i].key);

        if (cli_document_number(value, &number))
            cli_json_put(&listing->json, MEMBER(shown[i].key, number));
        else if (cli_document_text(value))
            cli_json_put(&listing->json, MEMBER(shown[i].key, cli_document_text(value)));
    }
    cli_json_close(&listing->json);
}

static void show_containers(struct cli_listing *listing, const char *pool,
                            const struct json_t *containers)
{
    const struct json_t *container;
    int64_t number;

    for (unsigned i = 0; (container = cli_document_item(containers, i)); i++) {
        if (cli_json_wanted(listing->cli))
            write_container(listing, pool, container);
        else if (listing->cli->output != CLI_OUTPUT_NAME)
            add_row(listing, pool, container);
        else if (cli_document_number(cli_document_member(container, "container"), &number))
            cli_table_add(&listing->table,
                          (const char *[]){CELL("%s#%" PRId64, pool, number), NULL});
    }
}

/* A pool that was deleted meanwhile has none. */
static int show_pool(struct cli_listing *listing, const struct cluster_node_client *node,
                     const char *name)
{
    struct rapahub_string pool = rapahub_string_of(name), text;
    struct cli_document document;
    int r = cluster_node_client_ask(node, CLUSTER_ASK_POOL, (const void *[]){&pool, NULL}, &text);

    if (r == 0)
        r = cli_document_read(text, &document);
    if (r < 0)
        return r == RAPAHUB_ENOPOOL ? 0 : r;
    show_containers(listing, name, cli_document_member(document.root, "of"));
    cli_document_fini(&document);
    return 0;
}

static int show_pools(struct cli_listing *listing, const struct cluster_node_client *node,
                      const struct json_t *pools)
{
    const struct json_t *pool;
    int r = 0;

    for (unsigned i = 0; r == 0 && (pool = cli_document_item(pools, i)); i++) {
        const char *name = cli_document_text(cli_document_member(pool, "name"));

        r = name ? show_pool(listing, node, name) : 0;
    }
    return r;
}

static int list(struct cli *cli, const struct cluster_node_client *node)
{
    const char *head[SHOWN + 2] = {"POOL"};
    struct cli_listing listing = {.cli = cli, .whole = cli->output == CLI_OUTPUT_WIDE};
    struct cli_document document;
    struct rapahub_string text;
    int r = cluster_node_client_ask(node, CLUSTER_ASK_POOLS, NULL, &text);

    if (r == 0)
        r = cli_document_read(text, &document);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < SHOWN; i++)
        head[1 + i] = shown[i].head;
    cli_listing_begin(&listing, "containers", head);
    r = cli_listing_end(&listing,
                        show_pools(&listing, node, cli_document_member(document.root, "pools")));
    cli_document_fini(&document);
    return r;
}

int cluster_node_ps(struct cli *cli)
{
    struct cluster_node_client node;
    int r = cluster_node_client_open(cli, &node);

    if (r == 0)
        r = list(cli, &node);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}
