/* SPDX-License-Identifier: Apache-2.0 */
/* The serving end of a call that goes directly, with the other end played by hand. */
#include "tests/unit/link/direct_inbound.h"

static struct hub_request *serve_one(struct pair *pair, uint32_t id)
{
    struct hub_request *request;

    send_raw(&pair->host, HUB_REQUEST, id, small, sizeof small);
    request = next_directly(pair);
    assert_non_null(request);
    assert_int_equal(request->id, id);
    return request;
}

static const struct hub_descriptor *answer_at(const struct pair *pair, uint32_t index)
{
    const struct hub_ring_cell *cells = pair->host.view.guest_to_host;

    return (const struct hub_descriptor *)(const void *)&cells[index];
}

static void assert_answer(const struct pair *pair, uint32_t index, uint32_t id, const void *payload,
                          size_t size)
{
    const struct hub_descriptor *answer = answer_at(pair, index);

    assert_int_equal(sent_to_host(pair), index + 1);
    assert_int_equal(answer->msg_type, HUB_RESPONSE);
    assert_int_equal(answer->id, id);
    assert_int_equal(answer->method_id, 0);
    assert_int_equal(answer->payload_slot, HUB_INLINE);
    assert_int_equal(answer->payload_generation | answer->payload_offset, 0);
    assert_int_equal(answer->payload_len, size);
    assert_memory_equal(answer->inline_payload, payload, size);
}

/* r[verify call.response.encoding] r[verify call.lifecycle.single-response] */
static void a_request_that_is_there_is_served_at_once(void **state)
{
    static const uint8_t result[] = {0, 0, 2, 5, 6};
    const struct hub_limits limits = pair_limits();
    struct hub_request *request;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    assert_null(next_directly(&pair));
    request = serve_one(&pair, 17);
    assert_int_equal(request->method_id, METHOD);
    assert_int_equal(request->arguments.size, 3);
    assert_memory_equal(request->arguments.data, small + 1, 3);
    assert_int_equal(request->metadata.container, 0);
    assert_false(hub_request_is_cancelled(request));
    assert_false(hub_link_receiving(pair.guest.connection.link));
    assert_null(next_directly(&pair)); /* while it runs no other is */
    assert_true(
        hub_direct_serve_bytes(served_of(&pair), (struct rapahub_bytes){result + 3, 2}, false));
    assert_answer(&pair, 0, 17, result, sizeof result);
    assert_int_equal(sweep(&pair), 0);
    (void)serve_one(&pair, 17); /* its id is free again */
    pair_close(&pair);
}

/* A result that fits is answered from there, the others by the ordinary way; each one once. */
static void a_result_of_any_size_is_sent_once(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_limits limits = pair_limits();
    uint8_t length, bytes[40];
    struct pair pair;

    (void)state;
    limits.ring_size = 64;
    open_direct(&pair, &limits, 0);
    memset(bytes, 0x55, sizeof bytes);
    for (uint8_t size = 0; size < sizeof bytes; size++) {
        struct hub_request *request = serve_one(&pair, size);
        const struct hub_parts parts = {.head = {&length, 1}, .tail = {bytes, size}};
        bool direct = hub_direct_serve_bytes(served_of(&pair), parts.tail, false);

        length = size;
        assert_int_equal(direct, size <= 29);
        assert_int_equal(sent_to_host(&pair), direct ? size + 1 : size);
        if (!direct)
            assert_int_equal(hub_inbound_calls_answer_parts(served_of(&pair), request, &ok, &parts),
                             0);
        assert_int_equal(sent_to_host(&pair), size + 1);
        assert_int_equal(answer_at(&pair, size)->payload_len, 3 + size);
        assert_int_equal(answer_at(&pair, size)->payload_slot == HUB_INLINE, direct);
        (void)hub_link_sweep(pair.host.connection.link, 8); /* its slot is free again */
    }
    pair_close(&pair);
}

static void answer_is(struct pair *pair, const struct hub_response *response,
                      const uint8_t *payload, size_t size)
{
    static const uint8_t head = 1, tail = 9;
    const struct hub_parts parts = {.head = {&head, 1}, .tail = {&tail, 1}};
    const struct hub_parts nothing = {.loan = NULL};
    uint32_t index = sent_to_host(pair);
    struct hub_request *request = serve_one(pair, 30 + index);
    bool body = response->kind == HUB_RESPONSE_OK;

    assert_int_equal(hub_inbound_calls_answer_parts(served_of(pair), request, response,
                                                    body ? &parts : &nothing),
                     0);
    assert_answer(pair, index, 30 + index, payload, size);
}

static void answers_of_each_kind_are_those_of_any_request(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    answer_is(&pair, &(struct hub_response){.kind = HUB_RESPONSE_OK}, (uint8_t[]){0, 0, 1, 9}, 4);
    answer_is(&pair, &(struct hub_response){.kind = HUB_RESPONSE_UNKNOWN_METHOD},
              (uint8_t[]){0, 1, 1}, 3);
    answer_is(&pair, &(struct hub_response){.kind = HUB_RESPONSE_INVALID_PAYLOAD},
              (uint8_t[]){0, 1, 2}, 3);
    answer_is(&pair, &(struct hub_response){.kind = HUB_RESPONSE_CANCELLED}, (uint8_t[]){0, 1, 3},
              3);
    pair_close(&pair);
}

/* r[verify call.cancel.best-effort] */
static void a_cancel_finds_the_request_that_runs_and_no_other(void **state)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();
    struct hub_request *request;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    request = serve_one(&pair, 20);
    send_raw(&pair.host, HUB_CANCEL, 21, NULL, 0);
    send_raw(&pair.host, HUB_CANCEL, 0, NULL, 0);
    send_raw(&pair.host, HUB_CANCEL, UINT32_MAX, NULL, 0);
    assert_int_equal(sweep(&pair), 3);
    assert_false(hub_request_is_cancelled(request));
    assert_false(hub_inbound_calls_is_cancelled(served_of(&pair), 20));
    send_raw(&pair.host, HUB_CANCEL, 20, NULL, 0);
    assert_int_equal(sweep(&pair), 1);
    assert_true(hub_request_is_cancelled(request));
    assert_true(hub_inbound_calls_is_cancelled(served_of(&pair), 20));
    assert_false(hub_inbound_calls_is_cancelled(served_of(&pair), 21));
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    assert_false(hub_inbound_calls_is_cancelled(served_of(&pair), 20));
    send_raw(&pair.host, HUB_CANCEL, 20, NULL, 0); /* of a request that was answered */
    assert_int_equal(sweep(&pair), 1);
    request = serve_one(&pair, UINT32_MAX);
    assert_false(hub_request_is_cancelled(request));
    send_raw(&pair.host, HUB_CANCEL, UINT32_MAX, NULL, 0);
    assert_int_equal(sweep(&pair), 1);
    assert_true(hub_request_is_cancelled(request));
    pair_close(&pair);
}

/* Also of one that was cancelled. r[verify call.request-id.duplicate-detection] */
static void an_id_that_runs_directly_is_served_already(void **state)
{
    (void)state;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        const struct hub_limits limits = pair_limits();
        struct hub_request *request;
        struct pair pair;

        open_direct(&pair, &limits, 0);
        request = serve_one(&pair, 20);
        if (cancelled)
            send_raw(&pair.host, HUB_CANCEL, 20, NULL, 0);
        (void)sweep(&pair);
        send_raw(&pair.host, HUB_REQUEST, 20, small, sizeof small);
        assert_int_equal(sweep(&pair), RAPAHUB_EPROTOCOL);
        assert_string_equal(hub_link_rule(pair.guest.connection.link),
                            "call.request-id.duplicate-detection");
        assert_true(hub_request_is_cancelled(request)); /* its caller has given up */
        pair_close(&pair);
    }
}

/* In the situation of a method that calls outward. r[verify call.request-id.duplicate-detection] */
static void while_one_runs_others_are_served_the_ordinary_way(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();
    struct hub_request *outer, *inner;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    outer = serve_one(&pair, 20);
    send_raw(&pair.host, HUB_REQUEST, 21, small, sizeof small);
    assert_null(next_directly(&pair));
    assert_int_equal(sweep(&pair), 1);
    assert_null(next_directly(&pair));
    inner = hub_inbound_calls_next(served_of(&pair), NULL, NULL);
    assert_int_equal(inner->id, 21);
    send_raw(&pair.host, HUB_CANCEL, 21, NULL, 0);
    assert_int_equal(sweep(&pair), 1);
    assert_true(hub_request_is_cancelled(inner));
    assert_false(hub_request_is_cancelled(outer));
    assert_int_equal(hub_inbound_calls_answer(served_of(&pair), inner, &ok, none), 0);
    assert_null(next_directly(&pair));
    assert_int_equal(outer->id, 20);
    assert_memory_equal(outer->arguments.data, small + 1, 3);
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    assert_int_equal(answer_at(&pair, 1)->id, 20);
    pair_close(&pair);
}

static void what_is_queued_runs_before_what_comes_at_once(void **state)
{
    const struct hub_limits limits = pair_limits();
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct rapahub_bytes none = {NULL, 0};
    struct hub_request *request;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.host, HUB_REQUEST, 1, small, sizeof small);
    assert_int_equal(sweep(&pair), 1);
    send_raw(&pair.host, HUB_REQUEST, 2, small, sizeof small);
    assert_null(next_directly(&pair));
    request = hub_inbound_calls_next(served_of(&pair), NULL, NULL);
    assert_null(next_directly(&pair)); /* not while it runs, for it might be the same id */
    assert_int_equal(hub_inbound_calls_answer(served_of(&pair), request, &ok, none), 0);
    request = next_directly(&pair);
    assert_int_equal(request->id, 2);
    pair_close(&pair);
}

struct row {
    struct hub_descriptor message;
    int swept; /* result of the ordinary way */
};

/* Each is left where it is. r[verify hub.violation] */
static void what_is_not_small_and_plain_goes_the_ordinary_way(void **state)
{
    const struct row rows[] = {
        {{.msg_type = HUB_REQUEST, .payload_slot = 0, .payload_len = 4}, RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_REQUEST, .payload_slot = 99, .payload_len = 40}, RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_REQUEST, .payload_slot = HUB_INLINE, .payload_len = 33},
         RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_REQUEST, .payload_slot = HUB_INLINE, .payload_len = UINT32_MAX},
         RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_REQUEST,
          .payload_slot = HUB_INLINE,
          .payload_len = 4,
          .payload_generation = 1},
         RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_REQUEST,
          .payload_slot = HUB_INLINE,
          .payload_len = 4,
          .payload_offset = 1},
         RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_REQUEST, .payload_slot = HUB_INLINE, .payload_len = 0},
         RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_REQUEST,
          .payload_slot = HUB_INLINE,
          .payload_len = 1,
          .inline_payload = {9}},
         RAPAHUB_EPROTOCOL},
        {{.msg_type = 0, .payload_slot = HUB_INLINE, .payload_len = 4}, RAPAHUB_EPROTOCOL},
        {{.msg_type = HUB_RESPONSE, .payload_slot = HUB_INLINE, .payload_len = 4}, 1},
        {{.msg_type = HUB_CANCEL, .payload_slot = HUB_INLINE}, 1},
        {{.msg_type = HUB_GOODBYE, .payload_slot = HUB_INLINE}, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct hub_limits limits = pair_limits();
        struct pair pair;

        open_direct(&pair, &limits, 0);
        memcpy(pair.host.view.host_to_guest, &rows[i].message, sizeof rows[i].message);
        hub_publish(&pair.host.view.entry->host_to_guest_head, 1);
        assert_null(next_directly(&pair));
        assert_false(hub_link_receiving(pair.guest.connection.link));
        assert_false(hub_link_closed(pair.guest.connection.link));
        assert_int_equal(sweep(&pair), rows[i].swept);
        pair_close(&pair);
    }
}

static void what_the_host_changes_behind_the_look_is_not_seen(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_request *request;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    request = serve_one(&pair, 20);
    memset(pair.host.view.host_to_guest, 0xff, sizeof pair.host.view.host_to_guest[0]);
    assert_int_equal(request->id, 20);
    assert_int_equal(request->arguments.size, 3);
    assert_memory_equal(request->arguments.data, small + 1, 3);
    pair_close(&pair);
}

static int find_one(void *user, struct hub_request *request,
                    struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    (void)request;
    names[0] = (struct hub_channel_name){2, false};
    return *(int *)user;
}

/* Such as one that names channels, or cannot be read. */
static void what_may_have_streams_is_left(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    int count = 1;

    (void)state;
    open_direct(&pair, &limits, 0);
    hub_inbound_calls_find_streams(served_of(&pair), find_one, &count);
    send_raw(&pair.host, HUB_REQUEST, 20, small, sizeof small);
    assert_null(next_directly(&pair));
    count = -1;
    assert_null(next_directly(&pair));
    count = 0;
    assert_non_null(next_directly(&pair));
    pair_close(&pair);
}

/* Only one that never has streams: another one may have none this time. */
static void a_plain_method_is_looked_for_once(void **state)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();

    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        struct asking asking = {.plain = plain != 0};
        struct pair pair;

        open_direct(&pair, &limits, 0);
        hub_inbound_calls_find_streams(served_of(&pair), find_method, &asking);
        for (uint32_t id = 1; id <= 3; id++) {
            assert_ptr_equal(serve_one(&pair, id)->method, &asking.method);
            assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
        }
        assert_int_equal(asking.asked, plain ? 1 : 3);
        send_raw(&pair.host, HUB_REQUEST, 9, small, sizeof small);
        ((struct hub_descriptor *)(void *)&pair.host.view.host_to_guest[3])->method_id = 77;
        assert_non_null(next_directly(&pair)); /* another method is looked for */
        assert_int_equal(asking.asked, plain ? 2 : 4);
        assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
        pair_close(&pair);
    }
}

/* The next request of a method is known except for its id and payload: not so after one that came
 * through a slot, and with metadata. */
static void what_is_known_of_the_last_request_is_of_that_only(void **state)
{
    const struct hub_metadata metadata = {.container = 5};
    static const uint8_t many[32] = {7}, one_byte[] = {0, 0};
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();
    struct asking asking = {.plain = true};
    struct hub_request *request;
    struct hub_writer writer;
    uint8_t long_one[64];
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    hub_inbound_calls_find_streams(served_of(&pair), find_method, &asking);
    hub_writer_init(&writer, long_one, sizeof long_one);
    assert_int_equal(hub_metadata_write(&writer, &metadata), 0);
    hub_writer_put(&writer, many, sizeof many);
    assert_true(writer.size > HUB_INLINE_SIZE);
    (void)serve_one(&pair, 1);
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    send_raw(&pair.host, HUB_REQUEST, 2, long_one, writer.size);
    request = next_directly(&pair);
    assert_non_null(request);
    assert_int_equal(request->metadata.container, 5);
    assert_int_equal(request->arguments.size, sizeof many);
    assert_memory_equal(request->arguments.data, many, sizeof many);
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    send_raw(&pair.host, HUB_REQUEST, 3, one_byte, sizeof one_byte);
    request = next_directly(&pair);
    assert_non_null(request);
    assert_int_equal(request->metadata.container, 0);
    assert_int_equal(request->arguments.size, 1);
    assert_memory_equal(request->arguments.data, one_byte + 1, 1);
    assert_ptr_equal(request->method, &asking.method);
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    request = serve_one(&pair, 4);
    assert_int_equal(request->id, 4);
    assert_int_equal(request->arguments.size, 3);
    assert_memory_equal(request->arguments.data, small + 1, 3);
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    assert_int_equal(sent_to_host(&pair), 4);
    pair_close(&pair);
}

/* r[verify hub.death.guard] */
static void a_guest_that_was_given_up_answers_nothing_directly(void **state)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_limits limits = pair_limits();
    struct hub_request *request;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    request = serve_one(&pair, 20);
    hub_publish(&pair.host.view.entry->epoch, pair.epoch + 1);
    assert_false(hub_direct_serve_bytes(served_of(&pair), none, false));
    assert_int_equal(hub_inbound_calls_answer(served_of(&pair), request, &ok, none),
                     RAPAHUB_ESTALE);
    assert_int_equal(sent_to_host(&pair), 0);
    hub_publish(&pair.host.view.entry->epoch, pair.epoch);
    pair_close(&pair);
}

static void a_link_that_ends_flags_what_runs_directly(void **state)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();
    struct hub_request *request;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    request = serve_one(&pair, 20);
    send_raw(&pair.host, HUB_REQUEST, 21, small, sizeof small); /* never runs */
    hub_link_close(pair.guest.connection.link, RAPAHUB_EDIED, "");
    assert_true(hub_request_is_cancelled(request));
    assert_false(hub_direct_serve_bytes(served_of(&pair), none, false));
    assert_null(next_directly(&pair));
    assert_int_equal(sent_to_host(&pair), 0);
    pair_close(&pair);
}

/* The serving thread need not look whether the entry is still its own after an answer that has
 * looked. */
static void an_answer_says_whether_it_was_sent_at_once(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK},
                              unknown = {.kind = HUB_RESPONSE_UNKNOWN_METHOD};
    const struct hub_limits limits = pair_limits();
    const uint8_t bytes[40] = {0};
    const struct hub_parts few = {.tail = {bytes, 4}}, many = {.tail = {bytes, sizeof bytes}};
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    (void)serve_one(&pair, 20);
    assert_int_equal(hub_direct_serve_answer(served_of(&pair), &ok, &few), 1);
    (void)serve_one(&pair, 21);
    assert_int_equal(hub_direct_serve_answer(served_of(&pair), &ok, &many), 1);
    (void)serve_one(&pair, 22);
    assert_int_equal(hub_direct_serve_answer(served_of(&pair), &unknown, &few), 0);
    assert_int_equal(sent_to_host(&pair), 3);
    (void)serve_one(&pair, 23);
    hub_link_close(pair.guest.connection.link, RAPAHUB_EDIED, "");
    assert_true(hub_direct_serve_answer(served_of(&pair), &ok, &many) <= 0);
    assert_int_equal(sent_to_host(&pair), 3);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_that_is_there_is_served_at_once),
        cmocka_unit_test(a_result_of_any_size_is_sent_once),
        cmocka_unit_test(answers_of_each_kind_are_those_of_any_request),
        cmocka_unit_test(a_cancel_finds_the_request_that_runs_and_no_other),
        cmocka_unit_test(an_id_that_runs_directly_is_served_already),
        cmocka_unit_test(while_one_runs_others_are_served_the_ordinary_way),
        cmocka_unit_test(what_is_queued_runs_before_what_comes_at_once),
        cmocka_unit_test(what_is_not_small_and_plain_goes_the_ordinary_way),
        cmocka_unit_test(what_the_host_changes_behind_the_look_is_not_seen),
        cmocka_unit_test(what_may_have_streams_is_left),
        cmocka_unit_test(a_plain_method_is_looked_for_once),
        cmocka_unit_test(what_is_known_of_the_last_request_is_of_that_only),
        cmocka_unit_test(a_guest_that_was_given_up_answers_nothing_directly),
        cmocka_unit_test(a_link_that_ends_flags_what_runs_directly),
        cmocka_unit_test(an_answer_says_whether_it_was_sent_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
