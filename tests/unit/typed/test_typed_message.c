/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>

#include "hub/bus/layout.h"
#include "hub/bus/region.h"
#include "tests/support/testing.h"

#define CELL_BYTES 4096

struct sample {
    uint64_t at;
    double load;
    struct rapahub_string host;
};
RAPAHUB_RECORD(sample, RAPAHUB_MEMBER(sample, at, u64), RAPAHUB_MEMBER(sample, load, f64),
               RAPAHUB_MEMBER(sample, host, string));

static struct rapahub_region *region;
static struct rapahub_producer *producer;
static struct rapahub_consumer *consumer;
static uint8_t bytes[CELL_BYTES];

static int set_up(void **state)
{
    const struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_SPSC, .cells = 8, .cell_bytes = CELL_BYTES};

    (void)state;
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    assert_int_equal(rapahub_producer_open(region, NULL, &producer), 0);
    assert_int_equal(rapahub_consumer_open(region, NULL, &consumer), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    return rapahub_region_close(region);
}

static struct rapahub_message pop(void)
{
    struct rapahub_message message;

    assert_int_equal(rapahub_consumer_pop(consumer, bytes, sizeof bytes, 0, &message), 0);
    return message;
}

static int push(const struct rapahub_type *type, const void *value)
{
    return rapahub_producer_push_value(producer, type, value, 0);
}

static uint64_t counted(void)
{
    return hub_observe64(&hub_region_header(region)->decode_errors);
}

/* r[verify region.decode] */
static void a_record_comes_as_it_was_published(void **state)
{
    const struct sample in = {12345678901, 0.75, {"a host", 6}};
    struct rapahub_message message;
    struct sample out;

    (void)state;
    assert_int_equal(push(&rapahub_type_sample, &in), 0);
    message = pop();
    assert_int_equal(rapahub_message_value(&message, &rapahub_type_sample, &out), 0);
    assert_int_equal(out.at, in.at);
    assert_true(out.load == in.load);
    assert_int_equal(out.host.size, 6);
    assert_memory_equal(out.host.data, "a host", 6);
    assert_true((const uint8_t *)out.host.data >= bytes &&
                (const uint8_t *)out.host.data < bytes + message.size);
}

static void numbers_strings_and_bytes_are_messages_too(void **state)
{
    const struct rapahub_string text = {"text", 4};
    const struct rapahub_bytes raw = {"\0\1", 2};
    const int64_t number = -7;
    struct rapahub_message message;
    struct rapahub_string text_out;
    struct rapahub_bytes raw_out;
    int64_t number_out;

    (void)state;
    assert_int_equal(push(&rapahub_type_string, &text), 0);
    assert_int_equal(push(&rapahub_type_bytes, &raw), 0);
    assert_int_equal(push(&rapahub_type_i64, &number), 0);
    message = pop();
    assert_int_equal(rapahub_message_value(&message, &rapahub_type_string, &text_out), 0);
    assert_int_equal(text_out.size, 4);
    message = pop();
    assert_int_equal(rapahub_message_value(&message, &rapahub_type_bytes, &raw_out), 0);
    assert_int_equal(raw_out.size, 2);
    message = pop();
    assert_int_equal(rapahub_message_value(&message, &rapahub_type_i64, &number_out), 0);
    assert_int_equal(number_out, -7);
}

static void a_value_as_large_as_a_cell_fits_and_one_byte_more_does_not(void **state)
{
    /* 16 bytes of the cell, the envelope, and two of the length of the string */
    const size_t most = CELL_BYTES - 16 - RAPAHUB_ENVELOPE_BYTES - 2;
    char *text = calloc(1, most + 1);
    struct rapahub_string value = {text, most}, out;
    struct rapahub_message message;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', most + 1);
    assert_int_equal(push(&rapahub_type_string, &value), 0);
    message = pop();
    assert_int_equal(rapahub_message_value(&message, &rapahub_type_string, &out), 0);
    assert_int_equal(out.size, most);
    value.size++;
    assert_int_equal(push(&rapahub_type_string, &value), RAPAHUB_EMSGSIZE);
    free(text);
}

static void streams_and_void_are_refused_before_anything_is_published(void **state)
{
    const struct rapahub_message message = {0};
    int value = 0;

    (void)state;
    assert_int_equal(push(&rapahub_type_void, &value), RAPAHUB_EINVAL);
    assert_int_equal(push(&rapahub_type_source, &value), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_message_value(&message, &rapahub_type_sink, &value), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_consumer_value(consumer, &message, &rapahub_type_sink, &value),
                     RAPAHUB_EINVAL);
    assert_int_equal(counted(), 0);
    assert_int_equal(rapahub_consumer_pop(consumer, bytes, sizeof bytes, 0, NULL), RAPAHUB_EEMPTY);
}

static void a_string_that_is_no_text_is_refused_and_nothing_of_it_is_published(void **state)
{
    const struct sample in = {1, 2, {"\xff\xfe", 2}};

    (void)state;
    assert_true(push(&rapahub_type_sample, &in) < 0);
    assert_int_equal(rapahub_consumer_pop(consumer, bytes, sizeof bytes, 0, NULL), RAPAHUB_EEMPTY);
}

/* r[verify region.decode] r[verify region.decode.count] */
static void a_message_of_another_type_is_told_from_damage_and_counted(void **state)
{
    const uint64_t number = 7;
    struct rapahub_message message;
    struct sample out;

    (void)state;
    assert_int_equal(push(&rapahub_type_u64, &number), 0);
    message = pop();
    assert_int_equal(rapahub_message_value(&message, &rapahub_type_sample, &out), RAPAHUB_EDECODE);
    assert_int_equal(counted(), 0);
    assert_int_equal(rapahub_consumer_value(consumer, &message, &rapahub_type_sample, &out),
                     RAPAHUB_EDECODE);
    assert_int_equal(counted(), 1);
}

/* The id is right, and the bytes are not. */
static void bytes_that_are_not_of_the_type_are_refused_cut_or_with_a_rest(void **state)
{
    const struct sample in = {1, 2, {"host", 4}};
    struct rapahub_envelope envelope = {.schema_id = rapahub_schema_id(&rapahub_type_sample)};
    struct rapahub_message message;
    struct rapahub_bytes payload;
    uint8_t copy[CELL_BYTES];
    struct sample out;
    size_t size;

    (void)state;
    assert_int_equal(push(&rapahub_type_sample, &in), 0);
    message = pop();
    payload = (struct rapahub_bytes){bytes + RAPAHUB_ENVELOPE_BYTES,
                                     message.size - RAPAHUB_ENVELOPE_BYTES};
    for (payload.size--; payload.size > 0; payload.size--) {
        assert_int_equal(rapahub_envelope_put(&envelope, payload, copy, sizeof copy, &size), 0);
        message = (struct rapahub_message){.data = copy, .size = size};
        assert_int_equal(rapahub_consumer_value(consumer, &message, &rapahub_type_sample, &out),
                         RAPAHUB_EDECODE);
    }
    assert_int_equal(
        rapahub_envelope_put(&envelope, (struct rapahub_bytes){bytes + RAPAHUB_ENVELOPE_BYTES, 64},
                             copy, sizeof copy, &size),
        0);
    message = (struct rapahub_message){.data = copy, .size = size};
    assert_int_equal(rapahub_consumer_value(consumer, &message, &rapahub_type_sample, &out),
                     RAPAHUB_EDECODE);
}

/* r[verify region.decode.next] */
static void a_message_that_cannot_be_decoded_changes_nothing_for_the_next(void **state)
{
    const uint64_t first = 1, last = 3;
    struct rapahub_message message;
    uint64_t out = 0;

    (void)state;
    assert_int_equal(push(&rapahub_type_u64, &first), 0);
    assert_int_equal(rapahub_producer_push(producer, "no envelope", 11, 0), 0);
    assert_int_equal(push(&rapahub_type_u64, &last), 0);
    message = pop();
    assert_int_equal(rapahub_consumer_value(consumer, &message, &rapahub_type_u64, &out), 0);
    message = pop();
    assert_int_equal(rapahub_consumer_value(consumer, &message, &rapahub_type_u64, &out),
                     RAPAHUB_EENVMAGIC);
    message = pop();
    assert_int_equal(rapahub_consumer_value(consumer, &message, &rapahub_type_u64, &out), 0);
    assert_int_equal(out, last);
    assert_int_equal(message.position, 2);
    assert_int_equal(counted(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_comes_as_it_was_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_strings_and_bytes_are_messages_too, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_value_as_large_as_a_cell_fits_and_one_byte_more_does_not,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(streams_and_void_are_refused_before_anything_is_published,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_string_that_is_no_text_is_refused_and_nothing_of_it_is_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_of_another_type_is_told_from_damage_and_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            bytes_that_are_not_of_the_type_are_refused_cut_or_with_a_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_message_that_cannot_be_decoded_changes_nothing_for_the_next, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
