/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/receiver.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/link/bystander.h"
#include "hub/link/link_state.h"
#include "hub/link/post.h"
#include "hub/link/send_queue.h"
#include "hub/link/slot_return.h"
#include "hub/shm/wait_for.h"

#define ROUNDS 16 /* rounds of a leader between two readings of the clock */
#define FEW    8  /* messages of a stream at once */
#define QUIET  16 /* checks of the ring after which no more comes soon */
#define GLANCE 64 /* checks of the ring for each one of the peer's requests for slots */

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
    if (hub_link_state_ours(link) && hub_ring_show_tail(&link->in))
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
    hub_link_count_received(link, descriptor, 1);
    return events->view(events->user, message, &view);
}

/* Handles a message, except Data, completely before the next: its payload is copied and its slot
 * free before any other thread sees it, or it is shown. r[impl hub.slot.hold] */
static int handle(struct hub_link *link, const struct hub_message *checked,
                  const struct hub_descriptor *descriptor)
{
    const struct hub_link_events *events = &link->options.events;
    const struct hub_message message = *checked;
    void *payload;
    int r;

    if (is_wanted_as_view(link, descriptor, &message))
        return show(link, descriptor, &message);
    if (descriptor->payload_slot == HUB_INLINE && events->take &&
        events->take(events->user, &message, descriptor->inline_payload, descriptor->payload_len)) {
        hub_link_count_received(link, descriptor, 1);
        return 0;
    }
    payload = events->place(events->user, &message, descriptor->payload_len,
                            hub_link_state_phase(link, descriptor));
    r = copy_payload(link, descriptor, payload);
    if (r == 0 && descriptor->payload_slot != HUB_INLINE)
        r = hub_slot_return_back(link, descriptor->payload_slot);
    if (r < 0) {
        if (payload)
            events->drop(events->user, &message, payload);
        return r;
    }
    hub_link_count_received(link, descriptor, 1);
    return events->accept(events->user, &message, payload, descriptor->payload_len);
}

/* Handles a message of the batch, or several of Data or of answers: returns their number. */
static int handle_next(struct hub_link *link, uint32_t max)
{
    const struct hub_descriptor *list = &link->batch[link->batch_at];
    uint32_t left = link->batch_count - link->batch_at, most = left < max ? left : max;
    uint32_t line = hub_receive_batch_take_line(link, list, most);
    struct hub_message message;
    int r;

    if (line > 0) {
        link->batch_at += line;
        return (int)line;
    }
    r = hub_message_check(list, &link->limits, &message);
    if (r == 0 && message.type == HUB_DATA)
        r = hub_receive_batch_receive(link, &message, list, most);
    else if (r == 0)
        r = handle(link, &message, list) < 0 ? RAPAHUB_EPROTOCOL : 1;
    link->batch_at += r > 0 ? (uint32_t)r : 1;
    return r;
}

/* The copied batch belongs to the link: the rest of it is handled before the head is read. */
static int next_batch(struct hub_link *link)
{
    bool takes_part = hub_wait_takes_part(&link->wait);
    int n;

    if (link->batch_at < link->batch_count)
        return 1;
    if (takes_part)
        hub_ring_trust(&link->in.convention);
    n = hub_ring_pop(&link->in, link->batch, HUB_RING_BATCH);
    if (n <= 0 || !hub_link_state_ours(link))
        return hub_link_state_ours(link) ? n : 0;
    link->batch_at = 0;
    link->batch_count = (uint32_t)n;
    if (!takes_part || hub_ring_tail_due(&link->in))
        show_tail(link);
    return 1;
}

/* Handles messages copied from the ring, at most `max`: returns their number, or a failure. */
static int handle_batch(struct hub_link *link, uint32_t max)
{
    const struct hub_link_events *events = &link->options.events;
    uint32_t count = 0;
    int r;

    do {
        r = handle_next(link, max - count);
        count += r > 0 ? (uint32_t)r : 0;
    } while (r > 0 && count < max && link->batch_at < link->batch_count &&
             !hub_link_state_over(link) && !events->full(events->user));
    return r < 0 ? r : (int)count;
}

/* Handles one batch, from the ring or the rest of the last one: returns the number, or a failure.
 * Closes the link if the peer broke a rule. */
static int receive_batch(struct hub_link *link, uint32_t max)
{
    const struct hub_link_events *events = &link->options.events;
    int r;

    if (hub_link_state_over(link) || events->full(events->user))
        return 0;
    r = next_batch(link);
    if (r > 0)
        r = handle_batch(link, max);
    if (link->untold && r > 0 && r < FEW && link->batch_at == link->batch_count &&
        link->batch[link->batch_at - 1].payload_slot == HUB_INLINE)
        hub_wait_gap(&link->wait); /* a stream is faster in batches than one by one */
    hub_slot_return_wake(link);
    return r < 0 ? hub_post_violated(link) : r;
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

/* Messages that a dead peer had published before are still received; then calls end. */
static void finish_if_dead(struct hub_link *link)
{
    if (hub_observe(&link->dead) == 0 || hub_link_state_closed(link))
        return;
    if (receive(link, link->limits.ring_size + HUB_RING_BATCH) >= 0)
        hub_link_state_close(link, hub_link_state_fate(link), "");
}

/* Says whether something came after `tail`. Needs no token: reads constants and the head. */
static bool has_moved(const struct hub_link *link, uint32_t tail)
{
    return ((hub_ring_head(&link->in) - tail) & (link->limits.ring_size - 1)) != 0;
}

/* Events that came while this thread had the token, and could not be passed on, are passed on now:
 * to the next leader, by `after`; to a loop, by on_pending. If nothing may be received before owed
 * answers are sent, checking again at once would be in vain. The doorbell stays unarmed for a side
 * that checks again by itself: each store takes the cache line of the entry from the peer. */
static void let_go(struct hub_link *link, bool arms, bool looks_soon, bool queued)
{
    const struct hub_link_events *events = &link->options.events;
    bool left, pending;
    uint32_t tail;

    do {
        finish_if_dead(link);
        if (link->options.role == HUB_ROLE_HOST && arms) {
            link->listens = true;
            hub_wait_arm(&link->wait, HUB_WAIT_RX_BELL);
        }
        link->untold = false; /* they are told below */
        tail = link->in.tail_next;
        hub_store_relaxed(&link->taken, tail);
        left = link->batch_at < link->batch_count;
        hub_publish(&link->token, 0);
        hub_fence(link->wait.own);
    } while (hub_observe(&link->dead) != 0 && !hub_link_state_closed(link) && take_token(link));
    events->after(events->user, queued);
    if (hub_load_relaxed(&link->crowd) != 0) /* after the fence above */
        hub_link_state_tell(link);
    pending = looks_soon || hub_observe(&link->bell_pending) != 0 || left || has_moved(link, tail);
    if (pending && !hub_link_state_closed(link) && !events->full(events->user))
        link->options.on_pending(link->options.user);
}

__attribute__((noinline)) void hub_receiver_let_go(struct hub_link *link, bool looks_soon)
{
    let_go(link, !looks_soon, looks_soon, false);
}

bool hub_receiver_has_news(const struct hub_link *link)
{
    return hub_observe(&link->token) == 0 && has_moved(link, hub_load_relaxed(&link->taken));
}

/* Everything is received: the peer may know it, and gets what it waits for. */
static void rest(struct hub_link *link)
{
    show_tail(link);
    (void)hub_slot_return_attend(link);
}

__attribute__((noinline)) void hub_receiver_finish(struct hub_link *link)
{
    if (!hub_link_state_closed(link) && take_token(link))
        hub_receiver_let_go(link, false);
}

/* Reads the doorbell, only under the token, because a leader may be asleep on it. Unread bytes
 * would pile up with each ring noticed in vain, until a full doorbell causes no edge any more. */
static void answer_bell(struct hub_link *link)
{
    if (hub_observe(&link->bell_pending) == 0)
        return;
    hub_publish(&link->bell_pending, 0);
    if (!hub_wait_drain(&link->wait))
        hub_post_hint(link);
}

int hub_receiver_sweep(struct hub_link *link, uint32_t max, bool arms)
{
    int r;

    if (hub_link_state_closed(link))
        return 0;
    if (!take_token(link))
        return -EBUSY;
    answer_bell(link);
    (void)hub_slot_return_attend(link);
    r = receive(link, max);
    show_tail(link);
    let_go(link, arms, false, false);
    return r;
}

int hub_receiver_rung(struct hub_link *link, uint32_t max)
{
    int r;

    hub_publish(&link->bell_pending, 1);
    if (!hub_link_state_closed(link))
        hub_wait_note_bell(&link->wait);
    r = hub_receiver_sweep(link, max, true);
    if (r == -EBUSY)
        (void)hub_slot_return_attend(link); /* the holder of the token may sleep */
    return r;
}

/* The state of a waiting leader. */
struct leader {
    struct hub_link *link;
    const struct hub_link_until *until;
    struct hub_wait_order order;
    uint32_t rounds;
    bool streams;   /* the last message was of a stream */
    uint32_t looks; /* checks of a ring without news, since there were some */
    uint32_t glances;
    bool rests; /* it sleeps between two checks */
};

/* A gathering thread is not asked while more may come at once. */
static bool is_done(const struct leader *leader)
{
    if (leader->until->peeks && hub_ring_ready(&leader->link->in))
        return true;
    if (leader->until->gathers && leader->looks < QUIET && !leader->link->plenty)
        return false;
    return leader->until->done(leader->until->user);
}

/* After the last of these checks the ring counts as quiet. */
static void note_look(struct leader *leader)
{
    if (leader->looks < QUIET && ++leader->looks == QUIET)
        hub_receive_batch_tell(leader->link);
}

/* A guest may have no slot for the very answer that is waited for. This is also checked after the
 * bits were armed, so that the asking guest sees these or is seen. r[impl hub.var.single-popper] */
static void glance(struct leader *leader)
{
    if ((leader->rests || ++leader->glances % GLANCE == 0) && hub_slot_return_attend(leader->link))
        leader->glances = GLANCE - 1; /* there may be more to grant */
}

/* Tells the threads that wait for space, and do not sleep on the shared word, if it has come. */
static bool has_space_come(struct hub_link *link)
{
    const struct hub_link_events *events = &link->options.events;
    bool came = hub_send_queue_space_came(link);

    came = events->granted(events->user) || came;
    if (came)
        hub_link_state_tell(link);
    return came;
}

static bool has_news(void *user)
{
    struct leader *leader = user;
    struct hub_link *link = leader->link;

    if (hub_ring_ready(&link->in))
        return true;
    note_look(leader);
    glance(leader);
    return hub_link_state_closed(link) || hub_observe(&link->dead) != 0 ||
           hub_observe(&link->hung_up) != 0 || is_done(leader) || hub_link_state_host_left(link) ||
           hub_observe(&link->rearm) != 0 ||
           (hub_load_relaxed(&link->spacers) != 0 && has_space_come(link));
}

static void rest_of_leader(void *user)
{
    struct leader *leader = user;

    leader->looks = QUIET;
    leader->rests = leader->link->wait.manner != HUB_WAIT_MANNER_POLL;
    hub_receive_batch_tell(leader->link);
    rest(leader->link);
}

static void note_hang_up(void *user)
{
    hub_publish(&((struct leader *)user)->link->hung_up, 1);
}

/* Space is checked for at the end of the slice instead. */
static struct hub_a32 *foreign_head(const struct hub_link *link)
{
    struct hub_peer_entry *entry = link->view.entry;

    return link->options.role == HUB_ROLE_HOST ? &entry->guest_to_host_head
                                               : &entry->host_to_guest_head;
}

/* Chooses the bits to sleep for. A thread that begins to wait for space says so, and then reads
 * `armed`: with the fence on either side one of the two sees the other, and `rearm` is not set
 * before it is cleared here. An earlier value of `armed` must not be mistaken for the present one.
 * r[impl hub.wait.owner] */
static uint32_t choose_bits(struct hub_link *link)
{
    uint32_t bits = HUB_WAIT_RX;

    hub_publish(&link->armed, bits);
    hub_publish(&link->rearm, 0);
    hub_fence(&link->armed);
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
    /* afterwards it checks whether that was what it wants */
    int r = receive_batch(link, HUB_RING_BATCH);

    if (r < 0)
        return r;
    if (r > 0) {
        leader->looks = 0;
        leader->streams = link->untold || link->plenty;
    }
    if (r > 0) /* a flood must not keep it beyond its deadline */
        return ++leader->rounds % ROUNDS == 0 && hub_clock_left(leader->order.deadline_ns) == 0
                   ? -ETIMEDOUT
                   : 0;
    finish_if_dead(link);
    if (hub_link_state_closed(link) || events->full(events->user) || hub_link_state_host_left(link))
        return 1;
    if (hub_observe(&link->hung_up) != 0 && hub_exchange(&link->hung_up, 0) != 0) {
        hub_post_hint(link);
        return 0;
    }
    leader->order.bits = choose_bits(link);
    leader->order.eager = leader->streams || (leader->order.bits & HUB_WAIT_TX) != 0;
    leader->rests = false;
    return hub_wait_for(&link->wait, &leader->order);
}

int hub_receiver_lead(struct hub_link *link, const struct hub_link_until *until)
{
    struct leader leader = {.link = link, .until = until, .looks = QUIET};
    bool looks_soon;
    int r = 0;

    leader.order = (struct hub_wait_order){.last = until->stage,
                                           .idle = until->idle,
                                           .deadline_ns = until->deadline_ns,
                                           .seed_word = foreign_head(link),
                                           .ready = has_news,
                                           .hung_up = note_hang_up,
                                           .rest = rest_of_leader,
                                           .user = &leader};
    if (hub_load_relaxed(&link->held) != 0)
        hub_send_queue_push(link); /* a waiting thread holds nothing back */
    if (!take_token(link))
        return -EBUSY;
    link->plenty = false;
    while (r == 0 && !is_done(&leader))
        r = lead_once(&leader);
    if (r != 0)
        show_tail(link);
    looks_soon = r == 0 && until->stage == HUB_WAIT_SPIN;
    let_go(link, !looks_soon, looks_soon, until->queued);
    return r > 0 ? 0 : r;
}

static int wait_once(struct hub_link *link, const struct hub_link_until *until)
{
    int r;

    if (until->follows && hub_bystander_is_told(link, until))
        return -EBUSY;
    r = hub_receiver_lead(link, until);
    if (r == -EBUSY && until->stage == HUB_WAIT_SPIN)
        return -EAGAIN;
    if (r == -EBUSY)
        hub_bystander_follow(link, until);
    else if (r == 0 && !until->peeks && !until->done(until->user) &&
             !hub_link_state_host_left(link))
        hub_bystander_doze(link, until);
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
        r = until->done(until->user) || hub_link_state_closed(link) ? 0 : wait_once(link, until);
    while (r == -EBUSY);
    if (until->space)
        hub_add(&link->spacers, UINT32_MAX);
    return r;
}

bool hub_receiver_quiet(const struct hub_link *link)
{
    return link->batch_at == link->batch_count && !hub_ring_ready(&link->in);
}
