/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of channels that break a rule: each refusal names the rule, and ends the link. */
#include "hub/channel/channel_reader.h"
#include "hub/channel/channel_stream.h"
#include "tests/unit/link/channel_pair.h"

/* The guest receives it: fails, and names the rule. */
static void refuse(struct flow *flow, const char *rule)
{
    const struct hub_link *link = flow->pair.guest.connection.link;

    assert_int_equal(hub_link_sweep(flow->pair.guest.connection.link, 64), RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(link), rule);
    flow_close(flow);
}

/* r[verify channeling.unknown] */
static void a_channel_that_was_never_opened_is_refused(void **state)
{
    static const enum hub_message_type types[] = {HUB_DATA, HUB_CLOSE, HUB_RESET};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct flow flow;

        flow_open(&flow, true);
        assert_int_equal(
            flow_send(&flow.pair.host, types[i], 4, "\1x", types[i] == HUB_DATA ? 2 : 0), 0);
        refuse(&flow, "channeling.unknown");
    }
}

/* r[verify flow.channel.credit-overrun] r[verify hub.channel.bound] */
static void more_than_the_credit_is_refused(void **state)
{
    char bytes[602] = {(char)0xd8, 4}; /* 600 bytes */
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 2, bytes, sizeof bytes), 0);
    assert_int_equal(hub_link_sweep(flow.pair.guest.connection.link, 64), 1);
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 2, bytes, sizeof bytes), 0);
    refuse(&flow, "flow.channel.credit-overrun");
}

/* r[verify channeling.data.invalid] */
static void an_element_that_is_no_value_of_bytes_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {{"", 0}, {"\2x", 2}, {"\1xy", 3}, {"\x80", 1}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct flow flow;

        flow_open(&flow, true);
        assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 2, bad[i].bytes, bad[i].size), 0);
        refuse(&flow, "channeling.data.invalid");
    }
}

/* r[verify channeling.data-after-close] */
static void data_behind_the_end_is_refused(void **state)
{
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
    assert_int_equal(flow_send(&flow.pair.host, HUB_CLOSE, 2, "", 0), 0); /* ignored */
    assert_int_equal(flow_send(&flow.pair.host, HUB_RESET, 2, "", 0), 0);
    assert_int_equal(hub_link_sweep(flow.pair.guest.connection.link, 64), 3);
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 2, "\1x", 2), 0);
    refuse(&flow, "channeling.data-after-close");
}

/* r[verify channeling.holder-semantics] */
static void only_its_holder_sends_on_a_channel(void **state)
{
    static const enum hub_message_type types[] = {HUB_DATA, HUB_CLOSE};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct flow flow;

        flow_open(&flow, false); /* the guest is to send */
        assert_int_equal(flow_send(&flow.pair.host, types[i], 2, "\1x", i == 0 ? 2 : 0), 0);
        refuse(&flow, "channeling.holder-semantics");
    }
}

/* r[verify channeling.reset.effect] */
static void what_comes_behind_a_reset_is_ignored(void **state)
{
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    hub_channel_reset(flow_sender(&flow));
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 2, "\1x", 2), 0);
    assert_int_equal(flow_send(&flow.pair.host, HUB_CLOSE, 2, "", 0), 0);
    assert_int_equal(flow_send(&flow.pair.host, HUB_RESET, 2, "", 0), 0);
    assert_int_equal(hub_link_sweep(flow.pair.guest.connection.link, 64), 4);
    assert_false(hub_link_closed(flow.pair.guest.connection.link));
    flow_close(&flow);
}

/* r[verify channeling.id.zero-reserved] r[verify shm.flow.channel-table-indexing]
 * r[verify shm.id.channel-parity] r[verify channeling.id.uniqueness]
 * r[verify hub.channel.register] r[verify channeling.id.parity] */
static void a_request_that_names_an_impossible_channel_is_refused(void **state)
{
    static const struct {
        uint64_t id;
        const char *rule;
    } bad[] = {{0, "channeling.id.zero-reserved"},
               {16, "shm.flow.channel-table-indexing"},
               {UINT64_MAX, "shm.flow.channel-table-indexing"},
               {5, "shm.id.channel-parity"},
               {2, "channeling.id.uniqueness"}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct hub_channel_name name = {bad[i].id, false};
        struct hub_channel_list list = {.count = 0};
        struct flow flow;

        flow_open(&flow, true);
        assert_int_equal(hub_channels_register(flow_guest(&flow), &name, 1, &list),
                         RAPAHUB_EPROTOCOL);
        assert_string_equal(rapahub_last_error()->rule, bad[i].rule);
        assert_int_equal(list.count, 0);
        flow_close(&flow);
    }
}

/* r[verify shm.flow.wrap-rule] */
static void credit_that_goes_back_or_too_far_ends_the_link(void **state)
{
    static const uint32_t bad[] = {1023, 0, 1024 + 0x80000000u};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct flow flow;

        flow_open(&flow, true);
        hub_channel_table_grant(hub_channel_entry_of(flow_sender(&flow)), bad[i]);
        assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "x", 1), RAPAHUB_EPROTOCOL);
        assert_string_equal(hub_link_rule(flow.pair.host.connection.link), "shm.flow.wrap-rule");
        flow_close(&flow);
    }
}

/* Nothing in POSTCARD forbids a length that is longer than it need be. */
static void a_length_of_many_bytes_is_read_as_any(void **state)
{
    struct flow flow;
    char byte = 0;

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 2, "\x81\x80\x80\x80\x80\x80\0x", 8), 0);
    assert_int_equal(hub_link_sweep(flow.pair.guest.connection.link, 64), 1);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), &byte, 1), 1);
    assert_int_equal(byte, 'x');
    flow_close(&flow);
}

/* Another thread answers while the one that receives still copies. */
static void a_channel_that_ends_while_its_data_is_copied_stays_until_then(void **state)
{
    const struct hub_message data = {HUB_DATA, 2, 0};
    struct hub_channel_name name = {2, false};
    struct flow flow;
    struct hub_channel *channel;
    uint32_t run;

    (void)state;
    for (int again = 0; again < 3; again++) {
        flow_open(&flow, true);
        channel = hub_channel_reader_begin_fill(flow_guest(&flow), 2, 4);
        assert_non_null(channel);
        hub_channels_answer(&flow.callee, true);
        hub_channels_drop(&flow.callee);
        if (again > 0) /* the id is another one's already */
            assert_int_equal(hub_channels_register(flow_guest(&flow), &name, 1, &flow.callee), 0);
        memcpy(hub_fifo_room(&channel->fifo, 0, &run), "abc", 3);
        assert_int_equal(
            hub_channel_reader_end_fill(channel, &data, 4, again < 2 ? 1 : RAPAHUB_EPROTOCOL),
            again < 2 ? HUB_RECEIVE_BATCH_SILENT : RAPAHUB_EPROTOCOL);
        if (again > 0)
            assert_int_equal(hub_fifo_size(&flow_receiver(&flow)->fifo), 0);
        flow_close(&flow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_that_was_never_opened_is_refused),
        cmocka_unit_test(more_than_the_credit_is_refused),
        cmocka_unit_test(an_element_that_is_no_value_of_bytes_is_refused),
        cmocka_unit_test(data_behind_the_end_is_refused),
        cmocka_unit_test(only_its_holder_sends_on_a_channel),
        cmocka_unit_test(what_comes_behind_a_reset_is_ignored),
        cmocka_unit_test(a_request_that_names_an_impossible_channel_is_refused),
        cmocka_unit_test(a_length_of_many_bytes_is_read_as_any),
        cmocka_unit_test(a_channel_that_ends_while_its_data_is_copied_stays_until_then),
        cmocka_unit_test(credit_that_goes_back_or_too_far_ends_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
