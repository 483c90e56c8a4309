/* SPDX-License-Identifier: Apache-2.0 */
/* No wake-up is lost: the steps one by one, then two threads, each with its own mapping of one
 * segment, as host and guest are. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/ring.h"
#include "hub/shm/wait.h"
#include "hub/shm/wait_for.h"
#include "tests/support/testing.h"

#define HANDOVERS 100000
#define TURNS     30000
#define PATIENCE  (60 * HUB_SECOND) /* no test waits so long */
/* a thread that lost a wake-up sleeps until 1 s is over */
#define SLICE (900 * HUB_MILLISECOND)

struct party {
    struct hub_segment *segment;
    struct hub_segment_view view;
    struct hub_ring_producer out;
    struct hub_ring_consumer in;
    struct hub_wait wait;
    uint32_t count;
    uint32_t long_waits;
    bool begins;
    bool spins;
    int failure;
};

static bool has_message(void *user)
{
    return hub_ring_ready(&((struct party *)user)->in);
}

static bool has_room(void *user)
{
    return hub_ring_room(&((struct party *)user)->out) != 0;
}

static void never_hung_up(void *user)
{
    ((struct party *)user)->failure = RAPAHUB_EDIED;
}

static bool wait_as(struct party *party, uint32_t bits, bool (*ready)(void *))
{
    uint64_t start = hub_clock_now();
    const struct hub_wait_order order = {.bits = bits,
                                         .last = HUB_WAIT_SLEEP,
                                         .deadline_ns = start + PATIENCE,
                                         .ready = ready,
                                         .hung_up = never_hung_up,
                                         .user = party};
    int r;

    if (!party->spins)
        hub_store_relaxed64(&party->wait.spin_ns, 0);
    r = hub_wait_for(&party->wait, &order);
    party->long_waits += hub_clock_now() - start > SLICE;
    if (r < 0)
        party->failure = r;
    return party->failure == 0;
}

static void show_tail(struct party *party)
{
    if (hub_ring_show_tail(&party->in))
        hub_wait_wake(&party->wait, HUB_WAIT_TX, party->in.tail);
}

static bool send_number(struct party *party, uint32_t number)
{
    const struct hub_descriptor descriptor = {.msg_type = HUB_DATA, .id = number};

    if (!has_room(party) && !wait_as(party, HUB_WAIT_TX, has_room))
        return false;
    hub_ring_put(&party->out, &descriptor);
    hub_ring_publish(&party->out);
    hub_wait_wake(&party->wait, HUB_WAIT_RX, party->out.head);
    return true;
}

static bool receive_number(struct party *party, uint32_t number)
{
    struct hub_descriptor descriptor;

    if (!has_message(party)) {
        show_tail(party);
        if (!wait_as(party, HUB_WAIT_RX, has_message))
            return false;
    }
    if (hub_ring_pop(&party->in, &descriptor, 1) != 1 || descriptor.id != number)
        party->failure = RAPAHUB_EPROTOCOL;
    if (hub_ring_tail_due(&party->in))
        show_tail(party);
    return party->failure == 0;
}

static void *hand_over(void *user)
{
    struct party *party = user;

    for (uint32_t i = 0; i < party->count; i++) {
        if (party->begins && !send_number(party, i))
            break;
        if (!receive_number(party, i))
            break;
        if (!party->begins && !send_number(party, i))
            break;
    }
    return NULL;
}

static void *stream_out(void *user)
{
    struct party *party = user;

    for (uint32_t i = 0; i < party->count && send_number(party, i); i++)
        ;
    return NULL;
}

static void *stream_in(void *user)
{
    struct party *party = user;

    for (uint32_t i = 0; i < party->count && receive_number(party, i); i++)
        ;
    return NULL;
}

static void open_parties(struct party parties[2], int bells[2])
{
    static const struct hub_limits limits = {.payload_max = 60,
                                             .credit_size = 1024,
                                             .guests_max = 1,
                                             .ring_size = 4,
                                             .slot_size = 64,
                                             .slot_count = 3,
                                             .channels_max = 4};
    struct party *host = &parties[0], *guest = &parties[1];
    struct hub_peer_entry *entry;
    uint32_t peer = 0, epoch = 0;
    char path[64];

    assert_int_equal(hub_segment_create(&limits, false, &host->segment), 0);
    assert_int_equal(hub_peer_table_reserve(host->segment, &peer, &epoch), 0);
    hub_segment_view(host->segment, peer, &host->view);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", host->segment->mapping.fd);
    assert_int_equal(hub_segment_attach(path, peer, &guest->segment, &guest->view), 0);
    assert_int_equal(hub_doorbell_create(&bells[0], &bells[1]), 0);
    entry = host->view.entry;
    hub_ring_producer_init(&host->out, host->view.host_to_guest, 4, &entry->host_to_guest_head,
                           &entry->host_to_guest_tail);
    hub_ring_consumer_init(&host->in, host->view.guest_to_host, 4, &entry->guest_to_host_head,
                           &entry->guest_to_host_tail);
    hub_wait_init(&host->wait, &entry->host_wait, &entry->guest_wait, bells[0], -1);
    hub_wait_disarm(&host->wait, HUB_WAIT_RX);
    entry = guest->view.entry;
    hub_ring_producer_init(&guest->out, guest->view.guest_to_host, 4, &entry->guest_to_host_head,
                           &entry->guest_to_host_tail);
    hub_ring_consumer_init(&guest->in, guest->view.host_to_guest, 4, &entry->host_to_guest_head,
                           &entry->host_to_guest_tail);
    hub_wait_init(&guest->wait, &entry->guest_wait, &entry->host_wait, bells[1], -1);
    assert_int_equal(hub_peer_table_attach(entry, &epoch), 0);
}

/* The first thread is the host's. */
static void run_parties(uint32_t count, bool spins, void *(*host)(void *), void *(*guest)(void *))
{
    struct party parties[2] = {{.begins = true, .count = count, .spins = spins},
                               {.count = count, .spins = spins}};
    pthread_t threads[2];
    int bells[2];

    open_parties(parties, bells);
    assert_int_equal(pthread_create(&threads[0], NULL, host, &parties[0]), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, guest, &parties[1]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parties[i].failure, 0);
        assert_int_equal(parties[i].long_waits, 0);
        hub_segment_release(&parties[i].segment);
        close(bells[i]);
    }
}

/* r[verify hub.wait.owner] r[verify hub.wait.ladder] r[verify shm.wakeup.consumer-wait] */
static void no_wake_up_is_lost_in_handovers(void **state)
{
    (void)state;
    run_parties(HANDOVERS / 2, true, hand_over, hand_over);
}

static void no_wake_up_is_lost_by_those_who_sleep_at_once(void **state)
{
    (void)state;
    run_parties(HANDOVERS / 10, false, hand_over, hand_over);
}

static void no_wake_up_is_lost_in_a_stream_through_a_small_ring(void **state)
{
    (void)state;
    run_parties(HANDOVERS, true, stream_out, stream_in);
    run_parties(HANDOVERS / 5, false, stream_in, stream_out);
}

/* Two words and no doorbell: the steps of the protocol one by one, or against each other. */
struct words {
    _Alignas(64) struct hub_a32 waker_word;
    _Alignas(64) struct hub_a32 sleeper_word;
    _Alignas(64) struct hub_a32 resource;
    _Alignas(64) struct hub_a32 turn_of_waker;
    _Alignas(64) struct hub_a32 turn_of_sleeper;
    struct hub_wait waker, sleeper;
    uint32_t stage; /* the bits that must be armed when the resource comes */
    struct hub_a32 stop;
};

static void begin_words(struct words *words)
{
    *words = (struct words){0};
    hub_wait_init(&words->waker, &words->waker_word, &words->sleeper_word, -1, -1);
    hub_wait_init(&words->sleeper, &words->sleeper_word, &words->waker_word, -1, -1);
}

static bool comes_while_armed(void *user)
{
    struct words *words = user;

    if (hub_observe(&words->sleeper_word) & words->stage)
        hub_publish(&words->resource, 1);
    return hub_observe(&words->resource) != 0;
}

static void no_hang_up(void *user)
{
    (void)user;
    fail_msg("nobody hung up");
}

/* The resource is there just between arming and sleeping: it is seen by the look in between, or not
 * before the deadline. */
/* A wait in which the resource comes between the arming and the last check. */
static int wait_while_it_comes(uint32_t stage, uint64_t span_ns)
{
    struct words words;
    struct hub_wait_order order = {.bits = HUB_WAIT_RX,
                                   .last = HUB_WAIT_SLEEP,
                                   .ready = comes_while_armed,
                                   .hung_up = no_hang_up,
                                   .user = &words};
    int end = eventfd(0, EFD_CLOEXEC), r; /* stands for a doorbell: something to poll */

    begin_words(&words);
    words.stage = stage;
    words.sleeper.doorbell = end;
    order.deadline_ns = hub_clock_after(span_ns);
    r = hub_wait_for(&words.sleeper, &order);
    close(end);
    return r;
}

/* A machine that takes the CPU away for the whole span may do so once, not ten times. */
static void what_comes_while_a_waiter_arms_is_seen_before_it_sleeps(void **state)
{
    static const uint32_t stages[] = {HUB_WAIT_RX_FUTEX, HUB_WAIT_RX_BELL};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        int r = RAPAHUB_ETIMEDOUT;

        for (int tries = 0; r != 0 && tries < 10; tries++)
            r = wait_while_it_comes(stages[i], i == 0 ? 10 * HUB_MILLISECOND : HUB_SECOND / 2);
        assert_int_equal(r, 0);
    }
}

/* Both are let go at the same moment, if each has a CPU; else they take turns. */
static void take_turn(struct hub_a32 *own, const struct hub_a32 *other)
{
    uint32_t turn = hub_load_relaxed(own) + 1;

    hub_publish(own, turn);
    for (uint32_t i = 0; hub_observe(other) < turn; i++)
        if (i >= 1000)
            sched_yield();
}

/* A few cycles, another number each time. */
static void delay(const struct hub_a32 *own, uint32_t cycles)
{
    while (cycles-- > 0)
        (void)hub_observe(own);
}

static void *wake_each_turn(void *user)
{
    struct words *words = user;

    for (uint32_t i = 0; i < TURNS; i++) {
        take_turn(&words->turn_of_waker, &words->turn_of_sleeper);
        (void)hub_observe(&words->sleeper_word);
        take_turn(&words->turn_of_waker, &words->turn_of_sleeper);
        delay(&words->turn_of_waker, i % 61 * 4);
        hub_publish(&words->resource, i + 1);
        hub_wait_wake(&words->waker, HUB_WAIT_RX, NULL);
        take_turn(&words->turn_of_waker, &words->turn_of_sleeper);
    }
    return NULL;
}

/* Either the sleeper sees the resource, or the waker its bits: both may, one must. Each has just
 * read what the other will write, so that its own store is late and its load early. */
static void a_publication_and_an_arming_never_miss_each_other(void **state)
{
    struct words words;
    pthread_t thread;

    (void)state;
    begin_words(&words);
    assert_int_equal(pthread_create(&thread, NULL, wake_each_turn, &words), 0);
    for (uint32_t i = 0; i < TURNS; i++) {
        bool seen;

        take_turn(&words.turn_of_sleeper, &words.turn_of_waker);
        (void)hub_observe(&words.resource);
        take_turn(&words.turn_of_sleeper, &words.turn_of_waker);
        delay(&words.turn_of_sleeper, i % 59 * 4);
        hub_wait_arm(&words.sleeper, HUB_WAIT_RX);
        seen = hub_load_relaxed(&words.resource) == i + 1;
        take_turn(&words.turn_of_sleeper, &words.turn_of_waker);
        assert_true(seen || !(hub_load_relaxed(&words.sleeper_word) & HUB_WAIT_RX));
        hub_wait_disarm(&words.sleeper, HUB_WAIT_RX);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *wake_receivers(void *user)
{
    struct words *words = user;

    while (hub_observe(&words->stop) == 0)
        hub_wait_wake(&words->waker, HUB_WAIT_RX, NULL);
    return NULL;
}

static void a_claim_leaves_what_comes_while_armed_meanwhile(void **state)
{
    struct words words;
    pthread_t thread;

    (void)state;
    begin_words(&words);
    assert_int_equal(pthread_create(&thread, NULL, wake_receivers, &words), 0);
    for (uint32_t i = 0; i < HANDOVERS; i++) {
        hub_wait_arm(&words.sleeper, HUB_WAIT_RX);
        for (uint32_t n = i % 8; n > 0; n--)
            hub_pause();
        hub_wait_arm(&words.sleeper, HUB_WAIT_TX);
        assert_true(hub_observe(&words.sleeper_word) & HUB_WAIT_TX_BELL);
        hub_wait_disarm(&words.sleeper, HUB_WAIT_TX);
        assert_false(hub_observe(&words.sleeper_word) & HUB_WAIT_TX_BELL);
    }
    hub_publish(&words.stop, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static bool has_resource(void *user)
{
    return hub_observe(&((struct words *)user)->resource) != 0;
}

static void *sleep_for_space(void *user)
{
    struct words *words = user;
    const struct hub_wait_order order = {.bits = HUB_WAIT_TX,
                                         .last = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(PATIENCE),
                                         .ready = has_resource,
                                         .hung_up = no_hang_up,
                                         .user = words};

    (void)hub_wait_for(&words->sleeper, &order);
    return NULL;
}

/* From the publication until a sender in a long sleep is awake. */
static uint64_t time_of_wake(void)
{
    struct words words;
    pthread_t thread;
    uint64_t start;

    begin_words(&words);
    assert_int_equal(pthread_create(&thread, NULL, sleep_for_space, &words), 0);
    while (!(hub_observe(&words.sleeper_word) & HUB_WAIT_TX_FUTEX))
        sched_yield();
    start = hub_clock_now();
    while (hub_clock_now() - start < 2 * HUB_MILLISECOND) /* the short stage is over then */
        sched_yield();
    start = hub_clock_now();
    hub_publish(&words.resource, 1);
    hub_wait_wake(&words.waker, HUB_WAIT_TX, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return hub_clock_now() - start;
}

static void a_sleeping_sender_does_not_wait_for_the_end_of_its_slice(void **state)
{
    unsigned quick = 0;

    (void)state;
    for (int i = 0; i < 10; i++)
        quick += time_of_wake() < 30 * HUB_MILLISECOND;
    assert_true(quick >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_while_a_waiter_arms_is_seen_before_it_sleeps),
        cmocka_unit_test(a_publication_and_an_arming_never_miss_each_other),
        cmocka_unit_test(a_claim_leaves_what_comes_while_armed_meanwhile),
        cmocka_unit_test(a_sleeping_sender_does_not_wait_for_the_end_of_its_slice),
        cmocka_unit_test(no_wake_up_is_lost_in_handovers),
        cmocka_unit_test(no_wake_up_is_lost_by_those_who_sleep_at_once),
        cmocka_unit_test(no_wake_up_is_lost_in_a_stream_through_a_small_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
