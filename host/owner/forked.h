/* SPDX-License-Identifier: Apache-2.0 */
/* forked: a child that was forked from the process of a host, and runs no other program, has no
 * host: its threads are not there, nor is the shared memory, and what descriptors it has are its
 * parent's. Each function says so (host_forked_check).
 *
 * The kernel tells: the number of the host's scratches, by which a call finds the memory of its
 * thread anyway, lies in a page that is zero in such a child (MADV_WIPEONFORK). So a call looks at
 * nothing more than it did. Where a kernel cannot do that, nothing is refused. */
#ifndef HOST_OWNER_FORKED_H
#define HOST_OWNER_FORKED_H

#include <stddef.h>

struct host_owner;

/* Zeroed memory for a host of so many bytes, which begins with its registry, so that the number of
 * the scratches lies in such a page; NULL for none. */
void *host_forked_new(size_t host_size);
void host_forked_free(void *host);

/* 0, or RAPAHUB_ESTATE in a forked child. r[impl hub.host.fork] */
int host_forked_check(const struct host_owner *host);

#endif
