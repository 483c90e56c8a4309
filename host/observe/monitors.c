/* SPDX-License-Identifier: Apache-2.0 */
#include "host/observe/monitors.h"

#include <errno.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/request.h"
#include "host/guest/children.h"
#include "host/observe/observe.h"
#include "host/owner/threads.h"
#include "hub/base/clock.h"

#define MONITORS_MAX 1024
#define AGAIN        (10 * HUB_MILLISECOND)

struct monitor {
    uint32_t watcher, target; /* numbers of children */
    uint64_t incarnation;     /* the life whose end is to be told */
    enum rapahub_exit_class class;
    uint32_t count; /* ends not told yet */
    struct hub_list link;
};

static void drop(struct host_monitors *monitors, struct monitor *monitor)
{
    hub_list_remove(&monitor->link);
    monitors->count--;
    free(monitor);
}

void host_monitors_init(struct host_monitors *monitors)
{
    *monitors = (struct host_monitors){.count = 0};
    hub_list_init(&monitors->list);
}

void host_monitors_fini(struct host_monitors *monitors)
{
    HUB_LIST_EACH (&monitors->list, link)
        drop(monitors, HUB_LIST_ITEM(link, struct monitor, link));
}

/* ---- telling ---- */

static bool hears(const struct host_container *container)
{
    return container->state == HOST_CONTAINER_READY || container->state == HOST_CONTAINER_PLUGGED ||
           (container->state == HOST_CONTAINER_HELD && !container->gated);
}

static int tell_container(struct host_observe *host, struct host_life *life,
                          const struct host_container *container, const struct hub_down *down)
{
    const void *const arguments[] = {&container->handle, down, NULL};

    return host_request_tell(life, HUB_LIFECYCLE_DOWN, arguments,
                             hub_clock_after(HOST_PROCESS(host)->options.call_timeout_ns));
}

/* Returns false if the guest has no space for a message now, and no container was told. If the
 * space runs out after the first container, the others are left out: none is told twice. */
static bool tell_guest(struct host_guest *guest, const struct hub_down *down)
{
    bool first = true;

    HUB_LIST_EACH (&guest->containers, link) {
        const struct host_container *container =
            HUB_LIST_ITEM(link, struct host_container, of_guest);
        int r = hears(container)
                    ? tell_container(HOST_OBSERVE(guest->host), guest->life, container, down)
                    : 0;

        if (first && (r == -EAGAIN || r == -EBUSY))
            return false;
        first = first && !hears(container);
    }
    return true;
}

static struct host_guest *ready_guest(struct host_observe *host, uint32_t number)
{
    uint32_t place = host_tree_find(&host->supervision.machine.tree, number);
    struct host_guest *guest = place == HOST_TREE_NONE ? NULL : host->supervision.children[place];

    return guest && guest->life && guest->state == HOST_GUEST_READY ? guest : NULL;
}

static void on_again(void *user);

/* r[impl supervise.monitor] */
static void tell(struct host_observe *host, struct monitor *monitor)
{
    struct host_guest *watcher = monitor->count > 0 ? ready_guest(host, monitor->watcher) : NULL;
    uint32_t place = host_tree_find(&host->supervision.machine.tree, monitor->target);

    if (!watcher || place == HOST_TREE_NONE)
        return;
    const struct hub_down down = {
        .name = rapahub_string_of(host_machine_child(&host->supervision.machine, place)->name),
        .child = monitor->target,
        .incarnation = monitor->incarnation,
        .class = (uint8_t)monitor->class,
        .count = monitor->count};

    if (tell_guest(watcher, &down)) {
        monitor->count = 0;
        return;
    }
    host->monitors.again.on = on_again;
    host->monitors.again.user = host;
    host_loop_set(&HOST_OWNER(host)->loop, &host->monitors.again, hub_clock_after(AGAIN));
}

static void tell_all(struct host_observe *host, uint32_t watcher)
{
    HUB_LIST_EACH (&host->monitors.list, link) {
        struct monitor *monitor = HUB_LIST_ITEM(link, struct monitor, link);

        if (watcher == 0 || monitor->watcher == watcher)
            tell(host, monitor);
    }
}

static void on_again(void *user)
{
    tell_all(user, 0);
}

/* ---- events ---- */

static void note_end(struct host_observe *host, uint32_t number,
                     const struct host_decision *decision)
{
    HUB_LIST_EACH (&host->monitors.list, link) {
        struct monitor *monitor = HUB_LIST_ITEM(link, struct monitor, link);

        if (monitor->target != number)
            continue;
        monitor->incarnation = decision->incarnation;
        monitor->class = decision->class;
        monitor->count++;
        tell(host, monitor);
    }
}

static void forget(struct host_observe *host, uint32_t number)
{
    HUB_LIST_EACH (&host->monitors.list, link) {
        struct monitor *monitor = HUB_LIST_ITEM(link, struct monitor, link);

        if (monitor->target == number || monitor->watcher == number)
            drop(&host->monitors, monitor);
    }
}

/* A start that only waits for a free entry is not an end. */
void host_monitors_moved(struct host_observe *host, const struct host_decision *decision)
{
    const struct host_guest *guest = host->supervision.children[decision->place];
    uint32_t number = host_machine_child(&host->supervision.machine, decision->place)->number;

    if (host->monitors.count == 0)
        return;
    if (decision->to == HOST_CHILD_EXITED && !(guest && guest->child.deferred))
        note_end(host, number, decision);
    else if (decision->to == HOST_CHILD_READY)
        tell_all(host, number);
    else if (decision->to == HOST_CHILD_CLOSED)
        forget(host, number);
}

/* ---- for the embedder ---- */

struct pair {
    struct rapahub_child_id watcher, target;
};

static struct monitor *find(struct host_observe *host, const struct pair *pair)
{
    HUB_LIST_EACH (&host->monitors.list, link) {
        struct monitor *monitor = HUB_LIST_ITEM(link, struct monitor, link);

        if (monitor->watcher == pair->watcher.number && monitor->target == pair->target.number)
            return monitor;
    }
    return NULL;
}

static int check_target(struct host_observe *host, const struct pair *pair)
{
    uint32_t place = host_tree_find(&host->supervision.machine.tree, pair->target.number);

    if (pair->watcher.number == pair->target.number)
        return rapahub_fail(RAPAHUB_EINVAL, "", "nobody is told of its own end");
    if (place == HOST_TREE_NONE ||
        host_machine_child(&host->supervision.machine, place)->state == HOST_CHILD_CLOSED)
        return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such child any more");
    if (find(host, pair))
        return rapahub_fail(-EALREADY, "", "it is told already");
    if (host->monitors.count >= MONITORS_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "", "a host has at most %d monitors", MONITORS_MAX);
    return 0;
}

static int run_monitor(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    const struct pair *pair = argument;
    struct host_guest *watcher;
    struct monitor *made;
    int r = host_children_find(&host->supervision, pair->watcher, &watcher);

    if (r == 0)
        r = check_target(host, pair);
    if (r < 0)
        return r;
    made = calloc(1, sizeof *made);
    if (!made)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a monitor");
    made->watcher = pair->watcher.number;
    made->target = pair->target.number;
    hub_list_append(&host->monitors.list, &made->link);
    host->monitors.count++;
    return 0;
}

int rapahub_child_monitor(struct rapahub_host *host, struct rapahub_child_id watcher,
                          struct rapahub_child_id target)
{
    struct pair pair = {watcher, target};

    return host_threads_run(HOST_OWNER(host), run_monitor, &pair);
}

static int run_demonitor(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    struct monitor *monitor = find(host, argument);

    if (!monitor)
        return rapahub_fail(RAPAHUB_ENOENT, "", "it is not told of that child");
    drop(&host->monitors, monitor);
    return 0;
}

int rapahub_child_demonitor(struct rapahub_host *host, struct rapahub_child_id watcher,
                            struct rapahub_child_id target)
{
    struct pair pair = {watcher, target};

    return host_threads_run(HOST_OWNER(host), run_demonitor, &pair);
}
