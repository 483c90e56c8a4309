/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/sender.h"

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/link/link_state.h"
#include "hub/link/placement.h"
#include "hub/link/receiver.h"
#include "hub/shm/doorbell.h"

#define SLICE       (100 * HUB_MILLISECOND) /* the longest sleep of who waits for another thread */
#define SPACE_SLICE (10 * HUB_MILLISECOND)  /* then the receive token may be free, or a slot */
#define HELD_MAX    64                      /* messages that the peer does not see yet */

/* A thread that waits to send; lives on its stack. The first in the list looks for space. */
struct sender {
    struct hub_list link;
    struct hub_a32 first; /* 1: it is its turn, or the link closed */
    size_t size;          /* of its payload */
    bool told;            /* it knows of space and has not looked yet */
};

static void count_sent(struct hub_link *link, const struct hub_descriptor *descriptor)
    REQUIRES(link->send)
{
    struct hub_link_counters *counters = &link->counters;

    hub_count64(&counters->sent, 1);
    hub_count64(&counters->sent_bytes, descriptor->payload_len);
    if (descriptor->payload_slot != HUB_INLINE)
        hub_count64(&counters->sent_slots, 1);
}

/* A guest that has said goodbye takes no new work; what it is answered, it still wants.
 * r[impl shm.goodbye.guest] */
static bool is_too_late(const struct hub_link *link, const struct hub_message *message)
{
    return link->options.role == HUB_ROLE_HOST && message->type == HUB_REQUEST &&
           hub_observe(&link->view.entry->state) == HUB_PEER_GOODBYE;
}

/* True where there was anything to show. What an entry that is lost held back nobody will see. */
static bool show(struct hub_link *link) REQUIRES(link->send)
{
    hub_note(&link->held, 0);
    return hub_link_state_may_send(link) && hub_ring_publish(&link->out);
}

/* r[impl hub.ring.cork] */
UNCHECKED bool hub_sender_show_or_hold(struct hub_link *link, bool more)
{
    bool holds = more && hub_ring_may_hold(&link->out, HELD_MAX);

    hub_note(&link->held, holds);
    if (!holds)
        hub_ring_publish(&link->out);
    return !holds;
}

void hub_sender_wake(struct hub_link *link)
{
    hub_wait_wake(&link->wait, HUB_WAIT_RX, link->out.head);
}

void hub_sender_push(struct hub_link *link)
{
    bool shown;

    if (hub_peek(&link->held) == 0)
        return;
    hub_mutex_lock(&link->send);
    shown = show(link);
    hub_mutex_unlock(&link->send);
    if (shown)
        hub_sender_wake(link);
}

/* Sends if there is room and a slot now: 0, -EAGAIN, RAPAHUB_ESTALE, RAPAHUB_EPROTOCOL. A refusal
 * writes nothing to the segment. r[impl hub.ring.no-drop] */
static int try_send(struct hub_link *link, const struct hub_message *message,
                    const struct hub_parts *payload) REQUIRES(link->send)
{
    struct hub_descriptor descriptor;
    int r;

    if (!hub_link_state_may_send(link) || is_too_late(link, message))
        return RAPAHUB_ESTALE;
    if (payload->gate && hub_observe(payload->gate) != 0)
        return RAPAHUB_ECANCELED;
    if (hub_wait_takes_part(&link->wait))
        hub_ring_trust(&link->out.convention);
    r = hub_ring_room(&link->out);
    if (r <= 0)
        return r == 0 ? -EAGAIN : hub_link_state_ours(link) ? r : RAPAHUB_ESTALE;
    hub_message_pack(message, &descriptor);
    r = hub_placement_put(link, payload, &descriptor);
    if (r < 0)
        return r;
    hub_ring_put(&link->out, &descriptor);
    (void)hub_sender_show_or_hold(link, payload->more);
    count_sent(link, &descriptor);
    return 0;
}

/* What a sender at the head of the queue looks at before it sleeps. */
struct space {
    struct hub_link *link;
    size_t size;
};

/* A tail that cannot be is for try_send to report. */
static bool has_room(struct hub_link *link, size_t size) REQUIRES(link->send)
{
    return hub_ring_room(&link->out) != 0 &&
           (size <= HUB_INLINE_SIZE ||
            hub_slots_ready(link->options.pool, link->options.peer, size));
}

static bool has_space(void *user)
{
    struct space *space = user;
    struct hub_link *link = space->link;
    bool room;

    if (!hub_link_state_may_send(link))
        return true;
    hub_mutex_lock(&link->send);
    room = has_room(link, space->size);
    hub_mutex_unlock(&link->send);
    return room;
}

bool hub_sender_space_came(struct hub_link *link)
{
    bool came = false;

    hub_mutex_lock(&link->send);
    if (!hub_list_empty(&link->senders)) {
        struct sender *first = HUB_LIST_ITEM(link->senders.next, struct sender, link);

        came = !first->told && has_room(link, first->size);
        first->told = first->told || came;
    }
    hub_mutex_unlock(&link->send);
    return came;
}

/* Its loop hears the bell. A thread that waits there in the futex, for what we want to send, does
 * not: it is woken as for a message. r[impl hub.var.single-popper] */
static void ask(struct hub_link *link)
{
    (void)hub_doorbell_ring(link->options.doorbell);
    if (hub_wait_takes_part(&link->wait))
        hub_wait_wake(&link->wait, HUB_WAIT_RX_FUTEX, NULL);
}

bool hub_sender_ask(struct hub_link *link, size_t size)
{
    if (size <= HUB_INLINE_SIZE || !hub_slots_bare(link->options.pool, size))
        return false;
    ask(link);
    return true;
}

/* Waits at the head of the queue, and receives meanwhile if nobody else does: else two sides with
 * full rings would wait for each other for ever. A slot of a pool that several guests give back
 * into may come without a wake-up on this link: it is looked for in slices. The host is asked for
 * more slots only where those that are out do not come back at once: the fewer there are, the
 * warmer they are. r[impl hub.ring.pump] r[impl hub.wait.pool] */
static void wait_for_space(struct hub_link *link, size_t size, uint64_t deadline)
{
    uint64_t slice = hub_clock_after(SPACE_SLICE), soon = deadline < slice ? deadline : slice;
    struct space space = {link, size};
    bool asked = hub_sender_ask(link, size);
    struct hub_link_until until = {.done = has_space,
                                   .user = &space,
                                   .stage = HUB_WAIT_SPIN,
                                   .space = true,
                                   .queued = true,
                                   .deadline_ns =
                                       hub_slots_shared(link->options.pool) ? soon : deadline};

    if (hub_receiver_wait(link, &until) == 0 && has_space(&space))
        return;
    until.stage = HUB_WAIT_SLEEP;
    if (!asked && size > HUB_INLINE_SIZE && hub_slots_ask(link->options.pool))
        ask(link);
    (void)hub_receiver_wait(link, &until);
}

static bool is_first(struct hub_link *link, struct sender *sender) REQUIRES(link->send)
{
    return link->senders.next == &sender->link;
}

/* What must be had of a slot: nothing for a loan. */
static size_t slot_bytes(const struct hub_parts *payload)
{
    return payload->loan ? 0 : payload->head.size + payload->tail.size;
}

/* Joins the queue of senders, in order of arrival. r[impl shm.ring.full] r[impl
 * shm.slot.exhaustion] r[impl hub.ring.fifo] */
static int queue_and_send(struct hub_link *link, const struct hub_message *message,
                          const struct hub_parts *payload, uint64_t deadline) REQUIRES(link->send)
{
    struct sender self = {.size = slot_bytes(payload)};
    int r = -EAGAIN;

    hub_link_hinder(link, true);
    hub_list_append(&link->senders, &self.link);
    while (r == -EAGAIN) {
        bool first = is_first(link, &self);
        uint64_t slice = hub_clock_after(SLICE);

        self.told = false;
        hub_mutex_unlock(&link->send);
        if (first)
            wait_for_space(link, self.size, deadline);
        else
            hub_futex_wait_private(&self.first, 0, deadline < slice ? deadline : slice);
        hub_mutex_lock(&link->send);
        if (is_first(link, &self) || hub_link_closed(link))
            r = try_send(link, message, payload);
        if (r == -EAGAIN && hub_clock_left(deadline) == 0)
            r = -ETIMEDOUT;
    }
    hub_list_remove(&self.link);
    hub_link_hinder(link, false);
    if (!hub_list_empty(&link->senders)) {
        struct sender *next = HUB_LIST_ITEM(link->senders.next, struct sender, link);

        hub_publish(&next->first, 1);
        hub_futex_wake_private(&next->first);
    }
    return r;
}

static int refuse_size(const struct hub_link *link, size_t size)
{
    return rapahub_fail(RAPAHUB_EMSGSIZE, "",
                        "a payload of %zu bytes; a message of this hub carries %u", size,
                        link->limits.payload_max);
}

/* Under the lock, which who includes the header alone cannot name. */
UNCHECKED __attribute__((noinline)) int hub_sender_try(struct hub_link *link,
                                                       const struct hub_message *message,
                                                       const struct hub_parts *payload)
{
    size_t size = payload->head.size + payload->tail.size;
    int r;

    if (size > link->limits.payload_max)
        return refuse_size(link, size);
    r = hub_list_empty(&link->senders) ? try_send(link, message, payload) : -EAGAIN;
    return r == 0 && hub_peek(&link->held) == 0 ? 1 : r;
}

int hub_sender_send(struct hub_link *link, const struct hub_message *message,
                    const struct hub_parts *payload, uint64_t deadline_ns)
{
    const struct hub_link_events *events = &link->options.events;
    size_t size = payload->head.size + payload->tail.size;
    bool shown, waited = false;
    int r = -EAGAIN;

    if (size > link->limits.payload_max)
        return refuse_size(link, size);
    hub_mutex_lock(&link->send);
    if (hub_list_empty(&link->senders))
        r = try_send(link, message, payload);
    if (r == -EAGAIN && deadline_ns != 0) {
        hub_add64(size > HUB_INLINE_SIZE ? &link->counters.waits_slot : &link->counters.waits_ring,
                  1);
        r = queue_and_send(link, message, payload, deadline_ns);
        waited = true;
    }
    /* A peer gives back no room and no slot of what it does not see. */
    shown = r == 0 ? hub_peek(&link->held) == 0 : r == -EAGAIN && show(link);
    hub_mutex_unlock(&link->send);
    if (shown)
        hub_sender_wake(link);
    if (waited) /* it may have received what is to be answered */
        events->after(events->user, false);
    return r;
}

/* r[impl message.goodbye.send] */
void hub_sender_goodbye(struct hub_link *link, const char *rule, const char *context)
{
    static const struct hub_message goodbye = {HUB_GOODBYE, 0, 0};
    uint8_t reason[1040];
    size_t most =
        link->limits.payload_max < sizeof reason ? link->limits.payload_max : sizeof reason;
    const struct hub_parts parts = {
        .head = {reason, hub_message_put_reason(rule, context, reason, most)}};
    int r;

    hub_mutex_lock(&link->send);
    r = try_send(link, &goodbye, &parts);
    hub_mutex_unlock(&link->send);
    if (r == 0)
        hub_sender_wake(link);
}

void hub_sender_wake_all(struct hub_link *link)
{
    hub_mutex_lock(&link->send);
    HUB_LIST_EACH (&link->senders, at) {
        struct sender *sender = HUB_LIST_ITEM(at, struct sender, link);

        hub_publish(&sender->first, 1);
        hub_futex_wake_private(&sender->first);
    }
    hub_mutex_unlock(&link->send);
}

bool hub_sender_quiet(struct hub_link *link)
{
    bool quiet;

    hub_sender_push(link);
    hub_mutex_lock(&link->send);
    quiet = hub_ring_unread(&link->out) <= 0 && hub_list_empty(&link->senders);
    hub_mutex_unlock(&link->send);
    return quiet;
}
