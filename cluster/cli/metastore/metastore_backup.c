/* SPDX-License-Identifier: Apache-2.0 */
/* metastore backup: the node with the metastore makes a file of it, while it serves. */
#include <stdio.h>

#include <rapahub/error.h>

#include "cluster/cli/client/node_client.h"
#include "cluster/cli/metastore/metastore_commands.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/text/document.h"
#include "host/cli/text/json.h"
#include "host/cli/text/terminal.h"

static int tell(const struct cli *cli, struct rapahub_string text)
{
    struct cli_document document;
    const char *path;
    char revision[32], generation[32];
    int r = cli_document_read(text, &document);

    if (r < 0)
        return r;
    path = cli_document_text(cli_document_member(document.root, "path"));
    cli_document_print(cli_document_member(document.root, "generation"), generation,
                       sizeof generation);
    cli_document_print(cli_document_member(document.root, "revision"), revision, sizeof revision);
    fputs("path        ", stdout);
    (void)cli_terminal_print(stdout, path ? path : "");
    printf("generation  %s\nrevision    %s\n", generation, revision);
    cli_failure_note(cli, "copy it to another machine, with the folder ca: both are secrets");
    cli_document_fini(&document);
    return 0;
}

int cluster_metastore_backup_run(struct cli *cli)
{
    const char *given = cli->arguments.count > 0 ? cli->arguments.operands[0] : "";
    struct rapahub_string name = rapahub_string_of(given), answer = {NULL, 0};
    struct cluster_node_client node;
    int r = cluster_node_client_open(cli, &node);

    if (r == 0)
        r = cluster_node_client_ask(&node, CLUSTER_ASK_BACKUP, (const void *[]){&name, NULL},
                                    &answer);
    if (r == 0 && cli_json_wanted(cli))
        printf("%.*s\n", (int)answer.size, answer.data);
    else if (r == 0)
        r = tell(cli, answer);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}
