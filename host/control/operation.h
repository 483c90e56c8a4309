/* SPDX-License-Identifier: Apache-2.0 */
/* operation: an operation of a client that takes longer than a turn and is not a call: a stop, a
 * restart, an upgrade. Other clients are served meanwhile. */
#ifndef HOST_CONTROL_OPERATION_H
#define HOST_CONTROL_OPERATION_H

#include "host/control/server.h"

/* Each begins it; the client has its answer when it is over. */
void host_operation_stop(struct rapahub_control *control, struct host_server_client *client,
                         struct rapahub_guest_id guest);

/* By `begin`, which is a function of the control's host. */
typedef int host_operation_begin(struct rapahub_host *host, struct rapahub_child_id child,
                                 uint64_t timeout_ns, rapahub_on_done *on_done, void *user);
struct host_operation_wish {
    host_operation_begin *begin;
    struct rapahub_child_id child;
    uint64_t timeout_ns;
};
void host_operation_wish(struct rapahub_control *control, struct host_server_client *client,
                         const struct host_operation_wish *wish);

/* The options are copied. */
void host_operation_upgrade(struct rapahub_control *control, struct host_server_client *client,
                            struct rapahub_guest_id guest,
                            const struct rapahub_upgrade_options *options);

/* Forgets the client, which is gone; the operation goes on. */
void host_operation_abandon(struct host_server_client *client);

/* The socket closes. */
void host_operation_forget_all(struct rapahub_control *control);

#endif
