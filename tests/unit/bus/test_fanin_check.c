/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a FANIN region with any of its words changed: its verdict is that it is damaged, or
 * its parts still lie inside, apart. */
#include "hub/bus/region_check.h"
#include "tests/unit/bus/fanin_stage.h"

static struct rapahub_region *region;
static uint8_t *bytes;

static int set_up(void **state)
{
    (void)state;
    region = fanin_stage_create(NULL, RAPAHUB_REGION_V1, FANIN_PRODUCERS, FANIN_CELLS);
    bytes = aligned_alloc(128, region->shape.layout_bytes); /* sanitizers see what is behind */
    return bytes ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(bytes);
    return rapahub_region_close(region);
}

static int check(struct hub_region_found *found)
{
    return hub_region_check(bytes, region->shape.layout_bytes, 0, found);
}

static int check_with(size_t at, uint32_t value)
{
    struct hub_region_found found;
    int r;

    memcpy(bytes, region->mapping.data, region->shape.layout_bytes);
    memcpy(bytes + at, &value, sizeof value);
    r = check(&found);
    if (r == 0)
        assert_true(hub_region_shape_holds(&found.shape));
    return r;
}

/* r[verify region.geometry] r[verify region.fanin] */
static void each_constant_of_the_body_is_checked(void **state)
{
    const struct hub_region_shape *s = &region->shape;
    uint32_t stride = 512 + FANIN_CELLS * 64;
    size_t body = s->body_off, last = s->ring_off + 2 * stride;
    const struct {
        size_t at;
        uint32_t value;
    } bad[] = {
        {body, 0}, /* rings */
        {body, FANIN_PRODUCERS + 1},
        {body, 256},
        {body, UINT32_MAX},
        {body + 4, (uint32_t)body}, /* where the first one lies */
        {body + 4, 0},
        {body + 4, s->ring_off + 64},
        {body + 4, s->ring_off + 128},
        {body + 8, stride - 128}, /* from one to the next */
        {body + 8, stride + 128},
        {body + 8, 0},
        {s->ring_off + 8, 1}, /* a ring's mask, cells, kind and batch */
        {s->ring_off + 12, s->ring_off + 576},
        {s->ring_off + 20, 2},
        {last + 8, 7},
        {last + 12, 0},
        {last + 20, 2},
        {last + 140, 0},
        {last + 140, 300},
    };
    struct hub_region_found found;

    (void)state;
    memcpy(bytes, region->mapping.data, s->layout_bytes);
    assert_int_equal(check(&found), 0);
    assert_int_equal(found.shape.producers, FANIN_PRODUCERS);
    assert_int_equal(found.shape.ring_off, s->ring_off);
    assert_int_equal(found.shape.cells_off, s->cells_off);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (check_with(bad[i].at, bad[i].value) != RAPAHUB_ECORRUPT)
            fail_msg("%zu: %u at %zu is taken", i, bad[i].value, bad[i].at);
}

/* r[verify region.length] */
static void no_word_of_the_body_leads_outside(void **state)
{
    static const uint32_t values[] = {0, 1, 2, 63, 64, 127, 128, 256, 65536, 1u << 31, UINT32_MAX};

    (void)state;
    for (size_t at = region->shape.body_off; at < region->shape.layout_bytes; at += 4)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            int r = check_with(at, values[i]);

            assert_true(r == 0 || r == RAPAHUB_ECORRUPT);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_constant_of_the_body_is_checked),
                                       cmocka_unit_test(no_word_of_the_body_leads_outside)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
