/* SPDX-License-Identifier: Apache-2.0 */
/* A call whose Request lies in a loan and whose Response is shown where it lies, with slots of
 * several sizes; the other end is played by hand. */
#include <stdlib.h>

#include "hub/link/loan.h"
#include "tests/unit/link/direct_pair.h"
#include "tests/unit/shm/free_slots.h"

#define LARGE 5000 /* bytes: more than is copied where it may be shown */
#define MANY  16384

static uint8_t bytes[MANY]; /* no metadata, a result */

struct lent_call {
    struct pair pair;
    struct hub_loan loan;
    struct hub_direct_lent lent;
    struct hub_direct_open open;
    struct hub_view view;
    uint32_t free; /* slots of the guest */
    enum hub_direct_outcome outcome;
};

static void begin(struct lent_call *it)
{
    struct hub_limits limits = pair_limits();

    memset(it, 0, sizeof *it);
    limits.payload_max = MANY;
    open_direct(&it->pair, &limits, 0);
    it->free = free_slots_of(&it->pair.guest.pool);
}

static void call(struct lent_call *it, size_t size)
{
    const struct hub_direct_order order = {.method_id = METHOD};

    be_far(&it->pair);
    if (!it->loan.data)
        assert_int_equal(hub_loan_take(it->pair.host.connection.link, MANY / 2, &it->loan), 0);
    memset(it->loan.data, 7, MANY / 2);
    it->lent = (struct hub_direct_lent){.loan = &it->loan, .size = size};
    assert_true(hub_direct_slot_head(&it->lent, 1));
    it->outcome = hub_direct_call_lent(it->pair.host.connection.calls, &order, &it->lent, &it->open,
                                       &it->view);
}

/* The guest finds no metadata, a length and as many bytes. */
static void check_request(struct lent_call *it, size_t size)
{
    struct hub_connection *guest = &it->pair.guest.connection;
    struct hub_request *request;
    struct hub_reader reader;
    uint64_t length;

    assert_int_equal(hub_link_sweep(guest->link, 8), 1);
    request = hub_inbound_calls_next(guest->served, NULL, NULL);
    assert_non_null(request);
    assert_int_equal(request->method_id, METHOD);
    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    length = hub_postcard_read_unsigned(&reader, 64);
    assert_int_equal(reader.failure, 0);
    assert_int_equal(length, size);
    assert_int_equal(hub_reader_left(&reader), size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(reader.at[i], 7);
}

static enum hub_direct_outcome go_on(struct lent_call *it, struct hub_answer *answer,
                                     uint64_t *number)
{
    const struct hub_direct_order order = {
        .timeout_ns = SOON, .answer = answer, .view = true, .method_id = METHOD};

    return hub_direct_call_on(it->pair.host.connection.calls, &it->open, &order, number);
}

static void end(struct lent_call *it)
{
    assert_false(hub_link_receiving(it->pair.host.connection.link));
    hub_link_close(it->pair.host.connection.link, RAPAHUB_ECLOSED, "");
    pair_close(&it->pair);
}

/* Lengths encoded in each number of bytes. r[verify hub.loan.align] r[verify call.initiate] */
static void what_is_lent_arrives_whole(void **state)
{
    static const size_t sizes[] = {128, 16383 / 2, 129, 4096};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct hub_answer answer = {0};
        struct lent_call it;
        uint64_t number;

        begin(&it);
        call(&it, sizes[i]);
        assert_int_equal(it.outcome, HUB_DIRECT_SENT);
        assert_null(it.loan.data);
        assert_true(hub_link_receiving(it.pair.host.connection.link));
        assert_int_equal(go_on(&it, &answer, &number), HUB_DIRECT_SENT);
        check_request(&it, sizes[i]);
        assert_int_equal(hub_calls_open(it.pair.host.connection.calls), 1);
        end(&it);
        hub_responses_fini(&answer);
    }
}

/* r[verify hub.view.release] r[verify call.complete] */
static void its_answer_is_shown_where_it_lies(void **state)
{
    struct lent_call it;

    (void)state;
    begin(&it);
    for (uint32_t i = 1; i <= 6; i++) {
        bytes[100] = (uint8_t)i;
        send_raw(&it.pair.guest, HUB_RESPONSE, i * FIRST_ID, bytes, LARGE);
        call(&it, LARGE);
        assert_int_equal(it.outcome, HUB_DIRECT_ANSWERED);
        assert_int_equal(it.view.size, LARGE);
        assert_memory_equal(it.view.data, bytes, LARGE);
        assert_int_equal(free_slots_of(&it.pair.guest.pool), it.free - 1);
        hub_view_release(&it.view);
        assert_int_equal(free_slots_of(&it.pair.guest.pool), it.free);
        check_request(&it, LARGE);
        hub_inbound_calls_end_all(it.pair.guest.connection.served);
    }
    assert_int_equal(hub_calls_answered(it.pair.host.connection.calls), 6);
    assert_int_equal(hub_calls_open(it.pair.host.connection.calls), 0);
    end(&it);
}

/* Inline, copied, and more than there is room for. r[verify call.complete] */
static void an_answer_of_another_kind_is_taken_behind_it(void **state)
{
    static const struct {
        size_t size;
        enum hub_direct_outcome outcome;
    } answers[] = {{20, HUB_DIRECT_ANSWERED}, {200, HUB_DIRECT_ANSWERED}, {3000, HUB_DIRECT_SENT}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct hub_answer answer = {0};
        struct lent_call it;
        uint64_t number = 0;

        assert_true(hub_responses_grow(&answer, 256));
        begin(&it);
        send_raw(&it.pair.guest, HUB_RESPONSE, FIRST_ID, bytes, answers[i].size);
        call(&it, LARGE);
        assert_int_equal(it.outcome, HUB_DIRECT_SENT);
        assert_null(it.view.link);
        assert_int_equal(go_on(&it, &answer, &number), answers[i].outcome);
        if (answers[i].outcome == HUB_DIRECT_SENT)
            assert_int_equal(hub_calls_wait(it.pair.host.connection.calls, number, false), 0);
        if (answers[i].size > HUB_INLINE_SIZE)
            assert_memory_equal(answer.data, bytes, answers[i].size);
        else
            assert_int_equal(it.open.message.payload_len, answers[i].size);
        assert_int_equal(free_slots_of(&it.pair.guest.pool), it.free);
        hub_responses_fini(&answer);
        end(&it);
    }
}

/* The link closes, and it is not looked at again, whatever the peer makes of it then. r[verify
 * shm.slot.generation] */
static void an_answer_in_a_slot_that_is_none_ends_the_link(void **state)
{
    struct hub_answer answer = {0};
    struct hub_descriptor *cells;
    struct hub_slot_meta *meta;
    struct lent_call it;
    uint64_t number = 0;

    (void)state;
    begin(&it);
    send_raw(&it.pair.guest, HUB_RESPONSE, FIRST_ID, bytes, LARGE);
    cells = (struct hub_descriptor *)(void *)it.pair.guest.view.guest_to_host;
    cells[0].payload_generation++;
    call(&it, LARGE);
    assert_int_equal(it.outcome, HUB_DIRECT_SENT);
    meta = hub_slot_class_meta(&it.pair.guest.pool.cache->map, cells[0].payload_slot);
    hub_store_relaxed(&meta->generation, cells[0].payload_generation);
    assert_int_equal(go_on(&it, &answer, &number), HUB_DIRECT_SENT);
    assert_int_equal(hub_calls_wait(it.pair.host.connection.calls, number, false),
                     RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(it.pair.host.connection.link), "shm.slot.generation");
    assert_null(it.view.link);
    hub_responses_fini(&answer);
    end(&it);
}

/* An answer to another call, which may have ended: left to the ordinary way. */
static void an_answer_to_another_call_is_none(void **state)
{
    struct hub_answer answer = {0};
    struct lent_call it;
    uint64_t number = 0;

    (void)state;
    begin(&it);
    send_raw(&it.pair.guest, HUB_RESPONSE, FIRST_ID + 1, bytes, LARGE);
    send_raw(&it.pair.guest, HUB_RESPONSE, FIRST_ID, bytes, LARGE);
    call(&it, LARGE);
    assert_int_equal(it.outcome, HUB_DIRECT_SENT);
    assert_int_equal(go_on(&it, &answer, &number), HUB_DIRECT_SENT);
    assert_int_equal(hub_calls_wait(it.pair.host.connection.calls, number, false), 0);
    assert_int_equal(answer.view.link ? answer.view.size : answer.size, LARGE);
    hub_responses_fini(&answer);
    assert_int_equal(free_slots_of(&it.pair.guest.pool), it.free);
    end(&it);
}

/* Nothing was sent then, and the loan is there. r[verify shm.goodbye.guest] */
static void where_something_is_in_the_way_the_loan_stays(void **state)
{
    struct hub_link *link;
    struct lent_call it;
    uint32_t sent;

    (void)state;
    begin(&it);
    link = it.pair.host.connection.link;
    sent = sent_to_guest(&it.pair);
    hub_publish(&link->token, 1);
    call(&it, LARGE);
    assert_int_equal(it.outcome, HUB_DIRECT_REFUSED);
    hub_publish(&link->token, 0);
    hub_publish(&it.pair.host.view.entry->state, HUB_PEER_GOODBYE);
    call(&it, LARGE);
    assert_int_equal(it.outcome, HUB_DIRECT_REFUSED);
    hub_publish(&it.pair.host.view.entry->state, HUB_PEER_ATTACHED);
    it.lent = (struct hub_direct_lent){.loan = &it.loan, .size = MANY};
    assert_true(hub_direct_slot_head(&it.lent, 1));
    assert_int_equal(hub_direct_call_lent(it.pair.host.connection.calls,
                                          &(struct hub_direct_order){.method_id = METHOD}, &it.lent,
                                          &it.open, &it.view),
                     HUB_DIRECT_REFUSED);
    assert_non_null(it.loan.data);
    assert_int_equal(sent_to_guest(&it.pair), sent);
    assert_false(hub_link_receiving(link));
    hub_loan_drop(link, &it.loan);
    end(&it);
}

/* Lengths of one byte, or of four and more, are written elsewhere. */
static void only_lengths_of_two_and_three_bytes_are_written_as_a_word(void **state)
{
    static const struct {
        size_t size;
        uint32_t bytes;
    } lengths[] = {{0, 0},       {127, 0}, {128, 2}, {16383, 2}, {16384, 3}, {(1u << 21) - 1, 3},
                   {1u << 21, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct hub_direct_lent lent = {.size = lengths[i].size};

        assert_int_equal(hub_direct_slot_head(&lent, 2), lengths[i].bytes > 0);
        if (lengths[i].bytes > 0)
            assert_int_equal(lent.head_size, 2 + lengths[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lent_arrives_whole),
        cmocka_unit_test(its_answer_is_shown_where_it_lies),
        cmocka_unit_test(an_answer_of_another_kind_is_taken_behind_it),
        cmocka_unit_test(an_answer_in_a_slot_that_is_none_ends_the_link),
        cmocka_unit_test(an_answer_to_another_call_is_none),
        cmocka_unit_test(where_something_is_in_the_way_the_loan_stays),
        cmocka_unit_test(only_lengths_of_two_and_three_bytes_are_written_as_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
