/* SPDX-License-Identifier: Apache-2.0 */
/* invocation: a call that a client of the control socket asked for, from its bytes to its response.
 */
#ifndef HOST_CONTROL_INVOCATION_H
#define HOST_CONTROL_INVOCATION_H

#include "host/control/server.h"

/* Starts the call. The client gets its end later, or at once if it cannot be started. */
void host_invocation_begin(struct rapahub_control *control, struct host_server_client *client,
                           const struct control_call *request, struct rapahub_container_id target);

/* Cancels the call of a client that is gone. */
void host_invocation_abandon(struct rapahub_control *control, struct host_server_client *client);

#endif
