/* SPDX-License-Identifier: Apache-2.0 */
/* A call of bytes that is written where the other end reads it, and read where that wrote. The
 * other end is played by hand. */
#include <stdlib.h>

#include "tests/unit/link/direct_pair.h"

#define MOST (HUB_INLINE_SIZE - 2)

/* An attempt, and all that it may fill. */
struct one {
    struct hub_direct_end end;
    struct hub_answer answer;
    uint64_t small[HUB_INLINE_SIZE / 8 + 1]; /* the last one is unused */
    uint8_t in[MOST];
};

static struct hub_calls *calls_of(struct pair *pair)
{
    return pair->host.connection.calls;
}

static void call(struct pair *pair, uint8_t size, struct hub_answer *answer, struct one *one)
{
    const struct hub_direct_order order = {.timeout_ns = SOON,
                                           .method_id = METHOD,
                                           .answer = answer ? answer : &one->answer,
                                           .small = one->small};
    const struct rapahub_bytes in = {one->in, size};
    int r;

    memset(one, 0, sizeof *one);
    memset(one->small, 0xEE, sizeof one->small);
    for (uint8_t i = 0; i < MOST; i++)
        one->in[i] = (uint8_t)(0x80 + i);
    be_far(pair);
    r = hub_direct_call_bytes(calls_of(pair), &in, &order, false, &one->end);
    if (r >= 0)
        one->end = (struct hub_direct_end){HUB_DIRECT_ANSWERED, (uint64_t)r};
    else
        assert_int_not_equal(one->end.outcome, HUB_DIRECT_ANSWERED);
    assert_int_equal(one->small[HUB_INLINE_SIZE / 8], UINT64_C(0xEEEEEEEEEEEEEEEE));
    assert_false(hub_link_receiving(pair->host.connection.link));
}

/* The guest would read exactly this message now. */
static void assert_request(struct pair *pair, uint32_t index, uint32_t id, uint8_t size)
{
    struct hub_ring_cell *cells = pair->guest.view.host_to_guest;
    struct hub_descriptor message, wanted = {.msg_type = HUB_REQUEST,
                                             .id = id,
                                             .method_id = METHOD,
                                             .payload_slot = HUB_INLINE,
                                             .payload_len = 2 + (uint32_t)size};

    memcpy(&message, &cells[index], sizeof message);
    wanted.inline_payload[1] = size;
    for (uint8_t i = 0; i < size; i++)
        wanted.inline_payload[2 + i] = (uint8_t)(0x80 + i);
    assert_memory_equal(&message, &wanted, sizeof wanted);
}

/* r[verify shm.payload.inline] r[verify call.complete] */
static void bytes_of_any_size_go_and_come(void **state)
{
    struct hub_limits limits = pair_limits();
    struct one one;
    struct pair pair;

    (void)state;
    limits.ring_size = 64; /* so that no tail has to be looked at */
    open_direct(&pair, &limits, 0);
    for (uint8_t size = 0; size <= MOST; size++) {
        uint8_t answer[HUB_INLINE_SIZE];
        uint32_t id = FIRST_ID * (size + 1U);

        memset(answer, size + 1, sizeof answer);
        memset(&pair.guest.view.host_to_guest[size], 0xAA, sizeof(struct hub_ring_cell));
        send_raw(&pair.guest, HUB_RESPONSE, id, answer, size + 2U);
        call(&pair, size, NULL, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_ANSWERED);
        assert_int_equal(one.end.of, size + 2);
        assert_memory_equal(one.small, answer, size + 2U);
        assert_request(&pair, size, id, size);
        assert_int_equal(hub_link_sweep(pair.guest.connection.link, 8), 1);
        assert_int_equal(hub_calls_open(calls_of(&pair)), 0);
    }
    assert_int_equal(hub_calls_answered(calls_of(&pair)), MOST + 1);
    assert_int_equal(hub_load_relaxed64(&hub_link_counters(pair.host.connection.link)->sent),
                     MOST + 1);
    assert_int_equal(hub_load_relaxed64(&hub_link_counters(pair.host.connection.link)->received),
                     MOST + 1);
    pair_close(&pair);
}

/* In the answer then, and its slot is given back. */
static void an_answer_through_a_slot_is_taken_at_once(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_answer answer = roomy_answer();
    uint8_t bytes[40];
    struct one one;
    struct pair pair;

    (void)state;
    memset(bytes, 3, sizeof bytes);
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, bytes, sizeof bytes);
    call(&pair, 1, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_IN_ANSWER);
    assert_int_equal(one.end.of, sizeof bytes);
    assert_int_equal(answer.size, sizeof bytes);
    assert_memory_equal(answer.data, bytes, sizeof bytes);
    assert_int_equal(hub_calls_open(calls_of(&pair)), 0);
    hub_responses_fini(&answer);
    pair_close(&pair);
}

/* Fields that the specification ignores do not prevent an answer, even if it goes the long way. */
static void an_answer_with_flags_is_one(void **state)
{
    static const uint8_t good[] = {0, 0, 1, 77};
    const struct hub_limits limits = pair_limits();
    struct hub_descriptor *cell;
    struct one one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
    cell = (struct hub_descriptor *)(void *)&pair.guest.view.guest_to_host[0];
    cell->flags = 9;
    cell->reserved[1] = 7;
    cell->method_id = 5;
    call(&pair, 1, NULL, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_ANSWERED);
    assert_int_equal(one.end.of, sizeof good);
    assert_memory_equal(one.small, good, sizeof good);
    pair_close(&pair);
}

/* The other end is hostile: what it wrote is for the ordinary way to judge. r[verify hub.violation]
 */
static void a_bad_answer_is_not_taken(void **state)
{
    static const uint8_t good[] = {0, 0, 1, 77};
    static const struct hub_descriptor bad[] = {
        {.payload_slot = HUB_INLINE, .payload_len = HUB_INLINE_SIZE + 1},
        {.payload_slot = HUB_INLINE, .payload_len = 0x80000004},
        {.payload_slot = 0xFFFFFFF0, .payload_len = 4},
        {.payload_slot = HUB_INLINE, .payload_offset = 1, .payload_len = 4},
        {.payload_slot = HUB_INLINE, .payload_generation = 1, .payload_len = 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct hub_limits limits = pair_limits();
        struct hub_descriptor *cell;
        struct one one;
        struct pair pair;

        open_direct(&pair, &limits, 0);
        send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, good, sizeof good);
        cell = (struct hub_descriptor *)(void *)&pair.guest.view.guest_to_host[0];
        cell->payload_slot = bad[i].payload_slot;
        cell->payload_generation = bad[i].payload_generation;
        cell->payload_offset = bad[i].payload_offset;
        cell->payload_len = bad[i].payload_len;
        call(&pair, 1, NULL, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
        assert_int_equal(hub_calls_wait(calls_of(&pair), one.end.of, false), RAPAHUB_EPROTOCOL);
        pair_close(&pair);
    }
}

static void without_an_answer_it_is_a_call_as_any(void **state)
{
    static const uint8_t late[] = {0, 0, 2, 8, 9};
    const struct hub_limits limits = pair_limits();
    struct one one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, 9, late, 1); /* of another call */
    call(&pair, MOST, NULL, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_request(&pair, 0, FIRST_ID, MOST);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, late, sizeof late);
    assert_int_equal(hub_calls_wait(calls_of(&pair), one.end.of, false), 0);
    assert_int_equal(one.answer.size, sizeof late);
    assert_memory_equal(one.answer.data, late, sizeof late);
    hub_responses_fini(&one.answer);
    assert_int_equal(hub_calls_late(calls_of(&pair)), 1);
    pair_close(&pair);
}

/* And nothing remains. */
static void where_it_cannot_go_nothing_is_sent(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_link *link;
    struct one one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    link = pair.host.connection.link;
    hub_link_hinder(link, true);
    call(&pair, 1, NULL, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    hub_link_hinder(link, false);
    for (int i = 0; i < 7; i++) { /* the ring is full then, as far as is known */
        call(&pair, 1, NULL, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    }
    call(&pair, 1, NULL, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    assert_int_equal(sent_to_guest(&pair), 7);
    assert_int_equal(hub_calls_open(calls_of(&pair)), 7);
    hub_link_leave(pair.guest.connection.link); /* it takes no new work */
    call(&pair, 1, NULL, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    hub_link_close(link, RAPAHUB_EDIED, "");
    call(&pair, 1, NULL, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    pair_close(&pair);
}

/* A loop that knows that it is to look is told no more, and again when it has looked. */
static void a_loop_that_knows_is_not_told_again(void **state)
{
    static const uint8_t answer[] = {0, 0, 0};
    struct hub_limits limits = pair_limits();
    struct hub_a32 work = {4};
    struct hub_link *link;
    struct one one;
    struct pair pair;

    (void)state;
    limits.ring_size = 64;
    open_direct(&pair, &limits, 0);
    link = pair.host.connection.link;
    link->options.pended = &work;
    link->options.pended_bits = 6;
    for (uint32_t i = 1; i <= 3; i++) {
        struct hub_direct_order order = {
            .timeout_ns = SOON, .method_id = METHOD, .answer = &one.answer, .small = one.small};
        const struct rapahub_bytes in = {answer, 1};

        memset(&one, 0, sizeof one);
        send_raw(&pair.guest, HUB_RESPONSE, i * FIRST_ID, answer, sizeof answer);
        be_far(&pair);
        assert_int_equal(hub_direct_call_bytes(calls_of(&pair), &in, &order, true, &one.end),
                         sizeof answer);
        assert_int_equal(hub_load_relaxed(&pair.host.pending), i - 1);
        hub_publish(&work, 9); /* not of these bits */
    }
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_any_size_go_and_come),
        cmocka_unit_test(an_answer_through_a_slot_is_taken_at_once),
        cmocka_unit_test(an_answer_with_flags_is_one),
        cmocka_unit_test(a_bad_answer_is_not_taken),
        cmocka_unit_test(without_an_answer_it_is_a_call_as_any),
        cmocka_unit_test(a_loop_that_knows_is_not_told_again),
        cmocka_unit_test(where_it_cannot_go_nothing_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
