/* SPDX-License-Identifier: Apache-2.0 */
/* client: the client's end of a control socket. For one thread. */
#ifndef HOST_CONTROL_CLIENT_H
#define HOST_CONTROL_CLIENT_H

#include "host/control/frame.h"

struct host_client;

/* Connects. -ENOENT where no host listens at `path`. */
int host_client_open(const char *path, struct host_client **out);
void host_client_release(struct host_client **client);

/* These descriptors go with the next request; they stay the caller's. At most HOST_FRAME_FDS. */
void host_client_attach(struct host_client *client, const int *fds, unsigned count);

/* Sends a request with the record of its kind; waits until `deadline_ns` at most. */
int host_client_send(struct host_client *client, enum host_frame_kind kind, const void *record,
                     uint64_t deadline_ns);

/* The next item of the answer: 1, its kind and its record, good until the next receive; 0 at DONE.
 * FAILED is returned as its code, with the diagnosis; the rule in it holds as long as the client.
 * -ETIMEDOUT; RAPAHUB_ECLOSED; RAPAHUB_EINTR where `interrupt_fd` (-1: none) can be read: call
 * again to go on waiting. */
int host_client_receive(struct host_client *client, uint64_t deadline_ns, int interrupt_fd,
                        enum host_frame_kind *kind, union host_frame_record *record);

#endif
