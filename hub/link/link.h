/* SPDX-License-Identifier: Apache-2.0 */
/* link: one host and one guest, from either side: two rings, two slot pools, one doorbell.
 *
 * Guarantees. Messages of one direction arrive in the order they were sent. Nothing is dropped for
 * lack of space: a sender waits, and while it waits it receives. Every wait has a deadline and ends
 * when the link closes. Data from the peer is copied, checked, and then used; a violation closes
 * the link.
 *
 * Any thread may send. At most one thread at a time receives: the holder of the receive token.
 */
#ifndef HUB_LINK_LINK_H
#define HUB_LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/atomic.h"
#include "hub/base/mutex.h"
#include "hub/link/loan.h"
#include "hub/link/message.h"
#include "hub/link/receive_batch.h"
#include "hub/link/view.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "hub/shm/wait.h"

enum hub_role { HUB_ROLE_HOST, HUB_ROLE_GUEST };

/* The callbacks of a link. All but `after` run under the receive token, on the thread that
 * receives: they must not wait, send or close. */
struct hub_link_events {
    /* Accepts a payload in a descriptor, of which this is a private copy, in one step. False: place
     * and accept follow as for any other. NULL: none is accepted so. */
    bool (*take)(void *user, const struct hub_message *message, const void *payload, uint32_t size);
    /* The same for several Responses in a row: returns how many of the first were accepted. */
    uint32_t (*take_line)(void *user, const struct hub_descriptor *list, uint32_t count);
    /* Returns memory of `size` bytes for the payload that holds until `accept` or `drop`; NULL: the
     * message is unwanted. Called for each message, even of size 0. The memory has the offset
     * `phase` from a multiple of 64, as the payload has in its slot, so that aligned bytes stay
     * aligned. */
    void *(*place)(void *user, const struct hub_message *message, uint32_t size, uint32_t phase);
    /* Receives the message, with its payload copied to the memory of `place` and its slot free
     * again. Returns 0, or RAPAHUB_EPROTOCOL if the message breaks a rule. */
    int (*accept)(void *user, const struct hub_message *message, void *payload, uint32_t size);
    /* Receives Data of one channel, each byte of which is copied once to its place
     * (hub_receive_batch_copy). Returns how soon its reader should know, or RAPAHUB_EPROTOCOL. */
    int (*data)(void *user, const struct hub_message *message,
                const struct hub_receive_batch *arrival);
    /* Says whether this message should be shown in place, as long as the sender has slots. Then
     * `view` receives it instead of place and accept, with the view that pins it. NULL: nothing is
     * ever shown. */
    bool (*wants_view)(void *user, const struct hub_message *message, uint32_t size);
    int (*view)(void *user, const struct hub_message *message, struct hub_view *view);
    /* Called instead of accept if the payload could not be read; the link closes next. */
    void (*drop)(void *user, const struct hub_message *message, void *payload);
    /* Says that no more may be received before `after` has run: the sweep stops. */
    bool (*full)(void *user);
    /* The token is free again: another thread may lead, and owed answers may be sent. `queued`:
     * this thread is in the queue of senders and must not wait there for itself: messages that wait
     * for space are left, and it is called again as soon as the thread has sent. */
    void (*after)(void *user, bool queued);
    /* Says whether the peer has provided what a thread waits for: credit, an id. A leader calls it
     * between two checks of the ring while there is such a thread (hub_link_until.space). */
    bool (*granted)(void *user);
    /* Called before this thread waits, if any sink is corked: sends what the thread holds back
     * itself, by that time or when there is space; 0: now or not. No lock is held. */
    void (*push)(void *user, uint64_t deadline_ns);
    void *user;
};

struct hub_link_options {
    enum hub_role role;
    const struct hub_segment *segment; /* outlives the link */
    const struct hub_segment_view *view;
    struct hub_slots *pool; /* our own: the group's, or the guest's; outlives the link */
    uint32_t peer, epoch;
    int doorbell; /* our end; it belongs to the caller and outlives the link; -1: none */
    bool by_lock; /* guest without a doorbell: its host is gone when the host's lock is free */
    enum hub_wait_manner waiting;
    /* guest: gets the descriptors that come with bytes of the doorbell and are no memory for slots;
     * it outlives the link; NULL: those are closed */
    const struct hub_doorbell_inbox *inbox;
    int pidfd;    /* the guest's; it belongs to the caller and outlives the link; -1 in a guest */
    bool watched; /* host: a thread waits for the guest's end, and then calls hub_link_suspect */
    struct hub_link_events events;
    /* The link is closed: called once, on the thread that closed it; must not wait. */
    void (*on_close)(void *user);
    /* A hint: a hang-up of the doorbell, or the end of the pidfd. Any thread, must not wait. A
     * thread that can prove the death calls hub_link_dead. */
    void (*on_hint)(void *user);
    /* The loop should check again, because a doorbell rang while another thread held the token. Not
     * called while `*pended` has a bit of `pended_bits`: the loop knows already. NULL: always
     * called. */
    void (*on_pending)(void *user);
    const struct hub_a32 *pended;
    uint32_t pended_bits;
    void *user;
};

struct hub_link;

/* Makes a link. -ENOMEM, and errors of eventfd. */
int hub_link_create(const struct hub_link_options *options, struct hub_link **out);

/* No thread may be inside. NULL is allowed. Writes nothing to the segment. */
void hub_link_release(struct hub_link **link);

/* Sends a message whose payload is in two parts, so that nothing is copied twice. `deadline_ns` 0
 * never waits (-EAGAIN). -ETIMEDOUT, -EMSGSIZE; -ENOSPC if a guest has no slot so large, and has
 * asked for one in vain; RAPAHUB_ESTALE if the link is closed or the guest's entry is no longer its
 * own: nothing was sent, and a loan stays. Any thread. r[impl shm.payload.inline]
 * r[impl shm.payload.slot] r[impl hub.ring.fifo] */
struct hub_parts {
    struct rapahub_bytes head, tail;
    struct hub_loan *loan; /* contains `tail`; sending consumes it; NULL: `tail` is elsewhere */
    bool more;             /* others follow soon: the peer need not see this one before them */
    /* if it is not 0, the message is no longer sent: -ECANCELED; NULL: always sent */
    const struct hub_a32 *gate;
    size_t aligned; /* so many bytes at the end begin at a cache line; 0: as many as `tail` */
};
int hub_link_send(struct hub_link *link, const struct hub_message *message,
                  const struct hub_parts *payload, uint64_t deadline_ns);

/* Returns the lock under which messages are put into the ring, in the order of its holders. A table
 * of sent messages is kept under the same lock. Held for a few lines, never over a wait. */
struct hub_mutex *hub_link_lock(struct hub_link *link);

/* Under that lock: sends if no thread waits for space and there is space now, else -EAGAIN; other
 * errors as for hub_link_send. 1: sent, and after unlocking the peer must be woken by
 * hub_link_wake_receiver; 0: sent and held back. */
int hub_link_try(struct hub_link *link, const struct hub_message *message,
                 const struct hub_parts *payload);
void hub_link_wake_receiver(struct hub_link *link);

/* Publishes messages that were held back because more was to follow, and those of this thread's
 * sinks as far as there is space, and wakes the peer once. They are also published by the next
 * message after which nothing follows, when there are 64 or the ring is full or a slot is missing,
 * and before a thread waits on this link in any way. Any thread. If nothing is held back it only
 * reads one word. r[impl hub.ring.cork] */
void hub_link_push(struct hub_link *link);

/* Counts a sink more, or less, that may hold something back. Under a lock of the caller's. */
void hub_link_cork(struct hub_link *link, bool corked);

/* Counts a hindrance for direct calls (direct.h), or its end: a thread that waits, an answer that
 * could not be sent, or an end. Hindrances are rare, so they are counted in one word, the only one
 * that a small call reads. Call it before the hindrance becomes visible, and again when it is gone:
 * while the count is 0 there is none. Any thread. */
void hub_link_hinder(struct hub_link *link, bool begins);

/* Acquires the receive token if it is free, receives at most `max` messages, and releases the
 * token. Returns their number; -EBUSY if another thread receives (it will check again); or a
 * failure after which the link is closed: RAPAHUB_EPROTOCOL. */
int hub_link_sweep(struct hub_link *link, uint32_t max);

/* hub_link_poll does the same for a host that checks again and again and leaves its doorbell
 * unarmed meanwhile, so that the guest does not ring; before it sleeps it calls hub_link_listen.
 * hub_link_has_news says whether there is something to sweep, by reading one word, for the thread
 * that polls. */
int hub_link_poll(struct hub_link *link, uint32_t max);
bool hub_link_has_news(const struct hub_link *link);

/* Receives as the leader until `done`: acquires the token, sweeps and waits in turn, and releases
 * the token. -EBUSY if another thread has it, -ETIMEDOUT, -EAGAIN if `stage` is HUB_WAIT_SPIN and
 * spinning did not help; 0 also when the link is closed. */
struct hub_link_until {
    bool (*done)(void *user); /* cheap; called without a lock */
    void *user;
    enum hub_wait_stage stage;
    uint64_t deadline_ns;
    bool idle;    /* no call is open: it may sleep longer in one go */
    bool space;   /* it waits for something that the peer returns: space, slots, credit, an id */
    bool follows; /* another thread is there to receive: it leads only if nothing comes */
    bool gathers; /* leading, it continues to receive until there is plenty or nothing more comes */
    bool queued;  /* this thread is in the queue of senders */
    bool peeks;   /* leading, it is done as soon as something came, and leaves that in place */
};
int hub_link_lead(struct hub_link *link, const struct hub_link_until *until);

/* The same for a thread that need not receive itself: if another one has the token it sleeps until
 * that one releases it or calls hub_link_tell. 0 also when the link is closed, or when nothing may
 * be received now: check `done`, and call again. */
int hub_link_wait(struct hub_link *link, const struct hub_link_until *until);

/* Wakes threads that sleep in hub_link_wait, because something they may wait for is there. Any
 * thread; cheap if none sleeps. */
void hub_link_tell(struct hub_link *link);

/* hub_link_wake_peer wakes a peer that may sleep for something just published; `word` is the futex
 * of the specification for a peer that does not take part in the wait words.
 * hub_link_peer_takes_part says whether it does; one that does not is granted credit at once. Any
 * thread. */
bool hub_link_peer_takes_part(const struct hub_link *link);
void hub_link_wake_peer(struct hub_link *link, uint32_t mask, struct hub_a32 *word);

/* A peer that does not take part may wake by futexes only, even if there is a doorbell. The owner
 * of a loop polls its ring by time; hub_link_note_unrung counts a message found without a ring of
 * the doorbell. A thread that sleeps on the head of the ring instead reports with hub_link_moved
 * that it moved, to the sleeping leader or to the loop. Any thread. */
void hub_link_note_unrung(struct hub_link *link);
bool hub_link_wakes_by_futex(const struct hub_link *link);
const struct hub_a32 *hub_link_head(const struct hub_link *link);
void hub_link_moved(struct hub_link *link);

/* For a loop that polls the doorbell itself: reads the doorbell after an event, and sweeps. */
int hub_link_rung(struct hub_link *link, uint32_t max);

/* Returns the time until which the doorbell should be ignored because it rang too often without
 * need; a time in the past if it should not. Meanwhile the ring is to be swept each
 * HUB_FLOOD_LOOK. */
uint64_t hub_link_deaf_until(const struct hub_link *link);

/* For a thread that sends and then leads at once: the peer need not ring for answers until then.
 * Afterwards the thread leads, or arms the doorbell again by hub_link_listen; other threads may do
 * so, too. */
void hub_link_hush(struct hub_link *link);
void hub_link_listen(struct hub_link *link);

/* Says whether the doorbell is not armed: it was rung, or is about to be, or a thread receives. Any
 * thread. */
bool hub_link_was_rung(const struct hub_link *link);

/* Ends the link, once; later calls only record the rule of a first violation, which may be found
 * late, when the peer is dead. `code` is the result of its calls: RAPAHUB_EDIED, RAPAHUB_ECLOSED,
 * RAPAHUB_EPROTOCOL. Wakes all threads of this side. Any thread. */
void hub_link_close(struct hub_link *link, int code, const char *rule);
bool hub_link_closed(const struct hub_link *link);

/* The peer may be dead: a thread that waits on this link, or the next one that does, calls on_hint.
 * Any thread. */
void hub_link_suspect(struct hub_link *link);

/* The peer is proven dead: its earlier messages are received, then the link closes with
 * RAPAHUB_EDIED, on this thread or on the one that holds the token. Any thread. */
void hub_link_dead(struct hub_link *link);

/* The same for a peer that said goodbye before and has unmapped the segment: RAPAHUB_ECLOSED. */
void hub_link_detached(struct hub_link *link);
int hub_link_cause(const struct hub_link *link); /* 0 while it is open */

/* For a link on which nothing can be sent any more: its cause, or the one it will have in a
 * moment. */
int hub_link_fate(const struct hub_link *link);

/* hub_link_broken says whether the peer has broken a rule, whatever ended the link first.
 * hub_link_rule returns that rule, or the rule of the link's end; "" if none; a constant. */
bool hub_link_broken(const struct hub_link *link);
const char *hub_link_rule(const struct hub_link *link);

/* The thread's diagnosis names the rule that the peer broke: says goodbye with it, and ends the
 * link. RAPAHUB_EPROTOCOL; RAPAHUB_ESTALE for a guest whose entry belongs to another by now, which
 * blames no peer. Any thread. */
int hub_link_violated(struct hub_link *link);

/* Says goodbye with a reason if there is space now; never waits. r[impl message.goodbye.send] */
void hub_link_say_goodbye(struct hub_link *link, const char *rule, const char *context);

/* Host: wakes the guest, whatever it sleeps for, to check `host_goodbye`. */
void hub_link_alert(struct hub_link *link);

/* Guest: sets its state to Goodbye, and wakes the host. This is its last write, and nothing is
 * received afterwards: answers must be sent before. r[impl shm.goodbye.guest] */
void hub_link_leave(struct hub_link *link);

/* Says whether the entry belongs to this side: a host's always, a guest's while it is Attached in
 * its own life. */
bool hub_link_ours(const struct hub_link *link);

/* Says whether waits begin with a sleep, so that a wait which may only spin would be none. */
bool hub_link_naps(const struct hub_link *link);

/* Says whether a thread of this side receives now. */
bool hub_link_receiving(const struct hub_link *link);

/* Makes the leading thread check its `done` again. Any thread. */
void hub_link_nudge(struct hub_link *link);

/* Guest: says whether the host has said goodbye, or the entry is no longer ours. */
bool hub_link_host_left(const struct hub_link *link);

/* Says whether both rings are empty, as far as this side can tell. For a graceful detach. */
bool hub_link_quiet(struct hub_link *link);

/* Reads the doorbell, for a side on which no other thread receives. False if the other end is
 * gone. */
bool hub_link_hear(struct hub_link *link);

/* Makes cached slots free again before a long sleep. */
void hub_link_rest(struct hub_link *link);

const struct hub_limits *hub_link_limits(const struct hub_link *link);

/* Returns the offset from a multiple of 64 for the memory of this payload; the descriptor need not
 * be checked. A payload in a slot keeps its offset; for one in the descriptor, bytes that are all
 * of their message begin at a multiple. */
uint32_t hub_link_phase(const struct hub_link *link, const struct hub_descriptor *descriptor);

/* Returns the best size for messages of a long stream: larger ones would wait for each other's
 * slots. */
size_t hub_link_piece(const struct hub_link *link);

/* Private counters; any thread, any time. */
struct hub_link_counters {
    struct hub_a64 sent, received, sent_bytes, received_bytes, waits_ring, waits_slot;
    struct hub_a64 sent_slots, received_slots; /* messages whose payload was in a slot */
};
const struct hub_link_counters *hub_link_counters(const struct hub_link *link);
const struct hub_wait *hub_link_wakes(const struct hub_link *link); /* for its counters */

/* The present quantities; any thread. Values from the peer are limited to the size of a ring. */
struct hub_link_gauges {
    uint32_t ring_out, ring_in;   /* descriptors not yet consumed */
    struct hub_slot_counts slots; /* our own, for all guests */
};
void hub_link_gauge(const struct hub_link *link, struct hub_link_gauges *out);

#endif
