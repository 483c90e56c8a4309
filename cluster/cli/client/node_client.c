/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/client/node_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/text/document.h"
#include "host/socket/folders.h"
#include "hub/base/own.h"

#define WAIT_NS     UINT64_C(2000000000)
#define NODES_MAX   9 /* a ninth is refused where they are used */
#define EXIT_NOBODY 4 /* where no host is reached, too */

/* The container of each node that offers these methods. */
#define NODE_POOL                                   \
    {                                               \
        .pool = {.major = UINT32_MAX, .minor = 16 } \
    }

/* Takes apart addresses with commas between them. */
static int split(const char *named, char **list, const char *nodes[NODES_MAX + 1])
{
    unsigned count = 0;
    char *rest;

    *list = strdup(named);
    if (!*list)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the addresses of nodes");
    for (char *at = strtok_r(*list, ",", &rest); at && count < NODES_MAX;
         at = strtok_r(NULL, ",", &rest))
        nodes[count++] = at;
    nodes[count] = NULL;
    return 0;
}

bool cluster_node_client_is_remote(const struct cli *cli)
{
    const char *named = cli_arguments_text(&cli->arguments, "node");

    return named && strncmp(named, "unix:", strlen("unix:")) != 0;
}

static void explain(struct cli *cli, int code)
{
    cli->exit_status = EXIT_NOBODY;
    if (cluster_node_client_is_remote(cli))
        cli_failure_hint(cli, code == RAPAHUB_ENOENT
                                  ? "rapahub node certificate makes one, on the node's machine; "
                                    "--tls names the folder"
                                  : "is rapahubd started there with --listen, and the port open?");
    else
        cli_failure_hint(cli, "start one with rapahubd, or name its socket: --node unix:PATH");
}

int cluster_node_client_open(struct cli *cli, struct cluster_node_client *out)
{
    const char *named = cli_arguments_text(&cli->arguments, "node"), *nodes[NODES_MAX + 1];
    OWN(hub_memory) char *list = NULL;
    struct rapahub_client_options options = {.tls = cli_arguments_text(&cli->arguments, "tls")};
    int r = rapahub_client_environment(&options);

    *out = (struct cluster_node_client){.cli = cli};
    if (options.wait_ns == 0)
        options.wait_ns = cli->timeout_ns < WAIT_NS ? cli->timeout_ns : WAIT_NS;
    if (options.transport == RAPAHUB_CLIENT_AUTOMATIC)
        options.transport = RAPAHUB_CLIENT_SOCKET; /* a command makes few calls */
    if (r == 0 && named) {
        options.nodes = nodes;
        r = split(named, &list, nodes);
    }
    if (r == 0)
        r = rapahub_client_open(&options, &out->client);
    if (r == RAPAHUB_ENETTIMEOUT || r == RAPAHUB_ENOENT)
        explain(cli, r);
    return r;
}

void cluster_node_client_close(struct cluster_node_client *node)
{
    rapahub_client_close(node->client);
    node->client = NULL;
}

/* The node without a name of its own, as a client looks for it. */
static int has_socket(void *user, const char *folder)
{
    char path[HOST_FOLDERS_PATH + 16];

    (void)user;
    snprintf(path, sizeof path, "%s/node.node", folder);
    return access(path, F_OK) == 0;
}

bool cluster_node_client_may_be(const struct cli *cli)
{
    if (cli_arguments_text(&cli->arguments, "node"))
        return true;
    if (host_folders_each(has_socket, NULL) > 0)
        return true;
    rapahub_clear_error();
    return false;
}

void cluster_node_client_hint(struct cli *cli, int status)
{
    if (cli->hint[0])
        return;
    if (status == RAPAHUB_EACCES)
        cli_failure_hint(cli, "the role is that of the certificate (rapahub node certificate), or "
                              "on the node's machine that of the user (rapahubd --group)");
    else if (status == RAPAHUB_ENOPOOL)
        cli_failure_hint(cli, "rapahub get pools lists those there are");
}

int cluster_node_client_ask(const struct cluster_node_client *node, const char *method,
                            const void *const *arguments, void *result)
{
    const struct rapahub_call call = {.target = NODE_POOL,
                                      .method = method,
                                      .arguments = arguments,
                                      .timeout_ns = node->cli->timeout_ns};
    int r = rapahub_client_call(node->client, &call, result);

    cluster_node_client_hint(node->cli, r);
    return r;
}

/* The result of an operation, as its document has it. */
static int read_result(struct rapahub_string text)
{
    struct cli_document document;
    const char *cause;
    int64_t result;
    int r = cli_document_read(text, &document);

    if (r < 0)
        return r;
    if (cli_document_number(cli_document_member(document.root, "result"), &result) && result < 0) {
        cause = cli_document_text(cli_document_member(document.root, "cause"));
        r = rapahub_fail((int)result, "", "%s", cause ? cause : "");
    }
    cli_document_fini(&document);
    return r;
}

int cluster_node_client_wait(const struct cluster_node_client *node, uint64_t operation)
{
    uint64_t timeout_ns = node->cli->timeout_ns;
    struct rapahub_string text;
    int r;

    if (operation == 0)
        return 0;
    r = cluster_node_client_ask(node, CLUSTER_ASK_WAIT,
                                (const void *[]){&operation, &timeout_ns, NULL}, &text);
    if (r == RAPAHUB_ETIMEDOUT)
        cli_failure_hint(
            node->cli, "it goes on; rapahub get operations shows how far operation %" PRIu64 " is",
            operation);
    return r < 0 ? r : read_result(text);
}
