/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hub/base/random.h"
#include "hub/shm/wait_for.h"
#include "tests/unit/shm/wait_pair.h"

static void taking_part_keeps_bits_and_shows_a_cpu(void **state)
{
    struct pair pair;
    uint32_t cpu;

    (void)state;
    begin_pair(&pair);
    hub_store_relaxed(&pair.words[0], HUB_WAIT_PART | HUB_WAIT_RX_BELL);
    hub_wait_init(&pair.side[0], &pair.words[0], &pair.words[1], -1, -1);
    assert_int_equal(bits_of(&pair, 0), HUB_WAIT_PART | HUB_WAIT_RX_BELL);
    assert_int_equal(bits_of(&pair, 1), HUB_WAIT_PART);
    cpu = hub_load_relaxed(&pair.words[0]) >> HUB_WAIT_CPU_SHIFT;
    assert_int_equal(cpu, hub_load_relaxed(&pair.side[0].cpu));
    assert_true(cpu > 0);
    assert_true(pair.side[0].gap >= 1 && pair.side[0].gap <= 100);
    end_pair(&pair);
}

static void who_is_awake_is_not_woken(void **state)
{
    struct pair pair;

    (void)state;
    begin_pair(&pair);
    hub_wait_wake(&pair.side[0], HUB_WAIT_RX | HUB_WAIT_TX, NULL);
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_saved) == 1);
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_futex) == 0);
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_bell) == 0);
    assert_false(has_byte(pair.bells[1]));
    end_pair(&pair);
}

static void a_wake_claims_the_bits_it_is_for_and_no_others(void **state)
{
    struct pair pair;

    (void)state;
    begin_pair(&pair);
    hub_wait_arm(&pair.side[1], HUB_WAIT_RX | HUB_WAIT_TX);
    assert_int_equal(bits_of(&pair, 1), HUB_WAIT_PART | HUB_WAIT_RX_BELL | HUB_WAIT_TX_BELL);
    hub_wait_wake(&pair.side[0], HUB_WAIT_RX, NULL);
    assert_int_equal(bits_of(&pair, 1), HUB_WAIT_PART | HUB_WAIT_TX_BELL);
    assert_true(has_byte(pair.bells[1]));
    assert_int_equal(hub_doorbell_drain(pair.bells[1], &(struct hub_doorbell_ear){.inbox = NULL}),
                     HUB_HEARD_BELLS);
    hub_wait_wake(&pair.side[0], HUB_WAIT_RX, NULL);
    assert_false(has_byte(pair.bells[1]));
    hub_wait_wake(&pair.side[0], HUB_WAIT_TX, NULL);
    assert_int_equal(bits_of(&pair, 1), HUB_WAIT_PART);
    assert_true(has_byte(pair.bells[1]));
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_bell) == 2);
    hub_wait_arm(&pair.side[1], HUB_WAIT_RX);
    hub_wait_disarm(&pair.side[1], HUB_WAIT_RX);
    assert_int_equal(bits_of(&pair, 1), HUB_WAIT_PART);
    end_pair(&pair);
}

static void a_bell_that_is_owed_is_rung_again(void **state)
{
    struct pair pair;

    (void)state;
    begin_pair(&pair);
    hub_wait_pay(&pair.side[0]);
    assert_false(has_byte(pair.bells[1]));
    hub_store_relaxed(&pair.side[0].bell_owed, 1);
    hub_wait_pay(&pair.side[0]);
    assert_true(has_byte(pair.bells[1]));
    assert_int_equal(hub_load_relaxed(&pair.side[0].bell_owed), 0);
    end_pair(&pair);
}

static void what_is_there_needs_no_wait(void **state)
{
    struct pair pair;
    struct thing thing = {.there = {1}};
    struct hub_wait_order order = order_for(&thing, HUB_WAIT_RX, 0);

    (void)state;
    begin_pair(&pair);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), 0);
    assert_int_equal(hub_load_relaxed(&pair.side[0].turns), 0);
    end_pair(&pair);
}

/* r[verify hub.wait.bound] r[verify shm.doorbell.ring-integration] */
static void a_wait_ends_at_its_deadline_and_leaves_no_bit_armed(void **state)
{
    static const uint32_t bits[] = {HUB_WAIT_RX, HUB_WAIT_TX, HUB_WAIT_RX | HUB_WAIT_TX};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct pair pair;
        struct thing thing = {0};
        struct hub_wait_order order;
        uint64_t start;

        begin_pair(&pair);
        start = hub_clock_now();
        order = order_for(&thing, bits[i], 5 * HUB_MILLISECOND);
        assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_ETIMEDOUT);
        assert_true(hub_clock_now() - start >= 5 * HUB_MILLISECOND);
        assert_true(hub_clock_now() - start < HUB_SECOND);
        assert_int_equal(bits_of(&pair, 0), HUB_WAIT_PART);
        assert_int_equal(hub_load_relaxed(&thing.hang_ups), 0);
        end_pair(&pair);
    }
}

static void who_may_only_spin_gives_up_and_arms_nothing(void **state)
{
    struct pair pair;
    struct thing thing = {0};
    struct hub_wait_order order = order_for(&thing, HUB_WAIT_RX, PATIENCE);

    (void)state;
    begin_pair(&pair);
    order.last = HUB_WAIT_SPIN;
    assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_EAGAIN);
    assert_int_equal(bits_of(&pair, 0), HUB_WAIT_PART);
    end_pair(&pair);
}

/* r[verify hub.wait.budget] */
static void the_budget_halves_in_vain_and_is_tried_in_full_each_32nd_time(void **state)
{
    struct pair pair;
    struct thing thing = {0};
    struct hub_wait_order order = order_for(&thing, HUB_WAIT_RX, PATIENCE);
    static const uint64_t budgets[] = {10000, 5000, 2500, 1250, 0, 0};

    (void)state;
    begin_pair(&pair);
    order.last = HUB_WAIT_SPIN;
    for (size_t i = 0; i < 6; i++) {
        hub_store_relaxed(&pair.words[1], HUB_WAIT_PART | OTHER_CPU);
        assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_EAGAIN);
        assert_int_equal(hub_load_relaxed64(&pair.side[0].spin_ns), budgets[i]);
    }
    hub_store_relaxed(&pair.side[0].turns, 30);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_EAGAIN);
    assert_int_equal(hub_load_relaxed(&pair.side[0].turns), 31);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_EAGAIN);
    assert_int_equal(hub_load_relaxed64(&pair.side[0].spin_ns), 0);
    end_pair(&pair);
}

/* A peer that goes to sleep when it was looked at so often. */
struct drowsy {
    struct pair *pair;
    uint32_t looks, most;
};

static bool grows_drowsy(void *user)
{
    struct drowsy *drowsy = user;

    if (++drowsy->looks == drowsy->most)
        hub_store_relaxed(&drowsy->pair->words[1], HUB_WAIT_PART | OTHER_CPU | HUB_WAIT_RX_FUTEX);
    return false;
}

/* The shortest of some waits in vain that only spin: whoever is interrupted takes longer. */
static uint64_t shortest_spin(struct pair *pair, bool eager, uint32_t most)
{
    struct drowsy drowsy = {.pair = pair, .most = most};
    struct hub_wait_order order = {.bits = HUB_WAIT_TX,
                                   .last = HUB_WAIT_SPIN,
                                   .eager = eager,
                                   .deadline_ns = hub_clock_after(PATIENCE),
                                   .ready = grows_drowsy,
                                   .user = &drowsy};
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < 256; i++) {
        uint64_t start = hub_clock_now(), took;

        drowsy.looks = 0;
        hub_store_relaxed(&pair->words[1], HUB_WAIT_PART | OTHER_CPU);
        hub_store_relaxed64(&pair->side[0].spin_ns, HUB_WAIT_SPIN_FULL);
        assert_int_equal(hub_wait_for(&pair->side[0], &order), RAPAHUB_EAGAIN);
        took = hub_clock_now() - start;
        shortest = took < shortest ? took : shortest;
    }
    return shortest;
}

/* r[verify hub.wait.budget] */
static void a_stream_spins_longer_for_as_long_as_its_peer_is_awake(void **state)
{
    struct pair pair;

    (void)state;
    begin_pair(&pair);
    assert_true(shortest_spin(&pair, true, UINT32_MAX) >= HUB_WAIT_FOR_STREAM);
    assert_true(shortest_spin(&pair, true, 2) < HUB_WAIT_FOR_STREAM);
    assert_true(shortest_spin(&pair, false, UINT32_MAX) < HUB_WAIT_FOR_STREAM);
    end_pair(&pair);
}

/* Sleeps in the stage whose bits are given, is woken, and the byte of a bell is read. */
static void wake_out_of(uint32_t bits, uint32_t mask, uint32_t stage)
{
    struct pair pair;
    struct thing thing = {0};
    struct sleeper sleeper = {.order = order_for(&thing, bits, PATIENCE)};
    uint64_t start;

    begin_pair(&pair);
    sleeper.wait = &pair.side[0];
    start_sleeper(&sleeper);
    until_armed(&pair.words[0], stage);
    start = hub_clock_now();
    hub_publish(&thing.there, 1);
    hub_wait_wake(&pair.side[1], mask, NULL);
    join_sleeper(&sleeper);
    assert_true(hub_clock_now() - start < SLICE);
    assert_int_equal(bits_of(&pair, 0), HUB_WAIT_PART);
    end_pair(&pair);
}

/* r[verify shm.wakeup.producer-wait] r[verify shm.wakeup.slot-wait] */
static void sleepers_of_every_stage_are_woken(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        wake_out_of(HUB_WAIT_RX, HUB_WAIT_RX, HUB_WAIT_RX);
        wake_out_of(HUB_WAIT_TX, HUB_WAIT_TX, HUB_WAIT_TX_FUTEX);
        wake_out_of(HUB_WAIT_RX | HUB_WAIT_TX, HUB_WAIT_TX, HUB_WAIT_TX);
        wake_out_of(HUB_WAIT_RX, HUB_WAIT_RX, HUB_WAIT_RX_BELL);
        wake_out_of(HUB_WAIT_RX | HUB_WAIT_TX, HUB_WAIT_TX, HUB_WAIT_TX_BELL);
    }
}

static void the_own_side_wakes_its_sleepers_of_every_stage(void **state)
{
    static const uint32_t stages[] = {HUB_WAIT_RX, HUB_WAIT_RX_BELL};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pair pair;
        struct thing thing = {0};
        struct sleeper sleeper = {.order = order_for(&thing, HUB_WAIT_RX, PATIENCE)};
        uint64_t start;

        begin_pair(&pair);
        pair.side[0].nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        sleeper.wait = &pair.side[0];
        start_sleeper(&sleeper);
        until_armed(&pair.words[0], stages[i]);
        start = hub_clock_now();
        hub_publish(&thing.there, 1);
        hub_wait_wake_own(&pair.side[0]);
        join_sleeper(&sleeper);
        assert_true(hub_clock_now() - start < SLICE);
        close(pair.side[0].nudge);
        end_pair(&pair);
    }
}

/* A program may have closed its standard input. */
static void a_nudge_goes_through_any_descriptor(void **state)
{
    int input = dup(0), nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct pair pair;
    eventfd_t nudges = 0;

    (void)state;
    begin_pair(&pair);
    assert_true(input >= 0 && nudge >= 0);
    assert_int_equal(dup2(nudge, 0), 0);
    pair.side[0].nudge = 0;
    hub_wait_wake_own(&pair.side[0]);
    assert_int_equal(eventfd_read(nudge, &nudges), 0);
    assert_int_equal(nudges, 1);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
    close(nudge);
    end_pair(&pair);
}

/* r[verify shm.doorbell.death] r[verify shm.doorbell.purpose] */
static void a_hang_up_is_reported_once_and_ends_the_wait(void **state)
{
    struct pair pair;
    struct thing thing = {.hang_up_makes_ready = true};
    struct hub_wait_order order;
    uint64_t start;

    (void)state;
    begin_pair(&pair);
    close(pair.bells[1]);
    pair.bells[1] = -1;
    start = hub_clock_now();
    order = order_for(&thing, HUB_WAIT_RX, PATIENCE);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), 0);
    assert_true(hub_clock_now() - start < SLICE);
    assert_int_equal(hub_load_relaxed(&thing.hang_ups), 1);
    hub_publish(&thing.there, 0);
    order = order_for(&thing, HUB_WAIT_RX, 30 * HUB_MILLISECOND);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_ETIMEDOUT);
    assert_int_equal(hub_load_relaxed(&thing.hang_ups), 1);
    end_pair(&pair);
}

/* An eventfd stands for the pidfd: it becomes readable just so. */
static void a_death_is_reported_after_the_hang_up_that_hinted_at_it(void **state)
{
    struct pair pair;
    struct thing thing = {0};
    struct hub_wait_order order;

    (void)state;
    begin_pair(&pair);
    pair.side[0].pidfd = eventfd(0, EFD_CLOEXEC);
    close(pair.bells[1]);
    pair.bells[1] = -1;
    order = order_for(&thing, HUB_WAIT_RX, 200 * HUB_MILLISECOND);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_ETIMEDOUT);
    assert_int_equal(hub_load_relaxed(&thing.hang_ups), 1);
    assert_int_equal(eventfd_write(pair.side[0].pidfd, 1), 0);
    order = order_for(&thing, HUB_WAIT_RX, 200 * HUB_MILLISECOND);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_ETIMEDOUT);
    assert_int_equal(hub_load_relaxed(&thing.hang_ups), 2);
    close(pair.side[0].pidfd);
    end_pair(&pair);
}

/* Its byte and its hang-up are for who has the receive token. */
static void who_waits_to_send_leaves_the_doorbell_alone(void **state)
{
    struct pair pair;
    struct thing thing = {0};
    struct hub_wait_order order;

    (void)state;
    begin_pair(&pair);
    assert_int_equal(hub_doorbell_ring(pair.bells[1]), HUB_BELL_RUNG);
    close(pair.bells[1]);
    pair.bells[1] = -1;
    for (int foreign = 0; foreign <= 1; foreign++) {
        hub_store_relaxed(&pair.words[1], foreign ? 0 : HUB_WAIT_PART);
        order = order_for(&thing, HUB_WAIT_TX, 3 * HUB_MILLISECOND);
        assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_ETIMEDOUT);
        assert_int_equal(hub_load_relaxed(&thing.hang_ups), 0);
        assert_int_equal(hub_load_relaxed(&pair.side[0].peer_gone), 0);
        assert_true(has_byte(pair.bells[0]));
    }
    end_pair(&pair);
}

/* A peer that writes what it likes into both words. */
struct scribbler {
    struct hub_a32 *words;
    struct hub_a32 stop;
};

static void *scribble(void *user)
{
    struct scribbler *scribbler = user;
    struct hub_random random;

    hub_random_init(&random, 3);
    while (hub_observe(&scribbler->stop) == 0)
        hub_store_relaxed(&scribbler->words[hub_random_next(&random) & 1],
                          (uint32_t)hub_random_next(&random));
    return NULL;
}

static void a_peer_that_scribbles_on_the_words_costs_no_more_than_time(void **state)
{
    struct pair pair;
    struct scribbler scribbler = {.words = pair.words};
    struct thing thing = {0};
    pthread_t thread;
    uint64_t start;

    (void)state;
    begin_pair(&pair);
    assert_int_equal(pthread_create(&thread, NULL, scribble, &scribbler), 0);
    start = hub_clock_now();
    for (uint32_t i = 0; i < 10; i++) {
        struct hub_wait_order order =
            order_for(&thing, i % 2 ? HUB_WAIT_RX : HUB_WAIT_TX, 5 * HUB_MILLISECOND);

        assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_ETIMEDOUT);
        hub_wait_wake(&pair.side[0], HUB_WAIT_RX, NULL);
        hub_wait_show_cpu(&pair.side[0]);
    }
    assert_true(hub_clock_now() - start < 10 * SLICE);
    hub_publish(&scribbler.stop, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_pair(&pair);
}

/* r[verify shm.doorbell.purpose] */
static void a_ring_is_no_hang_up(void **state)
{
    struct pair pair;
    struct thing thing = {.hang_up_makes_ready = true};
    struct hub_wait_order order;

    (void)state;
    begin_pair(&pair);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hub_doorbell_ring(pair.bells[1]), HUB_BELL_RUNG);
        order = order_for(&thing, HUB_WAIT_RX, 50 * HUB_MILLISECOND);
        assert_int_equal(hub_wait_for(&pair.side[0], &order), RAPAHUB_ETIMEDOUT);
        assert_int_equal(hub_load_relaxed(&thing.hang_ups), 0);
    }
    assert_int_equal(hub_doorbell_ring(pair.bells[1]), HUB_BELL_RUNG);
    close(pair.bells[1]);
    pair.bells[1] = -1;
    order = order_for(&thing, HUB_WAIT_RX, PATIENCE);
    assert_int_equal(hub_wait_for(&pair.side[0], &order), 0);
    assert_int_equal(hub_load_relaxed(&thing.hang_ups), 1);
    end_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taking_part_keeps_bits_and_shows_a_cpu),
        cmocka_unit_test(who_is_awake_is_not_woken),
        cmocka_unit_test(a_wake_claims_the_bits_it_is_for_and_no_others),
        cmocka_unit_test(a_bell_that_is_owed_is_rung_again),
        cmocka_unit_test(what_is_there_needs_no_wait),
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_leaves_no_bit_armed),
        cmocka_unit_test(who_may_only_spin_gives_up_and_arms_nothing),
        cmocka_unit_test(the_budget_halves_in_vain_and_is_tried_in_full_each_32nd_time),
        cmocka_unit_test(a_stream_spins_longer_for_as_long_as_its_peer_is_awake),
        cmocka_unit_test(sleepers_of_every_stage_are_woken),
        cmocka_unit_test(the_own_side_wakes_its_sleepers_of_every_stage),
        cmocka_unit_test(a_nudge_goes_through_any_descriptor),
        cmocka_unit_test(a_hang_up_is_reported_once_and_ends_the_wait),
        cmocka_unit_test(a_death_is_reported_after_the_hang_up_that_hinted_at_it),
        cmocka_unit_test(who_waits_to_send_leaves_the_doorbell_alone),
        cmocka_unit_test(a_peer_that_scribbles_on_the_words_costs_no_more_than_time),
        cmocka_unit_test(a_ring_is_no_hang_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
