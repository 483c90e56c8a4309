/* SPDX-License-Identifier: Apache-2.0 */
/* children: ends all children of this process, also those that were left to it by processes which
 * died before them. The process has a single thread, and nothing else of it waits for a child. */
#ifndef DAEMON_CHILDREN_H
#define DAEMON_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#include "hub/base/proof.h"

/* Makes this process the parent of all below it whose parents die. -ENOTSUP: the kernel does not
 * list the children of a process. */
int daemon_children_adopt(void);

/* Sends SIGKILL to each child. Returns how many there were, or -errno. Each death may bring new
 * ones: call it again until daemon_children_reap says that none is left. */
int daemon_children_kill(void);

/* Reaps the children that are dead, until it finds `but`, which stays. Says whether any child is
 * left, dead or alive. */
bool daemon_children_reap(pid_t but);

#endif
