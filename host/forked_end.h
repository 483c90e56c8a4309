/* SPDX-License-Identifier: Apache-2.0 */
/* forked_end: a forked child destroys its copy of a host. */
#ifndef HOST_FORKED_END_H
#define HOST_FORKED_END_H

struct rapahub_host;

/* Closes the child's copies of all descriptors of the host, and frees its memory; the memory of
 * links is left to the end of the process. Nothing that parent and child share is touched: no
 * process is signalled, nothing is written, watched, removed or unlocked. r[impl hub.host.fork] */
void host_forked_end(struct rapahub_host *host);

#endif
