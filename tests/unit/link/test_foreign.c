/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that takes no part in the wait words: it sleeps on the words of the specification, and
 * sees at once what is published for it. */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hub/channel/channel_stream.h"
#include "hub/link/link_state.h"
#include "tests/unit/link/channel_pair.h"

#define SLOTS 40 /* so that some have their bit in the upper half of a word */

/* A thread that sleeps on a word as a foreign peer does. */
struct sleeper {
    struct hub_a32 *word;
    pthread_t thread;
    atomic_int id;
    int result;
};

static void *sleep_on_word(void *user)
{
    struct sleeper *sleeper = user;
    uint32_t seen = hub_observe(sleeper->word);

    atomic_store(&sleeper->id, gettid());
    sleeper->result =
        hub_futex_wait(sleeper->word, seen, UINT32_MAX, hub_clock_after(10 * HUB_SECOND));
    return NULL;
}

static bool is_asleep(int thread)
{
    char path[64], text[256] = "", *state;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    state = strrchr(text, ')');
    return state && state[2] == 'S';
}

static void start_sleeper(struct sleeper *sleeper, struct hub_a32 *word)
{
    *sleeper = (struct sleeper){.word = word};
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_on_word, sleeper), 0);
    while (atomic_load(&sleeper->id) == 0 || !is_asleep(atomic_load(&sleeper->id)))
        sched_yield();
}

/* It slept until it was woken: not until its time was over. */
static void check_woken(struct sleeper *sleeper)
{
    assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
    assert_int_equal(sleeper->result, 0);
}

static void open_wide(struct pair *pair)
{
    struct hub_limits limits = pair_limits();

    limits.ring_size = 64;
    limits.slot_count = SLOTS;
    pair_open(pair, &limits, 0);
    hub_store_relaxed(&pair->guest.view.entry->guest_wait, 0);
}

static void send_bytes(struct end *end, uint32_t id, size_t size)
{
    static const uint8_t bytes[5000];
    const struct hub_message message = {HUB_REQUEST, id, 99};
    const struct hub_parts parts = {.head = {bytes, size}};

    assert_int_equal(hub_link_send(end->connection.link, &message, &parts, 0), 0);
}

/* r[verify hub.wait.foreign] r[verify shm.wakeup.slot-wait] */
static void a_slot_wakes_its_half_of_the_bitmap_word_and_the_first(void **state)
{
    struct sleeper upper, first;
    struct hub_a32 *words;
    struct pair pair;

    (void)state;
    open_wide(&pair);
    words = (struct hub_a32 *)(void *)pair.guest.view.guest_pool;
    for (uint32_t i = 0; i < 34; i++)
        send_bytes(&pair.guest, i + 1, 100);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 33), 33);
    start_sleeper(&upper, &words[1]);
    start_sleeper(&first, &words[0]);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 1), 1);
    check_woken(&upper);
    check_woken(&first);
    assert_int_equal(hub_observe(&words[1]), 3); /* slots 32 and 33 */
    pair_close(&pair);
}

static void check_halves(struct end *from, struct end *to, struct hub_a64 *head, size_t size)
{
    struct hub_a32 *words = (struct hub_a32 *)(void *)head;
    struct sleeper lower, upper;

    send_bytes(from, 1 + (uint32_t)size, size);
    start_sleeper(&lower, &words[0]);
    start_sleeper(&upper, &words[1]);
    assert_int_equal(hub_link_sweep(to->connection.link, 1), 1);
    check_woken(&lower);
    check_woken(&upper);
}

/* It may wait for either half of the head of the stack to which the slot comes back: a guest for
 * that of its own, a host for the class's. r[verify hub.wait.foreign] r[verify
 * shm.wakeup.slot-wait]
 */
static void a_slot_of_a_size_class_wakes_both_halves_of_its_stack(void **state)
{
    static const size_t sizes[] = {1000, 5000}; /* classes 0 and 1 */
    struct hub_limits limits = pair_limits();
    struct hub_slot_map *map;
    struct pair pair;

    (void)state;
    limits.payload_max = 8000;
    pair_open(&pair, &limits, 0);
    hub_store_relaxed(&pair.guest.view.entry->guest_wait, 0);
    hub_store_relaxed(&pair.guest.view.entry->host_wait, 0);
    map = &pair.guest.pool.cache->map;
    for (uint32_t c = 0; c < 2; c++) {
        check_halves(&pair.guest, &pair.host, &hub_slot_class_peer(map, pair.peer, c)->free_head,
                     sizes[c]);
        check_halves(&pair.host, &pair.guest, &map->of[c].header->free_head, sizes[c]);
    }
    pair_close(&pair);
}

/* r[verify hub.wait.foreign] r[verify shm.goodbye.guest] */
static void a_guest_that_leaves_wakes_the_head(void **state)
{
    struct sleeper sleeper;
    struct pair pair;

    (void)state;
    open_wide(&pair);
    hub_store_relaxed(&pair.host.view.entry->host_wait, 0);
    start_sleeper(&sleeper, &pair.host.view.entry->guest_to_host_head);
    hub_link_leave(pair.guest.connection.link);
    check_woken(&sleeper);
    pair_close(&pair);
}

/* In `ready`, which nothing else counts here: one more than the tail when the first request came.
 */
static void note_tail(void *user)
{
    struct end *end = user;

    if (hub_load_relaxed(&end->ready) == 0)
        hub_store_relaxed(&end->ready, hub_observe(&end->view.entry->guest_to_host_tail) + 1);
}

/* r[verify hub.wait.foreign] r[verify hub.ring.lazy-tail] */
static void its_tail_is_shown_before_the_messages_are_handled(void **state)
{
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++) {
        struct pair pair;

        open_wide(&pair);
        hub_store_relaxed(&pair.guest.view.entry->guest_wait, foreign ? 0 : HUB_WAIT_PART);
        pair.host.connection.events.on_request = note_tail;
        for (uint32_t i = 0; i < 3; i++)
            send_bytes(&pair.guest, i + 1, 4);
        assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 3);
        assert_int_equal(hub_load_relaxed(&pair.host.ready), foreign ? 4 : 1);
        pair_close(&pair);
    }
}

/* r[verify hub.wait.foreign] r[verify hub.channel.grant] */
static void it_is_granted_credit_for_each_element_that_was_read(void **state)
{
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++) {
        struct flow flow;
        char bytes[100] = {0};

        flow_open(&flow, false);
        hub_store_relaxed(&flow.pair.host.view.entry->guest_wait, foreign ? 0 : HUB_WAIT_PART);
        for (int i = 0; i < 2; i++)
            assert_int_equal(hub_channel_writer_write(flow_sender(&flow), bytes, sizeof bytes), 0);
        flow_sweep(&flow);
        assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), bytes, sizeof bytes), 100);
        assert_int_equal(hub_channel_table_granted(hub_channel_entry_of(flow_sender(&flow))),
                         foreign ? 1024 + 101 : 1024);
        flow_close(&flow);
    }
}

/* A peer that takes no part shows it. r[verify hub.ring.convention] */
static void who_takes_part_counts_freely(void **state)
{
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++) {
        struct hub_limits limits = pair_limits();
        struct hub_descriptor *cells;
        struct pair pair;
        int r;

        limits.guests_max = 2;
        pair_open(&pair, &limits, 0);
        hub_store_relaxed(&pair.guest.view.entry->guest_wait, foreign ? 0 : HUB_WAIT_PART);
        for (uint32_t i = 0; i < 7; i++)
            send_bytes(&pair.guest, i + 1, 4);
        assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 7);
        cells = (struct hub_descriptor *)(void *)pair.guest.view.guest_to_host;
        cells[7] = cells[6];
        cells[7].id = 8;
        hub_publish(&pair.guest.view.entry->guest_to_host_head, 0); /* 8 of 8 */
        r = hub_link_sweep(pair.host.connection.link, 1);
        assert_int_equal(r, foreign ? 1 : RAPAHUB_EPROTOCOL);
        pair_close(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_wakes_its_half_of_the_bitmap_word_and_the_first),
        cmocka_unit_test(a_slot_of_a_size_class_wakes_both_halves_of_its_stack),
        cmocka_unit_test(a_guest_that_leaves_wakes_the_head),
        cmocka_unit_test(its_tail_is_shown_before_the_messages_are_handled),
        cmocka_unit_test(it_is_granted_credit_for_each_element_that_was_read),
        cmocka_unit_test(who_takes_part_counts_freely),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
