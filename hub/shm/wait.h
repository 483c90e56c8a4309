/* SPDX-License-Identifier: Apache-2.0 */
/* wait: yield, spin, sleep; and wake who sleeps. No wake-up is lost, none is sent in vain.
 *
 * Each side has a word in the peer entry that says whether and how it sleeps. Who publishes
 * something wakes by hub_wait_wake; who waits goes down the ladder of hub_wait_for. Each sleep bit
 * of a word has at most one sleeping thread: the holder of the receive token for RX, the sender at
 * the head of the queue for TX. r[impl hub.wait.owner] */
#ifndef HUB_SHM_WAIT_H
#define HUB_SHM_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hub/base/atomic.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/flood.h"
#include "hub/shm/layout.h"

/* Where on the ladder a wait begins and ends. */
enum hub_wait_manner {
    HUB_WAIT_MANNER_ADAPT, /* all of it */
    HUB_WAIT_MANNER_POLL,  /* it never sleeps, and costs a CPU */
    HUB_WAIT_MANNER_SLEEP, /* at the futex */
    HUB_WAIT_MANNER_BELL   /* at the doorbell */
};

struct hub_wait {
    enum hub_wait_manner manner; /* set after init */
    struct hub_a32 *own;         /* our word */
    struct hub_a32 *peer;        /* theirs */
    const struct hub_a32 *life; /* guest, set after init: state and epoch of the entry; else NULL */
    uint64_t attached;          /* what they are as long as the entry is ours */
    int doorbell;               /* our end; -1: none */
    int pidfd;                  /* of the peer; -1: unknown */
    int nudge;                  /* eventfd that ends a poll; -1: none */
    struct hub_doorbell_ear ear; /* its inbox is set after init */
    int host_lock; /* segment file: without a doorbell its host is gone with its lock; -1: not */
    uint32_t gap;  /* pauses between two looks */
    bool watched;  /* set after init: who sleeps in the futex is told of the peer's end there */
    struct hub_a32 cpu;  /* as stored in our word; relaxed */
    struct hub_a64 near; /* their word when it was last found near; HUB_WAIT_UNJUDGED: it was not */
    struct hub_a64 spin_ns;                              /* the budget now */
    struct hub_a32 turns;                                /* waits so far: each 32nd spins in full */
    struct hub_a64 wakes_futex, wakes_bell, wakes_saved; /* counters; relaxed */
    struct hub_a64 bells_owed;                           /* how often one was */
    struct hub_a32 bell_owed;
    struct hub_flood flood;            /* of the peer, by its doorbell */
    const struct hub_a64 *messages[2]; /* sent and received so far, which explain bells; or NULL */
    struct hub_a32 peer_gone;          /* a hang-up was seen: the doorbell is not polled any more */
    pid_t parent;            /* of a guest with a doorbell of datagrams, at the start; else 0 */
    struct hub_a32 refused;  /* a datagram found nobody */
    struct hub_a32 smuggled; /* a descriptor came that nobody wants */
    struct hub_a32 unrung;   /* since the doorbell rang: see wait_foreign.h */
};

/* Marks our side as taking part; sleep bits that are armed stay so. Without a doorbell the peer's
 * end is looked for after each slice of 100 ms: at the pidfd, or at `host_lock`, set after this. */
void hub_wait_init(struct hub_wait *wait, struct hub_a32 *own, struct hub_a32 *peer, int doorbell,
                   int pidfd);

/* Something was published for the peer: `mask` is HUB_WAIT_RX or HUB_WAIT_TX or both. A peer that
 * does not take part is woken always, by doorbell and by a futex wake on `seed_word` (NULL: none).
 * r[impl shm.wakeup.consumer-wait] r[impl hub.wait.foreign] */
static inline void hub_wait_wake(struct hub_wait *wait, uint32_t mask, struct hub_a32 *seed_word);

/* The same behind a fence on the peer's word that stands behind the publication already. */
static inline void hub_wait_wake_settled(struct hub_wait *wait, uint32_t mask,
                                         struct hub_a32 *seed_word);

/* What that finds out first: nobody is to be woken. */
static inline bool hub_wait_is_awake(struct hub_wait *wait, uint32_t mask);

/* Wakes whoever sleeps at the other end, and writes nothing to the segment: for the last word of a
 * guest. */
void hub_wait_wake_all(struct hub_wait *wait, struct hub_a32 *seed_word);

/* The part of it for a peer that may sleep, or takes no part. */
void hub_wait_wake_sleeper(struct hub_wait *wait, uint32_t mask, struct hub_a32 *seed_word);

/* Does the peer take part now? Else tails, frees and grants are published at once, and it is woken
 * by the words of the specification. */
static inline bool hub_wait_takes_part(const struct hub_wait *wait)
{
    return (hub_peek(wait->peer) & HUB_WAIT_PART) != 0;
}

/* A guest that was given up while it stood still writes nothing into what is another's.
 * r[impl hub.death.guard] */
static inline bool hub_wait_is_ours(const struct hub_wait *wait)
{
    return !wait->life || hub_observe_pair(wait->life) == wait->attached;
}

/* Our doorbell woke us: a peer that rings for nothing again and again is not listened to for a
 * while. */
void hub_wait_note_bell(struct hub_wait *wait);

/* Reads our doorbell: false where the other end is gone, or a descriptor came that nobody wants:
 * then `smuggled` is set. Nobody else reads it. */
static inline bool hub_wait_drain(struct hub_wait *wait)
{
    enum hub_heard heard = hub_doorbell_drain(wait->doorbell, &wait->ear);

    if (heard == HUB_HEARD_DESCRIPTOR)
        hub_publish(&wait->smuggled, 1);
    return heard == HUB_HEARD_BELLS;
}

/* Rings again if a bell is owed. */
void hub_wait_pay(struct hub_wait *wait);

enum hub_wait_stage {
    HUB_WAIT_SPIN, /* yield and spin only */
    HUB_WAIT_SLEEP /* then futex, then poll of doorbell and pidfd */
};

/* What a thread waits for. */
struct hub_wait_order {
    /* HUB_WAIT_RX, HUB_WAIT_TX or both: the sleep bits this thread owns now. With RX it has the
     * receive token, and so it alone polls doorbell and pidfd; with TX alone it sleeps on futexes,
     * and who has the token sees the peer's end for both. */
    uint32_t bits;
    enum hub_wait_stage last;
    bool eager; /* a stream flows: as long as the peer is awake it pays to spin */
    bool idle;  /* nothing is outstanding, nor came for a while: it sleeps at the doorbell at once,
                 * and may sleep 10 s in one go, not 1 s */
    uint64_t deadline_ns;
    struct hub_a32 *seed_word; /* what a peer without doorbell that takes no part wakes; or NULL */
    bool (*ready)(
        void *user); /* the resource is there, or the link is closed; cheap, no lock held */
    void (*hung_up)(void *user); /* the doorbell, or then the pidfd, reports the peer's end */
    void (*rest)(void *user);    /* once, before it sleeps; NULL: nothing to do */
    void *user;
};

/* Does it pay to look for an answer before anything else is done: the peer takes part, and works on
 * another CPU? As long as its word and our CPU stay the same, and no look was in vain, the answer
 * does. */
#define HUB_WAIT_UNJUDGED (UINT64_C(1) << 32) /* no word */
bool hub_wait_judge_near(struct hub_wait *wait, uint32_t theirs);
static inline bool hub_wait_is_near(struct hub_wait *wait)
{
    uint32_t theirs = hub_peek(wait->peer);

    return theirs == hub_peek64(&wait->near) || hub_wait_judge_near(wait, theirs);
}

/* Does a peer that shows this word work on the CPU of this side? */
bool hub_wait_is_same_cpu(const struct hub_wait *wait, uint32_t their_word);

/* Does the peer work on another CPU than this side? False where that is not known. */
bool hub_wait_is_elsewhere(const struct hub_wait *wait);

#define HUB_WAIT_GAP       100                    /* ns */
#define HUB_WAIT_SPIN_FULL (20 * HUB_MICROSECOND) /* the whole budget */

/* A pause of that length, which leaves the line of the indices to the peer that writes it. */
void hub_wait_gap(const struct hub_wait *wait);

/* Wakes the own side's sleepers, where a thread of this side closes the link: those in futexes, and
 * with a `nudge` (set it after init) also who polls; without one that thread looks again at the end
 * of its slice. */
void hub_wait_wake_own(struct hub_wait *wait);

/* Shows on which CPU this side works now. */
void hub_wait_show_cpu(struct hub_wait *wait);

/* Arms and disarms the doorbell bits of `bits` for a loop that polls the doorbell itself: it looks
 * at the resource once more after arming, before it polls. */
void hub_wait_arm(struct hub_wait *wait, uint32_t bits);
void hub_wait_disarm(struct hub_wait *wait, uint32_t bits);

/* Behind that fence. */
static inline __attribute__((always_inline)) bool hub_wait_is_awake_settled(struct hub_wait *wait,
                                                                            uint32_t mask)
{
    if ((hub_peek(wait->peer) & (HUB_WAIT_PART | mask)) != HUB_WAIT_PART)
        return false;
    /* several threads may lose a count to each other; none may pay for it */
    hub_count64(&wait->wakes_saved, 1);
    return true;
}

static inline __attribute__((always_inline)) bool hub_wait_is_awake(struct hub_wait *wait,
                                                                    uint32_t mask)
{
    hub_settle(wait->peer);
    return hub_wait_is_awake_settled(wait, mask);
}

static inline __attribute__((always_inline)) void hub_wait_wake_settled(struct hub_wait *wait,
                                                                        uint32_t mask,
                                                                        struct hub_a32 *seed_word)
{
    if (!hub_wait_is_awake_settled(wait, mask))
        hub_wait_wake_sleeper(wait, mask, seed_word);
}

static inline __attribute__((always_inline)) void hub_wait_wake(struct hub_wait *wait,
                                                                uint32_t mask,
                                                                struct hub_a32 *seed_word)
{
    hub_settle(wait->peer);
    hub_wait_wake_settled(wait, mask, seed_word);
}

#endif
