/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cluster/base/ids.h"
#include "cluster/wire/wal_record.h"
#include "hub/base/crc32c.h"
#include "tests/unit/cluster-wire/written.h"

#define POOL UINT64_C(0x0000010000000002)

static const struct cluster_wal_segment segment = {
    0x11223344, 7, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 0x0102030405};

static const struct cluster_delta_change changes[] = {
    {POOL, 5, 0, {.state = CLUSTER_ENTRY_STARTING, .owner = 3, .epoch = 1, .lineage = 0x10000}},
    {POOL, 6, 3, {.state = CLUSTER_ENTRY_NONE}},
    {POOL,
     7,
     3,
     {.state = CLUSTER_ENTRY_MIGRATING,
      .owner = 3,
      .epoch = 0x0102030405,
      .lineage = 0x90008,
      .op = 0x77}},
};

static const struct cluster_wal_record record = {
    .revision = 0x0a0b, .previous = 0x0a0a, .wall_ns = 0x0c0d, .count = 3};

#define SIZE (CLUSTER_WAL_RECORD_SIZE + 3 * CLUSTER_WAL_RECORD_CHANGE)

static void put(uint8_t to[SIZE])
{
    assert_int_equal(cluster_wal_record_put(&record, changes, to, SIZE), SIZE);
}

static int read(const uint8_t *data, size_t size, struct cluster_wal_record *out)
{
    return cluster_wal_record_read((struct rapahub_bytes){data, size}, out);
}

/* Reads what a node did not write, with the right checksum. */
static int read_forged(uint8_t *data, size_t size)
{
    uint32_t checksum = hub_crc32c(0, data + 8, size - 8);
    struct cluster_wal_record out;

    memcpy(data + 4, &checksum, 4);
    return read(data, size, &out);
}

/* r[verify cluster.wal.form] */
static void a_segment_has_its_bytes_where_the_specification_says(void **state)
{
    const uint8_t expected[48] = {
        'R', 'P', 'H', 'W', 'A', 'L', 1, 0, 1, 0, 0,  0,  0x44, 0x33, 0x22, 0x11, /* magic, ... */
        0,   1,   2,   3,   4,   5,   6, 7, 8, 9, 10, 11, 12,   13,   14,   15,   /* uuid */
        7,   0,   0,   0,   0,   0,   0, 0, 5, 4, 3,  2,  1,    0,    0,    0};   /* boot, first */
    uint8_t bytes[CLUSTER_WAL_RECORD_SEGMENT];
    struct cluster_wal_segment out;
    uint32_t checksum;

    (void)state;
    cluster_wal_record_put_segment(&segment, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    memcpy(&checksum, bytes + 48, 4);
    assert_int_equal(checksum, hub_crc32c(0, expected, sizeof expected));
    for (size_t i = 52; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0);
    memset(&out, 0xff, sizeof out);
    assert_int_equal(
        cluster_wal_record_read_segment((struct rapahub_bytes){bytes, sizeof bytes}, &out), 0);
    assert_memory_equal(&out, &segment, sizeof out);
}

static int read_segment(uint8_t *bytes, size_t size)
{
    struct cluster_wal_segment out;
    uint32_t checksum = hub_crc32c(0, bytes, 48);

    memcpy(bytes + 48, &checksum, 4);
    return cluster_wal_record_read_segment((struct rapahub_bytes){bytes, size}, &out);
}

/* r[verify cluster.wal.form] */
static void a_segment_that_is_damaged_cut_or_later_is_refused(void **state)
{
    uint8_t bytes[CLUSTER_WAL_RECORD_SEGMENT];
    struct cluster_wal_segment out;

    (void)state;
    cluster_wal_record_put_segment(&segment, bytes);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(
            cluster_wal_record_read_segment((struct rapahub_bytes){bytes, sizeof bytes}, &out),
            RAPAHUB_EFORMAT);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(read_segment(bytes, sizeof bytes - 1), RAPAHUB_EFORMAT);
    assert_int_equal(read_segment(bytes, sizeof bytes), 0);
    bytes[8] = 2;
    assert_int_equal(read_segment(bytes, sizeof bytes), RAPAHUB_EABI);
    assert_string_equal(rapahub_last_error()->rule, "cluster.wal.form");
}

/* r[verify cluster.wal.form] */
static void a_segment_of_no_node_is_refused(void **state)
{
    const size_t zeros[] = {12, 32, 40}; /* node, boot, first revision */
    uint8_t bytes[CLUSTER_WAL_RECORD_SEGMENT];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        cluster_wal_record_put_segment(&segment, bytes);
        memset(bytes + zeros[i], 0, i == 2 ? 8 : 4);
        assert_int_equal(read_segment(bytes, sizeof bytes), RAPAHUB_EFORMAT);
    }
    cluster_wal_record_put_segment(&segment, bytes);
    bytes[39] = 1;
    assert_int_equal(read_segment(bytes, sizeof bytes), RAPAHUB_EFORMAT);
    bytes[39] = 0;
    bytes[63] = 1;
    assert_int_equal(read_segment(bytes, sizeof bytes), RAPAHUB_EFORMAT);
}

/* r[verify cluster.wal.form] */
static void a_record_has_its_bytes_where_the_specification_says(void **state)
{
    const uint8_t head[] = {144, 0, 0, 0}, /* length of the changes */
        rest[] = {0x0b, 0x0a, 0, 0, 0, 0, 0, 0, 0x0a, 0x0a, 0, 0, 0, 0, 0, 0,
                  0x0d, 0x0c, 0, 0, 0, 0, 0, 0, 3,    0,    0, 0, 0, 0, 0, 0},
                  last[] = {2, 0, 0, 0, 0, 1, 0, 0, 7,    0, 0, 0, 3, 0, 0, 0,
                            3, 0, 0, 0, 3, 0, 0, 0, 5,    4, 3, 2, 1, 0, 0, 0,
                            8, 0, 9, 0, 0, 0, 0, 0, 0x77, 0, 0, 0, 0, 0, 0, 0};
    uint8_t bytes[SIZE];
    uint32_t checksum;

    (void)state;
    put(bytes);
    assert_memory_equal(bytes, head, sizeof head);
    assert_memory_equal(bytes + 8, rest, sizeof rest);
    assert_memory_equal(bytes + 40 + 2 * 48, last, sizeof last);
    memcpy(&checksum, bytes + 4, 4);
    assert_int_equal(checksum, hub_crc32c(0, bytes + 8, SIZE - 8));
}

/* r[verify cluster.wal.form] */
static void a_record_is_read_as_it_was_written(void **state)
{
    uint8_t bytes[SIZE + 1];
    struct cluster_wal_record out;

    (void)state;
    put(bytes);
    bytes[SIZE] = 0xee; /* the next one */
    assert_int_equal(read(bytes, sizeof bytes, &out), SIZE);
    assert_int_equal(out.revision, record.revision);
    assert_int_equal(out.previous, record.previous);
    assert_int_equal(out.wall_ns, record.wall_ns);
    assert_int_equal(out.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        struct cluster_delta_change change = cluster_wal_record_change(&out, i);

        assert_memory_equal(&change, &changes[i], WRITTEN_CHANGE);
    }
}

/* r[verify cluster.wal.end] */
static void the_log_ends_where_zeros_begin(void **state)
{
    const uint8_t zeros[CLUSTER_WAL_RECORD_SIZE] = {0};
    struct cluster_wal_record out;
    uint8_t one[CLUSTER_WAL_RECORD_SIZE] = {[39] = 1};

    (void)state;
    for (size_t size = 0; size <= sizeof zeros; size++)
        assert_int_equal(read(zeros, size, &out), 0);
    assert_int_equal(cluster_wal_record_read((struct rapahub_bytes){NULL, 0}, &out), 0);
    assert_int_equal(read(one, sizeof one, &out), RAPAHUB_EFORMAT);
}

/* r[verify cluster.wal.end] */
static void a_record_that_is_cut_or_damaged_is_never_another_one(void **state)
{
    struct written all = {malloc(SIZE), SIZE};
    struct cluster_wal_record out;

    (void)state;
    put(all.data);
    for (size_t size = 1; size < SIZE; size++) {
        struct written cut = written_cut(&all, size);

        assert_int_equal(read(cut.data, size, &out), RAPAHUB_EFORMAT);
        written_release(&cut);
    }
    for (size_t bit = 0; bit < SIZE * 8; bit++) {
        all.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(read(all.data, SIZE, &out), RAPAHUB_EFORMAT);
        all.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(read(all.data, SIZE, &out), SIZE);
    written_release(&all);
}

/* r[verify cluster.wal.form] */
static void a_record_that_no_node_writes_is_refused(void **state)
{
    /* offset and value of a byte that makes the record of the test another one */
    const uint8_t wrong[][2] = {
        {32, 2},        /* fewer changes than its length says */
        {36, 1},        /* not zero */
        {8, 0x0a},      /* its revision is that before it */
        {40 + 21, 1},   /* not zero, in a change */
        {40 + 5, 0},    /* no pool */
        {40 + 9, 0x10}, /* no container */
        {40 + 16, 0},   /* no owner */
        {40 + 20, 8},   /* no state */
        {40 + 34, 0},   /* no lineage */
        {40 + 34, 2},   /* a lineage after the epoch */
        {88 + 16, 1},   /* an owner of an entry that is gone */
        {88 + 24, 1},   /* an epoch of it */
        {88 + 34, 1},   /* a lineage of it */
        {88 + 40, 1},   /* an operation of it */
        {136 + 29, 1},  /* an epoch above the highest */
    };
    uint8_t bytes[SIZE];

    (void)state;
    put(bytes);
    assert_int_equal(read_forged(bytes, SIZE), SIZE);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put(bytes);
        bytes[wrong[i][0]] = wrong[i][1];
        if (read_forged(bytes, SIZE) != RAPAHUB_EFORMAT)
            fail_msg("byte %u is taken", wrong[i][0]);
    }
    memset(bytes, 0, sizeof bytes);
    bytes[8] = 1;
    assert_int_equal(read_forged(bytes, CLUSTER_WAL_RECORD_SIZE), RAPAHUB_EFORMAT);
}

/* r[verify cluster.wal.form] */
static void a_record_has_as_many_changes_as_a_transaction(void **state)
{
    struct cluster_delta_change many[CLUSTER_DELTA_CHANGES_MAX + 1];
    static uint8_t bytes[CLUSTER_WAL_RECORD_SIZE_MAX + CLUSTER_WAL_RECORD_CHANGE];
    struct cluster_wal_record most = record, out;

    (void)state;
    for (size_t i = 0; i <= CLUSTER_DELTA_CHANGES_MAX; i++)
        many[i] = changes[0];
    most.count = CLUSTER_DELTA_CHANGES_MAX;
    assert_int_equal(cluster_wal_record_put(&most, many, bytes, sizeof bytes),
                     CLUSTER_WAL_RECORD_SIZE_MAX);
    assert_int_equal(read(bytes, sizeof bytes, &out), CLUSTER_WAL_RECORD_SIZE_MAX);
    assert_int_equal(cluster_wal_record_put(&most, many, bytes, CLUSTER_WAL_RECORD_SIZE_MAX - 1),
                     RAPAHUB_EMSGSIZE);
    most.count++;
    assert_int_equal(cluster_wal_record_put(&most, many, bytes, sizeof bytes), RAPAHUB_EINVAL);
    most.count = 0;
    assert_int_equal(cluster_wal_record_put(&most, many, bytes, sizeof bytes), RAPAHUB_EINVAL);
    most = record;
    most.previous = most.revision;
    assert_int_equal(cluster_wal_record_put(&most, changes, bytes, sizeof bytes), RAPAHUB_EINVAL);
    most.previous = 0;
    assert_int_equal(cluster_wal_record_put(&most, changes, bytes, sizeof bytes), SIZE);
    most.count = 1;
    many[0].entry.epoch = CLUSTER_EPOCH_MAX;
    assert_int_equal(cluster_wal_record_put(&most, many, bytes, sizeof bytes),
                     CLUSTER_WAL_RECORD_SIZE + CLUSTER_WAL_RECORD_CHANGE);
    many[0].entry.owner = 0;
    assert_int_equal(cluster_wal_record_put(&most, many, bytes, sizeof bytes), RAPAHUB_EINVAL);
    bytes[0] = 0xff; /* a length above all */
    bytes[1] = 0xff;
    assert_int_equal(read(bytes, sizeof bytes, &out), RAPAHUB_EFORMAT);
    assert_string_equal(rapahub_last_error()->text, "the log: a record is longer than any");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_has_its_bytes_where_the_specification_says),
        cmocka_unit_test(a_segment_that_is_damaged_cut_or_later_is_refused),
        cmocka_unit_test(a_segment_of_no_node_is_refused),
        cmocka_unit_test(a_record_has_its_bytes_where_the_specification_says),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(the_log_ends_where_zeros_begin),
        cmocka_unit_test(a_record_that_is_cut_or_damaged_is_never_another_one),
        cmocka_unit_test(a_record_that_no_node_writes_is_refused),
        cmocka_unit_test(a_record_has_as_many_changes_as_a_transaction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
