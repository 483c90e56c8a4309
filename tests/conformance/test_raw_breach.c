/* SPDX-License-Identifier: Apache-2.0 */
/* A host that breaks a rule of channels loses its guest, which names the rule and ends with status
 * 76. */
#include "tests/conformance/raw_streaming.h"

/* The host's breach; a call that fills channel 4 and one that drains channel 2 are running. */
typedef void breach(struct raw_hosting *on);

static void send_more_than_was_granted(struct raw_hosting *on)
{
    static const uint8_t bytes[PIECE];

    for (int i = 0; i < 5; i++)
        assert_int_equal(raw_channel_force(&on->link, 6, bytes, PIECE), 0);
}

static void request(struct raw_hosting *on, uint64_t id)
{
    struct raw_reply reply = {.id = 0};

    raw_request(on, &reply, DRAIN, &id, 1);
}

static void send_to_a_channel_never_opened(struct raw_hosting *on)
{
    raw_channel_force(&on->link, 10, "x", 1);
}

static void send_to_a_channel_of_the_guest(struct raw_hosting *on)
{
    raw_channel_tell(&on->link, RAW_CLOSE, 3);
}

static void send_behind_the_close(struct raw_hosting *on)
{
    raw_channel_tell(&on->link, RAW_CLOSE, 6);
    raw_channel_force(&on->link, 6, "x", 1);
}

static void send_what_the_guest_sends(struct raw_hosting *on)
{
    raw_channel_force(&on->link, 4, "x", 1);
}

static void send_no_element(struct raw_hosting *on)
{
    const struct raw_message data = {
        .type = RAW_DATA, .id = 6, .payload = (const uint8_t *)"\x05xx", .length = 3};

    raw_link_send(&on->link, &data, CALL_MS);
}

static void send_to_channel_zero(struct raw_hosting *on)
{
    raw_channel_force(&on->link, 0, "x", 1);
}

static void send_beyond_the_table(struct raw_hosting *on)
{
    raw_channel_tell(&on->link, RAW_RESET, 16);
}

static void send_too_much_at_once(struct raw_hosting *on)
{
    static const uint8_t bytes[4000];

    raw_channel_force(&on->link, 6, bytes, sizeof(bytes));
}

static void close_with_a_payload(struct raw_hosting *on)
{
    const struct raw_message message = {
        .type = RAW_CLOSE, .id = 6, .payload = (const uint8_t *)"x", .length = 1};

    raw_link_send(&on->link, &message, CALL_MS);
}

static void name_an_odd_channel(struct raw_hosting *on)
{
    request(on, 5);
}

static void name_channel_zero(struct raw_hosting *on)
{
    request(on, 0);
}

static void name_a_channel_beyond(struct raw_hosting *on)
{
    request(on, 16);
}

static void name_a_channel_twice(struct raw_hosting *on)
{
    request(on, 6);
}

static void take_credit_back(struct raw_hosting *on)
{
    raw_channel_set_granted(&on->link, 4, 100);
}

static void grant_without_measure(struct raw_hosting *on)
{
    raw_channel_set_granted(&on->link, 4, 0x80000000u + 8000);
}

/* A call that fills channel 4, out of credit, and one that drains channel 6, still in the queue. */
static void begin_both(struct raw_hosting *on)
{
    const uint64_t arguments[] = {4, 100000};
    struct raw_reply reply = {.id = 0};
    struct raw_message message;
    struct raw_channel fill, drain;

    assert_int_equal(raw_channel_open(&on->link, 4, &fill), 0);
    assert_int_equal(raw_channel_open(&on->link, 6, &drain), 0);
    raw_request(on, &reply, FILL, arguments, 2);
    raw_request(on, &reply, DRAIN, &(uint64_t){6}, 1);
    while (raw_link_receive(&on->link, 50, &message) == 0)
        assert_int_equal(message.type, RAW_DATA);
}

static void check_breach(breach *run, const char *rule)
{
    struct raw_hosting on;
    struct raw_message message;
    int r;

    memset(&on, 0, sizeof(on));
    raw_hosting_open_module(&on, &(struct raw_config)RAW_HOST_NARROW, RAW_BELL_STREAM, FLOW_MODULE);
    begin_both(&on);
    run(&on);
    do
        r = raw_link_receive(&on.link, CALL_MS, &message);
    while (r == 0 && message.type != RAW_GOODBYE);
    if (r < 0 || !memmem(message.payload, message.length, rule, strlen(rule)))
        print_error("not told of %s: %d, %.*s\n", rule, r, r < 0 ? 0 : (int)message.length,
                    r < 0 ? "" : (const char *)message.payload);
    assert_int_equal(r, 0);
    assert_non_null(memmem(message.payload, message.length, rule, strlen(rule)));
    raw_hosting_reap(&on, 76);
}

/* r[verify flow.channel.credit-overrun] r[verify channeling.unknown]
 * r[verify channeling.data-after-close] r[verify channeling.holder-semantics]
 * r[verify channeling.data.invalid] r[verify channeling.id.zero-reserved]
 * r[verify shm.flow.channel-table-indexing] r[verify channeling.data.size-limit]
 * r[verify message.decode-error] r[verify hub.violation] */
static void messages_that_break_a_rule_of_channels(void **state)
{
    (void)state;
    check_breach(send_more_than_was_granted, "flow.channel.credit-overrun");
    check_breach(send_to_a_channel_never_opened, "channeling.unknown");
    check_breach(send_to_a_channel_of_the_guest, "channeling.unknown");
    check_breach(send_behind_the_close, "channeling.data-after-close");
    check_breach(send_what_the_guest_sends, "channeling.holder-semantics");
    check_breach(send_no_element, "channeling.data.invalid");
    check_breach(send_to_channel_zero, "channeling.id.zero-reserved");
    check_breach(send_beyond_the_table, "shm.flow.channel-table-indexing");
    check_breach(send_too_much_at_once, "channeling.data.size-limit");
    check_breach(close_with_a_payload, "message.decode-error");
}

/* r[verify shm.id.channel-parity] r[verify channeling.id.parity]
 * r[verify channeling.id.zero-reserved] r[verify shm.flow.channel-table-indexing]
 * r[verify channeling.id.uniqueness] */
static void requests_that_name_channels_they_must_not(void **state)
{
    (void)state;
    check_breach(name_an_odd_channel, "shm.id.channel-parity");
    check_breach(name_channel_zero, "channeling.id.zero-reserved");
    check_breach(name_a_channel_beyond, "shm.flow.channel-table-indexing");
    check_breach(name_a_channel_twice, "channeling.id.uniqueness");
}

/* r[verify shm.flow.wrap-rule] */
static void credit_that_goes_back_or_too_far(void **state)
{
    (void)state;
    check_breach(take_credit_back, "shm.flow.wrap-rule");
    check_breach(grant_without_measure, "shm.flow.wrap-rule");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_break_a_rule_of_channels),
        cmocka_unit_test(requests_that_name_channels_they_must_not),
        cmocka_unit_test(credit_that_goes_back_or_too_far),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
