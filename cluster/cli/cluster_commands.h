/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_commands: the table of the commands of a node, and the functions that carry them out.
 * Main hands it down after that of host/cli, whose `call` it replaces. r[impl exp.table] */
#ifndef CLUSTER_CLI_CLUSTER_COMMANDS_H
#define CLUSTER_CLI_CLUSTER_COMMANDS_H

#include "host/cli/command/command.h"

/* Ends with an entry that has no name. */
extern const struct cli_command cluster_commands[];

int cluster_apply(struct cli *cli);
int cluster_change_delete(struct cli *cli);
int cluster_change_release(struct cli *cli);
int cluster_change_unpush(struct cli *cli);
int cluster_change_dead(struct cli *cli);
int cluster_change_leave(struct cli *cli);
int cluster_fsck(struct cli *cli);
int cluster_get_modules(struct cli *cli);
int cluster_get_operations(struct cli *cli);
int cluster_get_pool(struct cli *cli);
int cluster_get_nodes(struct cli *cli);
int cluster_get_pools(struct cli *cli);
int cluster_get_revoked(struct cli *cli);
int cluster_get_status(struct cli *cli);
int cluster_get_tokens(struct cli *cli);
int cluster_identity_certificate(struct cli *cli);
int cluster_identity_init(struct cli *cli);
int cluster_identity_join(struct cli *cli);
int cluster_identity_revoke(struct cli *cli);
int cluster_identity_token(struct cli *cli);
int cluster_identity_token_revoke(struct cli *cli);
int cluster_node_ps(struct cli *cli);
int cluster_pool_call(struct cli *cli);
int cluster_push(struct cli *cli);

#endif
