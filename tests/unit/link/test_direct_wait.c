/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for a side that waits for its own call: answers and requests that are received while it
 * spins, and all that must go the ordinary way. The other end is played by hand. */
#include "hub/call/direct_wait.h"
#include "hub/wire/metadata.h"
#include "tests/unit/link/direct_pair.h"
#include "tests/unit/shm/free_slots.h"

#define ID    7
#define LARGE 600 /* bytes of a payload: in a slot, and looked at privately */

static const uint8_t small[] = {0, 1, 2, 3}; /* no metadata, arguments */

/* Decides whether a request may be run here. */
struct judge {
    bool may;
    int asked;
    uint64_t chain;
    size_t size;
};

static bool judge_one(void *user, struct hub_request *request)
{
    struct judge *judge = user;

    judge->asked++;
    judge->chain = request->metadata.chain;
    judge->size = request->arguments.size;
    return judge->may;
}

static enum hub_direct_news next(struct pair *pair, struct judge *judge,
                                 struct hub_request **request)
{
    const struct hub_direct_wait wait = {.calls = pair->host.connection.calls,
                                         .served = pair->host.connection.served,
                                         .may = judge_one,
                                         .user = judge};

    be_far(pair);
    return hub_direct_wait_next(&wait, request);
}

static struct hub_request *queued(struct pair *pair)
{
    return hub_inbound_calls_next(pair->host.connection.served, NULL, NULL);
}

static void answer_ok(struct pair *pair, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};

    assert_int_equal(
        hub_inbound_calls_answer(pair->host.connection.served, request, &ok, request->arguments),
        0);
}

/* The host has called, and nothing has come. */
static void open_waiting(struct pair *pair, struct attempt *one)
{
    const struct hub_limits limits = pair_limits();

    open_direct(pair, &limits, 0);
    attempt(pair, 1, one);
    assert_int_equal(one->end.outcome, HUB_DIRECT_SENT);
}

static void close_waiting(struct pair *pair, struct attempt *one)
{
    hub_responses_fini(&one->answer);
    pair_close(pair);
}

static void ask(struct pair *pair, uint32_t id)
{
    send_raw(&pair->guest, HUB_REQUEST, id, small, sizeof small);
}

static void a_request_is_taken_run_and_answered(void **state)
{
    struct judge judge = {.may = true};
    struct hub_request *request;
    struct attempt one;
    struct pair pair;
    uint32_t sent;

    (void)state;
    open_waiting(&pair, &one);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_NOTHING);
    ask(&pair, ID);
    sent = sent_to_guest(&pair);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_REQUEST);
    assert_int_equal(request->id, ID);
    assert_int_equal(request->method_id, METHOD);
    assert_int_equal(request->arguments.size, 3);
    assert_memory_equal(request->arguments.data, small + 1, 3);
    assert_int_equal(judge.asked, 1);
    assert_null(queued(&pair));
    assert_int_equal(hub_inbound_calls_open(pair.host.connection.served),
                     1); /* its guest waits for us */
    answer_ok(&pair, request);
    assert_int_equal(hub_inbound_calls_open(pair.host.connection.served), 0);
    assert_int_equal(sent_to_guest(&pair), sent + 1);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID, "\0\0", 2);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_ANSWER);
    assert_int_equal(wait_for(&pair, &one), 0);
    assert_int_equal(one.answer.size, 2);
    assert_int_equal(hub_calls_answered(pair.host.connection.calls), 1);
    close_waiting(&pair, &one);
}

/* With metadata, in a slot, which the guest has back before it runs. r[verify hub.slot.hold] */
static void one_in_a_slot_is_copied(void **state)
{
    const struct hub_metadata metadata = {.chain = UINT64_MAX - 1};
    struct judge judge = {.may = true};
    struct hub_request *request;
    uint8_t payload[LARGE] = {0};
    struct hub_writer writer;
    struct attempt one;
    struct pair pair;
    uint32_t free;

    (void)state;
    open_waiting(&pair, &one);
    hub_writer_init(&writer, payload, sizeof payload);
    assert_int_equal(hub_metadata_write(&writer, &metadata), 0);
    free = free_slots_of(&pair.guest.pool);
    send_raw(&pair.guest, HUB_REQUEST, ID, payload, sizeof payload);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_REQUEST);
    assert_true(judge.chain == UINT64_MAX - 1);
    assert_int_equal(request->arguments.size, sizeof payload - writer.size);
    assert_int_equal(free_slots_of(&pair.guest.pool), free);
    answer_ok(&pair, request);
    close_waiting(&pair, &one);
}

static void what_may_not_run_here_is_queued_as_any(void **state)
{
    struct judge judge = {.may = false};
    struct hub_request *request;
    struct attempt one;
    struct pair pair;

    (void)state;
    open_waiting(&pair, &one);
    ask(&pair, ID);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_NOTHING);
    assert_int_equal(judge.asked, 1);
    assert_int_equal(hub_load_relaxed(&pair.host.requests), 1);
    request = queued(&pair);
    assert_non_null(request);
    assert_int_equal(request->id, ID);
    assert_memory_equal(request->arguments.data, small + 1, 3);
    /* In order: the next one waits as long as one is open. */
    ask(&pair, ID + 1);
    judge.may = true;
    assert_int_equal(next(&pair, &judge, &(struct hub_request *){NULL}), HUB_DIRECT_NOTHING);
    assert_int_equal(judge.asked, 1);
    answer_ok(&pair, request);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_REQUEST);
    answer_ok(&pair, request);
    close_waiting(&pair, &one);
}

/* r[verify call.request-id.duplicate-detection] */
static void one_runs_so_at_a_time(void **state)
{
    struct judge judge = {.may = true};
    struct hub_request *first, *second;
    struct attempt one;
    struct pair pair;

    (void)state;
    open_waiting(&pair, &one);
    ask(&pair, ID);
    assert_int_equal(next(&pair, &judge, &first), HUB_DIRECT_REQUEST);
    ask(&pair, ID + 1);
    assert_int_equal(next(&pair, &judge, &second), HUB_DIRECT_NOTHING);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1);
    second = queued(&pair);
    assert_non_null(second);
    assert_int_equal(second->id, ID + 1);
    assert_int_equal(first->id, ID);
    assert_memory_equal(first->arguments.data, small + 1, 3);
    answer_ok(&pair, second);
    ask(&pair, ID); /* it runs still */
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(pair.host.connection.link),
                        "call.request-id.duplicate-detection");
    assert_true(hub_request_is_cancelled(first));
    close_waiting(&pair, &one);
}

static void a_cancel_finds_it(void **state)
{
    struct judge judge = {.may = true};
    struct hub_request *request;
    struct attempt one;
    struct pair pair;

    (void)state;
    open_waiting(&pair, &one);
    ask(&pair, ID);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_REQUEST);
    assert_false(hub_request_is_cancelled(request));
    send_raw(&pair.guest, HUB_CANCEL, ID, NULL, 0);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1);
    assert_true(hub_request_is_cancelled(request));
    answer_ok(&pair, request);
    close_waiting(&pair, &one);
}

/* r[verify message.decode-error] */
static void metadata_that_is_none_ends_the_link(void **state)
{
    static const uint8_t broken[] = {5, 1};
    struct judge judge = {.may = true};
    struct hub_request *request;
    struct attempt one;
    struct pair pair;

    (void)state;
    open_waiting(&pair, &one);
    send_raw(&pair.guest, HUB_REQUEST, ID, broken, sizeof broken);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_NOTHING);
    assert_int_equal(judge.asked, 0);
    assert_true(hub_link_closed(pair.host.connection.link));
    assert_string_equal(hub_link_rule(pair.host.connection.link), "message.decode-error");
    assert_int_equal(wait_for(&pair, &one), RAPAHUB_EPROTOCOL);
    close_waiting(&pair, &one);
}

/* A Response of a call that is not open, and what is no call, stay for the ordinary way. */
static void what_is_neither_stays_in_the_ring(void **state)
{
    struct judge judge = {.may = true};
    struct hub_request *request;
    struct attempt one;
    struct pair pair;

    (void)state;
    open_waiting(&pair, &one);
    send_raw(&pair.guest, HUB_RESPONSE, FIRST_ID + 1, "\0\0", 2);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_NOTHING);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1);
    assert_int_equal(hub_calls_late(pair.host.connection.calls), 1);
    send_raw(&pair.guest, HUB_CANCEL, ID, NULL, 0);
    assert_int_equal(next(&pair, &judge, &request), HUB_DIRECT_NOTHING);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1);
    assert_int_equal(judge.asked, 0);
    close_waiting(&pair, &one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_taken_run_and_answered),
        cmocka_unit_test(one_in_a_slot_is_copied),
        cmocka_unit_test(what_may_not_run_here_is_queued_as_any),
        cmocka_unit_test(one_runs_so_at_a_time),
        cmocka_unit_test(a_cancel_finds_it),
        cmocka_unit_test(metadata_that_is_none_ends_the_link),
        cmocka_unit_test(what_is_neither_stays_in_the_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
