/* SPDX-License-Identifier: Apache-2.0 */
/* wait: waiting for the other side by yielding, spinning and sleeping, and waking it. No wake-up is
 * lost, and none is sent without need.
 *
 * Each side has a word in the peer entry that says whether and how it sleeps. A side that publishes
 * something wakes the other by hub_wait_wake; a waiting side descends the ladder of hub_wait_for.
 * Each sleep bit of a word has at most one sleeping thread: the holder of the receive token for RX,
 * the sender at the head of the queue for TX. r[impl hub.wait.owner]
 */
#ifndef HUB_SHM_WAIT_H
#define HUB_SHM_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hub/base/atomic.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/flood.h"
#include "hub/shm/layout.h"

/* The steps of the ladder that a wait uses. */
enum hub_wait_manner {
    HUB_WAIT_MANNER_ADAPT, /* all of them */
    HUB_WAIT_MANNER_POLL,  /* it never sleeps, and occupies a CPU */
    HUB_WAIT_MANNER_SLEEP, /* it sleeps on the futex */
    HUB_WAIT_MANNER_BELL   /* it sleeps on the doorbell */
};

struct hub_wait {
    enum hub_wait_manner manner; /* set after init */
    struct hub_a32 *own;         /* our word */
    struct hub_a32 *peer;        /* theirs */
    const struct hub_a32 *life; /* guest, set after init: state and epoch of the entry; else NULL */
    uint64_t attached;          /* their value as long as the entry is ours */
    int doorbell;               /* our end; -1: none */
    int pidfd;                  /* of the peer; -1: unknown */
    int nudge;                  /* eventfd that ends a poll; -1: none */
    struct hub_doorbell_ear ear; /* its inbox is set after init */
    /* segment file, whose lock shows the host's death if there is no doorbell; -1: none */
    int host_lock;
    uint32_t gap;       /* pauses between two checks */
    bool watched;       /* set after init: the peer's death wakes a sleeper in the futex */
    struct hub_a32 cpu; /* as stored in our word; relaxed */
    /* their word when it was last judged near; HUB_WAIT_UNJUDGED: it was not */
    struct hub_a64 near;
    struct hub_a64 spin_ns;                              /* the current spin budget */
    struct hub_a32 turns;                                /* waits so far: each 32nd spins in full */
    struct hub_a64 wakes_futex, wakes_bell, wakes_saved; /* counters; relaxed */
    struct hub_a64 bells_owed;                           /* how often a byte was owed */
    struct hub_a32 bell_owed;
    struct hub_flood flood; /* of the peer, by its doorbell */
    /* messages sent and received so far, which explain wake-ups; or NULL */
    const struct hub_a64 *messages[2];
    struct hub_a32 peer_gone; /* a hang-up was seen: the doorbell is no longer polled */
    pid_t parent;             /* of a guest with a doorbell of datagrams, at the start; else 0 */
    struct hub_a32 refused;   /* a datagram found no receiver */
    struct hub_a32 smuggled;  /* an unwanted descriptor came */
    struct hub_a32 unrung;    /* messages since the doorbell rang: see wait_foreign.h */
};

/* Marks our side as taking part; armed sleep bits are kept. Without a doorbell the peer's death is
 * checked for after each slice of 100 ms, by the pidfd, or by `host_lock`, which is set
 * afterwards. */
void hub_wait_init(struct hub_wait *wait, struct hub_a32 *own, struct hub_a32 *peer, int doorbell,
                   int pidfd);

/* Something was published for the peer: wakes it if it sleeps. `mask` is HUB_WAIT_RX or HUB_WAIT_TX
 * or both. A peer that does not take part is always woken, by the doorbell and by a futex wake on
 * `seed_word` (NULL: none). r[impl shm.wakeup.consumer-wait] r[impl hub.wait.foreign] */
static inline void hub_wait_wake(struct hub_wait *wait, uint32_t mask, struct hub_a32 *seed_word);

/* The same after a fence on the peer's word that already follows the publication. */
static inline void hub_wait_wake_settled(struct hub_wait *wait, uint32_t mask,
                                         struct hub_a32 *seed_word);

/* Says that no sleeper must be woken: the first check of both. */
static inline bool hub_wait_is_awake(struct hub_wait *wait, uint32_t mask);

/* Wakes all sleepers at the other end, and writes nothing to the segment: for the last message of a
 * guest. */
void hub_wait_wake_all(struct hub_wait *wait, struct hub_a32 *seed_word);

/* The rest of hub_wait_wake, for a peer that may sleep or does not take part. */
void hub_wait_wake_sleeper(struct hub_wait *wait, uint32_t mask, struct hub_a32 *seed_word);

/* Says whether the peer takes part now. Otherwise tails, frees and grants are published at once,
 * and the peer is woken through the words of the specification. */
static inline bool hub_wait_takes_part(const struct hub_wait *wait)
{
    return (hub_load_relaxed(wait->peer) & HUB_WAIT_PART) != 0;
}

/* A guest that was given up while it was stopped must not write into an entry that belongs to
 * another. r[impl hub.death.guard] */
static inline bool hub_wait_is_ours(const struct hub_wait *wait)
{
    return !wait->life || hub_observe_pair(wait->life) == wait->attached;
}

/* The doorbell woke this side. A peer that rings again and again without need is ignored for a
 * while. */
void hub_wait_note_bell(struct hub_wait *wait);

/* Reads our doorbell. False if the other end is gone, or if an unwanted descriptor came; then
 * `smuggled` is set. This function is its only reader. */
static inline bool hub_wait_drain(struct hub_wait *wait)
{
    enum hub_heard heard = hub_doorbell_drain(wait->doorbell, &wait->ear);

    if (heard == HUB_HEARD_DESCRIPTOR)
        hub_publish(&wait->smuggled, 1);
    return heard == HUB_HEARD_BELLS;
}

/* Sends the byte that is owed, if any. */
void hub_wait_pay(struct hub_wait *wait);

enum hub_wait_stage {
    HUB_WAIT_SPIN, /* yield and spin only */
    HUB_WAIT_SLEEP /* then futex, then poll of doorbell and pidfd */
};

/* The condition that a thread waits for, and how it may wait. */
struct hub_wait_order {
    /* HUB_WAIT_RX, HUB_WAIT_TX or both: the sleep bits that this thread owns now. With RX it has
     * the receive token, and so it alone polls doorbell and pidfd. With TX alone it sleeps on
     * futexes, and the holder of the token notices the peer's death for both. */
    uint32_t bits;
    enum hub_wait_stage last;
    bool eager; /* a stream flows: spinning pays as long as the peer is awake */
    /* nothing is outstanding, and nothing came for a while: it sleeps on the doorbell at once, up
     * to 10 s at a time instead of 1 s */
    bool idle;
    uint64_t deadline_ns;
    /* woken by a peer that has no doorbell and does not take part; or NULL */
    struct hub_a32 *seed_word;
    /* the resource is there, or the link is closed; cheap, called without a lock */
    bool (*ready)(void *user);
    void (*hung_up)(void *user); /* the doorbell, or later the pidfd, reports the peer's death */
    void (*rest)(void *user);    /* called once, before it sleeps; NULL: nothing to do */
    void *user;
};

/* Says whether spinning for an answer pays: the peer takes part and runs on another CPU. The result
 * holds as long as the peer's word and our CPU are the same, and no spinning was in vain. */
#define HUB_WAIT_UNJUDGED (UINT64_C(1) << 32) /* the value of no word */
bool hub_wait_judge_near(struct hub_wait *wait, uint32_t theirs);
static inline bool hub_wait_is_near(struct hub_wait *wait)
{
    uint32_t theirs = hub_load_relaxed(wait->peer);

    return theirs == hub_load_relaxed64(&wait->near) || hub_wait_judge_near(wait, theirs);
}

/* Says whether a peer that publishes this word runs on the CPU of this side. */
bool hub_wait_is_same_cpu(const struct hub_wait *wait, uint32_t their_word);

/* Says whether the peer runs on another CPU than this side. False if that is not known. */
bool hub_wait_is_elsewhere(const struct hub_wait *wait);

#define HUB_WAIT_GAP       100                    /* ns */
#define HUB_WAIT_SPIN_FULL (20 * HUB_MICROSECOND) /* the whole budget */

/* Pauses for that long, which leaves the cache line of the indices to the peer that writes it. */
void hub_wait_gap(const struct hub_wait *wait);

/* Wakes this side's own sleepers when one of its threads closes the link: those in futexes and,
 * with a `nudge` (set after init), also one that polls. Without a nudge that thread notices at the
 * end of its slice. */
void hub_wait_wake_own(struct hub_wait *wait);

/* Publishes the CPU on which this side runs now. */
void hub_wait_show_cpu(struct hub_wait *wait);

/* Arm and disarm the doorbell bits of `bits`, for a loop that polls the doorbell itself. After
 * arming it checks the resource once more before it polls. */
void hub_wait_arm(struct hub_wait *wait, uint32_t bits);
void hub_wait_disarm(struct hub_wait *wait, uint32_t bits);

/* The fence must already have happened. */
static inline __attribute__((always_inline)) bool hub_wait_is_awake_settled(struct hub_wait *wait,
                                                                            uint32_t mask)
{
    if ((hub_load_relaxed(wait->peer) & (HUB_WAIT_PART | mask)) != HUB_WAIT_PART)
        return false;
    /* threads may lose counts to each other; none may pay for exact counts */
    hub_count64(&wait->wakes_saved, 1);
    return true;
}

static inline __attribute__((always_inline)) bool hub_wait_is_awake(struct hub_wait *wait,
                                                                    uint32_t mask)
{
    hub_fence(wait->peer);
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
    hub_fence(wait->peer);
    hub_wait_wake_settled(wait, mask, seed_word);
}

#endif
