/* SPDX-License-Identifier: Apache-2.0 */
/* link_state: the state of a link and its end, below the parts that act: sender, receiver, loans,
 * views. Only the files of the link and the direct paths include it; the functions are those of
 * link.h. */
#ifndef HUB_LINK_LINK_STATE_H
#define HUB_LINK_LINK_STATE_H

#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/base/way.h"
#include "hub/link/link.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/ring.h"
#include "hub/wire/raw.h"

/* Slots that were returned since the waiting peer was woken. */
struct hub_link_returned {
    uint32_t count, last;
};

struct hub_link {
    struct hub_link_options options;
    struct hub_segment_view view;
    struct hub_limits limits;
    uint64_t usual; /* value of hub_link_state_life as long as both sides are there */

    struct hub_mutex send;
    struct hub_ring_producer out GUARDED_BY(send);
    struct hub_list senders GUARDED_BY(send); /* threads that wait to send, in order */
    /* ways of copying: a payload that is waited for, one of many */
    struct hub_way alone, stream GUARDED_BY(send);
    struct hub_a32 held;  /* 1: there are messages in `out` that the peer does not see yet */
    struct hub_a32 corks; /* sinks that may hold back elements which are no message yet */

    struct hub_a32 token; /* 1: a thread receives; the rest of this group belongs to that thread */
    struct hub_ring_consumer in;
    struct hub_slots_in slots;
    struct hub_descriptor batch[HUB_RING_BATCH];
    uint32_t batch_at, batch_count;
    struct hub_link_returned returned;
    /* a host's doorbell may be armed, outside of a wait; readers are to be told of messages, when
     * no more comes or before a sleep */
    bool listens, untold;
    bool plenty; /* since the leader checked, a reader got as much as it should read at once */
    /* position up to which the ring was read when the token was last released */
    struct hub_a32 taken;

    struct hub_a32 loans;      /* slots that are filled before there is a message */
    struct hub_a64 loan_most;  /* bytes of the largest; 0: not known yet */
    struct hub_a32 news;       /* futex of the sleepers in hub_link_wait */
    struct hub_a32 crowd;      /* number of these sleepers */
    struct hub_a32 hindrances; /* number of things that prevent direct calls: hub_link_hinder */
    struct hub_a32 spacers;    /* threads that wait for something the peer returns */
    struct hub_a32 armed; /* bits that the leader sleeps for: HUB_WAIT_RX, HUB_WAIT_TX or both */
    struct hub_a32 rearm; /* the leader must check which bits it should sleep for */
    struct hub_wait wait;
    struct hub_a32 bell_pending; /* the doorbell rang while another thread had the token */
    struct hub_a32 hung_up;      /* a hint not yet passed on */
    struct hub_a32 dead;         /* the peer is proven dead */
    struct hub_a32 detached;     /* it has left by its own will */
    struct hub_a32 closing;      /* claimed by the thread that closes */
    struct hub_a32 closed;       /* published after cause and rule */
    int cause;
    const char *rule;
    /* claimed by the thread that finds the first violation, even after the end */
    struct hub_a32 breaking;
    struct hub_a32 broken; /* published after the next member */
    const char *broken_rule;
    struct hub_link_counters counters;
};

/* Returns state and epoch of the entry, which are adjacent, as one word. */
static inline uint64_t hub_link_state_life(const struct hub_link *link)
{
    return hub_observe_pair(&link->view.entry->state);
}

/* Says whether the entry belongs to this side: a host's always; a guest's while it is Attached in
 * its own life. A guest checks before each publication: a guest that was stopped, given up and
 * continued, or has said goodbye, must write nothing. It also checks after each read of a head or a
 * descriptor: the value was then meant for it, because a host changes the state before it resets a
 * ring. r[impl hub.death.guard] */
static inline __attribute__((always_inline)) bool hub_link_state_ours(const struct hub_link *link)
{
    return hub_link_state_life(link) == link->usual || link->options.role == HUB_ROLE_HOST;
}

/* Nothing is received any more: the link is closed, or the entry belongs to another. */
static inline bool hub_link_state_over(const struct hub_link *link)
{
    return hub_observe(&link->closed) != 0 || !hub_link_state_ours(link);
}

/* Says whether this side may write to the segment: open, peer alive, the entry its own. */
static inline __attribute__((always_inline)) bool hub_link_state_may_send(
    const struct hub_link *link)
{
    return hub_observe(&link->closed) == 0 && hub_observe(&link->dead) == 0 &&
           hub_link_state_ours(link);
}

/* Like hub_link_host_left. r[impl shm.goodbye.host] r[impl shm.goodbye.host-atomic] */
static inline bool hub_link_state_host_left(const struct hub_link *link)
{
    return link->options.role == HUB_ROLE_GUEST &&
           (hub_observe(&link->view.header->host_goodbye) != 0 || !hub_link_state_may_send(link));
}

static inline bool hub_link_state_closed(const struct hub_link *link)
{
    return hub_observe(&link->closed) != 0;
}

static inline void hub_link_state_hinder(struct hub_link *link, bool begins)
{
    (void)hub_add(&link->hindrances, begins ? 1 : UINT32_MAX);
}

static inline void hub_link_state_nudge(struct hub_link *link)
{
    hub_wait_wake_own(&link->wait);
}

static inline bool hub_link_state_receiving(const struct hub_link *link)
{
    return hub_observe(&link->token) != 0;
}

void hub_link_state_close(struct hub_link *link, int code, const char *rule);
int hub_link_state_fate(const struct hub_link *link);
void hub_link_state_tell(struct hub_link *link);

static inline uint32_t hub_link_state_phase(const struct hub_link *link,
                                            const struct hub_descriptor *descriptor)
{
    if (descriptor->payload_slot != HUB_INLINE)
        return hub_slots_in_phase(&link->slots, descriptor);
    return descriptor->msg_type == HUB_REQUEST ? HUB_RAW_REQUEST_PHASE : HUB_RAW_RESPONSE_PHASE;
}

/* Under the token. */
static inline void hub_link_count_received(struct hub_link *link, const struct hub_descriptor *list,
                                           uint32_t count)
{
    struct hub_link_counters *counters = &link->counters;
    uint64_t bytes = 0, slots = 0;

    for (uint32_t i = 0; i < count; i++) {
        bytes += list[i].payload_len;
        slots += list[i].payload_slot != HUB_INLINE;
    }
    hub_count64(&counters->received, count);
    hub_count64(&counters->received_bytes, bytes);
    if (slots > 0)
        hub_count64(&counters->received_slots, slots);
}

#endif
