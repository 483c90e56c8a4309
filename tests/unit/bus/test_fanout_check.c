/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a FANOUT region with any of its words changed: its verdict is that it is damaged, or
 * its parts still lie inside, apart. */
#include "hub/bus/region_check.h"
#include "tests/unit/bus/region_stage.h"

static struct rapahub_region *region;
static uint8_t *bytes;

static int set_up(void **state)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_FANOUT,
                                                   .profile = RAPAHUB_REGION_HARDENED,
                                                   .cells = 4,
                                                   .leases = 2,
                                                   .consumers = 3};

    (void)state;
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
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

/* r[verify region.geometry] r[verify region.fanout] */
static void each_constant_of_the_body_is_checked(void **state)
{
    const struct hub_region_shape *s = &region->shape;
    size_t body = s->body_off, consumer = s->fanout.consumers_off + 128,
           queue = s->fanout.queues_off;
    const struct {
        size_t at;
        uint32_t value;
    } bad[] = {
        {body, 2},     /* mode */
        {body + 4, 3}, /* credit policy */
        {body + 8, 0}, /* consumers */
        {body + 8, 65},
        {body + 8, 4},
        {body + 12, (uint32_t)body},
        {body + 12, 0},
        {body + 12, 64},
        {body + 16, (uint32_t)body},
        {body + 16, 8},
        {consumer + 4, 0},
        {consumer + 4, s->fanout.queues_off},
        {consumer + 8, 0}, /* credit */
        {consumer + 8, 3},
        {consumer + 8, 5},
        {consumer + 12, 1}, /* on death */
        {queue + 8, 7},
        {queue + 12, 0},
        {queue + 20, 2},
        {queue + 140, 0},
        {queue + 140, 300},
        {s->ring_off + 20, 1},
        {s->ring_off + 8, 1},
    };
    struct hub_region_found found;

    (void)state;
    memcpy(bytes, region->mapping.data, s->layout_bytes);
    assert_int_equal(check(&found), 0);
    assert_memory_equal(&found.shape, s, sizeof *s);
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

/* r[verify region.caps] */
static void capabilities_of_a_fan_out_are_of_this_kind_alone(void **state)
{
    struct rapahub_region *other = stage_create(NULL, RAPAHUB_REGION_MPSC, RAPAHUB_REGION_V1, 4);
    struct hub_region_header *header = hub_region_header(other);
    struct hub_region_found found;

    (void)state;
    header->caps_optional |= HUB_CAP_CREDITS;
    header->header_crc32c = hub_region_check_sum(header);
    assert_int_equal(hub_region_check(other->mapping.data, other->mapping.size, 0, &found),
                     RAPAHUB_ECAPS);
    assert_int_equal(rapahub_region_close(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_constant_of_the_body_is_checked),
        cmocka_unit_test(no_word_of_the_body_leads_outside),
        cmocka_unit_test(capabilities_of_a_fan_out_are_of_this_kind_alone)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
