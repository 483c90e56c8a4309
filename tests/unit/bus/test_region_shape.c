/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/region_shape.h"
#include "tests/support/testing.h"

#define KIB UINT32_C(1024)

static struct rapahub_region_options hardened(void)
{
    return (struct rapahub_region_options){.kind = RAPAHUB_REGION_MPSC,
                                           .profile = RAPAHUB_REGION_HARDENED};
}

static void assert_refused(const struct rapahub_region_options *options)
{
    struct hub_region_shape shape;

    assert_int_equal(hub_region_shape_make(options, true, &shape), RAPAHUB_EINVAL);
}

#define BAD(member, value)                          \
    do {                                            \
        bad = good;                                 \
        bad.member = (value);                       \
        assert_false(hub_region_shape_holds(&bad)); \
    } while (0)

static void zero_means_the_default(void **state)
{
    const struct rapahub_region_options options = hardened();
    struct hub_region_shape shape;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, true, &shape), 0);
    assert_int_equal(shape.cell_bytes, 64);
    assert_int_equal(shape.cell_count, 1024);
    assert_int_equal(shape.lease_count, 64);
    assert_int_equal(shape.head_batch, 32);
    assert_int_equal(shape.layout_bytes, 256 + 64 * 128 + 512 + 1024 * 64);
    assert_true(hub_region_shape_holds(&shape));
}

/* r[verify region.profile] */
static void the_profiles_differ_by_their_capabilities(void **state)
{
    struct rapahub_region_options options = hardened();
    struct hub_region_shape shape;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, false, &shape), 0);
    assert_int_equal(shape.caps_required, 1 | 2 | 4 | 64);
    assert_int_equal(hub_region_shape_make(&options, true, &shape), 0);
    assert_int_equal(shape.caps_required, 1 | 2 | 4 | 64 | 1024);
    options.profile = RAPAHUB_REGION_V1;
    assert_int_equal(hub_region_shape_make(&options, true, &shape), 0);
    assert_int_equal(shape.caps_required, 0);
    assert_int_equal(shape.caps_optional, 4);
    assert_int_equal(shape.lease_count, 0);
    assert_true(hub_region_shape_holds(&shape));
}

static void options_that_cannot_be_are_refused(void **state)
{
    const struct rapahub_region_options wrong[] = {
        {.kind = 0},
        {.kind = 7},
        {.kind = 9},
        {.kind = 2, .producers = 1}, /* of FANIN alone */
        {.kind = 3, .producers = 1},
        {.kind = 8, .producers = 256},
        {.kind = 8, .consumers = 1},
        {.kind = 8, .producers = 255, .cells = 1 << 19}, /* 4 GiB */
        {.kind = 1, .consumers = 1},                     /* options of FANOUT alone */
        {.kind = 2, .credit_max = 1},
        {.kind = 2, .mode = 1},
        {.kind = 1, .credit = 1},
        {.kind = 1, .detach_after_ns = 1},
        {.kind = 3, .consumers = 65},
        {.kind = 3, .mode = 2},
        {.kind = 3, .credit = 3},
        {.kind = 3, .cells = 8, .credit_max = 9},
        {.kind = 3, .cells = 1 << 15, .cell_bytes = 64 * KIB, .consumers = 1}, /* 4 GiB */
        {.kind = 1, .profile = 2},
        {.kind = 1, .cell_bytes = 32},
        {.kind = 1, .cell_bytes = 96},
        {.kind = 1, .cell_bytes = 65600},
        {.kind = 1, .cells = 1},
        {.kind = 1, .cells = 3},
        {.kind = 1, .cells = 1 << 25},
        {.kind = 1, .leases = 1025},
        {.kind = 1, .head_batch = 257},
        {.kind = 1, .file_mode = 0666},
        {.kind = 1, .reserved = {[7] = 1}},
        {.kind = 1, .cells = 1 << 16, .cell_bytes = 64 * KIB}, /* 4 GiB and more */
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(&wrong[i]);
}

/* r[verify region.geometry] */
static void parts_that_overlap_or_lie_outside_are_refused(void **state)
{
    const struct rapahub_region_options options = hardened();
    struct hub_region_shape good, bad;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, true, &good), 0);
    BAD(lease_off, 128);                 /* over the header */
    BAD(lease_off, good.body_off - 128); /* over the ring */
    BAD(lease_off, good.lease_off + 64); /* not aligned */
    BAD(lease_off, UINT32_MAX - 127);    /* the end overflows 32 bits */
    BAD(body_off, good.cells_off);       /* over the cells */
    BAD(body_off, good.body_off - 64);
    BAD(cells_off, good.body_off);
    BAD(cells_off, good.cells_off + 64); /* beyond the end */
    BAD(cells_off, good.cells_off + 32);
    BAD(cell_count, good.cell_count * 2);
    BAD(cell_count, 0);
    BAD(cell_count, 1);
    BAD(cell_count, 1023);
    BAD(cell_bytes, 0);
    BAD(cell_bytes, 128);
    BAD(lease_count, 0); /* leases are required */
    BAD(lease_count, 2000);
    BAD(head_batch, 0);
    BAD(head_batch, 257);
    BAD(layout_bytes, good.layout_bytes - 1);
    bad = good; /* cells that lie inside, but are not aligned */
    bad.layout_bytes += 64;
    bad.cells_off += 32;
    assert_false(hub_region_shape_holds(&bad));
}

/* r[verify region.fanout] */
static void a_fan_out_has_a_queue_for_each_consumer(void **state)
{
    struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_FANOUT, .cells = 4, .consumers = 3};
    struct hub_region_shape shape;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, true, &shape), 0);
    assert_true(hub_region_shape_holds(&shape));
    assert_int_equal(shape.caps_optional, 4);
    assert_int_equal(shape.caps_required, 0);
    assert_int_equal(shape.fanout.credit_max, 4);
    assert_int_equal(hub_region_shape_message_max(&shape), 48);
    assert_int_equal(shape.layout_bytes, 256 + 384 + 3 * 128 + 4 * (512 + 4 * 64));
    options.credit_max = 2;
    assert_int_equal(hub_region_shape_make(&options, true, &shape), 0);
    assert_int_equal(shape.caps_optional, 4 | 8);
    options.profile = RAPAHUB_REGION_HARDENED;
    assert_int_equal(hub_region_shape_make(&options, false, &shape), 0);
    assert_int_equal(shape.caps_required, 1 | 2 | 4 | 8 | 64 | 128);
    assert_int_equal(hub_region_shape_message_max(&shape), 40);
}

/* r[verify region.geometry] */
static void parts_of_a_fan_out_that_overlap_or_lie_outside_are_refused(void **state)
{
    const struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_FANOUT, .cells = 4, .consumers = 3};
    struct hub_region_shape good, bad;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, true, &good), 0);
    BAD(body_off, 128);
    BAD(body_off, good.body_off + 64);
    BAD(body_off, good.fanout.consumers_off);
    BAD(ring_off, good.body_off);
    BAD(ring_off, good.fanout.consumers_off);
    BAD(ring_off, good.fanout.queues_off);
    BAD(fanout.consumers_off, good.ring_off);
    BAD(fanout.consumers_off, good.fanout.consumers_off + 64);
    BAD(fanout.consumers_off, UINT32_MAX - 127);
    BAD(fanout.queues_off, good.ring_off);
    BAD(fanout.queues_off, good.fanout.queues_off + 64);
    BAD(fanout.queues_off, good.fanout.queues_off + 128);
    BAD(fanout.queues_off, UINT32_MAX - 127);
    BAD(fanout.consumers, 4);
    BAD(fanout.consumers, UINT32_MAX);
    BAD(cell_count, 8);
    bad = good; /* queues that lie inside, but are not aligned */
    bad.layout_bytes += 128;
    bad.fanout.queues_off += 64;
    assert_false(hub_region_shape_holds(&bad));
}

/* r[verify region.fanin] */
static void a_fan_in_has_a_ring_for_each_producer(void **state)
{
    struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_FANIN, .cells = 4, .producers = 3};
    struct hub_region_shape shape;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, true, &shape), 0);
    assert_true(hub_region_shape_holds(&shape));
    assert_int_equal(shape.producers, 3);
    assert_int_equal(shape.caps_optional, 4);
    assert_int_equal(shape.layout_bytes, 256 + 256 + 3 * (512 + 4 * 64));
    assert_false(hub_region_shape_claims(&shape));
    options.profile = RAPAHUB_REGION_HARDENED;
    assert_int_equal(hub_region_shape_make(&options, false, &shape), 0);
    assert_int_equal(shape.caps_required, 1 | 2 | 4 | 64);
    assert_int_equal(shape.lease_count, 64);
    options.producers = 255;
    assert_int_equal(hub_region_shape_make(&options, false, &shape), 0);
    assert_int_equal(shape.lease_count, 256);
    assert_true(hub_region_shape_holds(&shape));
    options.producers = 0;
    assert_int_equal(hub_region_shape_make(&options, false, &shape), 0);
    assert_int_equal(shape.producers, 1);
}

/* r[verify region.geometry] */
static void parts_of_a_fan_in_that_overlap_or_lie_outside_are_refused(void **state)
{
    const struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_FANIN, .cells = 4, .producers = 3};
    struct hub_region_shape good, bad;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, true, &good), 0);
    BAD(producers, 0);
    BAD(producers, 4);
    BAD(producers, UINT32_MAX);
    BAD(kind, HUB_REGION_SPSC);
    BAD(kind, HUB_REGION_FANOUT);
    BAD(body_off, 128);
    BAD(body_off, good.ring_off);
    BAD(ring_off, good.body_off);
    BAD(ring_off, good.ring_off + 128);
    BAD(cells_off, good.cells_off + 64);
    BAD(cell_count, 8);
    bad = good; /* rings that lie inside, but are not aligned */
    bad.layout_bytes += 128;
    bad.ring_off += 64;
    bad.cells_off += 64;
    assert_false(hub_region_shape_holds(&bad));
    bad = good; /* more rings than there may be, that would lie inside */
    bad.producers = 256;
    bad.layout_bytes += 253 * (512 + 4 * 64);
    assert_false(hub_region_shape_holds(&bad));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_means_the_default),
        cmocka_unit_test(the_profiles_differ_by_their_capabilities),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(parts_that_overlap_or_lie_outside_are_refused),
        cmocka_unit_test(a_fan_out_has_a_queue_for_each_consumer),
        cmocka_unit_test(parts_of_a_fan_out_that_overlap_or_lie_outside_are_refused),
        cmocka_unit_test(a_fan_in_has_a_ring_for_each_producer),
        cmocka_unit_test(parts_of_a_fan_in_that_overlap_or_lie_outside_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
