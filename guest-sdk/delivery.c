/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/delivery.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "guest-sdk/guest_state.h"
#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/bus/consumer.h"

#define TURN      32 /* messages of a role between two looks at requests */
#define GAP_FIRST (10 * HUB_MILLISECOND)
#define GAP_MOST  HUB_SECOND

/* The thread of the role's watcher. */
static void on_something(void *user)
{
    struct guest_role *role = user;
    struct guest *guest = role->guest;

    hub_publish(&role->due, 1);
    hub_publish(&guest->roles.due, 1);
    hub_publish(&guest->arrived, 1);
    hub_link_nudge(guest->attach.connection.link);
}

int guest_delivery_prepare(struct guest *guest, struct guest_role *role)
{
    if (role->kind != RAPAHUB_REGION_ROLE_CONSUMER || !guest->module.ops.message)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.role.deliver",
                            "the role '%s' is to deliver, and the module has no callback 'message'",
                            role->name);
    role->guest = guest;
    role->room = hub_consumer_message_max(role->consumer);
    role->copy = malloc(role->room);
    return role->copy ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a message");
}

int guest_delivery_begin(struct guest_role *role)
{
    const struct hub_listener listener = {on_something, role};

    return hub_consumer_listen(role->consumer, &listener);
}

static void pass_over(struct guest_role *role, uint64_t position, int code)
{
    role->dead_letters++;
    rapahub_log(RAPAHUB_LOG_WARN, "roles",
                "%s: message %" PRIu64 " is passed over: %s (%" PRIu64 " so far)", role->name,
                position, rapahub_error_name(code), role->dead_letters);
}

/* The module gets a copy, which no other process can change. The callback may last, as a method
 * may: no request runs, so none is found cancelled. */
static int hand_over(struct guest *guest, struct guest_role *role,
                     struct guest_container *container, const struct rapahub_message *shown)
{
    struct guest_container *outer = guest->containers.asked;
    struct rapahub_message message = *shown;
    enum hub_heartbeat_stage stage;
    int r;

    if (message.size > role->room)
        return RAPAHUB_EMSGSIZE;
    if (message.size > 0)
        hub_atomic_copy_bytes(role->copy, shown->data, message.size);
    message.data = role->copy;
    guest->containers.asked = container;
    container->held++;
    hub_heartbeat_run(&guest->heartbeat, 0);
    stage = hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_RUNS);
    r = guest->module.ops.message(container->self, role->name, &message);
    (void)hub_heartbeat_enter(&guest->heartbeat, stage);
    container->held--;
    guest->containers.asked = outer;
    return r;
}

/* It comes again: after 10 ms, and after twice as long each time. */
static void put_off(struct guest_role *role)
{
    role->gap_ns = role->gap_ns == 0             ? GAP_FIRST
                   : role->gap_ns < GAP_MOST / 2 ? 2 * role->gap_ns
                                                 : GAP_MOST;
    hub_consumer_pause(role->consumer, hub_clock_after(role->gap_ns));
}

/* Delivers one message; false: there is none now. A message is taken out when it was delivered, so
 * a guest that dies over it gets it again in its next life. */
static bool deliver_one(struct guest *guest, struct guest_role *role)
{
    struct guest_container *container = guest_containers_find(&guest->containers, role->handle);
    struct rapahub_message shown;
    size_t count;
    int r = rapahub_consumer_peek(role->consumer, &shown, 1, 0, &count);

    if (r == RAPAHUB_EEMPTY)
        return false;
    if (r < 0) {
        rapahub_log(RAPAHUB_LOG_ERROR, "roles", "%s: nothing is delivered any more: %s", role->name,
                    rapahub_last_error()->text);
        return false;
    }
    r = !container || container->gate == GUEST_CONTAINER_CLOSED
            ? RAPAHUB_EAGAIN
            : hand_over(guest, role, container, &shown);
    if (r == RAPAHUB_EAGAIN) {
        put_off(role);
        return false;
    }
    if (r != 0)
        pass_over(role, shown.position, r);
    role->gap_ns = 0;
    return rapahub_consumer_done(role->consumer, 1) == 0;
}

static bool deliver(struct guest *guest, struct guest_role *role)
{
    for (uint32_t i = 0; i < TURN; i++)
        if (!deliver_one(guest, role))
            return false;
    hub_publish(&role->due, 1);
    hub_publish(&guest->roles.due, 1);
    return true;
}

bool guest_delivery_run(struct guest *guest)
{
    bool more = false;

    if (guest->frame || hub_exchange(&guest->roles.due, 0) == 0)
        return false;
    (void)hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_WORKS);
    HUB_LIST_EACH (&guest->roles.list, link) {
        struct guest_role *role = HUB_LIST_ITEM(link, struct guest_role, link);

        if (role->copy && hub_exchange(&role->due, 0) != 0)
            more |= deliver(guest, role);
    }
    return more;
}
