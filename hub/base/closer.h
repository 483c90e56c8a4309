/* SPDX-License-Identifier: Apache-2.0 */
/* closer: descriptors that another process chose are closed on a thread of their own. To close one
 * may take as long as who sent it wants: a TCP socket with SO_LINGER and unsent bytes waits for
 * them, up to hours, and so does the end of a socket in whose queue such a one lies. */
#ifndef HUB_BASE_CLOSER_H
#define HUB_BASE_CLOSER_H

#define HUB_CLOSER_WAITING_MAX 1024 /* descriptors that wait; more stay open */

struct hub_closer;

/* With one user; its thread starts with the first descriptor. -ENOMEM, with a diagnosis. */
int hub_closer_create(struct hub_closer **out);
struct hub_closer *hub_closer_hold(struct hub_closer *closer); /* one user more; any thread */

/* *fd is the closer's from here on, and -1 here; nothing where it is -1. Never waits. Any thread.
 * r[impl hub.descriptor.elsewhere] */
void hub_closer_give(struct hub_closer *closer, int *fd);

/* The same for the end of a socket pair that nobody else has, and whose peer is done with it: what
 * lies in its queue is taken out first, so that no socket in it keeps the thread for long. */
void hub_closer_give_end(struct hub_closer *closer, int *fd);

/* Waits until all that was given is closed, so that whoever relies on that finds it so; for at most
 * 20 ms, and not again before what took longer is. By one thread at a time. */
void hub_closer_settle(struct hub_closer *closer);

/* The last user waits until all is closed, for at most a second. What takes longer goes on by
 * itself. */
void hub_closer_release(struct hub_closer **closer);

#endif
