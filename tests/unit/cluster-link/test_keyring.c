/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that are sealed, opened once, forged, recorded and repeated. */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/link/keyring.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

static const uint8_t cluster[16] = {1, 2, 3}, elsewhere[16] = {1, 2, 4};
static const uint8_t first_key[CLUSTER_KEYRING_KEY] = {9}, second_key[CLUSTER_KEYRING_KEY] = {8};
static struct cluster_keyring *one, *other;

static struct cluster_keyring *ring_of(const uint8_t *of_cluster, uint32_t node, uint8_t start,
                                       const uint8_t *key)
{
    const uint8_t salt[CLUSTER_DATAGRAM_SALT] = {start, (uint8_t)node};
    struct cluster_keyring *ring;

    assert_int_equal(cluster_keyring_create(of_cluster, node, salt, &ring), 0);
    assert_int_equal(cluster_keyring_install(ring, 1, key), 0);
    return ring;
}

static int begin(void **state)
{
    (void)state;
    one = ring_of(cluster, 1, 1, first_key);
    other = ring_of(cluster, 2, 1, first_key);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cluster_keyring_release(&one);
    cluster_keyring_release(&other);
    return 0;
}

/* A datagram of a start whose session has this number. */
static size_t seal(struct cluster_keyring *ring, uint32_t session, uint8_t *to)
{
    const struct cluster_datagram datagram = {
        .type = CLUSTER_DATAGRAM_PING, .target = 2, .session = cluster_ids_revision(0, session)};
    uint8_t payload[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    int size = cluster_keyring_seal(ring, payload, cluster_datagram_write(&datagram, payload), to);

    assert_true(size > 0);
    return (size_t)size;
}

static int open_it(struct cluster_keyring *ring, const uint8_t *datagram, size_t size)
{
    uint8_t payload[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    uint32_t from = 0;
    int r = cluster_keyring_open(ring, datagram, size, &from, payload);

    assert_true(r < 0 || from == 1);
    return r;
}

/* r[verify cluster.swim.keys] */
static void a_datagram_is_opened_by_the_other_one_and_hides_its_payload(void **state)
{
    uint8_t bytes[CLUSTER_DATAGRAM_MAX], payload[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    const struct cluster_datagram sent = {.type = CLUSTER_DATAGRAM_ACK,
                                          .target = 77,
                                          .sequence = 123456,
                                          .session = cluster_ids_revision(0, 5)};
    struct cluster_datagram got;
    size_t size = cluster_datagram_write(&sent, payload);
    uint32_t from = 0;
    int r = cluster_keyring_seal(one, payload, size, bytes);

    (void)state;
    assert_int_equal(r, (int)(CLUSTER_DATAGRAM_CLEAR + size + CLUSTER_DATAGRAM_TAG));
    for (size_t at = 0; at + 4 <= (size_t)r; at++)
        assert_memory_not_equal(bytes + at, &sent.sequence, 4);
    assert_int_equal(cluster_keyring_open(other, bytes, (size_t)r, &from, payload), (int)size);
    assert_int_equal(from, 1);
    assert_int_equal(cluster_datagram_read(payload, size, &got), 0);
    assert_true(got.sequence == sent.sequence && got.target == 77);
}

/* r[verify cluster.swim.keys] */
static void each_byte_of_a_datagram_is_proven(void **state)
{
    uint8_t bytes[CLUSTER_DATAGRAM_MAX];
    size_t size = seal(one, 5, bytes);

    (void)state;
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 0x10;
        assert_int_equal(open_it(other, bytes, size), RAPAHUB_EPROTOCOL);
        bytes[at] ^= 0x10;
    }
    for (size_t less = 1; less < size; less++)
        assert_int_equal(open_it(other, bytes, size - less), RAPAHUB_EPROTOCOL);
    assert_true(open_it(other, bytes, size) > 0);
    assert_int_equal(cluster_keyring_figures(other).opened, 1);
    assert_true(cluster_keyring_figures(other).forged > 0);
    assert_int_equal(open_it(one, bytes, size), RAPAHUB_EPROTOCOL); /* its own, sent back */
}

/* r[verify cluster.swim.keys] */
static void a_recording_is_taken_once(void **state)
{
    uint8_t bytes[200][CLUSTER_DATAGRAM_MAX];
    size_t size = 0;

    (void)state;
    for (unsigned i = 0; i < 200; i++)
        size = seal(one, 5, bytes[i]);
    for (unsigned i = 0; i < 100; i += 2) /* some come, others later */
        assert_true(open_it(other, bytes[i], size) > 0);
    for (unsigned i = 0; i < 100; i += 2)
        assert_int_equal(open_it(other, bytes[i], size), RAPAHUB_EPROTOCOL);
    for (unsigned i = 35; i < 98; i += 2) /* out of order, and within 64 of the last */
        assert_true(open_it(other, bytes[i], size) > 0);
    for (unsigned i = 1; i < 35; i += 2) /* too old to be told apart */
        assert_int_equal(open_it(other, bytes[i], size), RAPAHUB_EPROTOCOL);
    assert_true(open_it(other, bytes[199], size) > 0);
    assert_true(open_it(other, bytes[135], size) > 0);
    assert_int_equal(open_it(other, bytes[135], size), RAPAHUB_EPROTOCOL);
    assert_int_equal(open_it(other, bytes[134], size), RAPAHUB_EPROTOCOL);
}

/* r[verify cluster.swim.keys] */
static void a_recording_of_an_earlier_start_is_refused(void **state)
{
    uint8_t before[2][CLUSTER_DATAGRAM_MAX], after[CLUSTER_DATAGRAM_MAX];
    struct cluster_keyring *again = ring_of(cluster, 1, 2, first_key);
    size_t size;

    (void)state;
    size = seal(one, 5, before[0]);
    (void)seal(one, 5, before[1]);
    (void)seal(again, 6, after);
    assert_true(open_it(other, before[0], size) > 0);
    assert_true(open_it(other, after, size) > 0);
    assert_int_equal(open_it(other, before[1], size),
                     RAPAHUB_EPROTOCOL); /* never came, but is old */
    assert_int_equal(open_it(other, before[0], size), RAPAHUB_EPROTOCOL);
    assert_int_equal(cluster_keyring_figures(other).earlier, 2);
    (void)seal(again, 6, after);
    assert_true(open_it(other, after, size) > 0);
    cluster_keyring_release(&again);
}

/* r[verify cluster.swim.keys] */
static void another_cluster_and_another_key_are_refused(void **state)
{
    struct cluster_keyring *foreign = ring_of(elsewhere, 1, 1, first_key),
                           *guessed = ring_of(cluster, 1, 1, second_key);
    uint8_t bytes[CLUSTER_DATAGRAM_MAX];
    size_t size = seal(foreign, 5, bytes);

    (void)state;
    assert_int_equal(open_it(other, bytes, size), RAPAHUB_EPROTOCOL);
    size = seal(guessed, 5, bytes);
    assert_int_equal(open_it(other, bytes, size), RAPAHUB_EPROTOCOL);
    assert_int_equal(cluster_keyring_figures(other).forged, 2);
    cluster_keyring_release(&foreign);
    cluster_keyring_release(&guessed);
}

/* Installed everywhere, then used, then the old one is removed: no datagram is lost meanwhile.
 * r[verify cluster.swim.keys] */
static void keys_are_exchanged_under_way(void **state)
{
    uint8_t bytes[CLUSTER_DATAGRAM_MAX];
    size_t size;

    (void)state;
    assert_int_equal(cluster_keyring_install(one, 2, second_key), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_true(open_it(other, bytes, seal(one, 5, bytes)) > 0);
    assert_int_equal(cluster_keyring_use(one, 2), 0);
    size = seal(one, 5, bytes);
    assert_int_equal(open_it(other, bytes, size), RAPAHUB_EPROTOCOL); /* it has not got it yet */
    assert_int_equal(cluster_keyring_figures(other).unknown_key, 1);
    assert_int_equal(cluster_keyring_install(other, 2, second_key), 0);
    assert_true(open_it(other, bytes, size) > 0);
    assert_int_equal(cluster_keyring_remove(one, 2), RAPAHUB_EINVAL);
    assert_int_equal(cluster_keyring_remove(other, 1), RAPAHUB_EINVAL);
    assert_int_equal(cluster_keyring_use(other, 2), 0);
    assert_int_equal(cluster_keyring_remove(other, 1), 0);
    assert_int_equal(cluster_keyring_use(one, 1), 0);
    size = seal(one, 5, bytes);
    assert_int_equal(open_it(other, bytes, size), RAPAHUB_EPROTOCOL);
    assert_int_equal(cluster_keyring_install(other, 1, second_key),
                     0); /* another one of that number */
    assert_int_equal(open_it(other, bytes, size), RAPAHUB_EPROTOCOL);
    assert_int_equal(cluster_keyring_install(other, 1, first_key), RAPAHUB_EEXIST);
    assert_int_equal(cluster_keyring_remove(one, 7), RAPAHUB_EINVAL);
    assert_int_equal(cluster_keyring_use(one, 7), RAPAHUB_EINVAL);
}

static void a_ring_is_bounded_and_can_be_empty(void **state)
{
    const uint8_t salt[CLUSTER_DATAGRAM_SALT] = {0}, payload[CLUSTER_DATAGRAM_HEAD] = {0};
    uint8_t key[CLUSTER_KEYRING_KEY] = {0}, bytes[CLUSTER_DATAGRAM_MAX];
    struct cluster_keyring *ring;

    (void)state;
    assert_int_equal(cluster_keyring_create(cluster, 3, salt, &ring), 0);
    assert_int_equal(cluster_keyring_seal(ring, payload, sizeof payload, bytes), RAPAHUB_EINVAL);
    for (uint8_t i = 0; i < CLUSTER_KEYRING_MAX; i++) {
        key[0] = i;
        assert_int_equal(cluster_keyring_install(ring, i, key), 0);
        assert_int_equal(cluster_keyring_install(ring, i, key), 0);
    }
    assert_int_equal(cluster_keyring_install(ring, 99, key), RAPAHUB_EFULL);
    cluster_keyring_release(&ring);
    assert_null(ring);
}

/* r[verify cluster.swim.keys] */
static void garbage_opens_nothing(void **state)
{
    uint8_t bytes[CLUSTER_DATAGRAM_MAX];
    struct hub_random random;

    (void)state;
    hub_random_init(&random, 11);
    for (unsigned i = 0; i < 20000; i++) {
        size_t size = hub_random_below(&random, sizeof bytes + 1);

        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)hub_random_next(&random);
        if (size > 8 && i % 2 == 0) { /* as good a header as anybody can make */
            uint16_t rest = (uint16_t)(size - CLUSTER_DATAGRAM_CLEAR);

            bytes[0] = 1;
            bytes[1] = 1;
            memcpy(bytes + 2, &rest, sizeof rest);
        }
        assert_int_equal(open_it(other, bytes, size), RAPAHUB_EPROTOCOL);
    }
    assert_int_equal(cluster_keyring_figures(other).opened, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_datagram_is_opened_by_the_other_one_and_hides_its_payload),
        TEST(each_byte_of_a_datagram_is_proven),
        TEST(a_recording_is_taken_once),
        TEST(a_recording_of_an_earlier_start_is_refused),
        TEST(another_cluster_and_another_key_are_refused),
        TEST(keys_are_exchanged_under_way),
        TEST(a_ring_is_bounded_and_can_be_empty),
        TEST(garbage_opens_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
