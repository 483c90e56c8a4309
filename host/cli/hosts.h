/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: a request to all hosts of this user, one after the other. */
#ifndef CLI_HOSTS_H
#define CLI_HOSTS_H

#include "host/cli/runtime.h"

/* cli->client is connected to that host. */
typedef int cli_hosts_visit(void *user, const struct cli_runtime_place *place);

/* Visits all hosts that have guests; a host that ends meanwhile is left out. */
int cli_hosts_each(struct cli *cli, cli_hosts_visit *visit, void *user);

#endif
