/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a state with any of its words changed: its verdict is that it is damaged, or its
 * value still lies inside. And the shapes of states. */
#include "hub/bus/region_check.h"
#include "tests/unit/bus/state_stage.h"

static struct rapahub_region *region;
static uint8_t *bytes;

static void begin(enum rapahub_region_kind kind, enum rapahub_region_profile profile)
{
    region = state_stage_create(NULL, kind, profile);
    bytes = aligned_alloc(128, region->shape.layout_bytes); /* sanitizers see what is behind */
    assert_non_null(bytes);
    memcpy(bytes, region->mapping.data, region->shape.layout_bytes);
}

static void end(void)
{
    free(bytes);
    assert_int_equal(rapahub_region_close(region), 0);
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

struct bad {
    size_t at;
    uint32_t value;
};

static void assert_damage(const struct bad *bad, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (check_with(region->shape.body_off + bad[i].at, bad[i].value) != RAPAHUB_ECORRUPT)
            fail_msg("%zu: %u at %zu is taken", i, bad[i].value, bad[i].at);
}

/* r[verify region.geometry] r[verify region.state.shape] */
static void each_constant_of_the_body_is_checked(void **state)
{
    static const struct bad parity[] = {
        {8, 0}, {8, STATE_BYTES + 128}, {8, UINT32_MAX}, {8, 1u << 31}};
    static const struct bad latch[] = {
        {20, 0}, /* buffers */
        {20, 1},
        {20, 3},
        {20, 256},
        {20, UINT32_MAX},
        {24, 0}, /* the longest value */
        {24, STATE_BYTES + 128},
        {24, 1u << 31},
        {24, UINT32_MAX},
        {28, 0}, /* from one buffer to the next */
        {28, 64 + STATE_BYTES + 64 + 128},
        {28, 128},
        {28, UINT32_MAX},
        {32, 0}, /* where the first one lies */
        {32, 128},
        {32, UINT32_MAX},
    };
    struct hub_region_found found;

    (void)state;
    begin(RAPAHUB_REGION_STATE_V1, RAPAHUB_REGION_HARDENED);
    assert_int_equal(check(&found), 0);
    assert_int_equal(found.shape.state.value_bytes, STATE_BYTES);
    assert_damage(parity, sizeof parity / sizeof *parity);
    end();
    begin(RAPAHUB_REGION_STATE_LATCH, RAPAHUB_REGION_V1);
    assert_int_equal(check(&found), 0);
    assert_int_equal(found.shape.state.buffers, 2);
    assert_int_equal(found.shape.state.stride, 384);
    assert_int_equal(found.shape.state.buffers_off, region->shape.body_off + 128);
    assert_damage(latch, sizeof latch / sizeof *latch);
    end();
}

/* r[verify region.length] */
static void no_word_of_the_body_leads_outside(void **state)
{
    static const uint32_t values[] = {0, 1, 2, 63, 64, 127, 128, 256, 65536, 1u << 31, UINT32_MAX};

    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        begin(state_kinds[kind], RAPAHUB_REGION_HARDENED);
        for (size_t at = region->shape.body_off; at < region->shape.layout_bytes; at += 4)
            for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                int r = check_with(at, values[i]);

                assert_true(r == 0 || r == RAPAHUB_ECORRUPT);
            }
        end();
    }
}

/* A state of kind STATE_V1 has its own sequence; only one that was removed is not used. r[verify
 * region.parity] */
static void a_state_in_one_place_is_used_whatever_is_initialised(void **state)
{
    struct hub_region_found found;

    (void)state;
    begin(RAPAHUB_REGION_STATE_V1, RAPAHUB_REGION_V1);
    for (uint32_t value = 0; value < 5; value++) {
        memcpy(bytes + 56, &value, sizeof value);
        assert_int_equal(check(&found), value == 3 ? RAPAHUB_ENOTINITIALIZED : 0);
    }
    end();
    begin(RAPAHUB_REGION_STATE_LATCH, RAPAHUB_REGION_V1);
    for (uint32_t value = 0; value < 5; value++) {
        memcpy(bytes + 56, &value, sizeof value);
        assert_int_equal(check(&found), value == 2 ? 0 : RAPAHUB_ENOTINITIALIZED);
    }
    end();
}

static int check_caps(uint32_t required, uint32_t optional)
{
    struct hub_region_found found;
    uint32_t sum;

    memcpy(bytes + 24, &required, sizeof required);
    memcpy(bytes + 32, &optional, sizeof optional);
    sum = hub_region_check_sum((const struct hub_region_header *)(const void *)bytes);
    memcpy(bytes + 124, &sum, sizeof sum);
    return check(&found);
}

/* r[verify region.caps] */
static void the_capability_of_the_latch_is_that_of_its_kind(void **state)
{
    (void)state;
    begin(RAPAHUB_REGION_STATE_LATCH, RAPAHUB_REGION_V1);
    assert_int_equal(check_caps(256, 4), 0);
    assert_int_equal(check_caps(0, 4), RAPAHUB_ECAPS);
    assert_int_equal(check_caps(0, 256), RAPAHUB_ECAPS);
    assert_int_equal(check_caps(256, 8), RAPAHUB_ECAPS); /* credits */
    end();
    begin(RAPAHUB_REGION_STATE_V1, RAPAHUB_REGION_V1);
    assert_int_equal(check_caps(0, 4), 0);
    assert_int_equal(check_caps(256, 4), RAPAHUB_ECAPS);
    end();
}

static void assert_refused(const struct rapahub_region_options *options)
{
    struct hub_region_shape shape;

    assert_int_equal(hub_region_shape_make(options, true, &shape), RAPAHUB_EINVAL);
}

/* r[verify region.state.shape] */
static void options_that_cannot_be_are_refused(void **state)
{
    static const struct rapahub_region_options wrong[] = {
        {.kind = 1, .value_bytes = 1}, /* of states alone */
        {.kind = 3, .buffers = 2},
        {.kind = 5, .buffers = 2}, /* of STATE_LATCH alone */
        {.kind = 6, .buffers = 1},
        {.kind = 6, .buffers = 256},
        {.kind = 5, .value_bytes = (1u << 30) + 1},
        {.kind = 6, .value_bytes = 1u << 30, .buffers = 4}, /* 4 GiB */
        {.kind = 5, .cells = 4},
        {.kind = 5, .cell_bytes = 64},
        {.kind = 6, .head_batch = 1},
        {.kind = 5, .producers = 1},
        {.kind = 6, .consumers = 1},
        {.kind = 6, .leases = 1025},
        {.kind = 5, .reserved = {[3] = 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(&wrong[i]);
}

/* r[verify region.state.shape] r[verify region.profile] */
static void zero_means_the_default(void **state)
{
    struct rapahub_region_options options = {.kind = RAPAHUB_REGION_STATE_LATCH};
    struct hub_region_shape shape;

    (void)state;
    assert_int_equal(hub_region_shape_make(&options, true, &shape), 0);
    assert_true(hub_region_shape_holds(&shape));
    assert_int_equal(shape.state.value_bytes, 1024);
    assert_int_equal(shape.state.buffers, 2);
    assert_int_equal(shape.caps_required, 256);
    assert_int_equal(shape.caps_optional, 4);
    assert_int_equal(shape.layout_bytes, 256 + 128 + 2 * 1152);
    options.profile = RAPAHUB_REGION_HARDENED;
    assert_int_equal(hub_region_shape_make(&options, false, &shape), 0);
    assert_int_equal(shape.caps_required, 256 | 1 | 2 | 4 | 64);
    assert_int_equal(shape.lease_count, 64);
    options.kind = RAPAHUB_REGION_STATE_V1;
    assert_int_equal(hub_region_shape_make(&options, false, &shape), 0);
    assert_int_equal(shape.caps_required, 1 | 2 | 4 | 64);
    assert_int_equal(shape.layout_bytes, 256 + 64 * 128 + 128 + 1024);
    shape.body_off = 128; /* over the header */
    assert_false(hub_region_shape_holds(&shape));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_constant_of_the_body_is_checked),
        cmocka_unit_test(no_word_of_the_body_leads_outside),
        cmocka_unit_test(a_state_in_one_place_is_used_whatever_is_initialised),
        cmocka_unit_test(the_capability_of_the_latch_is_that_of_its_kind),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(zero_means_the_default)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
