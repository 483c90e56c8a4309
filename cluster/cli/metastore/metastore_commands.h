/* SPDX-License-Identifier: Apache-2.0 */
/* metastore_commands: backups of the metastore of a cluster, made and restored. For the table of
 * commands.
 */
#ifndef CLUSTER_CLI_METASTORE_METASTORE_COMMANDS_H
#define CLUSTER_CLI_METASTORE_METASTORE_COMMANDS_H

struct cli;

int cluster_metastore_backup_run(struct cli *cli);
int cluster_metastore_restore_run(struct cli *cli);

#endif
