/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/send_queue.h"

#include "hub/base/futex.h"
#include "hub/shm/doorbell.h"

#define HELD_MAX 64 /* messages that the peer does not see yet */

/* True if there was anything to publish. Messages held back in a lost entry are never seen. */
bool hub_send_queue_show(struct hub_link *link)
{
    hub_store_relaxed(&link->held, 0);
    return hub_link_state_may_send(link) && hub_ring_publish(&link->out);
}

/* r[impl hub.ring.cork] */
UNCHECKED bool hub_send_queue_show_or_hold(struct hub_link *link, bool more)
{
    bool holds = more && hub_ring_may_hold(&link->out, HELD_MAX);

    hub_store_relaxed(&link->held, holds);
    if (!holds)
        hub_ring_publish(&link->out);
    return !holds;
}

void hub_send_queue_wake(struct hub_link *link)
{
    hub_wait_wake(&link->wait, HUB_WAIT_RX, link->out.head);
}

void hub_send_queue_push(struct hub_link *link)
{
    bool shown;

    if (hub_load_relaxed(&link->held) == 0)
        return;
    hub_mutex_lock(&link->send);
    shown = hub_send_queue_show(link);
    hub_mutex_unlock(&link->send);
    if (shown)
        hub_send_queue_wake(link);
}

void hub_send_queue_wake_all(struct hub_link *link)
{
    hub_mutex_lock(&link->send);
    HUB_LIST_EACH (&link->senders, at) {
        struct hub_send_place *sender = HUB_LIST_ITEM(at, struct hub_send_place, link);

        hub_publish(&sender->first, 1);
        hub_futex_wake_private(&sender->first);
    }
    hub_mutex_unlock(&link->send);
}

/* An impossible tail is left for try_send to report. */
bool hub_send_queue_has_room(struct hub_link *link, size_t size)
{
    return hub_ring_room(&link->out) != 0 &&
           (size <= HUB_INLINE_SIZE ||
            hub_slots_ready(link->options.pool, link->options.peer, size));
}

bool hub_send_queue_space_came(struct hub_link *link)
{
    bool came = false;

    hub_mutex_lock(&link->send);
    if (!hub_list_empty(&link->senders)) {
        struct hub_send_place *first =
            HUB_LIST_ITEM(link->senders.next, struct hub_send_place, link);

        came = !first->told && hub_send_queue_has_room(link, first->size);
        first->told = first->told || came;
    }
    hub_mutex_unlock(&link->send);
    return came;
}

/* The peer's loop notices the doorbell. A thread that waits there in the futex, for what we want to
 * send, does not: it is woken as for a message. r[impl hub.var.single-popper] */
void hub_send_queue_ring(struct hub_link *link)
{
    (void)hub_doorbell_ring(link->options.doorbell);
    if (hub_wait_takes_part(&link->wait))
        hub_wait_wake(&link->wait, HUB_WAIT_RX_FUTEX, NULL);
}

bool hub_send_queue_ask(struct hub_link *link, size_t size)
{
    if (size <= HUB_INLINE_SIZE || !hub_slots_bare(link->options.pool, size))
        return false;
    hub_send_queue_ring(link);
    return true;
}
