/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/link/message.h"
#include "tests/support/testing.h"

#define GOLDEN                                                                                 \
    {                                                                                          \
        .payload_max = 60, .ring_size = 4, .slot_size = 64, .slot_count = 3, .channels_max = 4 \
    }

/* r[verify shm.desc.flags] r[verify shm.desc.inline-fields] r[verify call.cancel.message] */
static void a_packed_message_is_inline_and_its_reserved_bytes_are_0(void **state)
{
    const struct hub_message message = {HUB_REQUEST, 7, UINT64_C(0x1122334455667788)};
    struct hub_descriptor descriptor;

    (void)state;
    memset(&descriptor, 0xff, sizeof descriptor);
    hub_message_pack(&message, &descriptor);
    assert_int_equal(descriptor.msg_type, 1);
    assert_int_equal(descriptor.flags, 0);
    assert_int_equal(descriptor.reserved[0] | descriptor.reserved[1], 0);
    assert_int_equal(descriptor.id, 7);
    assert_int_equal(descriptor.payload_slot, 0xffffffff);
    assert_int_equal(descriptor.payload_generation, 0);
    assert_int_equal(descriptor.payload_offset, 0);
}

struct refusal {
    struct hub_descriptor descriptor;
    const char *rule;
};

/* r[verify message.unknown-variant] r[verify shm.payload.inline] r[verify shm.payload.slot]
 * r[verify message.hello.enforcement] r[verify flow.call.payload-limit]
 * r[verify shm.slot.payload-offset] r[verify message.decode-error] r[verify shm.desc.msg-type]
 * r[verify channeling.id.zero-reserved] r[verify shm.flow.channel-table-indexing]
 * r[verify channeling.data.size-limit] */
static void each_field_out_of_range_names_its_rule(void **state)
{
    static const struct hub_limits limits = GOLDEN;
    static const struct refusal refusals[] = {
        {{.msg_type = 0, .payload_slot = HUB_INLINE}, "message.unknown-variant"},
        {{.msg_type = 8, .payload_slot = HUB_INLINE}, "message.unknown-variant"},
        {{.msg_type = 255, .payload_slot = HUB_INLINE}, "message.unknown-variant"},
        {{.msg_type = 1, .payload_slot = HUB_INLINE, .payload_generation = 1},
         "shm.desc.inline-fields"},
        {{.msg_type = 1, .payload_slot = HUB_INLINE, .payload_offset = 4},
         "shm.desc.inline-fields"},
        {{.msg_type = 1, .payload_slot = HUB_INLINE, .payload_len = 33}, "shm.payload.inline"},
        {{.msg_type = 1, .payload_slot = 0, .payload_len = 32}, "shm.payload.inline"},
        {{.msg_type = 1, .payload_slot = 0, .payload_len = 61}, "message.hello.enforcement"},
        {{.msg_type = 4, .id = 1, .payload_slot = 0, .payload_len = 61},
         "channeling.data.size-limit"},
        {{.msg_type = 1, .payload_slot = 3, .payload_len = 40}, "shm.payload.slot"},
        {{.msg_type = 1, .payload_slot = 0, .payload_len = 60, .payload_offset = 1},
         "shm.slot.payload-offset"},
        {{.msg_type = 1, .payload_slot = 0, .payload_len = 60, .payload_offset = UINT32_MAX},
         "shm.slot.payload-offset"},
        {{.msg_type = 3, .payload_slot = HUB_INLINE, .payload_len = 1}, "message.decode-error"},
        {{.msg_type = 5, .id = 1, .payload_slot = HUB_INLINE, .payload_len = 1},
         "message.decode-error"},
        {{.msg_type = 4, .id = 0, .payload_slot = HUB_INLINE}, "channeling.id.zero-reserved"},
        {{.msg_type = 6, .id = 4, .payload_slot = HUB_INLINE}, "shm.flow.channel-table-indexing"},
    };
    struct hub_message message;

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        assert_int_equal(hub_message_check(&refusals[i].descriptor, &limits, &message),
                         RAPAHUB_EPROTOCOL);
        assert_string_equal(rapahub_last_error()->rule, refusals[i].rule);
    }
}

static void flags_and_reserved_bytes_are_ignored(void **state)
{
    static const struct hub_limits limits = GOLDEN;
    const struct hub_descriptor descriptor = {.msg_type = 2,
                                              .flags = 0xff,
                                              .reserved = {0xff, 0xff},
                                              .id = 5,
                                              .method_id = 99,
                                              .payload_slot = HUB_INLINE,
                                              .payload_len = 32};
    struct hub_message message;

    (void)state;
    assert_int_equal(hub_message_check(&descriptor, &limits, &message), 0);
    assert_int_equal(message.type, HUB_RESPONSE);
    assert_int_equal(message.id, 5);
    assert_int_equal(message.method_id, 0);
}

/* r[verify shm.goodbye.payload] r[verify core.error.goodbye-reason] */
static void a_reason_crosses_and_is_escaped(void **state)
{
    uint8_t payload[64];
    char text[64];
    size_t size =
        hub_message_put_reason("shm.slot.free", "slot 3\x1b[0m\xc2\x9b", payload, sizeof payload);

    (void)state;
    hub_message_reason(payload, size, text, sizeof text);
    assert_string_equal(text, "shm.slot.free: slot 3?[0m??");
}

static void a_raw_reason_is_taken_as_text_and_garbage_as_none(void **state)
{
    char text[16];

    (void)state;
    hub_message_reason("channeling.unknown", 18, text, sizeof text);
    assert_string_equal(text, "channeling.unkn"); /* cut, and ended */
    hub_message_reason("\xff\xfe\x00", 3, text, sizeof text);
    assert_string_equal(text, "");
    hub_message_reason("", 0, text, sizeof text);
    assert_string_equal(text, "");
}

/* At the smallest a message may have, at that of the golden example, and about where the length
 * takes a second byte; the last is a character of two bytes. r[verify core.error.goodbye-reason] */
static void of_a_reason_that_does_not_fit_the_context_is_cut(void **state)
{
    static const struct {
        size_t capacity, shown;
    } cuts[] = {{2, 1}, {8, 7}, {32, 31}, {60, 59}, {127, 126}, {128, 127}, {129, 127}, {130, 128}};
    const char *rule = "shm.slot.free";
    uint8_t payload[200];
    char context[300] = "", text[300], whole[400];

    (void)state;
    for (int i = 0; i < 60; i++)
        snprintf(context + strlen(context), sizeof context - strlen(context),
                 i % 2 ? "\u00e9" : "ab");
    snprintf(whole, sizeof whole, "%s: %s", rule, context);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        size_t size = hub_message_put_reason(rule, context, payload, cuts[i].capacity);

        assert_true(size > 0 && size <= cuts[i].capacity);
        hub_message_reason(payload, size, text, sizeof text);
        assert_in_range(strlen(text), cuts[i].shown - 1, cuts[i].shown);
        assert_memory_equal(text, whole, strlen(text));
    }
}

/* r[verify core.error.goodbye-reason] */
static void a_context_that_is_no_text_does_not_cost_the_rule(void **state)
{
    uint8_t payload[64];
    char text[64];
    size_t size = hub_message_put_reason("shm.slot.free", "\xff\xff\xff\xff\xff", payload, 64);

    (void)state;
    hub_message_reason(payload, size, text, sizeof text);
    assert_string_equal(text, "shm.slot.free");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_message_is_inline_and_its_reserved_bytes_are_0),
        cmocka_unit_test(each_field_out_of_range_names_its_rule),
        cmocka_unit_test(flags_and_reserved_bytes_are_ignored),
        cmocka_unit_test(a_reason_crosses_and_is_escaped),
        cmocka_unit_test(a_raw_reason_is_taken_as_text_and_garbage_as_none),
        cmocka_unit_test(of_a_reason_that_does_not_fit_the_context_is_cut),
        cmocka_unit_test(a_context_that_is_no_text_does_not_cost_the_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
