/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/changes.h"

#include "host/owner/owner.h"
#include "host/owner/ownership.h"

#define ROUNDS 4 /* a turn calls all listeners so often at most */

void host_changes_init(struct host_changes *changes)
{
    hub_list_init(&changes->listeners);
    hub_store_relaxed(&changes->told, 0);
    for (int i = 0; i < HOST_CHANGES_NAMES; i++)
        hub_store_relaxed(&changes->named[i], 0);
}

void host_changes_listen(struct host_changes *changes, struct host_listener *listener)
{
    listener->told = false;
    hub_list_append(&changes->listeners, &listener->link);
}

void host_changes_forget(struct host_listener *listener)
{
    if (listener->link.next)
        hub_list_remove(&listener->link);
}

bool host_changes_is_heard(const struct host_changes *changes)
{
    return changes->listeners.next && !hub_list_empty(&changes->listeners);
}

/* The loop is woken even if another change was told before: the owner may be in a turn that has
 * done other work already which this change calls for. */
__attribute__((noinline)) void host_changes_tell(struct host_owner *host)
{
    hub_exchange(&host->changes.told, 1);
    if (!host_ownership_is_owner(host) || host->depth == 0)
        host_loop_wake(&host->loop);
}

static unsigned place_of(const void *name)
{
    return (unsigned)(((uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15)) >> 32) %
           HOST_CHANGES_NAMES;
}

void host_changes_tell_of(struct host_owner *host, const void *name)
{
    hub_add(&host->changes.named[place_of(name)], 1);
    host_changes_tell(host);
}

uint32_t host_changes_of(const struct host_changes *changes, const void *name)
{
    return hub_observe(&changes->named[place_of(name)]);
}

static struct host_listener *next(const struct host_changes *changes)
{
    HUB_LIST_EACH (&changes->listeners, link) {
        struct host_listener *listener = HUB_LIST_ITEM(link, struct host_listener, link);

        if (listener->told)
            return listener;
    }
    return NULL;
}

/* A call may end another listener, so the search begins anew each time. */
static int call_all(struct host_changes *changes)
{
    int count = 0;

    HUB_LIST_EACH (&changes->listeners, link)
        HUB_LIST_ITEM(link, struct host_listener, link)->told = true;
    for (struct host_listener *listener; (listener = next(changes)); count++) {
        listener->told = false;
        listener->on_change(listener->user);
    }
    return count;
}

int host_changes_serve(struct host_owner *host)
{
    struct host_changes *changes = &host->changes;
    int count = 0;

    for (int i = 0; i < ROUNDS && hub_load_relaxed(&changes->told) != 0; i++)
        if (hub_exchange(&changes->told, 0) != 0)
            count += call_all(changes);
    if (hub_load_relaxed(&changes->told) != 0)
        host_loop_wake(&host->loop);
    return count;
}
