/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of a direct call whose payloads are in slots, of one size and of several; the other end
 * is played by hand. */
#include <stdlib.h>

#include "tests/unit/link/direct_pair.h"
#include "tests/unit/shm/free_slots.h"

#define LARGE 5000 /* bytes: more than is copied where it may be shown */
#define MANY  16384

static uint8_t bytes[MANY]; /* no metadata, a result */

/* Slots of one size, or of several. */
static struct hub_limits limits_of(bool several)
{
    struct hub_limits limits = pair_limits();

    limits.payload_max = several ? MANY : MANY - 4;
    limits.slot_size = several ? 1024 : MANY;
    return limits;
}

static void fill(void)
{
    for (size_t i = 2; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
}

static void call(struct pair *pair, const struct hub_parts *payload, struct hub_answer *answer,
                 struct attempt *one)
{
    const struct hub_direct_order order = {.method_id = METHOD,
                                           .timeout_ns = SOON,
                                           .small = one->small,
                                           .answer = answer,
                                           .view = true};

    be_far(pair);
    one->end = hub_direct_call(pair->host.connection.calls, payload, &order, false);
}

static void call_small(struct pair *pair, struct hub_answer *answer, struct attempt *one)
{
    const struct hub_parts payload = {.head = {bytes, 1}};

    call(pair, &payload, answer, one);
}

/* Returns the number of the guest's own slots that it can lend. */
static uint32_t free_of(struct end *end)
{
    return free_slots_of(&end->pool);
}

static void check_answer(bool several)
{
    const struct hub_limits limits = limits_of(several);
    struct hub_answer answer = roomy_answer();
    struct attempt one;
    struct pair pair;
    uint32_t free;

    open_direct(&pair, &limits, 0);
    free = free_of(&pair.guest);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, bytes, 40);
    call_small(&pair, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_IN_ANSWER);
    assert_int_equal(answer.size, 40);
    assert_memory_equal(answer.data, bytes, 40);
    assert_null(answer.view.link);
    assert_int_equal(free_of(&pair.guest), free); /* its slot is back */
    send_raw(&pair.guest, HUB_RESPONSE, 2 * FIRST_ID, bytes, LARGE);
    call_small(&pair, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_IN_ANSWER);
    assert_non_null(answer.view.link);
    assert_int_equal(answer.view.size, LARGE);
    assert_memory_equal(answer.view.data, bytes, LARGE);
    assert_int_equal(free_of(&pair.guest), free - 1);
    hub_responses_fini(&answer);
    assert_int_equal(free_of(&pair.guest), free);
    assert_int_equal(hub_calls_answered(pair.host.connection.calls), 2);
    assert_int_equal(
        hub_load_relaxed64(&hub_link_counters(pair.host.connection.link)->received_slots), 2);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    pair_close(&pair);
}

/* r[verify hub.slot.hold] r[verify hub.view.release] */
static void an_answer_in_a_slot_is_copied_or_shown_at_once(void **state)
{
    (void)state;
    check_answer(false);
    check_answer(true);
}

/* Where memory is to be found for it first, it is an answer as any. */
static void an_answer_there_is_no_room_for_is_waited_for(void **state)
{
    const struct hub_limits limits = limits_of(false);
    struct hub_answer answer = roomy_answer();
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, bytes, 400);
    call_small(&pair, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_int_equal(wait_for(&pair, &one), 0);
    assert_int_equal(answer.size, 400);
    assert_memory_equal(answer.data, bytes, 400);
    hub_responses_fini(&answer);
    pair_close(&pair);
}

/* A false statement of a descriptor about a slot, and the rule it breaks. */
struct lie {
    const char *rule[2]; /* with slots of one size, and of several */
    uint32_t slot, generation, offset;
};

static const struct lie lies[] = {
    {{"shm.payload.slot", "shm.payload.slot"}, 0x00100000, 0, 0},
    {{"shm.slot.generation", "shm.slot.generation"}, 0, 1, 0},
    {{"shm.slot.payload-offset", "shm.slot.payload-offset"}, 0, 0, UINT32_MAX},
    {{"shm.slot.payload-offset", "shm.slot.payload-offset"}, 0, 0, MANY},
};

static void tell_lie(struct hub_descriptor *descriptor, const struct lie *lie)
{
    descriptor->payload_slot += lie->slot;
    descriptor->payload_generation += lie->generation;
    if (lie->offset > 0)
        descriptor->payload_offset = lie->offset;
}

static void check_false_answer(bool several, const struct lie *lie, size_t size)
{
    const struct hub_limits limits = limits_of(several);
    struct hub_answer answer = roomy_answer();
    struct attempt one;
    struct pair pair;

    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, bytes, size);
    tell_lie(last_to_host(&pair), lie);
    call_small(&pair, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_int_equal(wait_for(&pair, &one), RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(pair.host.connection.link), lie->rule[several]);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    assert_false(hub_link_receiving(pair.host.connection.link));
    assert_null(answer.view.link);
    hub_responses_fini(&answer);
    pair_close(&pair);
}

/* r[verify shm.payload.slot] r[verify shm.slot.payload-offset] r[verify shm.slot.generation] */
static void a_slot_that_is_none_ends_the_call_and_the_link(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++)
        for (int several = 0; several < 2; several++) {
            check_false_answer(several, &lies[i], 40);
            check_false_answer(several, &lies[i], LARGE);
        }
}

/* r[verify hub.slot.twice] */
static void a_slot_that_comes_twice_ends_the_call_and_the_link(void **state)
{
    (void)state;
    for (int several = 0; several < 2; several++) {
        const struct hub_limits limits = limits_of(several);
        struct hub_answer answer = roomy_answer();
        struct hub_descriptor sent;
        struct attempt one;
        struct pair pair;

        open_direct(&pair, &limits, 0);
        send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, bytes, 40);
        call_small(&pair, &answer, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_IN_ANSWER);
        sent = *last_to_host(&pair);
        sent.id = 2 * FIRST_ID;
        hub_publish(&pair.guest.view.entry->guest_to_host_head, 2);
        *last_to_host(&pair) = sent;
        call_small(&pair, &answer, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
        assert_int_equal(wait_for(&pair, &one), RAPAHUB_EPROTOCOL);
        assert_string_equal(hub_link_rule(pair.host.connection.link), "hub.slot.twice");
        hub_responses_fini(&answer);
        pair_close(&pair);
    }
}

/* A loan that was not sent stays. */
static void what_is_sent_through_a_slot_or_in_a_loan_arrives(void **state)
{
    (void)state;
    for (int several = 0; several < 2; several++) {
        const struct hub_limits limits = limits_of(several);
        struct hub_answer answer = {0};
        struct hub_parts payload = {.head = {bytes, 1}, .tail = {bytes + 2, 50}};
        struct hub_link *link;
        struct hub_loan loan;
        struct attempt one;
        struct pair pair;

        open_direct(&pair, &limits, 0);
        link = pair.host.connection.link;
        call(&pair, &payload, &answer, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
        assert_int_equal(last_to_guest(&pair)->payload_len, 51);
        assert_int_equal(hub_loan_take(link, LARGE, &loan), 0);
        payload.loan = &loan;
        payload.tail = (struct rapahub_bytes){loan.data, LARGE};
        hub_publish(&link->token, 1);
        call(&pair, &payload, &answer, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
        assert_ptr_equal(loan.data, payload.tail.data);
        hub_publish(&link->token, 0);
        call(&pair, &payload, &answer, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
        assert_null(loan.data);
        assert_int_equal(last_to_guest(&pair)->payload_len, LARGE + 1);
        assert_int_equal(hub_load_relaxed64(&hub_link_counters(link)->sent_slots), 2);
        assert_int_equal(hub_link_sweep(pair.guest.connection.link, 8), 2);
        hub_link_close(link, RAPAHUB_ECLOSED, "");
        pair_close(&pair);
    }
}

/* A guest that has said goodbye takes no new work. r[verify shm.goodbye.guest] */
static void a_guest_that_leaves_is_lent_nothing(void **state)
{
    const struct hub_limits limits = limits_of(true);
    struct hub_answer answer = {0};
    struct hub_parts payload = {.head = {bytes, 1}};
    struct hub_loan loan;
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    assert_int_equal(hub_loan_take(pair.host.connection.link, LARGE, &loan), 0);
    payload.loan = &loan;
    payload.tail = (struct rapahub_bytes){loan.data, LARGE};
    hub_publish(&pair.host.view.entry->state, HUB_PEER_GOODBYE);
    call(&pair, &payload, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    assert_int_equal(sent_to_guest(&pair), 0);
    assert_ptr_equal(loan.data, payload.tail.data);
    hub_publish(&pair.host.view.entry->state, HUB_PEER_ATTACHED);
    call(&pair, &payload, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_int_equal(sent_to_guest(&pair), 1);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 8), 1);
    hub_link_close(pair.host.connection.link, RAPAHUB_ECLOSED, "");
    pair_close(&pair);
}

/* As many as there are, and then nothing was done. r[verify shm.slot.exhaustion] */
static void a_call_that_finds_no_slot_is_refused(void **state)
{
    const struct hub_limits limits = limits_of(false);
    const struct hub_parts payload = {.head = {bytes, 1}, .tail = {bytes + 2, 50}};
    struct hub_answer answer = {0};
    struct attempt one;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    for (uint32_t i = 0; i < limits.slot_count; i++) {
        call(&pair, &payload, &answer, &one);
        assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    }
    call(&pair, &payload, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_REFUSED);
    assert_int_equal(sent_to_guest(&pair), limits.slot_count);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), limits.slot_count);
    hub_link_close(pair.host.connection.link, RAPAHUB_ECLOSED, "");
    pair_close(&pair);
}

/* ---- the serving end ---- */

static struct hub_request *next(struct pair *pair)
{
    be_far(pair);
    return hub_direct_serve_next(pair->guest.connection.served);
}

static struct hub_request *serve(struct pair *pair, size_t size)
{
    struct hub_request *request;

    send_raw(&pair->host, HUB_REQUEST, 17, bytes, size);
    request = next(pair);
    assert_non_null(request);
    assert_int_equal(request->id, 17);
    assert_int_equal(request->method_id, METHOD);
    assert_int_equal(request->arguments.size, size - 1);
    assert_memory_equal(request->arguments.data, bytes + 1, size - 1);
    assert_null(next(pair)); /* while it runs no other is */
    return request;
}

static void check_request(bool several)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_limits limits = limits_of(several);
    struct hub_inbound_calls *served;
    struct hub_request *request;
    struct pair pair;
    uint32_t free;

    open_direct(&pair, &limits, 0);
    served = pair.guest.connection.served;
    free = free_of(&pair.host);
    request = serve(&pair, 40);
    assert_null(request->view.link);
    assert_int_equal(free_of(&pair.host), free);
    assert_true(hub_direct_serve_bytes(served, (struct rapahub_bytes){bytes, 3}, false));
    hub_inbound_calls_let_view(served);
    request = serve(&pair, LARGE);
    assert_non_null(request->view.link);
    assert_int_equal(free_of(&pair.host), free - 1);
    assert_int_equal(hub_inbound_calls_answer(served, request, &ok, request->arguments), 0);
    assert_int_equal(free_of(&pair.host), free);
    assert_int_equal(last_to_host(&pair)->payload_len, 2 + LARGE - 1);
    (void)serve(&pair, LARGE);
    assert_true(hub_direct_serve_bytes(served, (struct rapahub_bytes){bytes, 3}, false));
    assert_int_equal(free_of(&pair.host), free);
    assert_int_equal(sent_to_host(&pair), 3);
    pair_close(&pair);
}

/* r[verify call.lifecycle.single-response] r[verify hub.slot.hold] */
static void a_request_in_a_slot_is_served_at_once(void **state)
{
    (void)state;
    check_request(false);
    check_request(true);
}

static void check_false_request(bool several, const struct lie *lie, size_t size)
{
    const struct hub_limits limits = limits_of(several);
    struct pair pair;

    open_direct(&pair, &limits, 0);
    hub_inbound_calls_let_view(pair.guest.connection.served);
    send_raw(&pair.host, HUB_REQUEST, 17, bytes, size);
    tell_lie(last_to_guest(&pair), lie);
    assert_null(next(&pair));
    (void)hub_link_sweep(pair.guest.connection.link, 8);
    assert_true(hub_link_broken(pair.guest.connection.link));
    assert_string_equal(hub_link_rule(pair.guest.connection.link), lie->rule[several]);
    assert_false(hub_link_receiving(pair.guest.connection.link));
    pair_close(&pair);
}

static void a_request_in_a_slot_that_is_none_ends_the_link(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++)
        for (int several = 0; several < 2; several++) {
            check_false_request(several, &lies[i], 40);
            check_false_request(several, &lies[i], LARGE);
        }
}

/* r[verify message.decode-error] r[verify call.metadata.limits] */
static void metadata_that_is_none_ends_the_link(void **state)
{
    static const size_t sizes[] = {40, LARGE};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct hub_limits limits = limits_of(false);
        struct pair pair;
        uint32_t free;

        open_direct(&pair, &limits, 0);
        hub_inbound_calls_let_view(pair.guest.connection.served);
        free = free_of(&pair.host);
        bytes[0] = 0x7f; /* so many entries */
        send_raw(&pair.host, HUB_REQUEST, 17, bytes, sizes[i]);
        bytes[0] = 0;
        assert_null(next(&pair));
        assert_int_equal(hub_link_cause(pair.guest.connection.link), RAPAHUB_EPROTOCOL);
        assert_int_equal(free_of(&pair.host), free);
        pair_close(&pair);
    }
}

static int name_streams(void *user, struct hub_request *request,
                        struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    (void)names;
    ++*(int *)user;
    return request->arguments.size == 0 ? -EINVAL : 0;
}

/* Then it is read the ordinary way: nothing was taken. */
static void a_request_that_may_name_streams_is_left_for_the_ordinary_way(void **state)
{
    const struct hub_limits limits = limits_of(true);
    struct pair pair;
    int asked = 0;

    (void)state;
    open_direct(&pair, &limits, 0);
    hub_inbound_calls_find_streams(pair.guest.connection.served, name_streams, &asked);
    send_raw(&pair.host, HUB_REQUEST, 17, bytes, 40);
    assert_null(next(&pair));
    assert_int_equal(asked, 1);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 8), 1);
    assert_int_equal(asked, 2);
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 1);
    pair_close(&pair);
}

/* More than is kept for a copy, of a peer whose payloads are not shown. */
static void a_large_request_that_is_not_shown_is_left_for_the_ordinary_way(void **state)
{
    const struct hub_limits limits = limits_of(true);
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.host, HUB_REQUEST, 17, bytes, LARGE);
    assert_null(next(&pair));
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 8), 1);
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 1);
    pair_close(&pair);
}

/* By its slot alone, before anything else is received. */
static void check_end_at_once(bool several, size_t size)
{
    static const struct lie another_generation = {.generation = 1};
    const struct hub_limits limits = limits_of(several);
    struct hub_answer answer = roomy_answer();
    struct attempt one;
    struct pair pair;

    open_direct(&pair, &limits, 0);
    hub_inbound_calls_let_view(pair.guest.connection.served);
    send_raw(&pair.host, HUB_REQUEST, 17, bytes, size);
    tell_lie(last_to_guest(&pair), &another_generation);
    assert_null(next(&pair));
    assert_true(hub_link_closed(pair.guest.connection.link));
    assert_string_equal(hub_link_rule(pair.guest.connection.link), "shm.slot.generation");
    pair_close(&pair);
    open_direct(&pair, &limits, 0);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, bytes, size);
    tell_lie(last_to_host(&pair), &another_generation);
    call_small(&pair, &answer, &one);
    assert_int_equal(one.end.outcome, HUB_DIRECT_SENT);
    assert_true(hub_link_closed(pair.host.connection.link));
    assert_string_equal(hub_link_rule(pair.host.connection.link), "shm.slot.generation");
    assert_int_equal(wait_for(&pair, &one), RAPAHUB_EPROTOCOL);
    hub_responses_fini(&answer);
    pair_close(&pair);
}

/* r[verify hub.violation] */
static void a_slot_of_another_generation_ends_the_link_at_once(void **state)
{
    (void)state;
    for (int several = 0; several < 2; several++) {
        check_end_at_once(several, 40);
        check_end_at_once(several, LARGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_in_a_slot_is_copied_or_shown_at_once),
        cmocka_unit_test(an_answer_there_is_no_room_for_is_waited_for),
        cmocka_unit_test(a_slot_that_is_none_ends_the_call_and_the_link),
        cmocka_unit_test(a_slot_that_comes_twice_ends_the_call_and_the_link),
        cmocka_unit_test(what_is_sent_through_a_slot_or_in_a_loan_arrives),
        cmocka_unit_test(a_guest_that_leaves_is_lent_nothing),
        cmocka_unit_test(a_call_that_finds_no_slot_is_refused),
        cmocka_unit_test(a_request_in_a_slot_is_served_at_once),
        cmocka_unit_test(a_request_in_a_slot_that_is_none_ends_the_link),
        cmocka_unit_test(metadata_that_is_none_ends_the_link),
        cmocka_unit_test(a_request_that_may_name_streams_is_left_for_the_ordinary_way),
        cmocka_unit_test(a_large_request_that_is_not_shown_is_left_for_the_ordinary_way),
        cmocka_unit_test(a_slot_of_another_generation_ends_the_link_at_once),
    };

    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
