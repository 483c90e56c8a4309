/* SPDX-License-Identifier: Apache-2.0 */
/* forked: a forked child of a host's process that runs no other program has no host. It has neither
 * the host's threads nor its shared memory, and its descriptors are the parent's. Every function of
 * a host reports that (host_forked_check).
 *
 * The kernel marks the child: the number of the host's callers, by which a call finds the memory of
 * its thread, is in a page that is zero in such a child (MADV_WIPEONFORK). So a call needs no
 * further check. If a kernel cannot do that, nothing is refused. */
#ifndef HOST_OWNER_FORKED_H
#define HOST_OWNER_FORKED_H

#include <stddef.h>

struct host_owner;

/* Returns zeroed memory for a host of `host_size` bytes, or NULL. The host must begin with its
 * registry, so that the number of the callers is in such a page. Any thread. */
void *host_forked_new(size_t host_size);
void host_forked_free(void *host);

/* Returns 0, or RAPAHUB_ESTATE in a forked child. Any thread. r[impl hub.host.fork] */
int host_forked_check(const struct host_owner *host);

#endif
