/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/wire/datagram.h"
#include "tests/support/testing.h"

static struct cluster_datagram full(void)
{
    struct cluster_datagram datagram = {.type = CLUSTER_DATAGRAM_PING,
                                        .health = 8,
                                        .sequence = 0x01020304,
                                        .target = 7,
                                        .refutations = 3,
                                        .session = cluster_ids_revision(2, 9),
                                        .revision = 12};

    for (uint32_t i = 0; i < CLUSTER_DATAGRAM_UPDATES_MAX; i++)
        datagram.updates[datagram.updates_count++] = (struct cluster_update){
            i + 1, cluster_ids_revision(0, i + 1), i, 5, (uint8_t)(1 + i % 4)};
    return datagram;
}

/* r[verify cluster.swim.datagram] */
static void a_payload_comes_back_and_has_its_places(void **state)
{
    const struct cluster_datagram sent = full();
    uint8_t bytes[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    struct cluster_datagram got;

    (void)state;
    memset(&got, 0, sizeof got);
    assert_int_equal(cluster_datagram_write(&sent, bytes), sizeof bytes);
    assert_int_equal(bytes[0], 1);
    assert_int_equal(bytes[2], 62);
    assert_int_equal(bytes[4], 4);
    assert_int_equal(bytes[8], 7);
    assert_int_equal(bytes[32 + 20], 1);
    assert_int_equal(bytes[32 + 21], 2);
    assert_int_equal(cluster_datagram_read(bytes, sizeof bytes, &got), 0);
    assert_int_equal(got.updates_count, sent.updates_count);
    assert_true(got.session == sent.session && got.sequence == sent.sequence);
    assert_true(got.updates[61].id == 62 && got.updates[61].refutations == 61);
    for (size_t size = 0; size < sizeof bytes; size++)
        assert_int_equal(cluster_datagram_read(bytes, size, &got), RAPAHUB_EPROTOCOL);
}

/* r[verify cluster.swim.datagram] */
static void what_is_not_sound_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } faults[] = {{0, 0}, {0, 6}, {1, 9},       {2, 61},      {2, 63},
                  {3, 1}, {8, 0}, {32 + 20, 0}, {32 + 20, 5}, {32, 0}};
    const struct cluster_datagram sent = full();
    uint8_t bytes[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    struct cluster_datagram got;

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cluster_datagram_write(&sent, bytes);
        bytes[faults[i].at] = faults[i].byte;
        assert_int_equal(cluster_datagram_read(bytes, sizeof bytes, &got), RAPAHUB_EPROTOCOL);
    }
    cluster_datagram_write(&sent, bytes);
    memset(bytes + 16, 0, 8); /* no session */
    assert_int_equal(cluster_datagram_read(bytes, sizeof bytes, &got), RAPAHUB_EPROTOCOL);
    cluster_datagram_write(&sent, bytes);
    memset(bytes + 12, 0xff, 4); /* refutations have an end */
    assert_int_equal(cluster_datagram_read(bytes, sizeof bytes, &got), RAPAHUB_EPROTOCOL);
}

/* r[verify cluster.swim.datagram] */
static void a_clear_header_comes_back_and_fits_its_datagram(void **state)
{
    const struct cluster_datagram_clear sent = {
        .key = 3, .size = 48, .node = 9, .salt = {1, 2, 3}, .counter = 77};
    struct cluster_datagram_clear largest = sent;
    uint8_t bytes[CLUSTER_DATAGRAM_CLEAR + 48] = {0};
    uint8_t large[CLUSTER_DATAGRAM_CLEAR + CLUSTER_DATAGRAM_PAYLOAD_MAX + CLUSTER_DATAGRAM_TAG];
    struct cluster_datagram_clear got;

    (void)state;
    memset(&got, 0, sizeof got);
    largest.size = (uint16_t)(sizeof large - CLUSTER_DATAGRAM_CLEAR);
    cluster_datagram_write_clear(&largest, large);
    cluster_datagram_write_clear(&sent, bytes);
    assert_int_equal(cluster_datagram_read_clear(bytes, sizeof bytes, &got), 0);
    assert_true(got.key == 3 && got.size == 48 && got.node == 9 && got.counter == 77);
    assert_memory_equal(got.salt, sent.salt, sizeof got.salt);
    assert_int_equal(cluster_datagram_read_clear(bytes, sizeof bytes - 1, &got), RAPAHUB_EPROTOCOL);
    assert_int_equal(cluster_datagram_read_clear(bytes, 3, &got), RAPAHUB_EPROTOCOL);
    assert_int_equal(cluster_datagram_read_clear(large, sizeof large, &got), 0);
    large[2]++; /* a payload of one byte more has no place where payloads are kept */
    assert_int_equal(cluster_datagram_read_clear(large, sizeof large + 1, &got), RAPAHUB_EPROTOCOL);
    bytes[0] = 2;
    assert_int_equal(cluster_datagram_read_clear(bytes, sizeof bytes, &got), RAPAHUB_EPROTOCOL);
    bytes[0] = 1;
    bytes[4] = 0;
    assert_int_equal(cluster_datagram_read_clear(bytes, sizeof bytes, &got), RAPAHUB_EPROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_comes_back_and_has_its_places),
        cmocka_unit_test(what_is_not_sound_is_refused),
        cmocka_unit_test(a_clear_header_comes_back_and_fits_its_datagram),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
