/* SPDX-License-Identifier: Apache-2.0 */
/* node_call: one call through a client, until it has ended or is interrupted.
 */
#ifndef CLUSTER_CLI_NODE_CALL_H
#define CLUSTER_CLI_NODE_CALL_H

#include "cluster/cli/client/node_client.h"
#include "host/cli/target/answer.h"

/* Calls and waits. The first Ctrl-C on `interrupt` cancels the call; with a second one the client
 * is closed. `call->types` are set. The result is kept in `out`; the failures are those of the
 * call, with their diagnosis. */
int cluster_node_call(struct cluster_node_client *node, const struct rapahub_call *call,
                      int interrupt, struct cli_answer *out);

#endif
