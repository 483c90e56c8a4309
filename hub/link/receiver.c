/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/receiver.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/link/link_state.h"
#include "hub/link/sender.h"

#define ROUNDS      16                      /* of a leader, between two looks at the clock */
#define SLICE       (100 * HUB_MILLISECOND) /* the longest sleep of who waits for the leader */
#define SPACE_SLICE (10 * HUB_MILLISECOND)  /* where a slot may come without a wake-up */
#define FULL_SLICE  HUB_MILLISECOND         /* where nobody may receive before an answer is sent */

static bool is_closed(const struct hub_link *link)
{
    return hub_observe(&link->closed) != 0;
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
        return hub_slots_in_take(&link->slots, descriptor, to);
    if (to && descriptor->payload_len > 0)
        memcpy(to, descriptor->inline_payload, descriptor->payload_len);
    return 0;
}

/* A peer that takes no part may sleep on the word that changed, or on the one beside it.
 * r[impl hub.wait.foreign] */
static void wake_for_slot(struct hub_link *link, uint32_t slot)
{
    struct hub_a32 *words[2];

    hub_slots_in_words(&link->slots, slot, words);
    hub_wait_wake(&link->wait, HUB_WAIT_TX, words[0]);
    if (words[1] != words[0] && !hub_wait_takes_part(&link->wait))
        hub_futex_wake(words[1], UINT32_MAX);
}

int hub_receiver_free(struct hub_link *link, uint32_t slot)
{
    int r = hub_slots_in_free(&link->slots, slot);

    if (r == 0)
        wake_for_slot(link, slot);
    return r;
}

static void count_received(struct hub_link *link, const struct hub_descriptor *descriptor)
{
    struct hub_link_counters *counters = &link->counters;

    hub_note64(&counters->received, hub_peek64(&counters->received) + 1);
    hub_note64(&counters->received_bytes,
               hub_peek64(&counters->received_bytes) + descriptor->payload_len);
    if (descriptor->payload_slot != HUB_INLINE)
        hub_note64(&counters->received_slots, hub_peek64(&counters->received_slots) + 1);
}

static bool is_wanted_as_view(struct hub_link *link, const struct hub_descriptor *descriptor,
                              const struct hub_message *message)
{
    const struct hub_link_events *events = &link->options.events;

    return events->wants_view && hub_view_may(link, descriptor) &&
           events->wants_view(events->user, message, descriptor->payload_len);
}

static int show(struct hub_link *link, const struct hub_descriptor *descriptor,
                const struct hub_message *message)
{
    const struct hub_link_events *events = &link->options.events;
    struct hub_view view;
    int r = hub_view_take(link, descriptor, &view);

    if (r < 0)
        return r;
    count_received(link, descriptor);
    return events->view(events->user, message, &view);
}

/* One message, completely, before the next: its payload is copied and its slot free before anybody
 * sees it, or it is shown. r[impl hub.slot.hold] */
static int handle(struct hub_link *link, const struct hub_descriptor *descriptor)
{
    const struct hub_link_events *events = &link->options.events;
    struct hub_message message;
    void *payload;
    int r = hub_message_check(descriptor, &link->limits, &message);

    if (r < 0)
        return r;
    if (is_wanted_as_view(link, descriptor, &message))
        return show(link, descriptor, &message);
    if (descriptor->payload_slot == HUB_INLINE && events->take &&
        events->take(events->user, &message, descriptor->inline_payload, descriptor->payload_len)) {
        count_received(link, descriptor);
        return 0;
    }
    payload = events->place(events->user, &message, descriptor->payload_len);
    r = copy_payload(link, descriptor, payload);
    if (r == 0 && descriptor->payload_slot != HUB_INLINE)
        r = hub_receiver_free(link, descriptor->payload_slot);
    if (r < 0) {
        if (payload)
            events->drop(events->user, &message, payload);
        return r;
    }
    count_received(link, descriptor);
    return events->accept(events->user, &message, payload, descriptor->payload_len);
}

/* The copied batch belongs to the link: what is left of it is handled before the head is read. */
static int next_batch(struct hub_link *link)
{
    bool takes_part = hub_wait_takes_part(&link->wait);
    int n;

    if (link->batch_at < link->batch_count)
        return 1;
    if (takes_part)
        hub_ring_trust(&link->in.convention);
    n = hub_ring_take(&link->in, link->batch, HUB_RING_BATCH);
    if (n <= 0)
        return n;
    link->batch_at = 0;
    link->batch_count = (uint32_t)n;
    if (!takes_part || hub_ring_tail_due(&link->in))
        show_tail(link);
    return 1;
}

/* A guest that has run out of slots rings the doorbell: so a look at each sweep is enough.
 * r[impl hub.var.single-popper] */
static void attend(struct hub_link *link)
{
    if (link->options.role == HUB_ROLE_HOST &&
        hub_slots_attend(link->options.pool, link->options.peer) > 0)
        hub_wait_wake(&link->wait, HUB_WAIT_TX, NULL);
}

/* What was taken from the ring, as far as `max` goes: how many, or a failure. */
static int handle_batch(struct hub_link *link, uint32_t max)
{
    const struct hub_link_events *events = &link->options.events;
    uint32_t count = 0;
    int r;

    do {
        r = handle(link, &link->batch[link->batch_at++]);
        count++;
    } while (r == 0 && count < max && link->batch_at < link->batch_count && !is_closed(link) &&
             !events->full(events->user));
    return r < 0 ? r : (int)count;
}

/* One batch, of the ring or of what is left of the last one: how many, or a failure. Closes the
 * link where the peer broke a rule. */
static int receive_batch(struct hub_link *link, uint32_t max)
{
    const struct hub_link_events *events = &link->options.events;
    int r;

    if (is_closed(link) || events->full(events->user))
        return 0;
    r = next_batch(link);
    if (r > 0)
        r = handle_batch(link, max);
    return r < 0 ? hub_link_violated(link) : r;
}

/* r[impl hub.loop.bound] */
static int receive(struct hub_link *link, uint32_t max)
{
    uint32_t count = 0;
    int r = 1;

    while (r > 0 && count < max) {
        r = receive_batch(link, max - count);
        if (r < 0)
            return r;
        count += (uint32_t)r;
    }
    return (int)count;
}

/* What a dead peer had published before is still received; then calls end. */
static void finish_if_dead(struct hub_link *link)
{
    if (hub_observe(&link->dead) == 0 || is_closed(link))
        return;
    if (receive(link, link->limits.ring_size + HUB_RING_BATCH) >= 0)
        hub_link_close(link, hub_link_fate(link), "");
}

/* Did something come behind `tail`? Needs no token: it reads what never changes, and the head. */
static bool has_moved(const struct hub_link *link, uint32_t tail)
{
    return ((hub_observe(link->in.head) - tail) & (link->limits.ring_size - 1)) != 0;
}

/* Whatever came while this thread had the token and could not be told is told now: to the next
 * leader, by `after`; to a loop, by on_pending. Where nothing may be received before what is owed
 * is sent, to look again at once would be in vain.
 *
 * `looks_soon`: this thread receives again before it sleeps, be it in the loop that on_pending
 * makes look. Then the doorbell is left unarmed: each store to the entry costs the peer the line it
 * looks at. */
static void let_go(struct hub_link *link, bool looks_soon)
{
    const struct hub_link_events *events = &link->options.events;
    bool left, pending;
    uint32_t tail;

    do {
        finish_if_dead(link);
        if (link->options.role == HUB_ROLE_HOST && !looks_soon)
            hub_wait_arm(&link->wait, HUB_WAIT_RX_BELL);
        tail = link->in.tail_next;
        left = link->batch_at < link->batch_count;
        hub_publish(&link->token, 0);
        hub_settle(link->wait.own);
    } while (hub_observe(&link->dead) != 0 && !is_closed(link) && take_token(link));
    events->after(events->user);
    if (hub_peek(&link->crowd) != 0) /* behind the fence above */
        hub_link_tell(link);
    pending = looks_soon || hub_observe(&link->bell_pending) != 0 || left || has_moved(link, tail);
    if (pending && !is_closed(link) && !events->full(events->user))
        link->options.on_pending(link->options.user);
}

/* All is seen: the peer may know it, and what it waits for is given. */
static void rest(struct hub_link *link)
{
    show_tail(link);
    attend(link);
}

void hub_receiver_finish(struct hub_link *link)
{
    if (!is_closed(link) && take_token(link))
        let_go(link, false);
}

/* The doorbell is read under the token only: a leader may be asleep on it. A byte that nobody reads
 * would stay there, and one more with each bell heard in vain, until a full doorbell makes no edge
 * any more: so who looks again for such a bell reads it. */
static void answer_bell(struct hub_link *link)
{
    if (hub_observe(&link->bell_pending) == 0)
        return;
    hub_publish(&link->bell_pending, 0);
    if (!hub_wait_drain(&link->wait))
        link->options.on_hint(link->options.user);
}

int hub_receiver_sweep(struct hub_link *link, uint32_t max)
{
    int r;

    if (is_closed(link))
        return 0;
    if (!take_token(link))
        return -EBUSY;
    answer_bell(link);
    attend(link);
    r = receive(link, max);
    show_tail(link);
    let_go(link, false);
    return r;
}

int hub_receiver_rung(struct hub_link *link, uint32_t max)
{
    hub_publish(&link->bell_pending, 1);
    if (!is_closed(link))
        hub_wait_note_bell(&link->wait);
    return hub_receiver_sweep(link, max);
}

/* What a leader looks at while it waits. */
struct leader {
    struct hub_link *link;
    const struct hub_link_until *until;
    struct hub_wait_order order;
    uint32_t rounds;
};

/* Has come what others wait for, who do not sleep on the shared word? They are told. */
static bool has_space_come(struct hub_link *link)
{
    const struct hub_link_events *events = &link->options.events;
    bool came = hub_sender_space_came(link);

    came = events->granted(events->user) || came;
    if (came)
        hub_link_tell(link);
    return came;
}

static bool has_news(void *user)
{
    struct leader *leader = user;
    struct hub_link *link = leader->link;

    return hub_ring_ready(&link->in) || is_closed(link) || hub_observe(&link->dead) != 0 ||
           hub_observe(&link->hung_up) != 0 || leader->until->done(leader->until->user) ||
           hub_link_state_host_left(link) || hub_observe(&link->rearm) != 0 ||
           (hub_peek(&link->spacers) != 0 && has_space_come(link));
}

static void rest_of_leader(void *user)
{
    rest(((struct leader *)user)->link);
}

static void note_hang_up(void *user)
{
    hub_publish(&((struct leader *)user)->link->hung_up, 1);
}

/* What comes for space instead is looked for at the end of the slice. */
static struct hub_a32 *foreign_head(const struct hub_link *link)
{
    struct hub_peer_entry *entry = link->view.entry;

    return link->options.role == HUB_ROLE_HOST ? &entry->guest_to_host_head
                                               : &entry->host_to_guest_head;
}

/* What it will sleep for. Who begins to wait for space says so, and then looks at `armed`: with the
 * fence on either side one of the two sees the other, and `rearm` is not set before it is cleared
 * here. What was armed the last time must not be seen for that. r[impl hub.wait.owner] */
static uint32_t choose_bits(struct hub_link *link)
{
    uint32_t bits = HUB_WAIT_RX;

    hub_publish(&link->armed, bits);
    hub_publish(&link->rearm, 0);
    hub_settle(&link->armed);
    if (hub_observe(&link->spacers) != 0)
        bits |= HUB_WAIT_TX;
    hub_publish(&link->armed, bits);
    return bits;
}

/* One round of a leader: 0 to go on, 1 when it is done, or a failure. */
static int lead_once(struct leader *leader)
{
    struct hub_link *link = leader->link;
    const struct hub_link_events *events = &link->options.events;
    int r = receive_batch(link, HUB_RING_BATCH); /* then it looks whether that was what it wants */

    if (r < 0)
        return r;
    if (r > 0) /* a flood must not keep it beyond its deadline */
        return ++leader->rounds % ROUNDS == 0 && hub_clock_left(leader->order.deadline_ns) == 0
                   ? -ETIMEDOUT
                   : 0;
    finish_if_dead(link);
    if (is_closed(link) || events->full(events->user) || hub_link_state_host_left(link))
        return 1;
    if (hub_observe(&link->hung_up) != 0 && hub_exchange(&link->hung_up, 0) != 0) {
        link->options.on_hint(link->options.user);
        return 0;
    }
    leader->order.bits = choose_bits(link);
    return hub_wait_for(&link->wait, &leader->order);
}

int hub_receiver_lead(struct hub_link *link, const struct hub_link_until *until)
{
    struct leader leader = {.link = link, .until = until};
    int r = 0;

    leader.order = (struct hub_wait_order){.last = until->stage,
                                           .idle = until->idle,
                                           .deadline_ns = until->deadline_ns,
                                           .seed_word = foreign_head(link),
                                           .ready = has_news,
                                           .hung_up = note_hang_up,
                                           .rest = rest_of_leader,
                                           .user = &leader};
    if (hub_peek(&link->held) != 0)
        hub_sender_push(link); /* who waits holds nothing back, be it that another one receives */
    if (!take_token(link))
        return -EBUSY;
    while (r == 0 && !until->done(until->user))
        r = lead_once(&leader);
    if (r != 0)
        show_tail(link);
    let_go(link, r == 0 && until->stage == HUB_WAIT_SPIN);
    return r > 0 ? 0 : r;
}

/* A leader that sleeps for messages only is made to sleep for space too. */
static void ask_for_space(struct hub_link *link)
{
    hub_settle(&link->armed);
    if (hub_observe(&link->armed) & HUB_WAIT_TX)
        return;
    hub_publish(&link->rearm, 1);
    hub_wait_wake_own(&link->wait);
}

static uint64_t end_of_slice(const struct hub_link_until *until, uint64_t slice)
{
    uint64_t end = hub_clock_after(slice);

    return until->deadline_ns < end ? until->deadline_ns : end;
}

/* Sleeps until the leader tells, or lets go. */
static void follow(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen;

    if (until->space)
        ask_for_space(link);
    hub_add(&link->crowd, 1);
    seen = hub_observe(&link->news);
    hub_settle(&link->crowd); /* who lets go or tells behind it sees us, or we see what it did */
    if (hub_link_receiving(link) && !until->done(until->user))
        hub_futex_wait_private(&link->news, seen,
                               end_of_slice(until, until->space ? SPACE_SLICE : SLICE));
    hub_add(&link->crowd, UINT32_MAX);
}

/* Nothing may be received now, for the peer does not read what it is owed. */
static void doze(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen;

    hub_add(&link->crowd, 1);
    seen = hub_observe(&link->news);
    hub_settle(&link->crowd);
    if (!is_closed(link) && !until->done(until->user))
        hub_futex_wait_private(&link->news, seen, end_of_slice(until, FULL_SLICE));
    hub_add(&link->crowd, UINT32_MAX);
}

static int wait_once(struct hub_link *link, const struct hub_link_until *until)
{
    int r = hub_receiver_lead(link, until);

    if (r == -EBUSY && until->stage == HUB_WAIT_SPIN)
        return -EAGAIN;
    if (r == -EBUSY)
        follow(link, until);
    else if (r == 0 && !until->done(until->user) && !hub_link_state_host_left(link))
        doze(link, until);
    else
        return r;
    return hub_clock_left(until->deadline_ns) == 0 ? -ETIMEDOUT : -EBUSY;
}

int hub_receiver_wait(struct hub_link *link, const struct hub_link_until *until)
{
    int r;

    if (until->space)
        hub_add(&link->spacers, 1);
    do
        r = until->done(until->user) || is_closed(link) ? 0 : wait_once(link, until);
    while (r == -EBUSY);
    if (until->space)
        hub_add(&link->spacers, UINT32_MAX);
    return r;
}

bool hub_receiver_quiet(const struct hub_link *link)
{
    return link->batch_at == link->batch_count && !hub_ring_ready(&link->in);
}
