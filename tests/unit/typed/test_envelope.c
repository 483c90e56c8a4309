/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>

#include "tests/support/testing.h"

#define TEXT    "payload"
#define SIZE    (sizeof TEXT - 1)
#define WHOLE   (RAPAHUB_ENVELOPE_BYTES + SIZE)
#define CHECKED (WHOLE + RAPAHUB_ENVELOPE_TRAILER)

static const struct rapahub_bytes payload_bytes = {TEXT, SIZE};

/* Where the parts of an envelope lie. */
enum { AT_VERSION = 4, AT_FLAGS = 5, AT_BYTES = 6, AT_SCHEMA = 8, AT_LENGTH = 12 };

static size_t put(bool crc32c, uint8_t to[CHECKED])
{
    const struct rapahub_envelope envelope = {.schema_id = 0x01020304,
                                              .correlation = 0x1122334455667788,
                                              .crc32c = crc32c,
                                              .reply = true};
    size_t size;

    assert_int_equal(rapahub_envelope_put(&envelope, payload_bytes, to, CHECKED, &size), 0);
    return size;
}

/* A copy of its own memory, at an odd address, so that a read outside is found. */
static int decode(const uint8_t *data, size_t size, struct rapahub_envelope *out,
                  struct rapahub_bytes *payload)
{
    uint8_t *copy = malloc(size + 1);
    int r;

    assert_non_null(copy);
    memcpy(copy + 1, data, size);
    r = rapahub_envelope_decode((struct rapahub_bytes){copy + 1, size}, out, payload);
    if (r == 0) {
        assert_ptr_equal(payload->data, copy + 1 + RAPAHUB_ENVELOPE_BYTES);
        payload->data = data + RAPAHUB_ENVELOPE_BYTES;
    }
    free(copy);
    return r;
}

static int verdict(const uint8_t *data, size_t size)
{
    struct rapahub_envelope envelope;
    struct rapahub_bytes payload;

    return decode(data, size, &envelope, &payload);
}

/* r[verify region.envelope] */
static void the_bytes_are_those_of_the_specification(void **state)
{
    static const uint8_t expected[] = {'R',  'B',  'M',  '1',  1,    2,    24,   0,
                                       4,    3,    2,    1,    SIZE, 0,    0,    0,
                                       0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    uint8_t bytes[CHECKED];

    (void)state;
    assert_int_equal(put(false, bytes), WHOLE);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_memory_equal(bytes + sizeof expected, TEXT, SIZE);
}

static void an_envelope_that_was_put_is_decoded(void **state)
{
    struct rapahub_envelope envelope;
    struct rapahub_bytes payload;
    uint8_t bytes[CHECKED];

    (void)state;
    for (int checked = 0; checked < 2; checked++) {
        size_t size = put(checked, bytes);

        assert_int_equal(size, checked ? CHECKED : WHOLE);
        assert_int_equal(decode(bytes, size, &envelope, &payload), 0);
        assert_int_equal(envelope.schema_id, 0x01020304);
        assert_int_equal(envelope.correlation, 0x1122334455667788);
        assert_int_equal(envelope.crc32c, checked);
        assert_true(envelope.reply);
        assert_int_equal(payload.size, SIZE);
        assert_memory_equal(payload.data, TEXT, SIZE);
    }
}

static void a_payload_may_lie_in_its_place_or_be_empty(void **state)
{
    const struct rapahub_envelope envelope = {0};
    uint8_t bytes[WHOLE];
    struct rapahub_bytes payload = {bytes + RAPAHUB_ENVELOPE_BYTES, SIZE};
    size_t size;

    (void)state;
    memcpy(bytes + RAPAHUB_ENVELOPE_BYTES, TEXT, SIZE);
    assert_int_equal(rapahub_envelope_put(&envelope, payload, bytes, sizeof bytes, &size), 0);
    assert_int_equal(verdict(bytes, size), 0);
    assert_memory_equal(bytes + RAPAHUB_ENVELOPE_BYTES, TEXT, SIZE);
    payload = (struct rapahub_bytes){NULL, 0};
    assert_int_equal(rapahub_envelope_put(&envelope, payload, bytes, sizeof bytes, &size), 0);
    assert_int_equal(size, RAPAHUB_ENVELOPE_BYTES);
    assert_int_equal(verdict(bytes, size), 0);
}

static void no_byte_is_written_where_it_does_not_fit(void **state)
{
    const struct rapahub_envelope envelope = {.crc32c = true};
    uint8_t bytes[CHECKED], before[CHECKED];
    size_t size;

    (void)state;
    memset(bytes, 0xA5, sizeof bytes);
    memcpy(before, bytes, sizeof bytes);
    for (size_t room = 0; room < CHECKED; room++) {
        assert_int_equal(rapahub_envelope_put(&envelope, payload_bytes, bytes, room, &size),
                         RAPAHUB_EMSGSIZE);
        assert_int_equal(size, CHECKED);
        assert_memory_equal(bytes, before, sizeof bytes);
    }
}

/* r[verify region.envelope.order] */
static void a_message_that_is_cut_anywhere_is_truncated(void **state)
{
    uint8_t bytes[CHECKED];

    (void)state;
    for (int checked = 0; checked < 2; checked++) {
        size_t size = put(checked, bytes);

        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(verdict(bytes, cut), RAPAHUB_EENVTRUNCATED);
    }
}

/* Each defect alone, and its code. */
static const struct defect {
    size_t at;
    uint8_t value;
    int code;
} defects[] = {
    {0, 'X', RAPAHUB_EENVMAGIC},
    {3, '2', RAPAHUB_EENVMAGIC},
    {AT_VERSION, 2, RAPAHUB_EENVVERSION},
    {AT_VERSION, 0, RAPAHUB_EENVVERSION},
    {AT_FLAGS, 4, RAPAHUB_EENVFLAGS},
    {AT_FLAGS, 0x80, RAPAHUB_EENVFLAGS},
    {AT_BYTES, 25, RAPAHUB_EENVLENGTH},
    {AT_BYTES + 1, 1, RAPAHUB_EENVLENGTH},
    {AT_LENGTH, SIZE + 1, RAPAHUB_EENVTRUNCATED},
    {AT_LENGTH + 3, 0xFF, RAPAHUB_EENVTRUNCATED},
    {AT_LENGTH, SIZE - 1, RAPAHUB_EENVLENGTH},
};
#define DEFECTS (sizeof defects / sizeof *defects)

/* Which of two codes is found first: in this order. */
static unsigned rank(const struct defect *defect)
{
    static const size_t order[] = {0, AT_VERSION, AT_FLAGS, AT_BYTES, AT_LENGTH};
    unsigned rank = 0;

    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        if (defect->at >= order[i])
            rank = i;
    return rank;
}

/* r[verify region.envelope.order] */
static void each_defect_has_its_code_alone_and_beside_any_other(void **state)
{
    uint8_t bytes[CHECKED];

    (void)state;
    for (size_t i = 0; i < DEFECTS; i++)
        for (size_t k = 0; k < DEFECTS; k++) {
            const struct defect *a = &defects[i], *b = &defects[k];
            size_t size = put(false, bytes);

            if (i != k && rank(a) == rank(b))
                continue;
            bytes[b->at] = b->value;
            bytes[a->at] = a->value;
            assert_int_equal(verdict(bytes, size), rank(a) <= rank(b) ? a->code : b->code);
        }
}

/* r[verify region.envelope.order] */
static void any_bit_that_flips_is_found_by_the_checksum_or_before(void **state)
{
    uint8_t bytes[CHECKED];

    (void)state;
    for (size_t bit = 0; bit < 8 * CHECKED; bit++) {
        size_t size = put(true, bytes);

        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_true(verdict(bytes, size) < 0);
        if (bit / 8 >= RAPAHUB_ENVELOPE_BYTES)
            assert_int_equal(verdict(bytes, size), RAPAHUB_EENVCHECKSUM);
    }
}

static void bytes_after_the_payload_are_refused(void **state)
{
    uint8_t bytes[CHECKED + 1] = {0};
    size_t size = put(true, bytes);

    (void)state;
    assert_int_equal(verdict(bytes, size + 1), RAPAHUB_EENVLENGTH);
    size = put(false, bytes);
    assert_int_equal(verdict(bytes, size + 1), RAPAHUB_EENVLENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_specification),
        cmocka_unit_test(an_envelope_that_was_put_is_decoded),
        cmocka_unit_test(a_payload_may_lie_in_its_place_or_be_empty),
        cmocka_unit_test(no_byte_is_written_where_it_does_not_fit),
        cmocka_unit_test(a_message_that_is_cut_anywhere_is_truncated),
        cmocka_unit_test(each_defect_has_its_code_alone_and_beside_any_other),
        cmocka_unit_test(any_bit_that_flips_is_found_by_the_checksum_or_before),
        cmocka_unit_test(bytes_after_the_payload_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
