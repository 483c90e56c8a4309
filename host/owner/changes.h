/* SPDX-License-Identifier: Apache-2.0 */
/* changes: tells those that wait on the owner of a change: a guest is ready or ends, its calls have
 * ended, an entry is free. Lower floors tell that there was one, and the turn calls every listener,
 * which checks for itself. No listener looks by time. */
#ifndef HOST_OWNER_CHANGES_H
#define HOST_OWNER_CHANGES_H

#include <stdbool.h>

#include "hub/base/atomic.h"
#include "hub/base/list.h"

struct host_owner;

/* Memory of the one who listens. Owner. */
struct host_listener {
    struct hub_list link;
    bool told; /* it is to be called */
    void (*on_change)(void *user);
    void *user;
};

#define HOST_CHANGES_NAMES 64

struct host_changes {
    struct hub_list listeners; /* owner */
    struct hub_a32 told;       /* 1: a change was told, and no listener called for it; any thread */
    /* how many changes were told by name, for each hash of a name; any thread */
    struct hub_a32 named[HOST_CHANGES_NAMES];
};

void host_changes_init(struct host_changes *changes);

/* Owner: from now on `on_change` runs once after each change, in a turn. It may take turns, and end
 * any listener. host_changes_forget is harmless twice. */
void host_changes_listen(struct host_changes *changes, struct host_listener *listener);
void host_changes_forget(struct host_listener *listener);

/* Owner: says whether there is a listener. */
bool host_changes_is_heard(const struct host_changes *changes);

/* Tells that there was a change. The owner's loop is woken, unless the owner itself tells it in a
 * turn, which calls the listeners before it ends. Any thread. */
void host_changes_tell(struct host_owner *host);

/* Does the same for a change that has a name. host_changes_of returns how many were told with this
 * name, and with some others: another number than before says that one may have been. Any thread.
 */
void host_changes_tell_of(struct host_owner *host, const void *name);
uint32_t host_changes_of(const struct host_changes *changes, const void *name);

/* Owner, at the end of a turn: calls the listeners if a change was told. Returns how many calls
 * there were. A change that a listener causes is told in the same turn; endless ones are left to
 * the next turn. */
int host_changes_serve(struct host_owner *host);

#endif
