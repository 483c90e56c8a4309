/* SPDX-License-Identifier: Apache-2.0 */
/* Arm, fence, look, sleep; publish, fence, look, wake: no wake-up is lost between the two. */
#include <string.h>

#include "hub/shm/ring.h"
#include "hub/shm/wait.h"
#include "tests/unit/ordering/ordering.h"

#define SIZE 2

struct rig {
    struct hub_ring_cell cells[SIZE];
    struct hub_a32 head, tail, sleepers_word, wakers_word;
    struct hub_ring_producer producer;
    struct hub_ring_consumer consumer;
    struct hub_wait sleeper, waker;
    bool sleeps;
};

static void begin(void *user)
{
    struct rig *rig = user;

    memset(rig, 0, sizeof *rig);
    hub_ring_producer_init(&rig->producer, rig->cells, SIZE, &rig->head, &rig->tail);
    hub_ring_consumer_init(&rig->consumer, rig->cells, SIZE, &rig->head, &rig->tail);
    hub_wait_init(&rig->sleeper, &rig->sleepers_word, &rig->wakers_word, -1, -1);
    hub_wait_init(&rig->waker, &rig->wakers_word, &rig->sleepers_word, -1, -1);
}

/* Asleep with its bit armed: it was not cleared, and will not be. */
static void nobody_sleeps_on(void *user)
{
    const struct rig *rig = user;

    weak_expect(!rig->sleeps || !(rig->sleepers_word.word & (HUB_WAIT_RX_BELL | HUB_WAIT_TX_BELL)),
                "asleep, and the bit still armed: the wake-up is lost");
}

static void send_and_wake(void *user)
{
    struct rig *rig = user;
    struct hub_descriptor descriptor = {.msg_type = HUB_DATA};

    (void)hub_ring_send(&rig->producer, &descriptor);
    hub_wait_wake(&rig->waker, HUB_WAIT_RX, NULL);
}

static void sleep_unless_ready(void *user)
{
    struct rig *rig = user;

    hub_wait_arm(&rig->sleeper, HUB_WAIT_RX);
    rig->sleeps = !hub_ring_ready(&rig->consumer);
}

/* r[verify shm.wakeup.consumer-wait] */
static void who_sleeps_for_a_message_is_woken(void **state)
{
    const struct weak_plan plan = {
        .begin = begin, .threads = {send_and_wake, sleep_unless_ready}, .end = nobody_sleeps_on};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

static void begin_full(void *user)
{
    struct rig *rig = user;
    struct hub_descriptor descriptor = {.msg_type = HUB_DATA};

    begin(user);
    (void)hub_ring_send(&rig->producer, &descriptor);
}

static void take_and_wake(void *user)
{
    struct rig *rig = user;
    struct hub_descriptor one;

    (void)hub_ring_pop(&rig->consumer, &one, 1);
    (void)hub_ring_show_tail(&rig->consumer);
    hub_wait_wake(&rig->waker, HUB_WAIT_TX, NULL);
}

static void sleep_unless_room(void *user)
{
    struct rig *rig = user;

    hub_wait_arm(&rig->sleeper, HUB_WAIT_TX);
    rig->sleeps = hub_ring_room(&rig->producer) != 1;
}

/* r[verify shm.wakeup.producer-wait] */
static void who_sleeps_for_room_is_woken(void **state)
{
    const struct weak_plan plan = {.begin = begin_full,
                                   .threads = {take_and_wake, sleep_unless_room},
                                   .end = nobody_sleeps_on};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

/* Two threads that wake: only one clears the bit. The sleeper finds both messages. */
static void close_and_wake(void *user)
{
    struct rig *rig = user;

    hub_wait_wake(&rig->waker, HUB_WAIT_TX, NULL);
}

static void arm_and_disarm(void *user)
{
    struct rig *rig = user;

    hub_wait_arm(&rig->sleeper, HUB_WAIT_TX);
    sleep_unless_ready(user);
    hub_wait_disarm(&rig->sleeper, HUB_WAIT_TX);
}

static void a_wake_for_another_bit_wipes_none_out(void **state)
{
    const struct weak_plan plan = {.begin = begin,
                                   .threads = {send_and_wake, arm_and_disarm, close_and_wake},
                                   .end = nobody_sleeps_on};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sleeps_for_a_message_is_woken),
        cmocka_unit_test(who_sleeps_for_room_is_woken),
        cmocka_unit_test(a_wake_for_another_bit_wipes_none_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
