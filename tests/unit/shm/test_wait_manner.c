/* SPDX-License-Identifier: Apache-2.0 */
/* Where on the ladder a wait begins: seen by the bits that are armed when it looks. */
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/shm/wait.h"
#include "hub/shm/wait_for.h"
#include "tests/support/testing.h"

#define PATIENCE  (10 * HUB_SECOND)
#define SPAN      (20 * HUB_MILLISECOND)
#define OTHER_CPU UINT32_C(0xFFFF0000) /* a CPU that does not exist */
#define ARMED     (HUB_WAIT_RX_FUTEX | HUB_WAIT_RX_BELL)

struct side {
    struct hub_a32 own, peer;
    struct hub_wait wait;
    uint32_t seen;          /* bits that were armed at a look */
    unsigned looks, before; /* all; before the first that found a bit */
    unsigned rests, hang_ups;
    int bells[2];
    bool pinned;
    cpu_set_t allowed; /* before */
};

static void begin(struct side *side, enum hub_wait_manner manner)
{
    *side = (struct side){.rests = 0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, side->bells), 0);
    hub_store_relaxed(&side->peer, HUB_WAIT_PART | OTHER_CPU);
    hub_wait_init(&side->wait, &side->own, &side->peer, side->bells[0], -1);
    side->wait.manner = manner;
}

/* This thread and the peer are on one CPU, until the end. */
static void share_a_cpu(struct side *side)
{
    int cpu = sched_getcpu();
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    assert_int_equal(sched_getaffinity(0, sizeof side->allowed, &side->allowed), 0);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    side->pinned = true;
    hub_store_relaxed(&side->peer, HUB_WAIT_PART | ((uint32_t)cpu + 1) << HUB_WAIT_CPU_SHIFT);
}

static void end(struct side *side)
{
    if (side->pinned)
        assert_int_equal(sched_setaffinity(0, sizeof side->allowed, &side->allowed), 0);
    close(side->bells[0]);
    if (side->bells[1] >= 0)
        close(side->bells[1]);
}

static bool look(void *user)
{
    struct side *side = user;
    uint32_t bits = hub_load_relaxed(&side->own) & ARMED;

    side->looks++;
    if (side->seen == 0 && bits == 0)
        side->before++;
    side->seen |= bits;
    return side->hang_ups > 0;
}

static void count_rest(void *user)
{
    ((struct side *)user)->rests++;
}

static void count_hang_up(void *user)
{
    ((struct side *)user)->hang_ups++;
}

static int wait_so(struct side *side, enum hub_wait_stage last, uint64_t span_ns, bool idle)
{
    const struct hub_wait_order order = {.bits = HUB_WAIT_RX,
                                         .last = last,
                                         .idle = idle,
                                         .deadline_ns = hub_clock_after(span_ns),
                                         .ready = look,
                                         .hung_up = count_hang_up,
                                         .rest = count_rest,
                                         .user = side};

    return hub_wait_for(&side->wait, &order);
}

static int wait_for(struct side *side, enum hub_wait_stage last, uint64_t span_ns)
{
    return wait_so(side, last, span_ns, false);
}

/* r[verify hub.wait.ladder] */
static void one_that_adapts_looks_often_then_sleeps_at_the_futex_then_at_the_bell(void **state)
{
    struct side side;

    (void)state;
    begin(&side, HUB_WAIT_MANNER_ADAPT);
    assert_int_equal(wait_for(&side, HUB_WAIT_SLEEP, SPAN), -ETIMEDOUT);
    assert_true(side.before >= 16);
    assert_int_equal(side.seen, ARMED);
    assert_int_equal(side.rests, 1);
    end(&side);
}

/* It sleeps once, and checks before and after it. r[verify hub.wait.ladder] */
static void one_that_is_idle_sleeps_at_the_bell_at_once(void **state)
{
    struct side side;

    (void)state;
    begin(&side, HUB_WAIT_MANNER_ADAPT);
    assert_int_equal(wait_so(&side, HUB_WAIT_SLEEP, SPAN, true), -ETIMEDOUT);
    assert_int_equal(side.before, 1);
    assert_int_equal(side.seen, HUB_WAIT_RX_BELL);
    assert_int_equal(side.looks, 3);
    end(&side);
}

/* r[verify hub.wait.manner] */
static void one_that_sleeps_does_so_at_once(void **state)
{
    struct side side;

    (void)state;
    begin(&side, HUB_WAIT_MANNER_SLEEP);
    assert_int_equal(wait_for(&side, HUB_WAIT_SPIN, PATIENCE), -EAGAIN);
    assert_int_equal(side.looks, 1);
    side.looks = side.before = 0;
    assert_int_equal(wait_for(&side, HUB_WAIT_SLEEP, SPAN), -ETIMEDOUT);
    assert_int_equal(side.before, 1);
    assert_int_equal(side.seen, ARMED);
    end(&side);
    begin(&side, HUB_WAIT_MANNER_BELL);
    assert_int_equal(wait_for(&side, HUB_WAIT_SLEEP, SPAN), -ETIMEDOUT);
    assert_int_equal(side.before, 1);
    assert_int_equal(side.seen, HUB_WAIT_RX_BELL);
    end(&side);
}

/* r[verify hub.wait.manner] */
static void one_that_polls_arms_nothing(void **state)
{
    struct side side;

    (void)state;
    for (int same = 0; same <= 1; same++) {
        begin(&side, HUB_WAIT_MANNER_POLL);
        if (same == 1)
            share_a_cpu(&side);
        assert_int_equal(wait_for(&side, HUB_WAIT_SPIN, PATIENCE), -EAGAIN);
        for (int i = 0; i < 50 && side.rests < 2; i++) /* it may be kept from its CPU for a span */
            assert_int_equal(wait_for(&side, HUB_WAIT_SLEEP, SPAN), -ETIMEDOUT);
        assert_int_equal(side.seen, 0);
        assert_true(side.rests > 1);
        end(&side);
    }
}

/* An eventfd stands for the pidfd. r[verify hub.wait.manner] r[verify hub.wait.bound] */
static void one_that_polls_sees_the_end_of_its_peer(void **state)
{
    struct side side;

    (void)state;
    begin(&side, HUB_WAIT_MANNER_POLL);
    close(side.bells[1]);
    side.bells[1] = -1;
    assert_int_equal(wait_for(&side, HUB_WAIT_SLEEP, PATIENCE), 0);
    assert_int_equal(side.hang_ups, 1);
    end(&side);
    begin(&side, HUB_WAIT_MANNER_POLL);
    side.wait.pidfd = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(wait_for(&side, HUB_WAIT_SLEEP, PATIENCE), 0);
    assert_int_equal(side.hang_ups, 1);
    assert_int_equal(side.seen, 0);
    close(side.wait.pidfd);
    end(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_adapts_looks_often_then_sleeps_at_the_futex_then_at_the_bell),
        cmocka_unit_test(one_that_is_idle_sleeps_at_the_bell_at_once),
        cmocka_unit_test(one_that_sleeps_does_so_at_once),
        cmocka_unit_test(one_that_polls_arms_nothing),
        cmocka_unit_test(one_that_polls_sees_the_end_of_its_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
