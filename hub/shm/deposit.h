/* SPDX-License-Identifier: Apache-2.0 */
/* deposit: what a guest gives its host to keep: a socket of whole messages, each a name and at most
 * one descriptor. What a dead guest has sent is still there to be received. */
#ifndef HUB_SHM_DEPOSIT_H
#define HUB_SHM_DEPOSIT_H

#include <stdbool.h>

#include "hub/base/closer.h"

#define HUB_DEPOSIT_NAMES_MAX 16
#define HUB_DEPOSIT_NAME_MAX  63 /* bytes */

/* Letters, digits, '_', '-' and '.', at least one, at most HUB_DEPOSIT_NAME_MAX. */
bool hub_deposit_is_name(const char *name);

/* Both ends CLOEXEC and non-blocking. */
int hub_deposit_create(int *own, int *peer);

/* `fd` stays the caller's; -1: what is kept under the name is to be closed. -EBADF, -EAGAIN where
 * there is no room now, -ETOOMANYREFS, RAPAHUB_EDIED where the other end is closed. */
int hub_deposit_send(int socket, const char *name, int fd);

struct hub_deposit {
    char name[HUB_DEPOSIT_NAME_MAX + 1];
    int fd; /* -1: none; CLOEXEC, and the receiver's from here on */
};

/* Never blocks: 0; -EAGAIN where nothing is there, -EPIPE where nothing comes any more, -ENFILE
 * where this process has no number for the descriptor now: then the message stays. All without a
 * diagnosis. RAPAHUB_EPROTOCOL (supervise.keep.message) where it is none, or has more than one
 * descriptor: those are the closer's. r[impl supervise.keep.message] */
int hub_deposit_receive(int socket, struct hub_closer *closer, struct hub_deposit *out);

#endif
