/* SPDX-License-Identifier: Apache-2.0 */
/* closer: closes descriptors that another process chose, on a thread of its own. Such a close may
 * take as long as the sender wants: a TCP socket with SO_LINGER and unsent bytes waits for them, up
 * to hours, and so does the end of a socket whose queue holds such a descriptor. */
#ifndef HUB_BASE_CLOSER_H
#define HUB_BASE_CLOSER_H

#define HUB_CLOSER_WAITING_MAX 1024 /* waiting descriptors; more remain open */

struct hub_closer;

/* Makes a closer with one user. Its thread starts with the first descriptor. -ENOMEM, with a
 * diagnosis. */
int hub_closer_create(struct hub_closer **out);
struct hub_closer *hub_closer_hold(struct hub_closer *closer); /* adds a user; any thread */

/* Hands *fd over to the closer and sets it to -1; -1 is ignored. Never waits. Any thread.
 * r[impl hub.descriptor.elsewhere] */
void hub_closer_give(struct hub_closer *closer, int *fd);

/* The same for an end of a socket pair that no other process has and whose peer is done with it.
 * Its queue is emptied first, so that no socket in it occupies the thread for long. */
void hub_closer_give_end(struct hub_closer *closer, int *fd);

/* Waits at most 20 ms until all descriptors given so far are closed, for callers that rely on it.
 * After a wait that was too short, it waits again only once those descriptors are closed. Only one
 * thread at a time may call it. */
void hub_closer_settle(struct hub_closer *closer);

/* Removes a user. The last one waits at most a second until all is closed; the rest is closed in
 * the background. */
void hub_closer_release(struct hub_closer **closer);

#endif
