/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "tests/support/testing.h"

struct inner {
    uint8_t small;
    uint16_t middle;
};
RAPAHUB_RECORD(inner, RAPAHUB_MEMBER(inner, small, u8), RAPAHUB_MEMBER(inner, middle, u16));

struct every {
    bool flag;
    int8_t a;
    int16_t b;
    int32_t c;
    int64_t d;
    uint32_t e;
    uint64_t f;
    float g;
    double h;
    struct rapahub_string text;
    struct rapahub_bytes bytes;
    struct inner inner;
};
RAPAHUB_RECORD(every, RAPAHUB_MEMBER(every, flag, bool), RAPAHUB_MEMBER(every, a, i8),
               RAPAHUB_MEMBER(every, b, i16), RAPAHUB_MEMBER(every, c, i32),
               RAPAHUB_MEMBER(every, d, i64), RAPAHUB_MEMBER(every, e, u32),
               RAPAHUB_MEMBER(every, f, u64), RAPAHUB_MEMBER(every, g, f32),
               RAPAHUB_MEMBER(every, h, f64), RAPAHUB_MEMBER(every, text, string),
               RAPAHUB_MEMBER(every, bytes, bytes), RAPAHUB_MEMBER(every, inner, inner));

static const struct every sample = {true,          -1,         -300, INT32_MIN, INT64_MIN,
                                    UINT32_MAX,    UINT64_MAX, 1.5F, -0.25,     {"h\xc3\xa9", 3},
                                    {"\0\xff", 2}, {255, 300}};

/* By hand from the table of types. */
static const uint8_t wire[] = {
    1,    0xff, 0xd7, 4,    0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0x01, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0,    0,    0xc0, 0x3f, 0,    0,    0,    0,
    0,    0,    0xd0, 0xbf, 3,    'h',  0xc3, 0xa9, 2,    0,    0xff, 255,  0xac, 2};

static void a_record_of_every_kind_is_its_members_in_order(void **state)
{
    uint8_t data[sizeof(wire)];
    struct hub_writer writer;

    (void)state;
    hub_writer_count(&writer);
    hub_payload_put(&writer, &rapahub_type_every, &sample);
    assert_int_equal(writer.size, sizeof(wire));
    hub_writer_init(&writer, data, sizeof(data));
    hub_payload_put(&writer, &rapahub_type_every, &sample);
    assert_int_equal(writer.failure, 0);
    assert_memory_equal(data, wire, sizeof(wire));
}

static void a_record_is_read_back_with_views_into_the_bytes(void **state)
{
    struct hub_reader reader;
    struct every back;

    (void)state;
    memset(&back, 0xaa, sizeof(back));
    hub_reader_init(&reader, wire, sizeof(wire));
    hub_payload_decode(&reader, &rapahub_type_every, &back);
    assert_int_equal(hub_postcard_end(&reader), 0);
    assert_true(back.flag);
    assert_int_equal(back.a, sample.a);
    assert_int_equal(back.b, sample.b);
    assert_int_equal(back.c, sample.c);
    assert_true(back.d == sample.d && back.e == sample.e && back.f == sample.f);
    assert_true(back.g == sample.g && back.h == sample.h);
    assert_ptr_equal(back.text.data, wire + 47);
    assert_int_equal(back.text.size, 3);
    assert_ptr_equal(back.bytes.data, wire + 51);
    assert_int_equal(back.bytes.size, 2);
    assert_int_equal(back.inner.small, 255);
    assert_int_equal(back.inner.middle, 300);
}

static void every_cut_of_a_record_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(wire); size++) {
        struct hub_reader reader;
        struct every back;

        hub_reader_init(&reader, wire, size);
        hub_payload_decode(&reader, &rapahub_type_every, &back);
        assert_int_equal(reader.failure, RAPAHUB_EFORMAT);
    }
}

static void a_writer_that_is_too_small_says_so(void **state)
{
    uint8_t data[sizeof(wire) - 1];
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, data, sizeof(data));
    hub_payload_put(&writer, &rapahub_type_every, &sample);
    assert_int_equal(writer.failure, -EMSGSIZE);
}

static void arguments_stand_one_behind_the_other(void **state)
{
    const int32_t three = 3, five = 5;
    const struct rapahub_type *const types[] = {&rapahub_type_i32, &rapahub_type_i32, NULL};
    const void *const values[] = {&three, &five};
    const uint8_t expected[] = {6, 10};
    uint8_t data[2];
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, data, sizeof(data));
    hub_payload_put_arguments(&writer, types, values);
    assert_int_equal(writer.failure, 0);
    assert_memory_equal(data, expected, 2);
}

/* As in a call whose last argument is in a loan. */
static void the_last_argument_can_be_left_out(void **state)
{
    static const uint8_t expected[] = {7};
    const struct rapahub_type *const types[] = {&rapahub_type_u8, &rapahub_type_bytes, NULL};
    const struct rapahub_bytes last = {"loan", 4};
    const uint8_t first = 7;
    const void *const values[] = {&first, &last};
    struct hub_writer writer;
    uint8_t data[8] = {0};

    (void)state;
    hub_writer_init(&writer, data, sizeof data);
    assert_ptr_equal(hub_payload_put_before_last(&writer, types, values), &last);
    assert_int_equal(writer.failure, 0);
    assert_int_equal(writer.size, sizeof expected);
    assert_memory_equal(data, expected, sizeof expected);
    hub_writer_init(&writer, data, sizeof data);
    assert_ptr_equal(hub_payload_put_before_last(&writer, types + 1, values + 1), &last);
    assert_int_equal(writer.size, 0);
}

static void a_type_that_holds_itself_ends_with_a_failure(void **state)
{
    struct rapahub_member members[] = {{"again", NULL, 0}, {NULL, NULL, 0}};
    struct rapahub_type type = {RAPAHUB_KIND_RECORD, "again", 0, members};
    struct hub_reader reader;
    struct hub_writer writer;
    uint8_t value = 0;

    (void)state;
    members[0].type = &type;
    hub_reader_init(&reader, wire, sizeof(wire));
    hub_payload_decode(&reader, &type, &value);
    assert_int_equal(reader.failure, RAPAHUB_EFORMAT);
    hub_writer_count(&writer);
    hub_payload_put(&writer, &type, &value);
    assert_int_equal(writer.failure, -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_every_kind_is_its_members_in_order),
        cmocka_unit_test(a_record_is_read_back_with_views_into_the_bytes),
        cmocka_unit_test(every_cut_of_a_record_is_refused),
        cmocka_unit_test(a_writer_that_is_too_small_says_so),
        cmocka_unit_test(arguments_stand_one_behind_the_other),
        cmocka_unit_test(the_last_argument_can_be_left_out),
        cmocka_unit_test(a_type_that_holds_itself_ends_with_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
