/* SPDX-License-Identifier: Apache-2.0 */
/* ownership: checks of the calling thread: whether it owns the host, and what it may do now. */
#ifndef HOST_OWNER_OWNERSHIP_H
#define HOST_OWNER_OWNERSHIP_H

#include <stdbool.h>

struct host_owner;

/* Says whether the calling thread owns the host. Any thread. */
bool host_ownership_is_owner(const struct host_owner *host);

/* Checks whether the calling thread may change the lives of guests now. 0; RAPAHUB_ESTATE in a
 * forked child, on any thread but the owner, and in a callback of the embedder. Any thread. */
int host_ownership_check(const struct host_owner *host);

#endif
