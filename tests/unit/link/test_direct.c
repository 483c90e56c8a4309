/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's end of a call that goes directly, with the other end played by hand. */
#include "hub/call/call_ends.h"
#include "tests/unit/link/direct_pair.h"

static const uint8_t good[] = {0, 0, 1, 77}; /* no metadata, a result, one byte of it */

static struct hub_calls *calls_of(struct pair *pair)
{
    return pair->host.connection.calls;
}

/* The token is free, no call is open. */
static void assert_at_rest(struct pair *pair)
{
    assert_false(hub_link_receiving(pair->host.connection.link));
    assert_int_equal(hub_calls_open(calls_of(pair)), 0);
}

/* The guest answers what it has not seen yet: so the answer is there when the caller looks.
 * r[verify call.complete] */
static void an_answer_that_is_there_is_taken_at_once(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, UINT32_C(0xffffffff));
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    attempt(&pair, 5, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_ANSWERED);
    assert_int_equal(one.end.of, sizeof good);
    assert_memory_equal(one.small, good, sizeof good);
    assert_int_equal(
        hub_load_relaxed64(&hub_link_counters(pair.host.connection.link)->received_bytes),
        sizeof good);
    assert_int_equal(hub_calls_answered(calls_of(&pair)), 1);
    assert_int_equal(hub_calls_late(calls_of(&pair)), 0);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 0); /* it is not seen again */
    assert_int_equal(hub_load_relaxed(&pair.host.view.entry->guest_to_host_tail), 0);
    assert_at_rest(&pair);
    pair_close(&pair);
}

static void answer_request(struct pair *pair, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};

    assert_int_equal(
        hub_inbound_calls_answer(pair->guest.connection.served, request, &ok, request->arguments),
        0);
}

static void answer_by_hand(struct pair *pair)
{
    struct hub_request *request;

    assert_int_equal(hub_link_sweep(pair->guest.connection.link, 8), 1);
    request = hub_inbound_calls_next(pair->guest.connection.served, NULL, NULL);
    assert_non_null(request);
    assert_int_equal(request->method_id, METHOD);
    answer_request(pair, request);
}

static void an_answer_that_comes_later_is_waited_for(void **state)
{
    struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    limits.ring_size = 64; /* so that no tail has to be looked at */
    open_direct(&pair, &limits, 0);
    for (uint8_t size = 0; size < 31; size++) {
        attempt(&pair, size, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
        assert_int_equal(hub_calls_open(calls_of(&pair)), 1);
        answer_by_hand(&pair);
        assert_int_equal(wait_for(&pair, &one), 0);
        assert_int_equal(one.answer.size, size + 2);
        for (uint8_t i = 0; i < size; i++)
            assert_int_equal(one.answer.data[2 + i], size + i);
        hub_responses_fini(&one.answer);
        assert_at_rest(&pair);
    }
    assert_int_equal(hub_calls_answered(calls_of(&pair)), 31);
    pair_close(&pair);
}

/* So are the arguments of a call through another's memory. */
static void a_payload_in_two_parts_arrives_as_one(void **state)
{
    const struct hub_limits limits = pair_limits();
    const struct hub_parts parts = {.head = {"\0ab", 3}, .tail = {"cdefg", 5}};
    struct hub_answer answer = {0};
    const struct hub_direct_order order = {
        .method_id = METHOD, .timeout_ns = SOON, .answer = &answer};
    struct hub_request *request;
    struct hub_direct_end end;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    end = hub_direct_call(calls_of(&pair), &parts, &order, false);
    assert_int_equal(end.outcome, HUB_DIRECT_SENT);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 8), 1);
    request = hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL);
    assert_non_null(request);
    assert_int_equal(request->arguments.size, 7);
    assert_memory_equal(request->arguments.data, "abcdefg", 7);
    answer_request(&pair, request);
    assert_int_equal(hub_calls_wait(calls_of(&pair), end.of, false), 0);
    hub_responses_fini(&answer);
    assert_at_rest(&pair);
    pair_close(&pair);
}

/* In its order, and on any receiving thread. */
static void what_came_before_the_answer_is_left_for_others(void **state)
{
    static const uint8_t nothing = 0;
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_REQUEST, 9, &nothing, 1);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_true(hub_load_relaxed(&pair.host.pending) > 0); /* the loop is told of it */
    assert_int_equal(hub_load_relaxed(&pair.host.requests), 0);
    assert_int_equal(wait_for(&pair, &one), 0);
    assert_int_equal(hub_load_relaxed(&pair.host.requests), 1);
    assert_memory_equal(one.answer.data, good, sizeof good);
    hub_responses_fini(&one.answer);
    assert_at_rest(&pair);
    pair_close(&pair);
}

/* Messages left over from the last check are handled before a new call is sent past them. */
static void what_lies_in_the_ring_is_received_before_another_call(void **state)
{
    static const uint8_t nothing = 0;
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    send_raw(&pair.guest, HUB_REQUEST, 9, &nothing, 1);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_ANSWERED);
    assert_true(hub_load_relaxed(&pair.host.pending) > 0);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    assert_int_equal(sent_to_guest(&pair), 1);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1);
    assert_int_equal(hub_load_relaxed(&pair.host.requests), 1);
    assert_at_rest(&pair);
    pair_close(&pair);
}

/* r[verify call.lifecycle.unknown-request-id] */
static void an_answer_with_another_id_is_nobody_s(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID + 1, good, sizeof good);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    assert_int_equal(wait_for(&pair, &one), 0);
    (void)hub_link_sweep(pair.host.connection.link, 8);
    assert_int_equal(hub_calls_late(calls_of(&pair)), 2);
    assert_int_equal(hub_calls_answered(calls_of(&pair)), 1);
    hub_responses_fini(&one.answer);
    assert_at_rest(&pair);
    pair_close(&pair);
}

/* The entry is the same one, its id is not. r[verify call.request-id.uniqueness] */
static void a_second_answer_is_late_and_not_the_next_call_s(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_ANSWERED);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1);
    assert_int_equal(hub_calls_late(calls_of(&pair)), 1);
    assert_false(hub_calls_ended(calls_of(&pair), one.end.of));
    send_raw(&pair.guest, HUB_RESPONSE, 2 * FIRST_ID, good, sizeof good);
    assert_int_equal(wait_for(&pair, &one), 0);
    hub_responses_fini(&one.answer);
    assert_at_rest(&pair);
    pair_close(&pair);
}

/* r[verify call.cancel.no-response-required] */
static void a_direct_call_ends_at_its_deadline_and_keeps_its_id(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    attempt_within(&pair, 1, 5 * HUB_MILLISECOND, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_int_equal(wait_for(&pair, &one), -ETIMEDOUT);
    assert_int_equal(hub_calls_open(calls_of(&pair)), 1);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1);
    assert_int_equal(hub_calls_late(calls_of(&pair)), 1);
    assert_at_rest(&pair);
    pair_close(&pair);
}

static void a_direct_call_that_goes_on_can_be_cancelled(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    attempt(&pair, 1, &one);
    hub_calls_cancel(calls_of(&pair), one.end.of);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 8), 2);
    assert_int_equal(wait_for(&pair, &one), 0);
    assert_int_equal(one.answer.size, 3);
    assert_int_equal(one.answer.data[2], 3); /* Cancelled */
    hub_responses_fini(&one.answer);
    assert_at_rest(&pair);
    pair_close(&pair);
}

/* Each row is for the ordinary way to judge. r[verify hub.violation] */
static void an_answer_that_is_none_ends_the_call_and_the_link(void **state)
{
    static const struct hub_descriptor bad[] = {
        {.msg_type = HUB_RESPONSE, .id = FIRST_ID, .payload_slot = 0, .payload_len = 4},
        {.msg_type = HUB_RESPONSE, .id = FIRST_ID, .payload_slot = 99, .payload_len = 40},
        {.msg_type = HUB_RESPONSE,
         .id = FIRST_ID,
         .payload_slot = HUB_INLINE,
         .payload_generation = 1,
         .payload_len = 4},
        {.msg_type = HUB_RESPONSE,
         .id = FIRST_ID,
         .payload_slot = HUB_INLINE,
         .payload_offset = 1,
         .payload_len = 4},
        {.msg_type = HUB_RESPONSE,
         .id = FIRST_ID,
         .payload_slot = HUB_INLINE,
         .payload_len = HUB_INLINE_SIZE + 1},
        {.msg_type = HUB_RESPONSE,
         .id = FIRST_ID,
         .payload_slot = HUB_INLINE,
         .payload_len = UINT32_MAX},
        {.msg_type = 0, .id = FIRST_ID, .payload_slot = HUB_INLINE, .payload_len = 4},
        {.msg_type = 200, .id = FIRST_ID, .payload_slot = HUB_INLINE, .payload_len = 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct hub_limits limits = pair_limits();
        struct attempt one;
        struct pair pair;

        open_direct(&pair, &limits, 0);
        memcpy(pair.guest.view.guest_to_host, &bad[i], sizeof bad[i]);
        hub_publish(&pair.guest.view.entry->guest_to_host_head, 1);
        attempt(&pair, 1, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
        assert_int_equal(wait_for(&pair, &one), RAPAHUB_EPROTOCOL);
        assert_int_equal(hub_load_relaxed(&pair.host.closed), 1);
        assert_at_rest(&pair);
        pair_close(&pair);
    }
}

static void a_head_that_cannot_be_ends_the_call_and_the_link(void **state)
{
    static const uint32_t heads[] = {99, 100 + 8, 0, 0x80000000, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        const struct hub_limits limits = pair_limits();
        struct attempt one;
        struct pair pair;

        open_direct(&pair, &limits, 100);
        hub_publish(&pair.guest.view.entry->guest_to_host_head, heads[i]);
        attempt(&pair, 1, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
        assert_int_equal(wait_for(&pair, &one), RAPAHUB_EPROTOCOL);
        assert_string_equal(hub_link_rule(pair.host.connection.link), "shm.ring.capacity");
        assert_at_rest(&pair);
        pair_close(&pair);
    }
}

/* Nothing is sent, and no entry remains. */
static void assert_refused(struct pair *pair, uint32_t sent)
{
    uint32_t open = hub_calls_open(calls_of(pair));
    struct attempt one;

    attempt(pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    assert_int_equal(sent_to_guest(pair), sent);
    assert_false(hub_link_receiving(pair->host.connection.link));
    assert_int_equal(hub_calls_open(calls_of(pair)), open);
}

static void who_cannot_be_asked_directly_is_not(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct attempt one;
    uint32_t cpu;
    struct hub_link *link;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    link = pair.host.connection.link;
    hub_publish(&pair.host.view.entry->guest_wait, 0); /* it takes no part */
    assert_refused(&pair, 0);
    hub_publish(&pair.host.view.entry->guest_wait, HUB_WAIT_PART);
    cpu = hub_load_relaxed(&link->wait.cpu);
    hub_store_relaxed(&link->wait.cpu, UINT32_C(0xFFFF)); /* the CPU of its peer */
    assert_refused(&pair, 0);
    hub_store_relaxed(&link->wait.cpu, cpu);
    link->wait.manner = HUB_WAIT_MANNER_SLEEP;
    assert_refused(&pair, 0);
    link->wait.manner = HUB_WAIT_MANNER_POLL;
    hub_link_hinder(link, true); /* a thread sleeps until it is told */
    assert_refused(&pair, 0);
    hub_link_hinder(link, false);
    hub_link_cork(link, true);
    assert_refused(&pair, 0);
    hub_link_cork(link, false);
    assert_int_equal(hub_load_relaxed(&link->hindrances), 0);
    hub_publish(&link->token, 1); /* another thread receives */
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    hub_publish(&link->token, 0);
    hub_link_leave(pair.guest.connection.link); /* and it takes no new work */
    assert_refused(&pair, 0);
    hub_link_close(link, RAPAHUB_EDIED, "");
    assert_refused(&pair, 0);
    pair_close(&pair);
}

/* Held-back messages are published before it, by the ordinary way. r[verify hub.ring.fifo] */
static void a_call_does_not_overtake_what_is_held_back(void **state)
{
    static const uint8_t nothing = 0;
    const struct hub_limits limits = pair_limits();
    const struct hub_message message = {HUB_REQUEST, 5, METHOD};
    const struct hub_parts parts = {.head = {&nothing, 1}, .more = true};
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    assert_int_equal(hub_link_send(pair.host.connection.link, &message, &parts, 0), 0);
    assert_refused(&pair, 0);
    hub_link_push(pair.host.connection.link);
    assert_int_equal(sent_to_guest(&pair), 1);
    pair_close(&pair);
}

static void a_call_that_has_no_room_is_refused(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct attempt some[7];
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    for (size_t i = 0; i < 7; i++) {
        attempt(&pair, 1, &some[i]);
        assert_int_equal(some[i].end.outcome, HUB_DIRECT_SENT);
    }
    assert_refused(&pair, 7);
    hub_link_close(pair.host.connection.link, RAPAHUB_ECLOSED, "");
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(wait_for(&pair, &some[i]), RAPAHUB_ECLOSED);
    assert_int_equal(hub_calls_lost(calls_of(&pair)), 7);
    assert_at_rest(&pair);
    pair_close(&pair);
}

static void note_end(void *user, int code, struct hub_answer *answer)
{
    (void)answer;
    (void)code;
    ++*(int *)user;
}

/* r[verify hub.limits] */
static void a_call_that_has_no_entry_is_refused(void **state)
{
    struct hub_limits limits = pair_limits();
    uint64_t number;
    struct pair pair;
    int ends = 0;

    (void)state;
    limits.ring_size = 2048;
    open_direct(&pair, &limits, 0);
    for (int i = 0; i < HUB_CALLS_MAX; i++) {
        const struct hub_call call = {.payload = {.head = {good, 1}},
                                      .deadline_ns = hub_clock_after(SOON),
                                      .done = note_end,
                                      .user = &ends};

        assert_int_equal(hub_calls_begin(calls_of(&pair), &call, &number), 0);
    }
    assert_refused(&pair, HUB_CALLS_MAX);
    hub_link_close(pair.host.connection.link, RAPAHUB_ECLOSED, "");
    (void)hub_call_ends_deliver(calls_of(&pair));
    assert_int_equal(ends, HUB_CALLS_MAX);
    pair_close(&pair);
}

/* About a peer in a shared file nothing is known at first. r[verify hub.ring.convention] */
static void a_peer_that_may_count_otherwise_is_answered_the_ordinary_way(void **state)
{
    struct hub_limits limits = pair_limits();
    struct attempt one;
    struct pair pair;

    (void)state;
    limits.guests_max = 2;
    open_direct(&pair, &limits, 0);
    assert_int_equal(pair.host.connection.link->in.convention, HUB_RING_UNKNOWN);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_int_equal(wait_for(&pair, &one), 0);
    hub_responses_fini(&one.answer);
    send_raw(&pair.guest, HUB_RESPONSE, 2 * FIRST_ID, good, sizeof good);
    attempt(&pair, 1, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_ANSWERED);
    assert_at_rest(&pair);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_is_there_is_taken_at_once),
        cmocka_unit_test(an_answer_that_comes_later_is_waited_for),
        cmocka_unit_test(a_payload_in_two_parts_arrives_as_one),
        cmocka_unit_test(what_came_before_the_answer_is_left_for_others),
        cmocka_unit_test(what_lies_in_the_ring_is_received_before_another_call),
        cmocka_unit_test(an_answer_with_another_id_is_nobody_s),
        cmocka_unit_test(a_second_answer_is_late_and_not_the_next_call_s),
        cmocka_unit_test(a_direct_call_ends_at_its_deadline_and_keeps_its_id),
        cmocka_unit_test(a_direct_call_that_goes_on_can_be_cancelled),
        cmocka_unit_test(an_answer_that_is_none_ends_the_call_and_the_link),
        cmocka_unit_test(a_head_that_cannot_be_ends_the_call_and_the_link),
        cmocka_unit_test(who_cannot_be_asked_directly_is_not),
        cmocka_unit_test(a_call_does_not_overtake_what_is_held_back),
        cmocka_unit_test(a_call_that_has_no_room_is_refused),
        cmocka_unit_test(a_call_that_has_no_entry_is_refused),
        cmocka_unit_test(a_peer_that_may_count_otherwise_is_answered_the_ordinary_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
