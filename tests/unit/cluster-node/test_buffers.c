/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/base/buffers.h"
#include "tests/support/testing.h"

#define MOST  3
#define BYTES 3000

static uint8_t bytes[BYTES + 1];

static struct cluster_buffers *open_buffers(void)
{
    struct cluster_buffers *buffers;

    assert_int_equal(cluster_buffers_create(MOST, BYTES, &buffers), 0);
    return buffers;
}

static int keep(struct cluster_buffers *buffers, size_t size, struct cluster_payload_body *out)
{
    return cluster_buffers_keep(buffers, (struct rapahub_bytes){bytes, size}, out);
}

/* r[verify cluster.node.bodies] */
static void a_small_body_stays_where_it_is(void **state)
{
    struct cluster_buffers *buffers = open_buffers();
    struct cluster_payload_body body;

    (void)state;
    assert_int_equal(keep(buffers, CLUSTER_EFFECTS_BODY_MAX, &body), 0);
    assert_true(body.number == 0 && body.bytes.data == bytes);
    assert_int_equal(body.size, CLUSTER_EFFECTS_BODY_MAX);
    assert_int_equal(cluster_buffers_figures(buffers).count, 0);
    cluster_buffers_release(&buffers);
}

/* r[verify cluster.node.bodies] */
static void a_large_body_is_copied_until_it_is_dropped(void **state)
{
    struct cluster_buffers *buffers = open_buffers();
    struct cluster_payload_body body, other;
    struct rapahub_bytes kept;

    (void)state;
    bytes[600] = 7;
    assert_int_equal(keep(buffers, 601, &body), 0);
    bytes[600] = 8;
    assert_true(body.number != 0 && body.bytes.size == 0 && body.size == 601);
    kept = cluster_buffers_bytes(buffers, body.number);
    assert_int_equal(kept.size, 601);
    assert_int_equal(((const uint8_t *)kept.data)[600], 7);
    cluster_buffers_drop(buffers, body.number);
    cluster_buffers_drop(buffers, body.number);
    cluster_buffers_drop(buffers, 0);
    assert_int_equal(cluster_buffers_bytes(buffers, body.number).size, 0);
    assert_int_equal(keep(buffers, 601, &other), 0);
    assert_true(other.number != body.number);
    cluster_buffers_release(&buffers);
}

/* r[verify cluster.node.bodies] */
static void bodies_are_bounded_in_number_and_in_bytes(void **state)
{
    struct cluster_buffers *buffers = open_buffers();
    struct cluster_payload_body body;

    (void)state;
    assert_int_equal(keep(buffers, BYTES + 1, &body), RAPAHUB_EBUSY);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(keep(buffers, 600, &body), 0);
    assert_int_equal(keep(buffers, 600, &body), RAPAHUB_EBUSY);
    cluster_buffers_drop(buffers, body.number);
    assert_int_equal(cluster_buffers_figures(buffers).count, MOST);
    cluster_buffers_release(&buffers);
    buffers = open_buffers();
    assert_int_equal(keep(buffers, BYTES, &body), 0);
    assert_int_equal(keep(buffers, 600, &body), RAPAHUB_EBUSY);
    assert_int_equal(cluster_buffers_figures(buffers).bytes, BYTES);
    cluster_buffers_release(&buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_body_stays_where_it_is),
                                       cmocka_unit_test(a_large_body_is_copied_until_it_is_dropped),
                                       cmocka_unit_test(bodies_are_bounded_in_number_and_in_bytes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
