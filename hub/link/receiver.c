/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/receiver.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/link/link_state.h"
#include "hub/link/sender.h"
#include "hub/shm/doorbell.h"

#define ROUNDS 16 /* of a leader, between two looks at the clock */

/* r[impl hub.violation] */
static int violation(struct hub_link *link)
{
    const struct rapahub_diagnosis *why = rapahub_last_error();

    hub_sender_goodbye(link, why->rule, why->text);
    hub_link_close(link, RAPAHUB_EPROTOCOL, why->rule);
    return RAPAHUB_EPROTOCOL;
}

static bool take_token(struct hub_link *link)
{
    if (!hub_claim(&link->token, 0, 1))
        return false;
    if (link->options.role == HUB_ROLE_HOST)
        hub_wait_disarm(&link->wait, HUB_WAIT_RX_BELL);
    hub_wait_show_cpu(&link->wait);
    return true;
}

static void show_tail(struct hub_link *link)
{
    if (hub_ring_show_tail(&link->in))
        hub_wait_wake(&link->wait, HUB_WAIT_TX, link->in.tail);
}

static int copy_payload(struct hub_link *link, const struct hub_descriptor *descriptor, void *to)
{
    if (descriptor->payload_slot != HUB_INLINE)
        return to ? hub_slot_reader_copy(&link->reader, descriptor, to)
                  : hub_slot_reader_check(&link->reader, descriptor);
    if (to && descriptor->payload_len > 0)
        memcpy(to, descriptor->inline_payload, descriptor->payload_len);
    return 0;
}

static int free_slot(struct hub_link *link, const struct hub_descriptor *descriptor)
{
    int r;

    if (descriptor->payload_slot == HUB_INLINE)
        return 0;
    r = hub_slot_reader_free(&link->reader, descriptor->payload_slot);
    if (r == 0)
        hub_wait_wake(&link->wait, HUB_WAIT_TX, NULL);
    return r;
}

/* One message, completely, before the next: its payload is copied and its slot free before anybody
 * sees it, so no slot of the peer is ever held. r[impl hub.slot.hold] */
static int handle(struct hub_link *link, const struct hub_descriptor *descriptor)
{
    const struct hub_link_events *events = &link->options.events;
    struct hub_message message;
    void *payload;
    int r = hub_message_check(descriptor, &link->limits, &message);

    if (r < 0)
        return r;
    payload = events->place(events->user, &message, descriptor->payload_len);
    r = copy_payload(link, descriptor, payload);
    if (r == 0)
        r = free_slot(link, descriptor);
    if (r < 0) {
        if (payload)
            events->drop(events->user, &message, payload);
        return r;
    }
    hub_note64(&link->counters.received, hub_peek64(&link->counters.received) + 1);
    hub_note64(&link->counters.received_bytes,
               hub_peek64(&link->counters.received_bytes) + descriptor->payload_len);
    return events->accept(events->user, &message, payload, descriptor->payload_len);
}

/* The copied batch belongs to the link: what is left of it is handled before the head is read. */
static int next_batch(struct hub_link *link)
{
    int n;

    if (link->batch_at < link->batch_count)
        return 1;
    n = hub_ring_take(&link->in, link->batch, HUB_RING_BATCH);
    if (n <= 0)
        return n;
    link->batch_at = 0;
    link->batch_count = (uint32_t)n;
    if (link->in.convention != HUB_RING_FREE_RUNNING || hub_ring_tail_due(&link->in))
        show_tail(link);
    return 1;
}

/* r[impl hub.loop.bound] */
static int receive(struct hub_link *link, uint32_t max)
{
    const struct hub_link_events *events = &link->options.events;
    uint32_t count = 0;

    while (count < max && !hub_link_closed(link) && !events->full(events->user)) {
        int r = next_batch(link);

        if (r == 0)
            break;
        if (r > 0)
            r = handle(link, &link->batch[link->batch_at++]);
        if (r < 0)
            return violation(link);
        count++;
    }
    return (int)count;
}

/* What a dead peer had published before is still received; then calls end. */
static void finish_if_dead(struct hub_link *link)
{
    if (hub_observe(&link->dead) == 0 || hub_link_closed(link))
        return;
    if (receive(link, link->limits.ring_size + HUB_RING_BATCH) >= 0)
        hub_link_close(link, RAPAHUB_EDIED, "");
}

/* Did something come behind `tail`? Needs no token: it reads what never changes, and the head. */
static bool has_moved(const struct hub_link *link, uint32_t tail)
{
    return ((hub_observe(link->in.head) - tail) & (link->limits.ring_size - 1)) != 0;
}

/* Whatever came while this thread had the token and could not be told is told now: to the next
 * leader, by `after`; to a loop, by on_pending. Where nothing may be received before what is owed
 * is sent, to look again at once would be in vain. */
static void let_go(struct hub_link *link)
{
    const struct hub_link_events *events = &link->options.events;
    uint32_t tail;
    bool left;

    show_tail(link);
    do {
        finish_if_dead(link);
        if (link->options.role == HUB_ROLE_HOST)
            hub_wait_arm(&link->wait, HUB_WAIT_RX_BELL);
        tail = link->in.tail_next;
        left = link->batch_at < link->batch_count;
        hub_publish(&link->token, 0);
        hub_settle(link->wait.own);
    } while (hub_observe(&link->dead) != 0 && !hub_link_closed(link) && take_token(link));
    events->after(events->user);
    if (!hub_link_closed(link) && !events->full(events->user) &&
        (hub_exchange(&link->bell_pending, 0) != 0 || left || has_moved(link, tail)))
        link->options.on_pending(link->options.user);
}

void hub_receiver_finish(struct hub_link *link)
{
    if (!hub_link_closed(link) && take_token(link))
        let_go(link);
}

int hub_receiver_sweep(struct hub_link *link, uint32_t max)
{
    int r;

    if (hub_link_closed(link))
        return 0;
    if (!take_token(link))
        return -EBUSY;
    r = receive(link, max);
    let_go(link);
    return r;
}

/* The doorbell is read under the token only: a leader may be asleep on it. */
int hub_receiver_rung(struct hub_link *link, uint32_t max)
{
    int r;

    hub_publish(&link->bell_pending, 1);
    if (hub_link_closed(link))
        return 0;
    if (!take_token(link))
        return -EBUSY;
    hub_publish(&link->bell_pending, 0);
    if (!hub_doorbell_drain(link->options.doorbell))
        link->options.on_hint(link->options.user);
    r = receive(link, max);
    let_go(link);
    return r;
}

/* What a leader looks at while it waits. */
struct leader {
    struct hub_link *link;
    const struct hub_link_until *until;
    struct hub_wait_order order;
    uint32_t rounds;
};

static bool has_news(void *user)
{
    struct leader *leader = user;
    struct hub_link *link = leader->link;

    return hub_ring_ready(&link->in) || hub_link_closed(link) || hub_observe(&link->dead) != 0 ||
           hub_observe(&link->hung_up) != 0 || leader->until->done(leader->until->user) ||
           hub_link_host_left(link);
}

static void note_hang_up(void *user)
{
    hub_publish(&((struct leader *)user)->link->hung_up, 1);
}

/* One round of a leader: 0 to go on, 1 when it is done, or a failure. */
static int lead_once(struct leader *leader)
{
    struct hub_link *link = leader->link;
    const struct hub_link_events *events = &link->options.events;
    int r = receive(link, link->limits.ring_size);

    if (r < 0)
        return r;
    if (r > 0) /* a flood must not keep it beyond its deadline */
        return ++leader->rounds % ROUNDS == 0 && hub_clock_left(leader->order.deadline_ns) == 0
                   ? -ETIMEDOUT
                   : 0;
    finish_if_dead(link);
    if (hub_link_closed(link) || events->full(events->user) || hub_link_host_left(link))
        return 1;
    if (hub_exchange(&link->hung_up, 0) != 0) {
        link->options.on_hint(link->options.user);
        return 0;
    }
    show_tail(link);
    return hub_wait_for(&link->wait, &leader->order);
}

int hub_receiver_lead(struct hub_link *link, const struct hub_link_until *until, uint32_t bits)
{
    struct leader leader = {.link = link, .until = until};
    int r = 0;

    leader.order = (struct hub_wait_order){.bits = bits,
                                           .last = until->stage,
                                           .idle = until->idle,
                                           .deadline_ns = until->deadline_ns,
                                           .ready = has_news,
                                           .hung_up = note_hang_up,
                                           .user = &leader};
    if (!take_token(link))
        return -EBUSY;
    while (r == 0 && !until->done(until->user))
        r = lead_once(&leader);
    let_go(link);
    return r > 0 ? 0 : r;
}

bool hub_receiver_quiet(const struct hub_link *link)
{
    return link->batch_at == link->batch_count && !hub_ring_ready(&link->in);
}
