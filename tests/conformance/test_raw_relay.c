/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest as the caller of a method with streams: which ids it takes, when it takes them again.
 * The host, written from the numbers of the specification, serves the call. */
#include "tests/conformance/raw_streaming.h"

#define RELAY "relay(source, sink, u32) -> u64"

/* A call of "relay", and the guest's own call of "copy" that it leads to. */
struct relay {
    struct raw_reply reply;
    struct raw_channel out, back; /* host to guest and back, ids of ours */
    uint32_t inner;               /* its request */
    uint64_t ids[2]; /* the guest's channels: those it sends on, and those it receives from */
    struct raw_channel from, answer; /* the guest's */
};

static void open_narrow(struct raw_hosting *on, uint32_t max_channels)
{
    struct raw_config config = RAW_HOST_NARROW;

    config.max_channels = max_channels;
    memset(on, 0, sizeof(*on));
    raw_hosting_open_module(on, &config, RAW_BELL_STREAM, FLOW_MODULE);
}

/* `first` and the next one are ids of ours that are free. r[verify shm.id.channel-parity]
 * r[verify channeling.allocation.caller] r[verify shm.flow.channel-activate] */
static void begin_relay(struct raw_hosting *on, struct relay *relay, uint32_t first)
{
    const uint64_t arguments[] = {first, first + 2, 9};
    struct raw_postcard_rest rest;
    struct raw_message message;

    memset(relay, 0, sizeof(*relay));
    assert_int_equal(raw_channel_open(&on->link, first, &relay->out), 0);
    assert_int_equal(raw_channel_open(&on->link, first + 2, &relay->back), 0);
    raw_request(on, &relay->reply, RELAY, arguments, 3);
    do
        assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
    while (message.type != RAW_REQUEST);
    assert_true(message.method == raw_call_method(COPY));
    rest = raw_call_arguments(&message);
    relay->inner = message.id;
    for (int i = 0; i < 2; i++) {
        relay->ids[i] = raw_postcard_take_u64(&rest);
        assert_int_equal(relay->ids[i] % 2, 1);
    }
    assert_false(rest.wrong);
    assert_int_equal(rest.left, 0);
    assert_int_equal(raw_channel_adopt(&on->link, (uint32_t)relay->ids[0], &relay->from), 0);
    assert_int_equal(raw_channel_adopt(&on->link, (uint32_t)relay->ids[1], &relay->answer), 0);
}

/* Some bytes go through both, and all ends well. The guest's first channel is left as it is. */
static void end_relay(struct raw_hosting *on, struct relay *relay)
{
    struct raw_message message;
    uint64_t through = 0;
    const uint8_t *at;
    size_t size;

    relay->reply.from = &relay->back;
    raw_piece(&relay->out, 0, PIECE);
    assert_int_equal(raw_channel_close(&relay->out), 0);
    do {
        assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
        if (message.type == RAW_DATA && message.id == relay->back.id) {
            raw_take_data(&relay->reply, &message); /* it has come around already */
        } else if (message.type == RAW_DATA) {
            assert_int_equal(message.id, relay->ids[0]);
            assert_int_equal(raw_channel_take(&relay->from, &message, &at, &size), 0);
            assert_int_equal(raw_channel_send(&relay->answer, at, size, CALL_MS), 0);
            through += size;
        }
    } while (message.type != RAW_CLOSE);
    assert_int_equal(message.id, relay->ids[0]);
    assert_int_equal(raw_channel_look(&on->link, (uint32_t)relay->ids[0]), RAW_CHANNEL_CLOSED);
    assert_int_equal(through, PIECE);
    raw_channel_set(&on->link, (uint32_t)relay->ids[1], RAW_CHANNEL_CLOSED);
    assert_int_equal(raw_call_answer_bytes(&on->link, relay->inner, "", 0, CALL_MS), 0); /* 00 */
    raw_finish(on, &relay->reply);
    assert_int_equal(relay->reply.outcome, 0);
    assert_int_equal(relay->reply.bytes, PIECE);
    raw_until_free(on, relay->out.id);
    raw_until_free(on, (uint32_t)relay->ids[1]); /* it allocated it, so it frees it itself */
    raw_channel_free(&on->link, relay->back.id);
}

/* r[verify shm.flow.channel-id-reuse] */
static void ids_are_used_again_when_their_entry_is_free(void **state)
{
    static const uint64_t left_out[][2] = {{1, 3}, {5, 7}, {3, 7}};
    struct raw_hosting on;
    struct relay relay;

    (void)state;
    open_narrow(&on, 8); /* 1, 3, 5, 7 */
    for (int i = 0; i < 3; i++) {
        begin_relay(&on, &relay, 2);
        assert_int_equal(relay.ids[0], left_out[i][0]);
        assert_int_equal(relay.ids[1], left_out[i][1]);
        end_relay(&on, &relay); /* 1 and 5 stay Closed */
        if (i == 0)
            assert_int_equal(raw_channel_look(&on.link, 1), RAW_CHANNEL_CLOSED);
    }
    raw_channel_free(&on.link, 1);
    raw_channel_free(&on.link, 3);
    raw_channel_free(&on.link, 5);
    begin_relay(&on, &relay, 2);
    assert_int_equal(relay.ids[0] + relay.ids[1], 1 + 5); /* the oldest */
    end_relay(&on, &relay);
    raw_hosting_close(&on, 0);
}

/* Refused: the guest's sent data has no receiver; the guest frees the entries itself.
 * r[verify channeling.lifecycle.speculative] */
static void a_caller_that_is_refused_frees_its_channels(void **state)
{
    struct raw_hosting on;
    struct relay relay;

    (void)state;
    open_narrow(&on, 8);
    for (int i = 0; i < 10; i++) {
        begin_relay(&on, &relay, 2);
        assert_int_equal(raw_call_fail(&on.link, relay.inner, RAW_UNKNOWN_METHOD, CALL_MS), 0);
        relay.reply.from = &relay.back;
        raw_finish(&on, &relay.reply);
        assert_true(relay.reply.outcome > 0);
        raw_until_free(&on, (uint32_t)relay.ids[0]);
        raw_until_free(&on, (uint32_t)relay.ids[1]);
        assert_int_equal(raw_channel_abort(&relay.out), 0);
        raw_until_free(&on, 2);
        raw_channel_free(&on.link, 4);
    }
    raw_hosting_close(&on, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_used_again_when_their_entry_is_free),
        cmocka_unit_test(a_caller_that_is_refused_frees_its_channels),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
