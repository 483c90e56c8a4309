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

/* Adds a descriptor to the epoll set, or changes its entry; `how` is that of epoll_ctl. */
int host_reply_watch(struct rapahub_control *control, int how, int fd, uint32_t tag,
                     uint32_t interest);

/* Marks a client, to be closed by the server; `why` is logged unless it is NULL. */
void host_reply_doom(struct rapahub_control *control, struct host_server_client *client,
                     const char *why);

/* Queues a frame for a client; a client that does not read is doomed. */
void host_reply_send(struct rapahub_control *control, struct host_server_client *client,
                     enum host_frame_kind kind, const void *record);

/* Sends DONE for 0, or FAILED with the diagnosis of the thread. */
void host_reply_end(struct rapahub_control *control, struct host_server_client *client, int r);

/* Tells a process that is not admitted why, with the diagnosis of the thread, as far as its socket
 * accepts it now. */
void host_reply_refuse(int fd, int r);

/* Sends what the socket accepts now, and waits for the socket to become writable if bytes are left.
 */
void host_reply_flush(struct rapahub_control *control, struct host_server_client *client);

/* Copies a text that may contain any bytes, for example the error of a method: cut to `size`, and
 * without bytes that are not UTF-8. */
void host_reply_clean(char *to, size_t size, const char *text);

#endif
