/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed order of the checks: every defect alone, and every pair of defects, of which the
 * earlier one must be told. */
#include <sys/mman.h>

#include "hub/bus/region_check.h"
#include "tests/unit/bus/region_stage.h"

#define CELLS 4

static struct rapahub_region *region;
static uint8_t *bytes; /* a copy of a sound region, at the end of a page that nothing follows */
static size_t size;

static int set_up(void **state)
{
    size_t page = 65536;
    uint8_t *pages;

    (void)state;
    region = stage_create(NULL, RAPAHUB_REGION_MPSC, RAPAHUB_REGION_HARDENED, CELLS);
    size = region->shape.layout_bytes;
    pages = mmap(NULL, page + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, 4096, PROT_NONE), 0);
    assert_true(size <= page && size % 128 == 0);
    bytes = pages + page - size;
    return 0;
}

static void fresh(void)
{
    memcpy(bytes, region->mapping.data, size);
}

static int check(uint32_t kind)
{
    struct hub_region_found found;

    return hub_region_check(bytes, size, kind, &found);
}

static void put32(size_t at, uint32_t value)
{
    memcpy(bytes + at, &value, sizeof value);
}

static void put64(size_t at, uint64_t value)
{
    memcpy(bytes + at, &value, sizeof value);
}

/* Restores what covers the header. */
static void sum(void)
{
    put32(124, hub_region_check_sum((const struct hub_region_header *)(const void *)bytes));
}

static void no_magic(void)
{
    put64(0, 0);
}

static void bad_magic(void)
{
    put64(0, 1);
}

static void bad_order(void)
{
    put32(12, 0x04030201);
}

static void no_kind(void)
{
    put32(16, 0);
}

static void busy(void)
{
    put32(56, 1);
}

static void bad_version(void)
{
    bytes[8] = 2;
}

static void bad_kind(void)
{
    put32(16, 9);
}

static void bad_caps(void)
{
    put64(24, 1 | 2 | 4 | 64 | 1024 | 1 << 20);
}

static void bad_layout(void)
{
    put64(40, 767);
}

static void cut(void)
{
    put64(40, size + 1);
}

static void bad_sum(void)
{
    bytes[124] ^= 1;
}

static void bad_ring(void)
{
    put32(region->shape.body_off + 8, CELLS); /* the mask */
}

/* In the order of the checks. The magic is one of the first two. */
static const struct {
    void (*make)(void);
    int code;
} defects[] = {{no_magic, RAPAHUB_ENOTINITIALIZED}, {bad_magic, RAPAHUB_EBADMAGIC},
               {bad_order, RAPAHUB_EBADENDIAN},     {no_kind, RAPAHUB_ENOTINITIALIZED},
               {busy, RAPAHUB_ENOTINITIALIZED},     {bad_version, RAPAHUB_EBADVERSION},
               {bad_kind, RAPAHUB_EBADKIND},        {bad_caps, RAPAHUB_ECAPS},
               {bad_layout, RAPAHUB_ELAYOUTBYTES},  {cut, RAPAHUB_ETRUNCATED},
               {bad_sum, RAPAHUB_ECORRUPT},         {bad_ring, RAPAHUB_ECORRUPT}};

#define DEFECTS (sizeof defects / sizeof *defects)

static bool exclude(size_t i, size_t j)
{
    return (defects[i].make == no_magic && defects[j].make == bad_magic) ||
           (defects[i].make == no_kind && defects[j].make == bad_kind) ||
           (defects[i].make == bad_layout && defects[j].make == cut); /* of one word */
}

/* r[verify region.order] r[verify region.use] */
static void each_pair_of_defects_gives_the_code_of_the_first(void **state)
{
    (void)state;
    fresh();
    assert_int_equal(check(0), 0);
    for (size_t i = 0; i < DEFECTS; i++)
        for (size_t j = i; j < DEFECTS; j++) {
            if (exclude(i, j))
                continue;
            fresh();
            defects[i].make();
            if (j != i)
                defects[j].make();
            if (defects[i].make != bad_sum && defects[j].make != bad_sum)
                sum();
            assert_int_equal(check(0), defects[i].code);
        }
}

/* r[verify region.kind] */
static void a_region_of_another_kind_is_refused(void **state)
{
    (void)state;
    fresh();
    assert_int_equal(check(HUB_REGION_MPSC), 0);
    assert_int_equal(check(HUB_REGION_SPSC), RAPAHUB_EBADKIND);
    put32(16, HUB_REGION_SPSC); /* the header lies: the ring is of another kind */
    sum();
    assert_int_equal(check(0), RAPAHUB_ECORRUPT);
    put32(16, HUB_REGION_MPSC | 1 << 8); /* bits that no kind has */
    sum();
    assert_int_equal(check(0), RAPAHUB_EBADKIND);
}

/* r[verify region.init] r[verify region.init.code] */
static void only_an_initialised_region_is_used(void **state)
{
    const uint32_t values[] = {0, 1, 3, 4, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fresh();
        put32(56, values[i]);
        assert_int_equal(check(0), RAPAHUB_ENOTINITIALIZED);
    }
}

/* r[verify region.caps] */
static void capabilities_that_do_not_fit_together_are_refused(void **state)
{
    const struct {
        uint64_t required, optional;
    } wrong[] = {
        {2, 0},      /* poison without leases */
        {64, 4},     /* batches without leases */
        {1024, 0},   /* light wakes without wakes */
        {4, 1},      /* leases as an option */
        {1 << 3, 0}, /* not known here */
        {UINT64_C(1) << 63, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fresh();
        put64(24, wrong[i].required);
        put64(32, wrong[i].optional);
        sum();
        assert_int_equal(check(0), RAPAHUB_ECAPS);
    }
    fresh();
    put64(32, UINT64_C(1) << 40); /* an option that is not known is none of our business */
    sum();
    assert_int_equal(check(0), 0);
}

/* The page after the bytes cannot be read. r[verify region.length] */
static void a_region_that_is_cut_anywhere_is_refused_and_nothing_is_read_behind_it(void **state)
{
    struct hub_region_found found;

    (void)state;
    for (size_t length = 0; length < size; length += length < 1024 ? 1 : 64) {
        uint8_t *at = bytes + (size - length) / 128 * 128;

        memmove(at, region->mapping.data, length);
        assert_int_equal(hub_region_check(at, length, 0, &found), RAPAHUB_ETRUNCATED);
    }
}

/* r[verify region.geometry] */
static void every_bit_of_the_header_that_is_checked_is_covered(void **state)
{
    unsigned unseen = 0;

    (void)state;
    for (size_t bit = 0; bit < 8 * HUB_REGION_HEADER_BYTES; bit++) {
        size_t at = bit / 8;

        fresh();
        bytes[at] ^= (uint8_t)(1u << bit % 8);
        if (check(0) == 0) {
            unseen++; /* generation, init_pid, name, init_ns, counters, reserved: not believed */
            assert_true((at >= 60 && at < 68) || (at >= 80 && at < 104) || at >= 128);
        }
    }
    assert_int_equal(unseen, 8 * (8 + 24 + 128));
}

static int tear_down(void **state)
{
    (void)state;
    munmap(bytes + size - 65536, 65536 + 4096);
    return rapahub_region_close(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_of_defects_gives_the_code_of_the_first),
        cmocka_unit_test(a_region_of_another_kind_is_refused),
        cmocka_unit_test(only_an_initialised_region_is_used),
        cmocka_unit_test(capabilities_that_do_not_fit_together_are_refused),
        cmocka_unit_test(a_region_that_is_cut_anywhere_is_refused_and_nothing_is_read_behind_it),
        cmocka_unit_test(every_bit_of_the_header_that_is_checked_is_covered)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
