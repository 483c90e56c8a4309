/* SPDX-License-Identifier: Apache-2.0 */
/* operation: an operation that a client requests, and that takes longer than a turn: a stop, a
 * restart, an upgrade. Meanwhile other clients are served. Owner thread. */
#ifndef HOST_CONTROL_OPERATION_H
#define HOST_CONTROL_OPERATION_H

#include "host/control/server.h"

/* Each of these begins an operation; the client gets the answer at its end. */
void host_operation_stop(struct rapahub_control *control, struct host_server_client *client,
                         struct rapahub_guest_id guest);

/* Begins the operation by `begin`, a function of the control's host. */
typedef int host_operation_begin(struct rapahub_host *host, struct rapahub_child_id child,
                                 uint64_t timeout_ns, rapahub_on_done *on_done, void *user);
struct host_operation_child {
    host_operation_begin *begin;
    struct rapahub_child_id child;
    uint64_t timeout_ns;
};
void host_operation_child(struct rapahub_control *control, struct host_server_client *client,
                          const struct host_operation_child *wanted);

/* The options are copied. */
void host_operation_upgrade(struct rapahub_control *control, struct host_server_client *client,
                            struct rapahub_guest_id guest,
                            const struct rapahub_upgrade_options *options);

/* Call it when the client is gone. The operation continues. */
void host_operation_abandon(struct host_server_client *client);

/* Call it when the socket is closed. */
void host_operation_forget_all(struct rapahub_control *control);

#endif
