/* SPDX-License-Identifier: Apache-2.0 */
/* errand: what takes longer than a turn and is not a call: an upgrade. Others are served meanwhile.
 */
#ifndef HOST_CONTROL_ERRAND_H
#define HOST_CONTROL_ERRAND_H

#include "host/control/server.h"

/* Begins it; the client has its answer when it is over. The options are copied. */
void host_errand_upgrade(struct rapahub_control *control, struct host_server_client *client,
                         struct rapahub_guest_id guest,
                         const struct rapahub_upgrade_options *options);

/* Nobody waits any more; it goes on. */
void host_errand_abandon(struct host_server_client *client);

/* The socket closes. */
void host_errand_forget_all(struct rapahub_control *control);

#endif
