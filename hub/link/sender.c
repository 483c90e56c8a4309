/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/sender.h"

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/link/link_state.h"
#include "hub/link/post.h"
#include "hub/link/receiver.h"
#include "hub/link/send_queue.h"

/* the longest sleep of a thread that waits for another one */
#define SLICE       (100 * HUB_MILLISECOND)
#define SPACE_SLICE (10 * HUB_MILLISECOND) /* after it the receive token may be free, or a slot */

/* The condition of a sender at the head of the queue. */
struct space {
    struct hub_link *link;
    size_t size;
};

static bool has_space(void *user)
{
    struct space *space = user;
    struct hub_link *link = space->link;
    bool room;

    if (!hub_link_state_may_send(link))
        return true;
    hub_mutex_lock(&link->send);
    room = hub_send_queue_has_room(link, space->size);
    hub_mutex_unlock(&link->send);
    return room;
}

/* Waits at the head of the queue, and receives meanwhile if no other thread does; otherwise two
 * sides with full rings would wait for each other forever. A slot of a pool to which several guests
 * return slots may come without a wake-up on this link, so it is polled in slices. The host is
 * asked for more slots only if those in use do not come back at once: the fewer there are, the
 * warmer they are. r[impl hub.ring.pump] r[impl hub.wait.pool] */
static void wait_for_space(struct hub_link *link, size_t size, uint64_t deadline)
{
    uint64_t slice = hub_clock_after(SPACE_SLICE), soon = deadline < slice ? deadline : slice;
    struct space space = {link, size};
    bool asked = hub_send_queue_ask(link, size);
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
        hub_send_queue_ring(link);
    (void)hub_receiver_wait(link, &until);
}

static bool is_first(struct hub_link *link, struct hub_send_place *sender) REQUIRES(link->send)
{
    return link->senders.next == &sender->link;
}

/* Returns the bytes that are needed in a slot: none for a loan. */
static size_t slot_bytes(const struct hub_parts *payload)
{
    return payload->loan ? 0 : payload->head.size + payload->tail.size;
}

/* Joins the queue of senders, in order of arrival. r[impl shm.ring.full]
 * r[impl shm.slot.exhaustion] r[impl hub.ring.fifo] */
static int queue_and_send(struct hub_link *link, const struct hub_message *message,
                          const struct hub_parts *payload, uint64_t deadline) REQUIRES(link->send)
{
    struct hub_send_place self = {.size = slot_bytes(payload)};
    int r = -EAGAIN;

    hub_link_state_hinder(link, true);
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
        if (is_first(link, &self) || hub_link_state_closed(link))
            r = hub_post_try(link, message, payload);
        if (r == -EAGAIN && hub_clock_left(deadline) == 0)
            r = -ETIMEDOUT;
    }
    hub_list_remove(&self.link);
    hub_link_state_hinder(link, false);
    if (!hub_list_empty(&link->senders)) {
        struct hub_send_place *next =
            HUB_LIST_ITEM(link->senders.next, struct hub_send_place, link);

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

/* Under the lock, which a file that includes only the header cannot name. */
UNCHECKED __attribute__((noinline)) int hub_sender_try(struct hub_link *link,
                                                       const struct hub_message *message,
                                                       const struct hub_parts *payload)
{
    size_t size = payload->head.size + payload->tail.size;
    int r;

    if (size > link->limits.payload_max)
        return refuse_size(link, size);
    r = hub_list_empty(&link->senders) ? hub_post_try(link, message, payload) : -EAGAIN;
    return r == 0 && hub_load_relaxed(&link->held) == 0 ? 1 : r;
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
        r = hub_post_try(link, message, payload);
    if (r == -EAGAIN && deadline_ns != 0) {
        hub_add64(size > HUB_INLINE_SIZE ? &link->counters.waits_slot : &link->counters.waits_ring,
                  1);
        r = queue_and_send(link, message, payload, deadline_ns);
        waited = true;
    }
    /* The peer returns no place and no slot of a message that it does not see. */
    shown = r == 0 ? hub_load_relaxed(&link->held) == 0 : r == -EAGAIN && hub_send_queue_show(link);
    hub_mutex_unlock(&link->send);
    if (shown)
        hub_send_queue_wake(link);
    if (waited) /* it may have received requests that must be answered */
        events->after(events->user, false);
    return r;
}

bool hub_sender_quiet(struct hub_link *link)
{
    bool quiet;

    hub_send_queue_push(link);
    hub_mutex_lock(&link->send);
    quiet = hub_ring_unread(&link->out) <= 0 && hub_list_empty(&link->senders);
    hub_mutex_unlock(&link->send);
    return quiet;
}
