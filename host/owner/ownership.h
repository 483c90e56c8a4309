/* SPDX-License-Identifier: Apache-2.0 */
/* ownership: which thread calls a function of the host, and what it may do there. */
#ifndef HOST_OWNER_OWNERSHIP_H
#define HOST_OWNER_OWNERSHIP_H

#include <stdbool.h>

struct host_owner;

/* Is the calling thread the one that owns the host? Any thread. */
bool host_ownership_is_owner(const struct host_owner *host);

/* May the calling thread change the life of guests now? 0; RAPAHUB_ESTATE in a forked child, on
 * another thread than the owner's, and in a callback of the embedder. */
int host_ownership_check(const struct host_owner *host);

#endif
