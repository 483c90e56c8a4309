/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest under a host that puts payloads anywhere in their slots: its methods are given bytes
 * that begin where they have to all the same. */
#include "tests/conformance/raw_hosting.h"
#include "tests/raw/raw_call.h"

#define PLACES  TEST_PREFIX "/tests/modules/places.so"
#define LARGEST 65000
#define LINE    64

/* Methods of places: they refuse what begins elsewhere. */
static const char *const copied = "copied(bytes) -> bytes", *const lent = "lent(bytes) -> bytes";
static const char *const three = "three({number: u8, a: bytes, text: string, b: bytes, c: bytes}, "
                                 "u16, bytes) -> {number: u8, a: bytes, text: string, b: bytes, "
                                 "c: bytes}";

static uint8_t bytes[LARGEST];

/* 1 where the method refused it. */
static unsigned ask(struct raw_hosting *on, const char *method,
                    const struct raw_postcard *arguments)
{
    struct raw_postcard_rest rest;
    int r;

    assert_int_equal(
        raw_call_request(&on->link, ++on->id, raw_call_method(method), arguments, CALL_MS), 0);
    r = raw_call_await(&on->link, on->id, CALL_MS, &rest);
    assert_true(r == 0 || r == 1 + RAW_USER);
    return r != 0;
}

static unsigned ask_for_each(struct raw_hosting *on, size_t size)
{
    static struct raw_postcard arguments;
    unsigned elsewhere;

    arguments.size = 0;
    raw_postcard_bytes(&arguments, bytes, size);
    elsewhere = ask(on, copied, &arguments) + ask(on, lent, &arguments);
    if (size < 1 << 14) { /* a length that is longer than it need be */
        arguments.size = 0;
        raw_postcard_byte(&arguments, (uint8_t)(size | 0x80));
        raw_postcard_byte(&arguments, (uint8_t)(size >> 7 | 0x80));
        raw_postcard_byte(&arguments, 0);
        raw_postcard_raw(&arguments, bytes, size);
        elsewhere += ask(on, copied, &arguments);
    }
    arguments.size = 0;
    raw_postcard_byte(&arguments, 9);
    raw_postcard_bytes(&arguments, bytes, size / 4);
    raw_postcard_string(&arguments, "text");
    raw_postcard_bytes(&arguments, bytes, size / 2);
    raw_postcard_bytes(&arguments, bytes, 1);
    raw_postcard_byte(&arguments, 1);
    raw_postcard_bytes(&arguments, bytes, size / 8);
    return elsewhere + ask(on, three, &arguments);
}

/* r[verify hub.bytes.align] */
static void bytes_of_a_foreign_host_begin_where_they_have_to(void **state)
{
    struct raw_hosting on = {.link = {.epoch = 0}};
    unsigned elsewhere = 0;

    (void)state;
    raw_hosting_open_module(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM, PLACES);
    for (uint32_t offset = 0; offset <= LINE; offset++) {
        on.link.behaviour.offset = offset;
        for (size_t size = 0; size < LARGEST; size += size < 40 ? 1 : size / 2 + 1)
            elsewhere += ask_for_each(&on, size);
    }
    assert_int_equal(elsewhere, 0);
    raw_hosting_close(&on, 0);
}

/* A segment whose slots begin at no line: what cannot be lent there is copied.
 * r[verify hub.bytes.align] r[verify hub.loan.align] */
static void slots_that_begin_at_no_line_are_not_lent(void **state)
{
    static const struct raw_config odd = {.max_payload = 8000,
                                          .initial_credit = 65536,
                                          .max_guests = 1,
                                          .ring_size = 16,
                                          .slot_size = 8200,
                                          .slot_count = 12,
                                          .max_channels = 4};
    struct raw_hosting on = {.link = {.epoch = 0}};
    unsigned elsewhere = 0;

    (void)state;
    raw_hosting_open_module(&on, &odd, RAW_BELL_STREAM, PLACES);
    for (size_t size = 0; size < 7900; size += size < 40 || size > 4080 ? 10 : size / 2)
        elsewhere += ask_for_each(&on, size);
    assert_int_equal(elsewhere, 0);
    raw_hosting_close(&on, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_foreign_host_begin_where_they_have_to),
        cmocka_unit_test(slots_that_begin_at_no_line_are_not_lent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
