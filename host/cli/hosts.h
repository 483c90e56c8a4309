/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: one after the other all hosts of this user are asked something. */
#ifndef CLI_HOSTS_H
#define CLI_HOSTS_H

#include "host/cli/runtime.h"

/* cli->client is connected to that host. */
typedef int cli_hosts_visit(void *user, const struct cli_runtime_place *place);

/* Those that have guests; one that ends meanwhile is left out. */
int cli_hosts_each(struct cli *cli, cli_hosts_visit *visit, void *user);

#endif
