/* SPDX-License-Identifier: Apache-2.0 */
/* change: commands that change something on a node, and wait until it is done. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/cli/client/node_client.h"
#include "cluster/cli/cluster_commands.h"
#include "cluster/cli/node_modules.h"
#include "cluster/cli/pool_target.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/text/json.h"

/* An order, its arguments, and the words for its end. */
struct change {
    const char *pool;
    const char *method, *what, *done;
    const void *const *arguments;
};

static int tell(const struct cli *cli, const struct change *change, uint64_t operation, bool waited)
{
    if (cli_json_wanted(cli))
        return cli_json_print(stdout, cli->command->schema, MEMBER("operation", operation),
                              MEMBER("done", waited));
    if (waited)
        cli_failure_note(cli, "%s is %s", change->what, change->done);
    else
        cli_failure_note(cli, "%s: operation %" PRIu64 " goes on", change->what, operation);
    return 0;
}

static int carry_out(struct cli *cli, const struct change *change)
{
    bool waits = !cli_arguments_flag(&cli->arguments, "no-wait");
    struct cluster_node_client node;
    uint64_t operation = 0;
    int r = cluster_node_client_open(cli, &node);

    cli_failure_about(cli, "%s", r < 0 ? "" : change->what);
    if (r == 0)
        r = cluster_node_client_ask(&node, change->method, change->arguments, &operation);
    if (r == RAPAHUB_ENOPOOL)
        r = cluster_node_modules_no_pool(&node, change->pool);
    if (r == 0 && waits)
        r = cluster_node_client_wait(&node, operation);
    if (r == 0)
        r = tell(cli, change, operation, waits || operation == 0);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}

int cluster_change_delete(struct cli *cli)
{
    const char *name = cli->arguments.operands[0];
    struct rapahub_string pool = rapahub_string_of(name);

    return carry_out(cli, &(struct change){name, CLUSTER_ASK_REMOVE, name, "deleted",
                                           (const void *[]){&pool, NULL}});
}

int cluster_change_release(struct cli *cli)
{
    const char *text = cli->arguments.operands[0];
    char name[CLUSTER_KEYS_NAME_MAX + 1];
    struct rapahub_string pool;
    uint32_t container;
    int r = cluster_pool_target_container(text, name, &container);

    pool = rapahub_string_of(name);
    return r < 0 ? r
                 : carry_out(cli, &(struct change){name, CLUSTER_ASK_RELEASE, text, "released",
                                                   (const void *[]){&pool, &container, NULL}});
}

/* An unpush has no operation: it is done when it is answered. */
int cluster_change_unpush(struct cli *cli)
{
    const char *text = cli->arguments.operands[0], *colon = strchr(text, ':');
    struct rapahub_string name = {text, colon ? (size_t)(colon - text) : 0};
    struct rapahub_string version = rapahub_string_of(colon ? colon + 1 : "");
    struct cluster_node_client node;
    int r;

    if (name.size == 0 || version.size == 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is not NAME:VERSION", text);
    r = cluster_node_client_open(cli, &node);
    if (r == 0)
        r = cluster_node_client_ask(&node, CLUSTER_ASK_UNPUSH,
                                    (const void *[]){&name, &version, NULL}, NULL);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("name", name),
                           MEMBER("version", version));
    else if (r == 0)
        cli_failure_note(cli, "%s is removed", text);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}

static int read_node(const char *text, uint32_t *out)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number == 0 ||
        number > UINT32_MAX)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is no number of a node", text);
    *out = (uint32_t)number;
    return 0;
}

/* An order about a node, which the words `done` follow where it is carried out. */
static int carry_out_for(struct cli *cli, const char *method, uint32_t node, const char *done)
{
    bool discard = cli_arguments_flag(&cli->arguments, "discard");
    struct cluster_node_client client;
    uint64_t operation = 0;
    int r = cluster_node_client_open(cli, &client);

    if (r == 0)
        r = cluster_node_client_ask(&client, method, (const void *[]){&node, &discard, NULL},
                                    &operation);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("node", node),
                           MEMBER("discard", discard));
    else if (r == 0)
        cli_failure_note(cli, "node %" PRIu32 " %s", node, done);
    else if (r == RAPAHUB_ETIMEDOUT)
        cli_failure_hint(cli, "it goes on; `rapahub get nodes` says how far it is");
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&client);
    return r;
}

/* It is done when it is durable that the node is dead; its containers begin after that. */
int cluster_change_dead(struct cli *cli)
{
    uint32_t node;
    int r = read_node(cli->arguments.operands[0], &node);

    if (r == 0 && !cli_arguments_flag(&cli->arguments, "yes"))
        r = rapahub_fail(RAPAHUB_ECONFIG, "",
                         "if a process of node %" PRIu32
                         " still runs, its containers will be there "
                         "twice: make sure that its machine is off, or has been started anew, then "
                         "add --yes",
                         node);
    return r < 0 ? r
                 : carry_out_for(cli, CLUSTER_ASK_DEAD, node,
                                 "is fenced, and its containers begin elsewhere: `rapahub get "
                                 "nodes` says which of them wait");
}

/* It is done when the node has left; it goes on without a command that waits. */
int cluster_change_leave(struct cli *cli)
{
    uint32_t node;
    int r = read_node(cli->arguments.operands[0], &node);

    return r < 0 ? r
                 : carry_out_for(cli, CLUSTER_ASK_LEAVE, node,
                                 "has left the cluster; its data folder may be removed");
}
