/* SPDX-License-Identifier: Apache-2.0 */
/* wait: the wait words, waking a sleeper, and the information that each side publishes; wait_for.c
 * descends the ladder of waiting.
 *
 * Waking: publish, fence, read the sleeper's word, clear its bits by a read-modify-write, wake.
 * Sleeping: arm the bits, fence, check the resource, sleep while the word is as it was armed. The
 * fences are ordered, so either the sleeper sees the resource or the waker sees the bits. A plain
 * store in place of the read-modify-write would erase bits that were armed meanwhile.
 */
#include "hub/shm/wait.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/shm/wait_foreign.h"

#define GAP_MAX      100
#define CALIBRATIONS 200
#define CPU_MASK     UINT32_C(0xFFFF0000)
#define CPU_MAX      65534
#define CPU_TRIES    8
#define FUTEX_BITS   (HUB_WAIT_RX_FUTEX | HUB_WAIT_TX_FUTEX)
#define BELL_BITS    (HUB_WAIT_RX_BELL | HUB_WAIT_TX_BELL)
#define ANY_BITS     UINT32_MAX

/* Threads may lose counts to each other; none may pay for exact counts. */
static void count(struct hub_a64 *counter)
{
    hub_count64(counter, 1);
}

/* Returns the number of pauses that make a gap of 100 ns on this machine. */
static uint32_t calibrate_gap(void)
{
    uint64_t start = hub_clock_now(), cost, gap;

    for (int i = 0; i < CALIBRATIONS; i++)
        hub_pause();
    cost = hub_clock_now() - start;
    gap = (HUB_WAIT_GAP * CALIBRATIONS + cost / 2) / (cost ? cost : 1);
    if (gap > GAP_MAX)
        gap = GAP_MAX;
    return gap ? (uint32_t)gap : 1;
}

void hub_wait_init(struct hub_wait *wait, struct hub_a32 *own, struct hub_a32 *peer, int doorbell,
                   int pidfd)
{
    *wait = (struct hub_wait){
        .own = own,
        .peer = peer,
        .doorbell = doorbell,
        .ear = {.sealed = doorbell >= 0 && hub_doorbell_is_sealed(doorbell)},
        .pidfd = pidfd,
        .nudge = -1,
        .host_lock = -1,
        .gap = calibrate_gap(),
        .parent = pidfd < 0 && hub_doorbell_of_datagrams(doorbell) ? getppid() : 0,
    };
    hub_store_relaxed64(&wait->spin_ns, HUB_WAIT_SPIN_FULL);
    hub_store_relaxed64(&wait->near, HUB_WAIT_UNJUDGED);
    (void)hub_arm(own, HUB_WAIT_PART);
    hub_wait_show_cpu(wait);
}

static void clear(const struct hub_wait *wait, struct hub_a32 *word, uint32_t bits)
{
    if (hub_wait_is_ours(wait))
        (void)hub_clear_bits(word, bits);
}

/* An end that is gone needs no byte. A waiter there would see the hang-up itself, except with
 * datagrams. */
static void ring(struct hub_wait *wait)
{
    enum hub_bell bell = hub_doorbell_ring(wait->doorbell);

    if (bell == HUB_BELL_OWED) {
        hub_store_relaxed(&wait->bell_owed, 1);
        count(&wait->bells_owed);
    } else if (bell == HUB_BELL_GONE) {
        hub_store_relaxed(&wait->refused, 1);
    }
    count(&wait->wakes_bell);
}

static void wake_foreign(struct hub_wait *wait, struct hub_a32 *seed_word)
{
    if (seed_word) {
        hub_futex_wake(seed_word, ANY_BITS);
        count(&wait->wakes_futex);
    }
    if (wait->doorbell >= 0)
        ring(wait);
}

/* r[impl shm.wakeup.producer-wait] r[impl shm.wakeup.slot-wait] r[impl shm.doorbell.purpose]
 * r[impl shm.doorbell.ring-integration] r[impl shm.doorbell.optional] */
__attribute__((noinline)) void hub_wait_wake_sleeper(struct hub_wait *wait, uint32_t mask,
                                                     struct hub_a32 *seed_word)
{
    uint32_t claimed;

    if (!hub_wait_is_ours(wait))
        return;
    if (!hub_wait_takes_part(wait)) {
        wake_foreign(wait, seed_word);
        return;
    }
    claimed = hub_clear_bits(wait->peer, mask) & mask;
    if (claimed & FUTEX_BITS) {
        hub_futex_wake(wait->peer, mask);
        count(&wait->wakes_futex);
    }
    if ((claimed & BELL_BITS) && wait->doorbell >= 0)
        ring(wait);
}

void hub_wait_wake_all(struct hub_wait *wait, struct hub_a32 *seed_word)
{
    hub_futex_wake(wait->peer, ANY_BITS);
    wake_foreign(wait, seed_word);
}

void hub_wait_note_bell(struct hub_wait *wait)
{
    uint64_t traffic = 0;

    hub_wait_foreign_note_bell(wait);
    for (int i = 0; i < 2; i++)
        traffic += wait->messages[i] ? hub_load_relaxed64(wait->messages[i]) : 0;
    hub_flood_note(&wait->flood, hub_clock_now(), traffic);
}

void hub_wait_pay(struct hub_wait *wait)
{
    if (hub_load_relaxed(&wait->bell_owed) && hub_exchange(&wait->bell_owed, 0))
        ring(wait);
}

/* The closing thread set its flag before. A sleeper that armed its bits without seeing the flag
 * finds its word changed, or is woken. */
void hub_wait_wake_own(struct hub_wait *wait)
{
    hub_fence(wait->own);
    clear(wait, wait->own, FUTEX_BITS);
    hub_futex_wake(wait->own, HUB_WAIT_RX | HUB_WAIT_TX);
    if (wait->nudge >= 0)
        (void)eventfd_write(wait->nudge, 1); /* full means that it will be read */
}

/* A single read-modify-write, so that of two threads of this side one CPU is published, and no
 * mixture. The peer may prevent it by changing the word; then it does not know our CPU. */
void hub_wait_show_cpu(struct hub_wait *wait)
{
    int cpu = sched_getcpu();
    uint32_t field = cpu < 0 || cpu >= CPU_MAX ? 0 : (uint32_t)cpu + 1;

    if (field == hub_load_relaxed(&wait->cpu) || !hub_wait_is_ours(wait))
        return;
    for (int i = 0; i < CPU_TRIES; i++) {
        uint32_t word = hub_load_relaxed(wait->own);

        if (hub_claim(wait->own, word, (word & ~CPU_MASK) | field << HUB_WAIT_CPU_SHIFT)) {
            hub_store_relaxed(&wait->cpu, field);
            hub_store_relaxed64(&wait->near, HUB_WAIT_UNJUDGED);
            return;
        }
    }
}

void hub_wait_arm(struct hub_wait *wait, uint32_t bits)
{
    if (hub_wait_is_ours(wait))
        (void)hub_arm(wait->own, bits & BELL_BITS);
    hub_fence(wait->own);
}

/* A check first: if the bit is not set, the line is not written. */
void hub_wait_disarm(struct hub_wait *wait, uint32_t bits)
{
    if (hub_load_relaxed(wait->own) & bits & BELL_BITS)
        clear(wait, wait->own, bits & BELL_BITS);
}

static bool may_use_one_cpu(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1;
}

/* Compares the CPUs that both sides publish, each time, because threads are pinned and move at any
 * time. If one of them publishes none, a side that may use only one CPU is assumed to share it. */
bool hub_wait_is_same_cpu(const struct hub_wait *wait, uint32_t their_word)
{
    uint32_t theirs = their_word >> HUB_WAIT_CPU_SHIFT, ours = hub_load_relaxed(&wait->cpu);

    return theirs != 0 && ours != 0 ? theirs == ours : may_use_one_cpu();
}

void hub_wait_gap(const struct hub_wait *wait)
{
    for (uint32_t n = 0; n < wait->gap; n++)
        hub_pause();
}

__attribute__((noinline)) bool hub_wait_judge_near(struct hub_wait *wait, uint32_t theirs)
{
    bool near = (wait->manner == HUB_WAIT_MANNER_POLL || wait->manner == HUB_WAIT_MANNER_ADAPT) &&
                (theirs & HUB_WAIT_PART) != 0 && !hub_wait_is_same_cpu(wait, theirs);

    hub_store_relaxed64(&wait->near, near ? theirs : HUB_WAIT_UNJUDGED);
    return near;
}

bool hub_wait_is_elsewhere(const struct hub_wait *wait)
{
    uint32_t theirs = hub_load_relaxed(wait->peer);

    return theirs >> HUB_WAIT_CPU_SHIFT != 0 && !hub_wait_is_same_cpu(wait, theirs);
}
