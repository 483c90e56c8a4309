/* SPDX-License-Identifier: Apache-2.0 */
/* reply: frames to a client of the control socket. Functions of host.h may run callbacks that end
 * calls of any client while a request of another one is carried out, so a client that fails is only
 * marked here; the server closes it. Owner thread. */
#ifndef HOST_CONTROL_REPLY_H
#define HOST_CONTROL_REPLY_H

#include <stddef.h>

#include "host/control/server.h"

/* Makes dispatch run. Any thread. */
void host_reply_wake(struct rapahub_control *control);

/* Adds to, or changes in, what the one descriptor watches; `how` as of epoll_ctl. */
int host_reply_watch(struct rapahub_control *control, int how, int fd, uint32_t tag,
                     uint32_t interest);

/* Marks a client that is to be closed; `why` for the log, or NULL. */
void host_reply_doom(struct rapahub_control *control, struct host_server_client *client,
                     const char *why);

/* Queues a frame for a client; a client that does not read is doomed. */
void host_reply_send(struct rapahub_control *control, struct host_server_client *client,
                     enum host_frame_kind kind, const void *record);

/* Adds DONE for 0, or FAILED with the thread's diagnosis. */
void host_reply_end(struct rapahub_control *control, struct host_server_client *client, int r);

/* Sends what the socket takes now, and watches for room where that is not all. */
void host_reply_flush(struct rapahub_control *control, struct host_server_client *client);

/* A copy of a text that may be any bytes, a method's error for one: cut to `size`, and without what
 * is no UTF-8. */
void host_reply_clean(char *to, size_t size, const char *text);

#endif
