/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/activation.h"

#include <inttypes.h>

#include "host/guest/supervision.h"
#include "host/owner/threads.h"
#include "host/registry/containers.h"
#include "hub/base/clock.h"

static int refuse_restarting(const struct host_guest *guest)
{
    uint64_t left = hub_clock_left(guest->child.due_ns);

    if (guest->state != HOST_GUEST_BACKOFF || left == 0)
        return rapahub_fail(RAPAHUB_ERESTARTING, "", "%s is not ready yet", guest->name);
    left += HUB_SECOND / 10 - 1;
    return rapahub_fail(RAPAHUB_ERESTARTING, "", "%s restarts in %" PRIu64 ".%" PRIu64 " s",
                        guest->name, left / HUB_SECOND, left % HUB_SECOND / 100000000);
}

static int refuse_failed(const struct host_guest *guest)
{
    int restarts = guest->supervision.restarts_max > 0 ? guest->supervision.restarts_max : 0;
    enum host_failed why =
        guest->child.node == HOST_TREE_NONE
            ? HOST_FAILED_BUDGET
            : host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node)->why;

    if (why != HOST_FAILED_BUDGET)
        return rapahub_fail(RAPAHUB_EGIVENUP, "", "%s was given up: %s%s", guest->name,
                            guest->ends.cause, host_tree_reason(why));
    return rapahub_fail(RAPAHUB_EGIVENUP, "", "%s was given up after %d restart%s: %s", guest->name,
                        restarts, restarts == 1 ? "" : "s", guest->ends.cause);
}

/* r[impl supervise.call] */
static int refuse_down(const struct host_guest *guest)
{
    switch (guest->state) {
    case HOST_GUEST_FAILED:
        if (guest->child.over)
            return rapahub_fail(RAPAHUB_ENORESTART, "", "%s has ended and is not restarted: %s",
                                guest->name, guest->ends.cause);
        return refuse_failed(guest);
    case HOST_GUEST_STOPPED:
    case HOST_GUEST_STOPPING:
    case HOST_GUEST_CLOSED:
        if (guest->closed)
            return rapahub_fail(RAPAHUB_ECLOSED, "", "%s was closed", guest->name);
        return rapahub_fail(RAPAHUB_ESTOPPED, "", "%s was stopped", guest->name);
    default:
        return refuse_restarting(guest);
    }
}

/* A guest whose end has not been judged yet counts as starting: the decision follows in a
 * moment. */
static bool is_starting(const struct host_guest *guest)
{
    switch (guest->state) {
    case HOST_GUEST_STARTING:
    case HOST_GUEST_ATTACHED:
    case HOST_GUEST_READY: /* its container still begins */
    case HOST_GUEST_EXITED:
        return true;
    case HOST_GUEST_STOPPING:
        return !guest->child.asked;
    default:
        return false;
    }
}

/* The guest has no process, but gets one. A restart that is due now counts as a start. If no
 * restart will come, the state changes in a moment. */
static bool is_awaited(const struct host_guest *guest)
{
    if (guest->child.outlook == HOST_OUTLOOK_NONE)
        return guest->state == HOST_GUEST_BACKOFF;
    return hub_clock_left(guest->child.due_ns) == 0 ||
           guest->supervision.when_down == RAPAHUB_WHEN_DOWN_WAIT;
}

/* r[impl supervise.call.when-down] r[impl supervise.probe.readiness] */
int host_activation_look(const struct host_guest *guest, bool *calls)
{
    bool down = guest->state == HOST_GUEST_STOPPED || guest->state == HOST_GUEST_BACKOFF;

    *calls = false;
    if (guest->state == HOST_GUEST_DEGRADED)
        return rapahub_fail(RAPAHUB_EDEGRADED, "",
                            "%s takes no calls now: its readiness probe fails", guest->name);
    if (guest->supervision.when_down == RAPAHUB_WHEN_DOWN_FAIL)
        return is_starting(guest) || guest->child.outlook != HOST_OUTLOOK_NONE
                   ? refuse_restarting(guest)
                   : refuse_down(guest);
    if (is_starting(guest))
        return -EAGAIN;
    if (!down || !is_awaited(guest))
        return refuse_down(guest);
    *calls = guest->child.outlook == HOST_OUTLOOK_CALL;
    return -EAGAIN;
}

static int run_call(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    const struct rapahub_container_id *target = argument;
    const struct host_container *container =
        host_containers_find(&HOST_REGISTRY(host)->containers, *target);

    if (container && container->guest)
        host_supervision_called(container->guest);
    return 0;
}

int host_activation_call(struct host_supervision *host, struct rapahub_container_id target,
                         uint64_t deadline)
{
    return host_threads_ask(HOST_OWNER(host), run_call, &target, deadline);
}
