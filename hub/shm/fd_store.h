/* SPDX-License-Identifier: Apache-2.0 */
/* fd_store: the socket by which a guest stores descriptors at its host. It carries whole messages,
 * each a name and at most one descriptor. Messages from a guest that has died can still be
 * received. */
#ifndef HUB_SHM_FD_STORE_H
#define HUB_SHM_FD_STORE_H

#include <stdbool.h>

#include "hub/base/closer.h"

#define HUB_FD_STORE_NAMES_MAX 16
#define HUB_FD_STORE_NAME_MAX  63 /* bytes */

/* Says whether the name is valid: letters, digits, '_', '-' and '.', at least one, at most
 * HUB_FD_STORE_NAME_MAX. */
bool hub_fd_store_is_name(const char *name);

/* Makes the two ends, both CLOEXEC and non-blocking. */
int hub_fd_store_create(int *own, int *peer);

/* Sends a name and a descriptor, which remains the caller's; -1 asks the host to close the one
 * stored under the name. -EBADF, -EAGAIN if there is no space now, -ETOOMANYREFS, RAPAHUB_EDIED if
 * the other end is closed. */
int hub_fd_store_send(int socket, const char *name, int fd);

struct hub_fd_store {
    char name[HUB_FD_STORE_NAME_MAX + 1];
    int fd; /* -1: none; CLOEXEC; it belongs to the receiver */
};

/* Receives a message, without blocking. Returns 0, -EAGAIN if there is none, -EPIPE if no more will
 * come, -ENFILE if this process has no number left for the descriptor, in which case the message
 * stays: all without a diagnosis. RAPAHUB_EPROTOCOL (supervise.keep.message) if the message is not
 * valid or has more than one descriptor; these are handed to the closer.
 * r[impl supervise.keep.message] */
int hub_fd_store_receive(int socket, struct hub_closer *closer, struct hub_fd_store *out);

#endif
