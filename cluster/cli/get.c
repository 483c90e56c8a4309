/* SPDX-License-Identifier: Apache-2.0 */
/* get: commands that show what a node says of itself. */
#include <rapahub/error.h>

#include "cluster/cli/client/node_client.h"
#include "cluster/cli/cluster_commands.h"
#include "cluster/cli/node_modules.h"
#include "cluster/cli/show.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"

/* Asks for a document; `key`: it has a list there, NULL: it is an object. */
static int ask(struct cli *cli, const char *method, const void *const *arguments, const char *key)
{
    struct rapahub_string text = {NULL, 0};
    struct cluster_node_client node;
    int r = cluster_node_client_open(cli, &node);

    if (r == 0)
        r = cluster_node_client_ask(&node, method, arguments, &text);
    if (r == RAPAHUB_ENOPOOL)
        r = cluster_node_modules_no_pool(&node, cli->arguments.operands[0]);
    if (r == 0)
        r = key ? cluster_show_list(cli, key, text) : cluster_show_object(cli, text);
    /* Reported first: the end of the client may replace the diagnosis. */
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}

int cluster_get_nodes(struct cli *cli)
{
    return ask(cli, CLUSTER_ASK_NODES, NULL, "nodes");
}

int cluster_get_pools(struct cli *cli)
{
    return ask(cli, CLUSTER_ASK_POOLS, NULL, "pools");
}

int cluster_get_operations(struct cli *cli)
{
    return ask(cli, CLUSTER_ASK_OPERATIONS, NULL, "operations");
}

int cluster_get_modules(struct cli *cli)
{
    return ask(cli, CLUSTER_ASK_MODULES, NULL, "modules");
}

int cluster_get_status(struct cli *cli)
{
    return ask(cli, CLUSTER_ASK_STATUS, NULL, NULL);
}

int cluster_get_tokens(struct cli *cli)
{
    return ask(cli, CLUSTER_ASK_TOKENS, NULL, "tokens");
}

int cluster_get_revoked(struct cli *cli)
{
    return ask(cli, CLUSTER_ASK_REVOKED, NULL, "revoked");
}

int cluster_get_pool(struct cli *cli)
{
    const char *name = cli->arguments.operands[0];
    struct rapahub_string pool = rapahub_string_of(name);

    return ask(cli, CLUSTER_ASK_POOL, (const void *[]){&pool, NULL}, NULL);
}
