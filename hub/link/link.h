/* SPDX-License-Identifier: Apache-2.0 */
/* link: one host and one guest, from either side: two rings, two slot pools, one doorbell.
 *
 * Guarantees. Messages of one direction arrive in the order they were sent. Nothing is dropped for
 * lack of space: a sender waits, and while it waits it receives. Every wait has a deadline and ends
 * when the link closes. What the peer wrote is copied, checked, used; a violation closes the link.
 *
 * Any thread may send. At most one thread at a time receives: the holder of the receive token. */
#ifndef HUB_LINK_LINK_H
#define HUB_LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/atomic.h"
#include "hub/base/mutex.h"
#include "hub/link/arrival.h"
#include "hub/link/loan.h"
#include "hub/link/message.h"
#include "hub/link/view.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "hub/shm/wait.h"

enum hub_role { HUB_ROLE_HOST, HUB_ROLE_GUEST };

/* What a link hands up. All but `after` run under the receive token, on the thread that receives:
 * they must not wait, send or close. */
struct hub_link_events {
    /* A payload that stood in the descriptor, of which this is a private copy: taken at once, or
     * false: place and accept as any other. NULL: none is. */
    bool (*take)(void *user, const struct hub_message *message, const void *payload, uint32_t size);
    /* The same for several in a row, all Responses: how many of the first of them. */
    uint32_t (*take_line)(void *user, const struct hub_descriptor *list, uint32_t count);
    /* Where the payload goes: memory of `size` bytes that holds until `accept` or `drop`; NULL:
     * nobody wants it. Asked for each message, also of size 0. It begins `phase` bytes behind a
     * multiple of 64, as it does in its slot, so that what began at one there does here. */
    void *(*place)(void *user, const struct hub_message *message, uint32_t size, uint32_t phase);
    /* The message, its payload copied to what `place` gave, its slot free again: 0, or
     * RAPAHUB_EPROTOCOL where the message breaks a rule. */
    int (*accept)(void *user, const struct hub_message *message, void *payload, uint32_t size);
    /* Data of one channel, of which each byte is copied once to where it belongs
     * (hub_arrival_copy): how soon its reader should know, or RAPAHUB_EPROTOCOL. */
    int (*data)(void *user, const struct hub_message *message, const struct hub_arrival *arrival);
    /* Is this one rather shown where it lies, as long as the sender has slots? Then `view` takes it
     * over instead of place and accept, with what pins it. NULL: nothing is ever shown. */
    bool (*wants_view)(void *user, const struct hub_message *message, uint32_t size);
    int (*view)(void *user, const struct hub_message *message, struct hub_view *view);
    /* Instead of accept: the payload could not be read; the link closes next. */
    void (*drop)(void *user, const struct hub_message *message, void *payload);
    /* No more may be received before `after` has run: the sweep stops. */
    bool (*full)(void *user);
    /* The token is free again: another thread may lead, what is owed may be sent. `queued`: this
     * thread stands in the queue of senders, so that it must not wait there for itself: what waits
     * for space is left; it is asked again as soon as it has sent. */
    void (*after)(void *user, bool queued);
    /* Has the peer given what somebody waits for: credit, an id? Asked by a leader between two
     * looks at the ring while there is somebody (hub_link_until.space). */
    bool (*granted)(void *user);
    /* Before this thread waits, if any sink is corked: what it holds back itself goes out, by then
     * or when there is space; 0: now or not. No lock is held. */
    void (*push)(void *user, uint64_t deadline_ns);
    void *user;
};

struct hub_link_options {
    enum hub_role role;
    const struct hub_segment *segment; /* outlives the link */
    const struct hub_segment_view *view;
    struct hub_slots *pool; /* our own: of the group, or of the guest; outlives the link */
    uint32_t peer, epoch;
    int doorbell; /* our end; stays the caller's, outlives the link; -1: none */
    bool by_lock; /* guest without a doorbell: its host is gone when the host's lock is free */
    enum hub_wait_manner waiting;
    int pidfd;    /* of the guest, the caller's, outlives the link; -1 in a guest */
    bool watched; /* host: somebody waits for the guest's end, and then calls hub_link_suspect */
    struct hub_link_events events;
    /* The link is closed: once, on the thread that closed it; must not wait. */
    void (*on_close)(void *user);
    /* Doorbell hang-up or the end of the pidfd: a hint. Any thread, must not wait. Who can prove
     * the death calls hub_link_dead. */
    void (*on_hint)(void *user);
    /* The loop should look again (a doorbell rang while another thread held the token). Not called
     * while `*pended` has a bit of `pended_bits`: it knows already. NULL: always called. */
    void (*on_pending)(void *user);
    const struct hub_a32 *pended;
    uint32_t pended_bits;
    void *user;
};

struct hub_link;

/* -ENOMEM. */
int hub_link_create(const struct hub_link_options *options, struct hub_link **out);

/* Nobody may be inside. Accepts NULL. Writes nothing to the segment. */
void hub_link_release(struct hub_link **link);

/* Sends a message whose payload is `size` bytes, in two parts so that nothing is copied twice.
 * `deadline_ns` 0 never waits (-EAGAIN). -ETIMEDOUT, -EMSGSIZE; -ENOSPC where a guest has no slot
 * so large, and has asked for one in vain; RAPAHUB_ESTALE where the link is closed or the guest's
 * entry is not its own any more: nothing was sent, a loan stays.
 * r[impl shm.payload.inline] r[impl shm.payload.slot] r[impl hub.ring.fifo] */
struct hub_parts {
    struct rapahub_bytes head, tail;
    struct hub_loan *loan;      /* where `tail` lies: what is sent consumes it; NULL: elsewhere */
    bool more;                  /* others follow soon: the peer need not see it before them */
    const struct hub_a32 *gate; /* not 0: it is not sent any more, -ECANCELED; NULL: always */
    size_t aligned;             /* so many bytes at the end begin at a line; 0: as many as `tail` */
};
int hub_link_send(struct hub_link *link, const struct hub_message *message,
                  const struct hub_parts *payload, uint64_t deadline_ns);

/* The lock under which messages are put into the ring, in the order of its holders: who keeps a
 * table of what it sent keeps it under the same one. Held for a few lines, never over a wait. */
struct hub_mutex *hub_link_lock(struct hub_link *link);

/* Under that lock: sends where nobody waits for space and there is some now, else -EAGAIN; the
 * failures of hub_link_send. 1: sent, and behind the lock the peer is to be woken by
 * hub_link_wake_receiver; 0: sent and held back. */
int hub_link_try(struct hub_link *link, const struct hub_message *message,
                 const struct hub_parts *payload);
void hub_link_wake_receiver(struct hub_link *link);

/* Shows the peer what is held back because more was to follow, that of this thread's sinks too as
 * far as there is space, and wakes it once. That is shown
 * also by the next message behind which nothing is to follow, when there are 64 or the ring is full
 * or a slot is missing, and before a thread waits on this link in any way. Any thread; a look at
 * one word where nothing is held back. r[impl hub.ring.cork] */
void hub_link_push(struct hub_link *link);

/* One sink more, or less, that may hold something back. Under a lock of the caller's. */
void hub_link_cork(struct hub_link *link, bool corked);

/* Something begins to stand in the way of what goes directly (direct.h), or does no longer: one who
 * waits, owes or has ended. All of that is rare, so it is counted in one word, which is all that a
 * small call looks at. Said before the thing itself is to be seen, and again when it is gone: where
 * the count is 0 there is none. Any thread. */
void hub_link_hinder(struct hub_link *link, bool begins);

/* Takes the receive token if it is free, receives what is there (at most `max` messages), lets go:
 * how many, -EBUSY where another thread receives (it will look again), or a failure after which the
 * link is closed: RAPAHUB_EPROTOCOL. */
int hub_link_sweep(struct hub_link *link, uint32_t max);

/* The same for a host that looks again and again, and leaves its doorbell unarmed meanwhile: the
 * guest rings for nothing. Before it sleeps it says hub_link_listen. Is there something to sweep
 * for? A look at one word, for the thread that polls. */
int hub_link_poll(struct hub_link *link, uint32_t max);
bool hub_link_has_news(const struct hub_link *link);

/* Receives as the leader until `done` says so: takes the token, sweeps, waits, sweeps … and lets
 * go. -EBUSY where another thread has it, -ETIMEDOUT, -EAGAIN where `stage` is HUB_WAIT_SPIN and
 * spinning did not help; 0 also when the link is closed. */
struct hub_link_until {
    bool (*done)(void *user); /* cheap; no lock held */
    void *user;
    enum hub_wait_stage stage;
    uint64_t deadline_ns;
    bool idle;    /* no call is open: it may sleep longer in one go */
    bool space;   /* it waits for something the peer gives back: space, slots, credit, an id */
    bool follows; /* somebody else is there to receive: it leads only where nothing comes */
    bool gathers; /* leading, it goes on to receive until there is plenty or nothing more comes */
    bool queued;  /* this thread stands in the queue of senders */
    bool peeks;   /* leading, it is done as soon as something came, and leaves it where it is */
};
int hub_link_lead(struct hub_link *link, const struct hub_link_until *until);

/* The same for a thread that need not receive itself: where another one has the token it sleeps
 * until that one lets go or hub_link_tell. 0 also when the link is closed, or when nothing may be
 * received now: look at `done`, and call again. */
int hub_link_wait(struct hub_link *link, const struct hub_link_until *until);

/* Something that a thread may sleep for in hub_link_wait is there. Any thread; cheap where nobody
 * does. */
void hub_link_tell(struct hub_link *link);

/* What the peer may sleep for was published: `word` is the futex of the specification for a peer
 * that takes no part in our wait words; such a one is granted credit at once. Any thread. */
bool hub_link_peer_takes_part(const struct hub_link *link);
void hub_link_wake_peer(struct hub_link *link, uint32_t mask, struct hub_a32 *word);

/* A peer that takes no part may wake by futexes only, also where there is a doorbell. The owner of
 * a loop looks at its ring by time: what it finds there without a bell is noted. Who then sleeps on
 * the head of that ring instead tells this side that it moved: the leader that sleeps, or the loop.
 * Any thread. */
void hub_link_note_unrung(struct hub_link *link);
bool hub_link_wakes_by_futex(const struct hub_link *link);
const struct hub_a32 *hub_link_head(const struct hub_link *link);
void hub_link_moved(struct hub_link *link);

/* For a loop that polls the doorbell itself: reads the doorbell after an event, and sweeps. */
int hub_link_rung(struct hub_link *link, uint32_t max);

/* Till when the doorbell should not be listened to, since it rang too often for nothing: a time
 * gone by where it should. The ring is to be swept each HUB_FLOOD_LOOK meanwhile. */
uint64_t hub_link_deaf_until(const struct hub_link *link);

/* Who sends and then leads at once: what the peer answers until then is no reason to ring. Behind
 * it the thread leads, or arms the doorbell again by hub_link_listen; other threads may do so, too.
 */
void hub_link_hush(struct hub_link *link);
void hub_link_listen(struct hub_link *link);

/* Is the doorbell not armed: it was rung, or is about to be, or a thread receives? Any thread. */
bool hub_link_was_rung(const struct hub_link *link);

/* Ends it, once; of later calls only the rule of a first violation is kept: who finds one may be
 * late, for the peer is dead. `code` is what calls get: RAPAHUB_EDIED, RAPAHUB_ECLOSED,
 * RAPAHUB_EPROTOCOL. Wakes everybody of this side. Any thread. */
void hub_link_close(struct hub_link *link, int code, const char *rule);
bool hub_link_closed(const struct hub_link *link);

/* The peer may be dead: who waits on this link, or does so next, hands that on to on_hint. Any
 * thread. */
void hub_link_suspect(struct hub_link *link);

/* The peer is proven dead: what it sent before is received, then the link closes with
 * RAPAHUB_EDIED, on this thread or on the one that holds the token. Any thread. */
void hub_link_dead(struct hub_link *link);

/* The same for a peer that said goodbye before and has unmapped the segment: RAPAHUB_ECLOSED. */
void hub_link_detached(struct hub_link *link);
int hub_link_cause(const struct hub_link *link); /* 0 while it is open */

/* Of one that nothing can be sent on any more: its cause, or the one it will have in a moment. */
int hub_link_fate(const struct hub_link *link);

/* Has the peer broken a rule? Whatever ended the link first. The rule, or the one of its end; "" if
 * none; a constant. */
bool hub_link_broken(const struct hub_link *link);
const char *hub_link_rule(const struct hub_link *link);

/* The thread's diagnosis says which rule the peer broke: says goodbye with it, and ends the link:
 * RAPAHUB_EPROTOCOL. A guest whose entry is another's by now blames nobody: RAPAHUB_ESTALE. Any
 * thread. */
int hub_link_violated(struct hub_link *link);

/* Says goodbye with a reason if there is room now; never waits. r[impl message.goodbye.send] */
void hub_link_say_goodbye(struct hub_link *link, const char *rule, const char *context);

/* Host: wakes the guest, whatever it sleeps for: it shall look at `host_goodbye`. */
void hub_link_alert(struct hub_link *link);

/* Guest: sets its state to Goodbye, and wakes the host. It is the last that this side writes, and
 * nothing is received any more: what is to be answered is answered before.
 * r[impl shm.goodbye.guest] */
void hub_link_leave(struct hub_link *link);

/* Is the entry this side's: a host's always, a guest's while it is Attached in its own life? */
bool hub_link_ours(const struct hub_link *link);

/* Do waits begin with a sleep, so that one that may only spin would be none? */
bool hub_link_naps(const struct hub_link *link);

/* Is a thread of this side receiving now? */
bool hub_link_receiving(const struct hub_link *link);

/* Makes the thread that leads look at its `done` again. Any thread. */
void hub_link_nudge(struct hub_link *link);

/* Guest: has the host said goodbye, or is the entry not ours any more? */
bool hub_link_host_left(const struct hub_link *link);

/* Are both rings empty, as far as this side can tell? For a graceful detach. */
bool hub_link_quiet(struct hub_link *link);

/* Reads the doorbell, for a side that nobody else receives for: false where the other end is gone.
 */
bool hub_link_hear(struct hub_link *link);

/* Makes cached slots free again before a long sleep. */
void hub_link_rest(struct hub_link *link);

const struct hub_limits *hub_link_limits(const struct hub_link *link);

/* How far behind a multiple of 64 memory for this payload is to begin, of a descriptor that nobody
 * need have checked: as far as in its slot; of one in the descriptor so far that bytes which are
 * all of their message begin at one. */
uint32_t hub_link_phase(const struct hub_link *link, const struct hub_descriptor *descriptor);

/* How large the messages of a long stream should be: larger ones wait for each other's slots. */
size_t hub_link_piece(const struct hub_link *link);

/* Private counters, any thread, any time. */
struct hub_link_counters {
    struct hub_a64 sent, received, sent_bytes, received_bytes, waits_ring, waits_slot;
    struct hub_a64 sent_slots, received_slots; /* messages whose payload was in a slot */
};
const struct hub_link_counters *hub_link_counters(const struct hub_link *link);
const struct hub_wait *hub_link_wakes(const struct hub_link *link); /* for its counters */

/* How much of everything there is now; any thread. What the peer has shown is cut at the size of a
 * ring. */
struct hub_link_gauges {
    uint32_t ring_out, ring_in;   /* descriptors that nobody has taken yet */
    struct hub_slot_counts slots; /* our own, of whichever guest */
};
void hub_link_gauge(const struct hub_link *link, struct hub_link_gauges *out);

#endif
