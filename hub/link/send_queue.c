/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/send_queue.h"

#include "hub/base/futex.h"
#include "hub/shm/doorbell.h"

#define HELD_MAX 64 /* messages that the peer does not see yet */

/* True where there was anything to show. What an entry that is lost held back nobody will see. */
bool hub_send_queue_show(struct hub_link *link)
{
    hub_note(&link->held, 0);
    return hub_link_state_may_send(link) && hub_ring_publish(&link->out);
}

/* r[impl hub.ring.cork] */
UNCHECKED bool hub_send_queue_show_or_hold(struct hub_link *link, bool more)
{
    bool holds = more && hub_ring_may_hold(&link->out, HELD_MAX);

    hub_note(&link->held, holds);
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

    if (hub_peek(&link->held) == 0)
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

/* A tail that cannot be is for try_send to report. */
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

/* Its loop hears the bell. A thread that waits there in the futex, for what we want to send, does
 * not: it is woken as for a message. r[impl hub.var.single-popper] */
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
