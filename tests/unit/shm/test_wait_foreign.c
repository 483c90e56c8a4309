/* SPDX-License-Identifier: Apache-2.0 */
/* How we wake, and wait for, a peer that takes no part in the wait words. */
#include <limits.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "hub/shm/wait_for.h"
#include "hub/shm/wait_foreign.h"
#include "tests/support/pause.h"
#include "tests/unit/shm/wait_pair.h"

/* r[verify hub.wait.foreign] r[verify shm.doorbell.optional] */
static void a_peer_that_does_not_take_part_is_woken_always(void **state)
{
    struct pair pair;
    struct hub_a32 head = {0};

    (void)state;
    begin_pair(&pair);
    hub_store_relaxed(&pair.words[1], 0);
    hub_wait_wake(&pair.side[0], HUB_WAIT_RX, &head);
    assert_true(has_byte(pair.bells[1]));
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_futex) == 1);
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_bell) == 1);
    hub_wait_wake(&pair.side[0], HUB_WAIT_RX, NULL);
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_futex) == 1);
    assert_true(hub_load_relaxed64(&pair.side[0].wakes_bell) == 2);
    end_pair(&pair);
}

static void a_peer_that_never_wakes_is_looked_after_by_ourselves(void **state)
{
    struct pair pair;
    struct thing thing = {0};
    struct sleeper sleeper = {.order = order_for(&thing, HUB_WAIT_RX, PATIENCE)};
    uint64_t start;

    (void)state;
    begin_pair(&pair);
    hub_store_relaxed(&pair.words[1], 0);
    sleeper.wait = &pair.side[0];
    start_sleeper(&sleeper);
    until_armed(&pair.words[0], HUB_WAIT_RX_BELL);
    start = hub_clock_now();
    hub_publish(&thing.there, 1);
    join_sleeper(&sleeper);
    assert_true(hub_clock_now() - start < SLICE);
    end_pair(&pair);
}

/* Wakes the sleepers on the word until there was one. */
static void until_woken(struct hub_a32 *word)
{
    while (syscall(SYS_futex, &word->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) == 0)
        sched_yield();
}

/* r[verify hub.wait.foreign] */
static void without_a_doorbell_a_wait_for_it_sleeps_on_the_word_it_wakes(void **state)
{
    struct pair pair;
    struct thing thing = {0};
    struct hub_a32 head = {0};
    struct sleeper sleeper = {.order = order_for(&thing, HUB_WAIT_RX, PATIENCE)};

    (void)state;
    begin_pair(&pair);
    hub_store_relaxed(&pair.words[1], 0);
    pair.side[0].doorbell = -1;
    sleeper.wait = &pair.side[0];
    sleeper.order.seed_word = &head;
    start_sleeper(&sleeper);
    until_woken(&head);
    hub_publish(&thing.there, 1);
    hub_add(&head, 1);
    join_sleeper(&sleeper);
    end_pair(&pair);
}

/* A peer with a doorbell that takes no part; side 0 waits for it. */
struct foreign {
    struct pair pair;
    struct thing thing;
    struct hub_a32 head;
    struct sleeper sleeper;
};

static void begin_foreign(struct foreign *with)
{
    *with = (struct foreign){0};
    begin_pair(&with->pair);
    hub_store_relaxed(&with->pair.words[1], 0);
    with->sleeper.wait = &with->pair.side[0];
    with->sleeper.order = order_for(&with->thing, HUB_WAIT_RX, PATIENCE);
    with->sleeper.order.seed_word = &with->head;
}

/* A message comes while the other side sleeps at the doorbell, which rings, or does not. Between
 * the bits and its sleep the other side would find the message by itself, and no bell. */
static void send_to_sleeper(struct foreign *with, bool rings)
{
    hub_publish(&with->thing.there, 0);
    start_sleeper(&with->sleeper);
    until_armed(&with->pair.words[0], HUB_WAIT_RX_BELL);
    pause_ns(200 * HUB_MICROSECOND);
    hub_add(&with->head, 1);
    hub_publish(&with->thing.there, 1);
    if (rings)
        assert_int_equal(hub_doorbell_ring(with->pair.bells[1]), HUB_BELL_RUNG);
    join_sleeper(&with->sleeper);
}

/* r[verify shm.wakeup.consumer-wait] r[verify hub.wait.foreign] */
static void who_finds_two_messages_without_a_bell_sleeps_on_the_word(void **state)
{
    struct foreign with;

    (void)state;
    begin_foreign(&with);
    send_to_sleeper(&with, false);
    assert_false(hub_wait_foreign_by_futex(&with.pair.side[0]));
    /* a message between two slices is not counted */
    for (int i = 0; i < 50 && !hub_wait_foreign_by_futex(&with.pair.side[0]); i++)
        send_to_sleeper(&with, false);
    assert_true(hub_wait_foreign_by_futex(&with.pair.side[0]));
    hub_publish(&with.thing.there, 0);
    start_sleeper(&with.sleeper);
    until_woken(&with.head);
    hub_publish(&with.thing.there, 1);
    hub_add(&with.head, 1);
    join_sleeper(&with.sleeper);
    assert_int_equal(bits_of(&with.pair, 0), HUB_WAIT_PART);
    end_pair(&with.pair);
}

/* On a busy machine a slice may end twice between a message and its bell. */
static bool stays_at_the_doorbell(void)
{
    struct foreign with;
    bool stays = true;

    begin_foreign(&with);
    for (int i = 0; i < 10 && stays; i++) {
        send_to_sleeper(&with, true);
        stays = !hub_wait_foreign_by_futex(&with.pair.side[0]);
    }
    end_pair(&with.pair);
    return stays;
}

static void a_bell_that_is_heard_makes_it_sleep_at_the_doorbell_again(void **state)
{
    struct foreign with;
    bool stays = false;

    (void)state;
    for (int i = 0; i < 50 && !stays; i++)
        stays = stays_at_the_doorbell();
    assert_true(stays);
    begin_foreign(&with);
    for (int i = 0; i < HUB_WAIT_FOREIGN_UNRUNG; i++)
        hub_wait_foreign_note_unrung(&with.pair.side[0]);
    assert_true(hub_wait_foreign_by_futex(&with.pair.side[0]));
    hub_publish(&with.thing.there, 0);
    start_sleeper(&with.sleeper);
    until_woken(&with.head);
    assert_int_equal(hub_doorbell_ring(with.pair.bells[1]), HUB_BELL_RUNG);
    until_armed(&with.pair.words[0], HUB_WAIT_RX_BELL);
    hub_publish(&with.thing.there, 1);
    join_sleeper(&with.sleeper);
    assert_false(hub_wait_foreign_by_futex(&with.pair.side[0]));
    end_pair(&with.pair);
}

static void who_takes_part_is_never_taken_for_such_a_peer(void **state)
{
    struct foreign with;

    (void)state;
    begin_foreign(&with);
    hub_store_relaxed(&with.pair.words[1], HUB_WAIT_PART);
    for (int i = 0; i < HUB_WAIT_FOREIGN_UNRUNG; i++)
        hub_wait_foreign_note_unrung(&with.pair.side[0]);
    assert_false(hub_wait_foreign_by_futex(&with.pair.side[0]));
    end_pair(&with.pair);
}

/* Idle, it looks each 10 ms only. */
static void who_sleeps_on_the_word_is_woken_from_inside_too(void **state)
{
    struct foreign with;

    (void)state;
    begin_foreign(&with);
    for (int i = 0; i < HUB_WAIT_FOREIGN_UNRUNG; i++)
        hub_wait_foreign_note_unrung(&with.pair.side[0]);
    start_sleeper(&with.sleeper);
    until_armed(&with.pair.words[0], HUB_WAIT_RX_FUTEX);
    assert_true(hub_wait_foreign_sleeps(&with.pair.side[0]));
    hub_publish(&with.thing.there, 1);
    hub_wait_wake_own(&with.pair.side[0]);
    join_sleeper(&with.sleeper);
    assert_false(hub_wait_foreign_sleeps(&with.pair.side[0]));
    end_pair(&with.pair);
}

static struct hub_wait of_datagrams(struct pair *pair)
{
    struct hub_wait wait;

    for (int i = 0; i < 2; i++)
        close(pair->bells[i]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair->bells),
                     0);
    hub_wait_init(&wait, &pair->words[0], &pair->words[1], pair->bells[0], -1);
    return wait;
}

/* Two processes: the first ends as soon as the second, its child, has its wait; that one tells by
 * `to` how often it was told of a hang-up. */
__attribute__((noreturn)) static void orphan_a_waiter(struct pair *pair, int to)
{
    struct thing thing = {.hang_up_makes_ready = true};
    struct hub_wait_order order = order_for(&thing, HUB_WAIT_RX, 10 * HUB_SECOND);
    struct hub_wait wait;
    int ready[2];
    char byte = 0;
    pid_t child;

    if (pipe(ready) < 0)
        _exit(1);
    child = fork();
    if (child > 0)
        _exit(read(ready[0], &byte, 1) == 1 ? 0 : 1);
    wait = of_datagrams(pair);
    if (child < 0 || write(ready[1], &byte, 1) != 1)
        _exit(1);
    (void)hub_wait_for(&wait, &order);
    byte = (char)hub_load_relaxed(&thing.hang_ups);
    _exit(write(to, &byte, 1) == 1 ? 0 : 1);
}

/* The other end stays open: it cannot hang up. r[verify hub.wait.foreign] */
static void another_parent_is_the_end_of_a_host_with_a_doorbell_of_datagrams(void **state)
{
    struct pair pair;
    uint64_t start;
    int pipes[2];
    char hang_ups = 0;
    pid_t child;

    (void)state;
    begin_pair(&pair);
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0)
        orphan_a_waiter(&pair, pipes[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    start = hub_clock_now();
    assert_int_equal(read(pipes[0], &hang_ups, 1), 1);
    assert_int_equal(hang_ups, 1);
    assert_true(hub_clock_now() - start < SLICE);
    close(pipes[0]);
    close(pipes[1]);
    end_pair(&pair);
}

static void a_datagram_that_finds_nobody_is_a_hang_up(void **state)
{
    struct pair pair;
    struct thing thing = {.hang_up_makes_ready = true};
    struct hub_wait_order order;
    struct hub_wait wait;
    uint64_t start;

    (void)state;
    begin_pair(&pair);
    wait = of_datagrams(&pair);
    hub_store_relaxed(&pair.words[1], 0);
    close(pair.bells[1]);
    pair.bells[1] = -1;
    hub_wait_wake(&wait, HUB_WAIT_RX, NULL);
    start = hub_clock_now();
    order = order_for(&thing, HUB_WAIT_RX, PATIENCE);
    assert_int_equal(hub_wait_for(&wait, &order), 0);
    assert_true(hub_clock_now() - start < SLICE);
    assert_int_equal(hub_load_relaxed(&thing.hang_ups), 1);
    end_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_does_not_take_part_is_woken_always),
        cmocka_unit_test(a_peer_that_never_wakes_is_looked_after_by_ourselves),
        cmocka_unit_test(without_a_doorbell_a_wait_for_it_sleeps_on_the_word_it_wakes),
        cmocka_unit_test(who_finds_two_messages_without_a_bell_sleeps_on_the_word),
        cmocka_unit_test(a_bell_that_is_heard_makes_it_sleep_at_the_doorbell_again),
        cmocka_unit_test(who_takes_part_is_never_taken_for_such_a_peer),
        cmocka_unit_test(who_sleeps_on_the_word_is_woken_from_inside_too),
        cmocka_unit_test(another_parent_is_the_end_of_a_host_with_a_doorbell_of_datagrams),
        cmocka_unit_test(a_datagram_that_finds_nobody_is_a_hang_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
