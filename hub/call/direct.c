/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/direct.h"

#include <errno.h>

#include "hub/base/small_copy.h"
#include "hub/link/link_state.h"
#include "hub/link/receiver.h"
#include "hub/link/send_queue.h"
#include "hub/shm/wait_for.h"

#define PAYLOAD 4 /* the word of a descriptor in which an inline payload begins */

/* Says whether all earlier messages have been handled. The thread that released the token has
 * passed all of them on. */
static bool is_first(const struct hub_link *link, bool in_line)
{
    return link->batch_at == link->batch_count &&
           (in_line || link->in.head_seen == link->in.tail_next);
}

/* The doorbell need not ring for what is received at once. The word of the entry that says so is
 * not read for each call, because its line is the peer's as well. */
static __attribute__((noinline)) void hush(struct hub_link *link)
{
    hub_wait_disarm(&link->wait, HUB_WAIT_RX_BELL);
    link->listens = false;
}

bool hub_direct_begin(struct hub_link *link, bool in_line)
{
    if (!hub_wait_is_near(&link->wait) || hub_observe(&link->hindrances) != 0 ||
        !hub_claim(&link->token, 0, 1))
        return false;
    if (link->listens)
        hush(link);
    if (is_first(link, in_line))
        return true;
    hub_receiver_let_go(link, false);
    return false;
}

/* Does the work after the token for threads that came meanwhile. */
static __attribute__((noinline)) void attend(struct hub_link *link)
{
    const struct hub_link_events *events = &link->options.events;

    if (hub_observe(&link->dead) != 0)
        hub_receiver_finish(link);
    events->after(events->user, false);
    if (hub_load_relaxed(&link->crowd) != 0)
        hub_link_tell(link);
}

/* After the fence, threads that came meanwhile and found the token in use are seen. A host that
 * does not check soon arms its doorbell, which the ordinary way does. */
void hub_direct_end(struct hub_link *link, bool looks_soon)
{
    if (!looks_soon && link->options.role == HUB_ROLE_HOST) {
        hub_receiver_let_go(link, false);
        return;
    }
    (void)hub_exchange_and_fence(&link->token, 0, link->wait.own);
    if (hub_observe(&link->hindrances) != 0)
        attend(link);
    if ((looks_soon || hub_observe(&link->bell_pending) != 0) &&
        (hub_load_relaxed(link->options.pended) & link->options.pended_bits) == 0)
        link->options.on_pending(link->options.user);
}

static __attribute__((noinline)) bool is_hindered(struct hub_link *link) REQUIRES(link->send)
{
    return !hub_list_empty(&link->senders) || hub_observe(&link->closed) != 0 ||
           hub_observe(&link->dead) != 0;
}

/* A guest that has said goodbye takes no new work. r[impl shm.goodbye.guest] */
static __attribute__((noinline)) bool may_send_now(const struct hub_link *link, uint8_t type)
{
    if (link->options.role != HUB_ROLE_HOST)
        return hub_link_state_ours(link);
    return type != HUB_REQUEST || hub_observe(&link->view.entry->state) != HUB_PEER_GOODBYE;
}

/* If the entry is still the guest's, and neither side has said goodbye, there is nothing else to
 * check. */
UNCHECKED bool hub_direct_may_send(struct hub_link *link, uint8_t type)
{
    if (hub_observe(&link->hindrances) != 0 && is_hindered(link))
        return false;
    return hub_link_state_life(link) == link->usual || may_send_now(link, type);
}

static void count_sent(struct hub_link *link, uint32_t size)
{
    struct hub_link_counters *counters = &link->counters;

    hub_count64(&counters->sent, 1);
    hub_count64(&counters->sent_bytes, size);
}

static void count_received(struct hub_link *link, uint32_t size)
{
    struct hub_link_counters *counters = &link->counters;

    hub_count64(&counters->received, 1);
    hub_count64(&counters->received_bytes, size);
}

UNCHECKED bool hub_direct_send(struct hub_link *link, struct hub_descriptor *message)
{
    message->payload_slot = HUB_INLINE;
    if (!hub_direct_may_send(link, message->msg_type) || !hub_ring_send(&link->out, message))
        return false;
    count_sent(link, message->payload_len);
    return true;
}

/* An impossible tail is left for the ordinary way to report. */
UNCHECKED int hub_direct_put(struct hub_link *link, struct hub_descriptor *message, bool more)
{
    if (!more && hub_load_relaxed(&link->held) == 0)
        return hub_direct_send(link, message) ? 1 : -EAGAIN;
    message->payload_slot = HUB_INLINE;
    if (!hub_direct_may_send(link, message->msg_type) || hub_ring_room(&link->out) <= 0)
        return -EAGAIN;
    hub_ring_put(&link->out, message);
    count_sent(link, message->payload_len);
    return hub_send_queue_show_or_hold(link, more);
}

/* r[impl shm.payload.inline] */
static inline void fill(struct hub_ring_cell *cell, const struct hub_message *message,
                        uint32_t zeros, struct rapahub_bytes bytes)
{
    uint8_t *payload = (uint8_t *)cell + PAYLOAD * sizeof cell->words[0];
    uint64_t size = zeros + 1 + bytes.size;

    hub_store_relaxed64(&cell->words[0], message->type | (uint64_t)message->id << 32);
    hub_store_relaxed64(&cell->words[1], message->method_id);
    hub_store_relaxed64(&cell->words[2], HUB_INLINE);
    hub_store_relaxed64(&cell->words[3], size << 32);
    hub_store_relaxed64(&cell->words[PAYLOAD], (uint64_t)bytes.size << 8 * zeros);
    for (size_t i = PAYLOAD + 1; i < HUB_DESCRIPTOR_WORDS; i++)
        hub_store_relaxed64(&cell->words[i], 0);
    hub_small_copy_copy(payload + zeros + 1, bytes.data, bytes.size);
}

UNCHECKED bool hub_direct_send_bytes(struct hub_link *link, const struct hub_message *message,
                                     uint32_t zeros, struct rapahub_bytes bytes)
{
    if (!hub_ring_may_send(&link->out) || !hub_direct_may_send(link, (uint8_t)message->type))
        return false;
    fill(hub_ring_cell_to_fill(&link->out), message, zeros, bytes);
    hub_ring_show_filled(&link->out);
    count_sent(link, zeros + 1 + (uint32_t)bytes.size);
    return true;
}

UNCHECKED void hub_direct_unlock(struct hub_link *link, bool sent)
{
    hub_mutex_unlock_and_settle(&link->send, link->wait.peer);
    if (sent)
        hub_wait_wake_settled(&link->wait, HUB_WAIT_RX, link->out.head);
}

/* Checks the words that give the place of a payload: inline, at 0, of a size that fits; payload_max
 * is never below that. */
static bool is_inline(uint64_t slot, uint64_t place)
{
    return slot == HUB_INLINE && (place << 32 | place >> 32) <= HUB_INLINE_SIZE;
}

/* A descriptor as its words. */
typedef uint64_t __attribute__((may_alias)) aliased;

static void take(struct hub_link *link, uint32_t size, uint32_t head)
{
    hub_ring_skip(&link->in, head);
    if (hub_ring_tail_due(&link->in) && hub_ring_show_tail(&link->in))
        hub_wait_wake(&link->wait, HUB_WAIT_TX, link->in.tail);
    count_received(link, size);
}

/* A message that was seen after the last one is there: each read of the head begins with a
 * pause. */
static bool await(struct hub_link *link, const struct hub_ring_cell *cell, uint32_t *head)
{
    const struct hub_ring_consumer *in = &link->in;
    uint32_t seen = in->head_seen;

    if (seen == in->tail_next) {
        if (!hub_wait_for_word(&link->wait, in->head, seen, cell))
            return false;
        seen = hub_ring_head(in);
    }
    *head = seen;
    return hub_ring_reaches(in, seen);
}

bool hub_direct_look(struct hub_link *link, enum hub_message_type type, struct hub_descriptor *to,
                     uint32_t *head)
{
    const struct hub_ring_cell *cell = hub_ring_cell_to_read(&link->in);
    const aliased *words = (const aliased *)(const void *)to;

    if (!await(link, cell, head)) {
        to->msg_type = 0; /* none */
        return false;
    }
    hub_copy_in_pairs(to, cell->words, HUB_DESCRIPTOR_WORDS / 2);
    if (!hub_link_state_ours(link))
        to->msg_type = 0;
    return (uint8_t)words[0] == type && is_inline(words[2], words[3]);
}

/* Each word is read once, and the payload is not examined before it is copied. */
bool hub_direct_look_at_request(struct hub_link *link, struct hub_descriptor *to, void *payload,
                                struct hub_direct_request *request)
{
    const struct hub_ring_cell *cell = hub_ring_cell_to_read(&link->in);
    aliased *words = (aliased *)(void *)to;
    uint64_t first, slot, place;

    if (!await(link, cell, &request->head)) {
        to->msg_type = 0; /* none */
        return false;
    }
    first = hub_load_relaxed64(&cell->words[0]);
    request->method_id = hub_load_relaxed64(&cell->words[1]);
    slot = hub_load_relaxed64(&cell->words[2]);
    place = hub_load_relaxed64(&cell->words[3]);
    hub_copy_in_pairs(payload, &cell->words[PAYLOAD], (HUB_DESCRIPTOR_WORDS - PAYLOAD) / 2);
    if (!hub_link_state_ours(link)) {
        to->msg_type = 0;
        return false;
    }
    request->id = (uint32_t)(first >> 32);
    request->size = (uint32_t)(place >> 32);
    if ((uint8_t)first == HUB_REQUEST && is_inline(slot, place))
        return true;
    words[0] = first;
    words[1] = request->method_id;
    words[2] = slot;
    words[3] = place;
    return false;
}

int hub_direct_fetch(struct hub_link *link, enum hub_message_type type, uint32_t id, void *to)
{
    const struct hub_ring_consumer *in = &link->in;
    const struct hub_ring_cell *cell = hub_ring_cell_to_read(in);
    uint64_t place;
    uint32_t head;

    if (!hub_wait_for_word(&link->wait, in->head, in->tail_next, cell))
        return -EAGAIN;
    head = hub_ring_head(in);
    if (!hub_ring_reaches(in, head))
        return -EAGAIN;
    place = hub_load_relaxed64(&cell->words[3]);
    if (hub_load_relaxed64(&cell->words[0]) != (type | (uint64_t)id << 32) ||
        !is_inline(hub_load_relaxed64(&cell->words[2]), place))
        return -ENOMSG;
    hub_copy_in_pairs(to, &cell->words[PAYLOAD], (HUB_DESCRIPTOR_WORDS - PAYLOAD) / 2);
    if (!hub_link_state_ours(link))
        return -EAGAIN;
    take(link, (uint32_t)(place >> 32), head);
    return (int)(place >> 32);
}

bool hub_direct_take(struct hub_link *link, const struct hub_descriptor *message, uint32_t head)
{
    if (message->payload_slot != HUB_INLINE)
        hub_count64(&link->counters.received_slots, 1);
    return hub_direct_take_inline(link, message->payload_len, head);
}

bool hub_direct_take_inline(struct hub_link *link, uint32_t size, uint32_t head)
{
    take(link, size, head);
    return head != link->in.tail_next;
}
