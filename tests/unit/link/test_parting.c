/* SPDX-License-Identifier: Apache-2.0 */
/* A guest whose entry is no longer its own: it has said goodbye, or was given up while it was
 * stopped, and the host has reset the entry, or handed it on. Nothing of it is accepted, nothing is
 * written, and no peer is blamed. */
#include <stdlib.h>
#include <sys/socket.h>

#include "hub/channel/channel_stream.h"
#include "hub/link/send_queue.h"
#include "tests/unit/link/channel_pair.h"
#include "tests/unit/link/direct_inbound.h"

#define WHOLE 1000 /* bytes of a payload in a slot */

/* The steps of a host that cleans up as soon as it sees a Goodbye, in its order; and then of the
 * next life in the entry. */
enum after { RESET, EMPTIED, RESERVED, REPLACED, AFTERS };

static void clean_up(const struct pair *pair, enum after until)
{
    struct hub_peer_entry *entry = pair->host.view.entry;
    struct hub_a32 *indices[] = {&entry->guest_to_host_head, &entry->guest_to_host_tail,
                                 &entry->host_to_guest_head, &entry->host_to_guest_tail};

    hub_peer_table_goodbye(entry);
    for (int i = 0; i < 4; i++)
        hub_publish(indices[i], 0);
    hub_publish(&entry->guest_wait, 0);
    if (until >= EMPTIED)
        hub_publish(&entry->state, HUB_PEER_EMPTY);
    if (until >= RESERVED) {
        hub_publish(&entry->state, HUB_PEER_RESERVED);
        hub_add(&entry->epoch, 1);
    }
    if (until >= REPLACED) { /* and has had seven requests */
        hub_publish(&entry->host_to_guest_head, 7);
        hub_publish(&entry->host_to_guest_tail, 7);
        hub_publish(&entry->guest_wait, HUB_WAIT_PART | HUB_WAIT_RX_FUTEX);
        hub_publish(&entry->state, HUB_PEER_ATTACHED);
    }
}

static uint8_t *copy_segment(const struct pair *pair)
{
    uint8_t *copy = malloc(pair->host.segment->mapping.size);

    assert_non_null(copy);
    memcpy(copy, pair->host.segment->mapping.data, pair->host.segment->mapping.size);
    return copy;
}

static void check_unwritten(const struct pair *pair, uint8_t *before)
{
    assert_memory_equal(before, pair->host.segment->mapping.data, pair->host.segment->mapping.size);
    free(before);
}

static void send_to(const struct pair *pair, uint32_t id, size_t size)
{
    static const uint8_t bytes[WHOLE];
    const struct hub_message message = {HUB_REQUEST, id, METHOD};
    const struct hub_parts parts = {.head = {bytes, size}};

    assert_int_equal(hub_link_send(pair->host.connection.link, &message, &parts, 0), 0);
}

/* `shared`: the host may count modulo, and has not shown yet whether it does. */
static void open_parting(struct pair *pair, bool shared, bool foreign)
{
    struct hub_limits limits = pair_limits();

    limits.guests_max = shared ? 2 : 1;
    open_direct(pair, &limits, 0);
    if (foreign)
        hub_store_relaxed(&pair->host.view.entry->host_wait, 0);
}

/* Six were received; the ring's contents with a head of 0 look like two more, or like no place in
 * it at all. */
static void take_six(struct pair *pair)
{
    for (uint32_t i = 1; i <= 6; i++)
        send_to(pair, i, 4);
    assert_int_equal(hub_link_sweep(pair->guest.connection.link, 64), 6);
    assert_int_equal(hub_load_relaxed(&pair->guest.requests), 6);
}

/* Receives one, whose tail is not published yet. */
static void take_directly(struct pair *pair, bool can)
{
    struct hub_request *request;

    while ((request = hub_inbound_calls_next(served_of(pair), NULL, NULL)))
        (void)hub_inbound_calls_answer(served_of(pair), request, &(struct hub_response){0},
                                       (struct rapahub_bytes){NULL, 0});
    send_to(pair, 7, 4);
    if (!can)
        return;
    assert_non_null(next_directly(pair));
    assert_int_equal(hub_load_relaxed(&pair->host.view.entry->host_to_guest_tail), 6);
}

static void check_nothing_taken(struct pair *pair)
{
    struct hub_link *link = pair->guest.connection.link;
    uint8_t *before;

    be_far(pair);
    before = copy_segment(pair);
    assert_null(next_directly(pair));
    assert_int_equal(hub_link_sweep(link, 64), 0);
    check_unwritten(pair, before);
    assert_int_equal(hub_load_relaxed(&pair->guest.requests), 6);
    assert_false(hub_link_closed(link));
    assert_false(hub_link_broken(link));
    assert_true(hub_link_host_left(link));
}

/* r[verify hub.death.guard] r[verify shm.guest.detach] r[verify hub.ring.convention] */
static void requests_of_an_earlier_life_are_not_taken_again(void **state)
{
    (void)state;
    for (int way = 0; way < 8; way++)
        for (enum after after = RESET; after < AFTERS; after++) {
            struct pair pair;

            open_parting(&pair, way & 1, way & 2);
            take_six(&pair);
            take_directly(&pair, !(way & 2));
            if (way & 4)
                hub_link_leave(pair.guest.connection.link);
            clean_up(&pair, after);
            check_nothing_taken(&pair);
            pair_close(&pair);
        }
}

/* Even those that had come, and wait in the ring. r[verify shm.guest.detach] */
static void what_waits_in_the_ring_is_not_taken_behind_the_goodbye(void **state)
{
    struct pair pair;

    (void)state;
    open_parting(&pair, false, false);
    take_six(&pair);
    send_to(&pair, 7, 4);
    send_to(&pair, 8, WHOLE);
    hub_link_leave(pair.guest.connection.link);
    check_nothing_taken(&pair);
    assert_int_equal(hub_load_relaxed(&pair.host.view.entry->state), HUB_PEER_GOODBYE);
    pair_close(&pair);
}

/* ---- writes ---- */

/* Its state when it is stopped: a loan, a channel in use, requests that wait to be answered, a
 * batch that was copied, an unpublished tail. */
static void fill_hands(struct flow *flow, struct hub_loan *loan)
{
    struct hub_link *link = flow->pair.guest.connection.link;
    char bytes[100] = {0};

    assert_int_equal(hub_loan_take(link, 200, loan), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hub_channel_writer_write(flow_sender(flow), bytes, sizeof bytes), 0);
    for (uint32_t i = 1; i <= 3; i++)
        send_to(&flow->pair, i, 4);
    assert_int_equal(hub_link_sweep(link, 4), 4);
}

/* All that a guest does when it goes on, and when it leaves. */
static void use_hands(struct flow *flow, struct hub_loan *loan)
{
    struct hub_connection *connection = &flow->pair.guest.connection;
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_request *request;
    char bytes[150];

    assert_int_equal(hub_channel_stream_read(flow_receiver(flow), bytes, 150), 150);
    assert_int_equal(hub_channel_stream_read(flow_receiver(flow), bytes, 150), 50);
    hub_channel_reset(flow_receiver(flow));
    while ((request = hub_inbound_calls_next(connection->served, NULL, NULL)))
        (void)hub_inbound_calls_answer(connection->served, request, &ok, request->arguments);
    (void)hub_link_sweep(connection->link, 64);
    hub_loan_drop(connection->link, loan);
    hub_link_wake_peer(connection->link, HUB_WAIT_RX | HUB_WAIT_TX, NULL);
    hub_link_nudge(connection->link);
    hub_wait_show_cpu(&connection->link->wait);
    hub_link_rest(connection->link);
    hub_link_say_goodbye(connection->link, "", "late");
    hub_link_leave(connection->link);
}

static void arm_host(const struct pair *pair)
{
    hub_publish(&pair->host.view.entry->host_wait,
                HUB_WAIT_PART | HUB_WAIT_RX | HUB_WAIT_TX | UINT32_C(9) << HUB_WAIT_CPU_SHIFT);
}

/* r[verify hub.death.guard] */
static void a_guest_that_goes_on_in_what_is_anothers_writes_nothing(void **state)
{
    (void)state;
    for (enum after after = RESET; after < AFTERS; after++) {
        struct hub_loan loan = {.data = NULL};
        struct flow flow;
        uint8_t *before;

        flow_open(&flow, true);
        fill_hands(&flow, &loan);
        clean_up(&flow.pair, after);
        hub_store_relaxed(&flow.pair.guest.connection.link->wait.cpu, 0); /* it goes on elsewhere */
        arm_host(&flow.pair);
        before = copy_segment(&flow.pair);
        use_hands(&flow, &loan);
        check_unwritten(&flow.pair, before);
        flow_close(&flow);
    }
}

/* The state is the last word that it writes. r[verify shm.guest.detach] r[verify shm.goodbye.guest]
 */
static void behind_its_goodbye_a_guest_writes_nothing(void **state)
{
    struct hub_loan loan = {.data = NULL};
    struct flow flow;
    uint8_t *before;

    (void)state;
    flow_open(&flow, true);
    fill_hands(&flow, &loan);
    arm_host(&flow.pair);
    before = copy_segment(&flow.pair);
    hub_link_leave(flow.pair.guest.connection.link);
    assert_int_equal(hub_load_relaxed(&flow.pair.host.view.entry->state), HUB_PEER_GOODBYE);
    before[HUB_HEADER_SIZE] = HUB_PEER_GOODBYE; /* state of the first entry */
    use_hands(&flow, &loan);
    check_unwritten(&flow.pair, before);
    flow_close(&flow);
}

/* The host sleeps, and is woken though its bits were not cleared. */
static void a_goodbye_rings(void **state)
{
    struct pair pair;
    char byte;

    (void)state;
    open_parting(&pair, false, false);
    assert_int_equal(
        hub_doorbell_drain(pair.host.doorbell, &(struct hub_doorbell_ear){.inbox = NULL}),
        HUB_HEARD_BELLS);
    hub_link_leave(pair.guest.connection.link);
    assert_int_equal(read(pair.host.doorbell, &byte, 1), 1);
    pair_close(&pair);
}

/* ---- a sleeping host ---- */

static bool has_come(void *user)
{
    return hub_load_relaxed(&((struct end *)user)->requests) != 0;
}

static void *sleep_for_requests(void *user)
{
    struct end *end = user;
    const struct hub_link_until until = {.done = has_come,
                                         .user = end,
                                         .stage = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(HUB_SECOND)};

    (void)hub_link_wait(end->connection.link, &until);
    return NULL;
}

/* A bell of before ends a wait at once, and the next one sleeps; for a second where the wake finds
 * it awake. */
static pthread_t begin_to_sleep(struct pair *pair, uint32_t bit)
{
    struct hub_peer_entry *entry = pair->host.view.entry;
    pthread_t thread;
    bool over = true;

    while (over) {
        over = false;
        assert_int_equal(pthread_create(&thread, NULL, sleep_for_requests, &pair->guest), 0);
        while (!over && (hub_observe(&entry->guest_wait) & bit) == 0) {
            over = pthread_tryjoin_np(thread, NULL) == 0;
            sched_yield();
        }
    }
    return thread;
}

/* In the futex, and at the doorbell. r[verify hub.death.guard] */
static void who_wakes_in_what_is_anothers_leaves_the_sleep_bits_of_that(void **state)
{
    static const struct {
        enum hub_wait_manner manner;
        uint32_t bit;
    } ways[] = {{HUB_WAIT_MANNER_SLEEP, HUB_WAIT_RX_FUTEX},
                {HUB_WAIT_MANNER_BELL, HUB_WAIT_RX_BELL}};

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct hub_peer_entry *entry;
        struct pair pair;
        pthread_t thread;
        uint32_t successors;

        open_parting(&pair, false, false);
        entry = pair.host.view.entry;
        pair.guest.connection.link->wait.manner = ways[i].manner;
        thread = begin_to_sleep(&pair, ways[i].bit);
        clean_up(&pair, REPLACED);
        successors = HUB_WAIT_PART | HUB_WAIT_RX | UINT32_C(7) << HUB_WAIT_CPU_SHIFT;
        hub_publish(&entry->guest_wait, successors);
        hub_futex_wake(&entry->guest_wait, UINT32_MAX);
        (void)hub_doorbell_ring(pair.host.doorbell);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(hub_load_relaxed(&entry->guest_wait), successors);
        pair_close(&pair);
    }
}

/* It sees an entry of its own, is stopped, and goes on when that is another's: a goodbye is one
 * compare and swap of state and epoch. r[verify hub.death.guard] */
static void a_late_goodbye_is_not_said_for_a_successor(void **state)
{
    (void)state;
    for (enum after after = EMPTIED; after < AFTERS; after++) {
        struct pair pair;
        uint64_t before;

        open_parting(&pair, false, false);
        clean_up(&pair, after);
        before = hub_observe_pair(&pair.host.view.entry->state);
        assert_false(hub_peer_table_leave(pair.guest.view.entry, pair.epoch));
        assert_true(hub_observe_pair(&pair.host.view.entry->state) == before);
        pair_close(&pair);
    }
}

/* The futex is for those alone who take part. r[verify hub.var.single-popper] */
static void a_peer_that_is_asked_for_slots_is_woken_at_its_futex_too(void **state)
{
    const struct hub_limits limits = pair_limits();

    (void)state;
    for (int part = 0; part < 2; part++) {
        const uint32_t armed = HUB_WAIT_RX_FUTEX | (part ? HUB_WAIT_PART : 0);
        struct hub_peer_entry *entry;
        struct pair pair;
        char byte = 0;

        pair_open(&pair, &limits, 0);
        entry = pair.host.view.entry;
        hub_publish(&entry->guest_wait, armed);
        hub_send_queue_ring(pair.host.connection.link);
        assert_int_equal(hub_observe(&entry->guest_wait), part ? HUB_WAIT_PART : armed);
        assert_int_equal(recv(pair.guest.doorbell, &byte, 1, MSG_DONTWAIT), 1);
        hub_publish(&entry->guest_wait, HUB_WAIT_PART);
        pair_close(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_an_earlier_life_are_not_taken_again),
        cmocka_unit_test(what_waits_in_the_ring_is_not_taken_behind_the_goodbye),
        cmocka_unit_test(a_guest_that_goes_on_in_what_is_anothers_writes_nothing),
        cmocka_unit_test(behind_its_goodbye_a_guest_writes_nothing),
        cmocka_unit_test(a_goodbye_rings),
        cmocka_unit_test(who_wakes_in_what_is_anothers_leaves_the_sleep_bits_of_that),
        cmocka_unit_test(a_late_goodbye_is_not_said_for_a_successor),
        cmocka_unit_test(a_peer_that_is_asked_for_slots_is_woken_at_its_futex_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
