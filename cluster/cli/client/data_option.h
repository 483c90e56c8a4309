/* SPDX-License-Identifier: Apache-2.0 */
/* data_option: the data folder of commands for a node that does not run: that of --data, or the one
 * that rapahubd would have without options.
 */
#ifndef CLUSTER_CLI_CLIENT_DATA_OPTION_H
#define CLUSTER_CLI_CLIENT_DATA_OPTION_H

#include "cluster/daemon/settings.h"

struct cli;

/* Gives the folder, which is good until the settings are released, also after a failure. */
int cluster_data_option_find(struct cli *cli, struct daemon_settings *settings, const char **out);

#endif
