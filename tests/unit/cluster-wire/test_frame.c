/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/wire/frame.h"
#include "hub/base/crc32c.h"
#include "tests/support/testing.h"

#define CLIENT (UINT64_C(1) << 63 | 5)

static const struct cluster_frame call = {
    .body_size = 0x00030201,
    .type = CLUSTER_FRAME_CALL,
    .flags = CLUSTER_FRAME_MORE | CLUSTER_FRAME_FIRST,
    .ttl = 3,
    .attempt = 9,
    .uid = {UINT64_C(0x8877665544332211), UINT64_C(0x0102030405060708)},
    .pool = UINT64_C(0x0000010000000002),
    .container = 0x0a0b,
    .replica = 0x0c0d,
    .token = UINT64_C(0x7abc123456789def),
    .revision = UINT64_C(0x0040000000000007),
};

/* The frame as a peer may write it, with the right checksum. */
static int read(struct cluster_frame frame, struct cluster_frame *out)
{
    uint8_t bytes[CLUSTER_FRAME_SIZE];

    cluster_frame_write(&frame, bytes);
    return cluster_frame_read(bytes, out);
}

static int accepts(struct cluster_frame frame)
{
    struct cluster_frame out;

    return read(frame, &out);
}

static void refuses(struct cluster_frame frame, const char *rule)
{
    assert_int_equal(accepts(frame), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

/* r[verify cluster.frame.header] */
static void a_header_has_its_bytes_where_the_specification_says(void **state)
{
    const uint8_t expected[60] = {
        0x01, 0x02, 0x03, 0x00, 16,   3,    3,    9,                       /* size, type, ... */
        0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,                    /* uid.origin */
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,                    /* uid.number */
        0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,                    /* pool */
        0x0b, 0x0a, 0x00, 0x00, 0x0d, 0x0c, 0x00, 0x00,                    /* container, replica */
        0xef, 0x9d, 0x78, 0x56, 0x34, 0x12, 0xbc, 0x7a,                    /* token */
        0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0, 0}; /* revision, stream */
    uint8_t bytes[CLUSTER_FRAME_SIZE];
    uint32_t checksum;

    (void)state;
    cluster_frame_write(&call, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    memcpy(&checksum, bytes + 60, 4);
    assert_int_equal(checksum, hub_crc32c(0, expected, sizeof expected));
}

/* r[verify cluster.frame.header] */
static void a_header_is_read_as_it_was_written(void **state)
{
    struct cluster_frame out, bulk = {.type = CLUSTER_FRAME_BULK_DATA, .stream = 0x01020304};

    (void)state;
    memset(&out, 0xff, sizeof out);
    assert_int_equal(read(call, &out), 0);
    assert_memory_equal(&out, &call, offsetof(struct cluster_frame, stream) + sizeof out.stream);
    assert_int_equal(read(bulk, &out), 0);
    assert_int_equal(out.stream, 0x01020304);
}

/* r[verify cluster.frame.checksum] */
static void each_bit_that_changes_is_found(void **state)
{
    uint8_t bytes[CLUSTER_FRAME_SIZE];
    struct cluster_frame out;

    (void)state;
    cluster_frame_write(&call, bytes);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(cluster_frame_read(bytes, &out), RAPAHUB_EPROTOCOL);
        assert_string_equal(rapahub_last_error()->rule, "cluster.frame.checksum");
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(cluster_frame_read(bytes, &out), 0);
}

/* r[verify cluster.frame.size] */
static void a_body_has_the_size_of_the_limit_at_most(void **state)
{
    struct cluster_frame frame = call;

    (void)state;
    frame.body_size = CLUSTER_FRAME_BODY_MAX;
    assert_int_equal(accepts(frame), 0);
    frame.body_size++;
    refuses(frame, "cluster.frame.size");
    frame.type = 200;
    refuses(frame, "cluster.frame.size");
}

/* r[verify cluster.frame.type] */
static void a_low_type_must_be_known_a_high_one_is_ignored(void **state)
{
    struct cluster_frame frame = {.body_size = 7, .pool = 99, .flags = 0xff}, out;

    (void)state;
    for (unsigned type = 0; type < 256; type++) {
        frame.type = (uint8_t)type;
        if (type >= CLUSTER_FRAME_IGNORED) {
            assert_int_equal(read(frame, &out), 1);
            assert_int_equal(out.type, type);
            assert_int_equal(out.body_size, 7);
            assert_int_equal(out.pool + out.flags, 0);
        } else if (cluster_frame_name(frame.type)[0] == '?') {
            refuses(frame, "cluster.frame.type");
        }
    }
    assert_string_equal(cluster_frame_name(21), "RESOLVED");
    assert_string_equal(cluster_frame_name(22), "EACH");
    assert_string_equal(cluster_frame_name(0), "?");
    assert_string_equal(cluster_frame_name(127), "?");
}

/* r[verify cluster.frame.members] */
static void a_call_has_a_uid_and_a_container(void **state)
{
    struct cluster_frame frame = call;

    (void)state;
    frame.uid.number = 0;
    refuses(frame, "cluster.frame.members");
    frame = call;
    frame.uid.origin = 0;
    refuses(frame, "cluster.frame.members");
    frame = call;
    frame.pool = UINT64_C(255) << 32;
    refuses(frame, "cluster.frame.members");
    frame.pool = UINT64_C(0xffffffff) << 32 | 16; /* the orders of a node */
    assert_int_equal(accepts(frame), 0);
    frame.container = 4096;
    refuses(frame, "cluster.frame.members");
    frame = call;
    frame.replica = 4096;
    refuses(frame, "cluster.frame.members");
    frame.replica = 4095;
    assert_int_equal(accepts(frame), 0);
}

/* r[verify cluster.frame.members] */
static void a_call_has_a_ttl_a_token_and_a_revision_or_none(void **state)
{
    struct cluster_frame frame = call;

    (void)state;
    frame.ttl = 0;
    assert_int_equal(accepts(frame), 0);
    frame.ttl = 4;
    refuses(frame, "cluster.frame.members");
    frame = call;
    frame.token = frame.revision = 0;
    assert_int_equal(accepts(frame), 0);
    frame.token = 65535;
    refuses(frame, "cluster.frame.members");
    frame.token = 0;
    frame.revision = UINT64_C(1) << 63 | 1;
    refuses(frame, "cluster.frame.members");
}

/* r[verify cluster.frame.members] */
static void only_a_body_in_parts_has_flags(void **state)
{
    struct cluster_frame frame = call;

    (void)state;
    frame.flags = 4;
    refuses(frame, "cluster.frame.members");
    frame = (struct cluster_frame){.type = CLUSTER_FRAME_PING, .flags = CLUSTER_FRAME_MORE};
    refuses(frame, "cluster.frame.members");
    frame.flags = 0;
    assert_int_equal(accepts(frame), 0);
}

/* r[verify cluster.frame.members] */
static void only_frames_of_a_stream_name_one(void **state)
{
    struct cluster_frame frame = call;

    (void)state;
    frame.stream = 1;
    refuses(frame, "cluster.frame.members");
    frame = (struct cluster_frame){.type = CLUSTER_FRAME_BULK_DONE};
    refuses(frame, "cluster.frame.members");
    frame.stream = 1;
    assert_int_equal(accepts(frame), 0);
    frame = (struct cluster_frame){.type = CLUSTER_FRAME_CREDIT};
    assert_int_equal(accepts(frame), 0);
    frame.stream = 1;
    assert_int_equal(accepts(frame), 0);
}

/* r[verify cluster.frame.members] */
static void a_frame_that_is_no_call_has_nothing_of_one(void **state)
{
    const struct cluster_frame ping = {.type = CLUSTER_FRAME_PING, .body_size = 0};
    struct cluster_frame frames[9];

    (void)state;
    for (size_t i = 0; i < 9; i++)
        frames[i] = ping;
    frames[0].uid.origin = CLIENT;
    frames[1].uid.number = 1;
    frames[2].pool = call.pool;
    frames[3].container = 1;
    frames[4].replica = 1;
    frames[5].ttl = 1;
    frames[6].attempt = 1;
    frames[7].token = call.token;
    frames[8].revision = call.revision;
    for (size_t i = 0; i < 9; i++)
        refuses(frames[i], "cluster.frame.members");
    assert_int_equal(accepts(ping), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_has_its_bytes_where_the_specification_says),
        cmocka_unit_test(a_header_is_read_as_it_was_written),
        cmocka_unit_test(each_bit_that_changes_is_found),
        cmocka_unit_test(a_body_has_the_size_of_the_limit_at_most),
        cmocka_unit_test(a_low_type_must_be_known_a_high_one_is_ignored),
        cmocka_unit_test(a_call_has_a_uid_and_a_container),
        cmocka_unit_test(a_call_has_a_ttl_a_token_and_a_revision_or_none),
        cmocka_unit_test(only_a_body_in_parts_has_flags),
        cmocka_unit_test(only_frames_of_a_stream_name_one),
        cmocka_unit_test(a_frame_that_is_no_call_has_nothing_of_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
