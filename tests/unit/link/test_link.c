/* SPDX-License-Identifier: Apache-2.0 */
/* link: space, slots, tokens, violations. */
#include <poll.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/unit/link/pair.h"
#include "tests/unit/shm/free_slots.h"

static int send_request(struct end *end, uint32_t id, const void *data, size_t size,
                        uint64_t deadline)
{
    const struct hub_message message = {HUB_REQUEST, id, 99};
    const struct hub_parts parts = {.head = {data, size}};

    return hub_link_send(end->connection.link, &message, &parts, deadline);
}

/* r[verify shm.ring.full] r[verify shm.ring.capacity] r[verify hub.ring.no-drop] */
static void a_ring_of_8_takes_7_and_the_eighth_waits(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    for (uint32_t i = 1; i <= 7; i++)
        assert_int_equal(send_request(&pair.host, i, "\0", 1, 0), 0);
    assert_int_equal(send_request(&pair.host, 8, "\0", 1, 0), -EAGAIN);
    assert_int_equal(send_request(&pair.host, 8, "\0", 1, hub_clock_after(2 * HUB_MILLISECOND)),
                     -ETIMEDOUT);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 7), 7);
    assert_int_equal(send_request(&pair.host, 8, "\0", 1, 0), 0);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 64), 1);
    for (uint32_t i = 1; i <= 8; i++) {
        struct hub_request *next = hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL);

        assert_non_null(next);
        assert_int_equal(next->id, i);
    }
    pair_close(&pair);
}

/* r[verify shm.slot.exhaustion] r[verify shm.slot.free] r[verify shm.segment.slot-ownership]
 * r[verify hub.slot.hold] r[verify shm.segment.slot-pools] */
static void slots_run_out_and_come_back_when_the_payload_is_taken(void **state)
{
    const struct hub_limits limits = pair_limits();
    uint8_t bytes[100] = {0};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(send_request(&pair.host, i, bytes, sizeof bytes, 0), 0);
    assert_int_equal(send_request(&pair.host, 5, bytes, sizeof bytes, 0), -EAGAIN);
    assert_int_equal(send_request(&pair.host, 5, bytes, 4, 0), 0); /* inline needs none */
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 64), 5);
    assert_int_equal(send_request(&pair.host, 6, bytes, sizeof bytes, 0), 0);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 64), 1);
    hub_link_rest(pair.host.connection.link);
    assert_int_equal(free_slots_of(&pair.host.pool), 4);
    pair_close(&pair);
}

/* r[verify hub.layout.pools] r[verify shm.varslot.selection] r[verify shm.varslot.classes] */
static void payloads_of_any_size_cross_both_ways_in_slots_of_several_sizes(void **state)
{
    static const size_t sizes[] = {100, 10 * 1024, 900 * 1024, 1 << 20};
    struct hub_limits limits = pair_limits();
    uint8_t *bytes = calloc(1, 1 << 20);
    struct pair pair;

    (void)state;
    assert_non_null(bytes);
    limits.payload_max = 1 << 20;
    pair_open(&pair, &limits, 0);
    for (uint32_t i = 0; i < 40; i++) {
        size_t size = sizes[i % 4];

        assert_int_equal(send_request(&pair.host, 1 + i, bytes, size, 0), 0);
        assert_int_equal(send_request(&pair.guest, 1 + i, bytes, size, 0), 0);
        assert_true(hub_link_sweep(pair.guest.connection.link, 64) >= 1);
        assert_true(hub_link_sweep(pair.host.connection.link, 64) >= 1);
    }
    pair_close(&pair);
    free(bytes);
}

static void a_payload_beyond_the_limit_is_refused(void **state)
{
    const struct hub_limits limits = pair_limits();
    uint8_t bytes[1021] = {0};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(send_request(&pair.host, 1, bytes, 1021, 0), -EMSGSIZE);
    assert_non_null(strstr(rapahub_last_error()->text, "1020"));
    assert_int_equal(send_request(&pair.host, 1, bytes, 1020, 0), 0);
    pair_close(&pair);
}

struct storm {
    struct end *end;
    int failures;
};

static void *storm_calls(void *user)
{
    struct storm *storm = user;

    for (int i = 0; i < 500; i++)
        storm->failures +=
            pair_call(storm->end, (uint8_t)i, (uint32_t)i % 900, hub_clock_after(SOON)) != 0;
    return NULL;
}

static void *serve_while_calling(void *user)
{
    return pair_echo(user);
}

/* Both sides call and serve at once, through rings and pools that are too small for it. *
 * r[verify hub.ring.pump] r[verify hub.ring.fifo] r[verify call.pipelining.independence]
 * r[verify shm.id.request-scope] */
static void both_sides_with_full_rings_never_wait_for_each_other(void **state)
{
    struct hub_limits limits = pair_limits();
    struct pair pair;
    struct storm storms[4];
    pthread_t threads[4], servers[2];

    (void)state;
    limits.ring_size = 4;
    limits.slot_count = 2;
    pair_open(&pair, &limits, 0xffffff00);
    pthread_create(&servers[0], NULL, serve_while_calling, &pair.host);
    pthread_create(&servers[1], NULL, serve_while_calling, &pair.guest);
    for (int i = 0; i < 4; i++) {
        storms[i] = (struct storm){i % 2 ? &pair.host : &pair.guest, 0};
        pthread_create(&threads[i], NULL, storm_calls, &storms[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    hub_link_close(pair.host.connection.link, RAPAHUB_ECLOSED, "");
    hub_link_close(pair.guest.connection.link, RAPAHUB_ECLOSED, "");
    pthread_join(servers[0], NULL);
    pthread_join(servers[1], NULL);
    pair_close(&pair);
    for (int i = 0; i < 4; i++) /* no thread is left that uses what lies on this stack */
        assert_int_equal(storms[i].failures, 0);
}

static struct hub_descriptor *next_cell(struct end *end)
{
    struct hub_peer_entry *entry = end->view.entry;
    uint32_t index =
        hub_load_relaxed(&entry->guest_to_host_head) % end->segment->geometry.limits.ring_size;

    return (struct hub_descriptor *)(void *)&end->view.guest_to_host[index];
}

static void publish_raw(struct end *guest, const struct hub_descriptor *descriptor)
{
    *next_cell(guest) = *descriptor;
    hub_add(&guest->view.entry->guest_to_host_head, 1);
}

/* r[verify hub.violation] r[verify core.error.connection] r[verify message.goodbye.send]
 * r[verify channeling.unknown] */
static void a_message_for_a_channel_that_was_never_opened_ends_the_link(void **state)
{
    const struct hub_limits limits = pair_limits();
    const struct hub_descriptor data = {.msg_type = HUB_DATA, .id = 1, .payload_slot = HUB_INLINE};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    publish_raw(&pair.guest, &data);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), RAPAHUB_EPROTOCOL);
    assert_int_equal(hub_load_relaxed(&pair.host.closed), 1);
    assert_int_equal(hub_link_cause(pair.host.connection.link), RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(pair.host.connection.link), "channeling.unknown");
    (void)hub_link_sweep(pair.guest.connection.link, 64);
    assert_non_null(strstr(pair.guest.goodbye, "channeling.unknown"));
    pair_close(&pair);
}

/* With the smallest message, and with that of the golden example, in a slot.
 * r[verify core.error.goodbye-reason] r[verify hub.violation] */
static void a_goodbye_names_its_rule_however_small_messages_are(void **state)
{
    static const uint32_t most[] = {32, 60};
    const struct hub_descriptor data = {.msg_type = HUB_DATA, .id = 1, .payload_slot = HUB_INLINE};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hub_limits limits = pair_limits();
        struct pair pair;

        limits.payload_max = most[i];
        pair_open(&pair, &limits, 0);
        publish_raw(&pair.guest, &data);
        assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), RAPAHUB_EPROTOCOL);
        assert_int_equal(hub_link_sweep(pair.guest.connection.link, 64), 1);
        assert_memory_equal(pair.guest.goodbye, "channeling.unknown: ", 20);
        pair_close(&pair);
    }
}

/* r[verify call.request-id.duplicate-detection] */
static void an_id_that_is_served_already_ends_the_link(void **state)
{
    const struct hub_limits limits = pair_limits();
    const struct hub_descriptor twice = {
        .msg_type = HUB_REQUEST, .id = 5, .payload_slot = HUB_INLINE, .payload_len = 1};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    publish_raw(&pair.guest, &twice);
    publish_raw(&pair.guest, &twice);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(pair.host.connection.link),
                        "call.request-id.duplicate-detection");
    assert_int_equal(hub_inbound_calls_open(pair.host.connection.served), 0);
    pair_close(&pair);
}

/* A side that finds it while sending may be late: the peer is dead, and the link closed for that.
 * r[verify hub.violation] */
static void a_rule_that_was_broken_before_the_end_is_named_behind_it(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_link *link;
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    link = pair.host.connection.link;
    hub_link_dead(link);
    assert_int_equal(hub_link_cause(link), RAPAHUB_EDIED);
    assert_false(hub_link_broken(link));
    hub_link_close(link, RAPAHUB_EPROTOCOL, "shm.slot.free");
    hub_link_close(link, RAPAHUB_EPROTOCOL, "shm.ring.capacity");
    assert_int_equal(hub_link_cause(link), RAPAHUB_EDIED);
    assert_true(hub_link_broken(link));
    assert_string_equal(hub_link_rule(link), "shm.slot.free");
    pair_close(&pair);
}

/* r[verify call.lifecycle.unknown-request-id] r[verify core.error.call-vs-connection] */
static void a_response_nobody_asked_for_is_ignored(void **state)
{
    const struct hub_limits limits = pair_limits();
    const struct hub_descriptor stray = {
        .msg_type = HUB_RESPONSE, .id = 77, .payload_slot = HUB_INLINE, .payload_len = 3};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    publish_raw(&pair.guest, &stray);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 1);
    assert_int_equal(hub_calls_late(pair.host.connection.calls), 1);
    assert_false(hub_link_closed(pair.host.connection.link));
    pair_close(&pair);
}

/* A guest that was stopped and given up writes nothing when it goes on. r[verify hub.death.guard]
 * r[verify shm.crash.epoch] */
static void a_guest_whose_entry_is_not_its_own_any_more_writes_nothing(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    uint32_t head;

    (void)state;
    pair_open(&pair, &limits, 0);
    head = hub_load_relaxed(&pair.guest.view.entry->guest_to_host_head);
    hub_add(&pair.host.view.entry->epoch, 1);
    assert_int_equal(send_request(&pair.guest, 1, "\0", 1, hub_clock_after(SOON)), RAPAHUB_ESTALE);
    assert_int_equal(hub_load_relaxed(&pair.guest.view.entry->guest_to_host_head), head);
    assert_true(hub_link_host_left(pair.guest.connection.link));
    pair_close(&pair);
}

/* r[verify shm.goodbye.host] r[verify shm.goodbye.host-atomic] */
static void a_guest_sees_that_the_host_leaves(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_false(hub_link_host_left(pair.guest.connection.link));
    hub_publish(&pair.host.view.header->host_goodbye, 1);
    assert_true(hub_link_host_left(pair.guest.connection.link));
    assert_false(hub_link_host_left(pair.host.connection.link));
    assert_int_equal(pair_call(&pair.guest, 1, 4, hub_clock_after(SOON)), RAPAHUB_ECLOSED);
    pair_close(&pair);
}

/* r[verify shm.guest.detach] r[verify shm.goodbye.guest] */
static void a_guest_that_has_left_gets_no_work_and_makes_none(void **state)
{
    const struct hub_limits limits = pair_limits();
    const struct hub_message response = {HUB_RESPONSE, 1, 0};
    const struct hub_parts parts = {.head = {"\0", 1}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    hub_link_leave(pair.guest.connection.link);
    assert_int_equal(send_request(&pair.host, 1, "\0", 1, hub_clock_after(SOON)), RAPAHUB_ESTALE);
    assert_int_equal(hub_load_relaxed(&pair.host.view.entry->host_to_guest_head), 0);
    assert_int_equal(hub_link_send(pair.host.connection.link, &response, &parts, 0), 0);
    assert_int_equal(send_request(&pair.guest, 1, "\0", 1, 0), RAPAHUB_ESTALE);
    pair_close(&pair);
}

/* r[verify shm.guest.detach] */
static void one_that_has_unmapped_after_its_goodbye_has_not_died(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(send_request(&pair.guest, 1, "\0", 1, 0), 0);
    hub_link_leave(pair.guest.connection.link);
    hub_link_detached(pair.host.connection.link);
    assert_int_equal(hub_link_cause(pair.host.connection.link), RAPAHUB_ECLOSED);
    assert_int_equal(hub_load_relaxed(&pair.host.requests),
                     1); /* its earlier message was received */
    pair_close(&pair);
}

/* r[verify shm.doorbell.death] */
static void a_hang_up_ends_the_wait_of_a_guest(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    close(pair.host.doorbell);
    pair.host.doorbell = -1;
    assert_int_equal(pair_call(&pair.guest, 1, 4, hub_clock_after(SOON)), RAPAHUB_EDIED);
    assert_true(hub_load_relaxed(&pair.guest.hints) > 0);
    pair_close(&pair);
}

static void who_may_only_spin_gives_the_token_back(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    const struct hub_link_until until = {.done = pair_has_work,
                                         .user = &pair.host,
                                         .stage = HUB_WAIT_SPIN,
                                         .deadline_ns = HUB_NEVER};

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_link_lead(pair.host.connection.link, &until), -EAGAIN);
    assert_false(hub_link_receiving(pair.host.connection.link));
    pair_close(&pair);
}

/* The loop hears the bell while a leader receives. */
static bool hear_the_bell(void *user)
{
    struct pair *pair = user;

    assert_int_equal(hub_doorbell_ring(pair->guest.doorbell), HUB_BELL_RUNG);
    assert_int_equal(hub_link_rung(pair->host.connection.link, 64), -EBUSY);
    return true;
}

static bool has_byte(int doorbell)
{
    struct pollfd one = {.fd = doorbell, .events = POLLIN};

    return poll(&one, 1, 0) == 1;
}

/* Else the doorbell fills up, byte by byte, until it makes no edge any more. */
static void a_bell_that_was_heard_while_another_received_is_read_by_who_looks_again(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    const struct hub_link_until until = {
        .done = hear_the_bell, .user = &pair, .stage = HUB_WAIT_SPIN, .deadline_ns = HUB_NEVER};

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_link_lead(pair.host.connection.link, &until), 0);
    assert_int_equal(hub_load_relaxed(&pair.host.pending), 1);
    assert_true(has_byte(pair.host.doorbell));
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 0);
    assert_false(has_byte(pair.host.doorbell));
    assert_int_equal(hub_load_relaxed(&pair.host.pending), 1);
    pair_close(&pair);
}

static void *send_large(void *user)
{
    static const uint8_t bytes[100];

    return send_request(user, 1, bytes, sizeof bytes, hub_clock_after(SOON)) == 0 ? user : NULL;
}

/* Another guest gives a host slot back, and rings on its own link only. r[verify hub.wait.pool] */
static void a_slot_that_comes_from_another_guest_is_found(void **state)
{
    struct hub_limits limits = pair_limits();
    uint32_t slot = 0, generation;
    struct pair pair;
    pthread_t thread;
    uint64_t start;
    void *sent;

    (void)state;
    limits.guests_max = 2;
    pair_open(&pair, &limits, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(hub_slot_pool_loan(&pair.host.pool.pool, 2, &slot, &generation), 0);
        hub_slot_pool_sent(&pair.host.pool.pool, slot);
    }
    pthread_create(&thread, NULL, send_large, &pair.host);
    while (hub_load_relaxed64(&hub_link_counters(pair.host.connection.link)->waits_slot) == 0)
        sched_yield();
    start = hub_clock_now();
    hub_set_bits64((struct hub_a64 *)(void *)pair.guest.view.host_pool, UINT64_C(1) << slot);
    pthread_join(thread, &sent);
    assert_non_null(sent);
    assert_true(hub_clock_now() - start < 500 * HUB_MILLISECOND);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_of_8_takes_7_and_the_eighth_waits),
        cmocka_unit_test(slots_run_out_and_come_back_when_the_payload_is_taken),
        cmocka_unit_test(payloads_of_any_size_cross_both_ways_in_slots_of_several_sizes),
        cmocka_unit_test(a_payload_beyond_the_limit_is_refused),
        cmocka_unit_test(both_sides_with_full_rings_never_wait_for_each_other),
        cmocka_unit_test(a_message_for_a_channel_that_was_never_opened_ends_the_link),
        cmocka_unit_test(a_goodbye_names_its_rule_however_small_messages_are),
        cmocka_unit_test(an_id_that_is_served_already_ends_the_link),
        cmocka_unit_test(a_rule_that_was_broken_before_the_end_is_named_behind_it),
        cmocka_unit_test(a_response_nobody_asked_for_is_ignored),
        cmocka_unit_test(a_guest_whose_entry_is_not_its_own_any_more_writes_nothing),
        cmocka_unit_test(a_guest_sees_that_the_host_leaves),
        cmocka_unit_test(a_guest_that_has_left_gets_no_work_and_makes_none),
        cmocka_unit_test(one_that_has_unmapped_after_its_goodbye_has_not_died),
        cmocka_unit_test(a_hang_up_ends_the_wait_of_a_guest),
        cmocka_unit_test(who_may_only_spin_gives_the_token_back),
        cmocka_unit_test(a_bell_that_was_heard_while_another_received_is_read_by_who_looks_again),
        cmocka_unit_test(a_slot_that_comes_from_another_guest_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
