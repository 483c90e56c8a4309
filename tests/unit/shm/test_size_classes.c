/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/shm/geometry.h"
#include "hub/shm/segment.h"
#include "hub/shm/size_classes.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

#define GOLDEN_SIZE 1984

/* Like segment-golden-var: 64 bytes x 4 and 256 x 2. */
static const struct hub_limits limits = {.payload_max = 256,
                                         .credit_size = 1024,
                                         .guests_max = 1,
                                         .ring_size = 4,
                                         .slot_size = 64,
                                         .slot_count = 2,
                                         .channels_max = 4};
static const struct hub_size_classes golden_classes = {
    .count = 2,
    .of = {{.slot_size = 64, .slots_per_extent = 4, .extent_count = 1},
           {.slot_size = 256, .slots_per_extent = 2, .extent_count = 1}}};

static uint64_t member(const json_t *object, const char *name)
{
    return vectors_u64(vectors_member(object, name));
}

static void assert_classes(const struct vector *vector, const struct hub_geometry *geometry)
{
    const json_t *classes = vectors_member(vector->value, "classes");
    const json_t *extents = vectors_member(vector->value, "extents");

    assert_int_equal(geometry->classes.count, json_array_size(classes));
    for (uint32_t c = 0; c < geometry->classes.count; c++) {
        const json_t *expected = vectors_element(classes, c);
        const struct hub_size_class *found = &geometry->classes.of[c];

        assert_int_equal(found->slot_size, vectors_u64(vectors_element(expected, 0)));
        assert_int_equal(found->slots_per_extent, vectors_u64(vectors_element(expected, 1)));
        assert_int_equal(found->extents[0], vectors_u64(vectors_element(extents, c)));
    }
}

static void assert_vector(const struct vector *vector)
{
    const json_t *config = vectors_member(vector->value, "config");
    struct hub_limits chosen = {
        .payload_max = (uint32_t)member(config, "payload_max"),
        .credit_size = 1024,
        .guests_max = (uint32_t)member(config, "max_guests"),
        .ring_size = (uint32_t)member(config, "ring_size"),
        .slot_size = (uint32_t)member(config, "slot_size"),
        .slot_count = (uint32_t)member(config, "slot_count"),
        .channels_max = (uint32_t)member(config, "max_channels"),
    };
    struct hub_geometry geometry;

    assert_int_equal(hub_geometry_compute(&chosen, &geometry), 0);
    assert_int_equal(geometry.classes.base, member(vector->value, "var_slot_pool_offset"));
    assert_int_equal(geometry.guest_area, member(vector->value, "guest_area"));
    assert_int_equal(geometry.guest_stride, member(vector->value, "guest_stride"));
    assert_int_equal(geometry.total_size, member(vector->value, "total_size"));
    assert_classes(vector, &geometry);
}

/* r[verify hub.layout.pools] r[verify shm.varslot.classes] */
static void the_vectors_with_size_classes_are_what_is_computed(void **state)
{
    struct vectors *vectors = vectors_open();
    unsigned rounds = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(vectors, "geometry", v)) != NULL;) {
        if (strcmp(v->type, "size classes") != 0)
            continue;
        assert_vector(v);
        rounds++;
    }
    assert_int_equal(rounds, 2);
    vectors_close(vectors);
}

/* r[verify hub.layout.pools] */
static void what_fits_a_slot_needs_no_classes_and_one_byte_more_does(void **state)
{
    struct hub_limits fixed = limits;
    struct hub_geometry geometry;

    (void)state;
    fixed.payload_max = 60;
    assert_int_equal(hub_geometry_compute(&fixed, &geometry), 0);
    assert_int_equal(geometry.classes.count, 0);
    fixed.payload_max = 61;
    assert_int_equal(hub_geometry_compute(&fixed, &geometry), 0);
    assert_int_equal(geometry.classes.count, 1);
    fixed.payload_max = 65;
    assert_int_equal(hub_geometry_compute(&fixed, &geometry), 0);
    assert_int_equal(geometry.classes.count, 2);
    assert_int_equal(geometry.classes.of[1].slot_size, 128);
    fixed.payload_max = 1 << 30;
    fixed.slot_count = 1;
    assert_int_equal(hub_geometry_compute(&fixed, &geometry), 0);
    assert_int_equal(geometry.classes.count, 7);
    assert_int_equal(geometry.classes.of[6].slot_size, 1 << 30);
    fixed.payload_max = 65;
    fixed.slot_count = 65536;
    fixed.guests_max = 16;
    assert_int_equal(hub_geometry_compute(&fixed, &geometry), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "shm.varslot.classes");
}

/* r[verify shm.varslot.extent-layout] r[verify shm.varslot.shared] */
static void a_new_segment_with_classes_has_the_golden_bytes(void **state)
{
    struct vectors *vectors = vectors_open();
    const struct vector *golden = vectors_find(vectors, "segment-golden-var");
    struct hub_geometry geometry;
    struct hub_segment *segment;

    (void)state;
    assert_int_equal(golden->size, GOLDEN_SIZE);
    assert_int_equal(hub_geometry_compute_classes(&limits, &golden_classes, &geometry), 0);
    assert_int_equal(hub_segment_create_from(&geometry, false, NULL, &segment), 0);
    assert_int_equal(segment->mapping.size, GOLDEN_SIZE);
    assert_memory_equal(segment->mapping.data, golden->bytes, GOLDEN_SIZE);
    hub_segment_release(&segment);
    vectors_close(vectors);
}

static void read_golden(struct hub_foreign *out)
{
    struct vectors *vectors = vectors_open();
    const struct vector *golden = vectors_find(vectors, "segment-golden-var");

    *out = (struct hub_foreign){.peer = 1, .file_size = GOLDEN_SIZE};
    memcpy(&out->header, golden->bytes, sizeof(out->header));
    memcpy(&out->entry, golden->bytes + 128, sizeof(out->entry));
    memcpy(out->classes, golden->bytes + 192, 2 * sizeof(out->classes[0]));
    vectors_close(vectors);
}

static void a_guest_finds_the_classes_where_the_host_put_them(void **state)
{
    struct hub_geometry made, found;
    struct hub_peer_place place;
    struct hub_foreign foreign;

    (void)state;
    read_golden(&foreign);
    assert_int_equal(hub_geometry_compute_classes(&limits, &golden_classes, &made), 0);
    assert_int_equal(hub_geometry_read(&foreign, &found, &place), 0);
    assert_memory_equal(&found.classes, &made.classes, sizeof(found.classes));
    assert_int_equal(place.guest_pool, 192);
    assert_int_equal(found.limits.slot_size, 0);
}

struct lie {
    size_t at; /* in the golden segment */
    uint32_t value;
    const char *rule;
};

static void tell(struct hub_foreign *foreign, const struct lie *lie)
{
    uint8_t *to = lie->at >= 192   ? (uint8_t *)foreign->classes + (lie->at - 192)
                  : lie->at >= 128 ? (uint8_t *)&foreign->entry + (lie->at - 128)
                                   : (uint8_t *)&foreign->header + lie->at;

    memcpy(to, &lie->value, sizeof(lie->value));
}

/* r[verify shm.varslot.classes] r[verify hub.layout.validate] */
static void a_lie_about_the_classes_is_refused_by_its_rule(void **state)
{
    static const struct lie lies[] = {
        {104, 0, "shm.varslot.classes"},         {104, 17, "shm.varslot.classes"},
        {104, 1, "shm.varslot.classes"},         {80, 128, "shm.varslot.classes"},
        {192, 0, "shm.varslot.classes"},         {192, 65, "shm.varslot.classes"},
        {192, 256, "shm.varslot.classes"},       {256, 0x40000040, "shm.varslot.classes"},
        {196, 0, "shm.varslot.classes"},         {260, 0x100001, "shm.varslot.classes"},
        {200, 0, "shm.varslot.classes"},         {264, 5, "shm.varslot.classes"},
        {216, 385, "shm.varslot.classes"},       {24, 257, "shm.varslot.classes"},
        {216, 0xFFFFFFC0, "shm.segment.header"}, {216, 320, "shm.segment.header"},
        {220, 1, "shm.segment.header"},          {280, 448, "shm.segment.header"},
        {260, 0x100000, "shm.segment.header"},   {168, 256, "shm.segment.guest-slot-offset"},
        {200, 2, "shm.segment.header"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct hub_geometry geometry;
        struct hub_peer_place place;
        struct hub_foreign foreign;

        read_golden(&foreign);
        tell(&foreign, &lies[i]);
        assert_int_equal(hub_geometry_read(&foreign, &geometry, &place), RAPAHUB_EFORMAT);
        assert_string_equal(rapahub_last_error()->rule, lies[i].rule);
    }
}

/* r[verify shm.varslot.extent-layout] */
static void an_extent_with_another_header_is_refused(void **state)
{
    struct hub_size_class size_class = golden_classes.of[1];
    const struct hub_extent_name name = {1, 0};
    uint8_t *memory = calloc(1, hub_size_classes_extent_size(&size_class));
    struct hub_extent_header header;

    (void)state;
    assert_non_null(memory);
    hub_size_classes_format_extent(&size_class, name, memory);
    for (size_t at = 0; at < sizeof(header); at++) {
        bool reserved = at >= offsetof(struct hub_extent_header, reserved);

        memcpy(&header, memory, sizeof(header));
        assert_int_equal(hub_size_classes_check_extent(&size_class, name, &header), 0);
        ((uint8_t *)&header)[at] ^= 1;
        assert_int_equal(hub_size_classes_check_extent(&size_class, name, &header),
                         reserved ? 0 : RAPAHUB_EFORMAT);
    }
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_with_size_classes_are_what_is_computed),
        cmocka_unit_test(what_fits_a_slot_needs_no_classes_and_one_byte_more_does),
        cmocka_unit_test(a_new_segment_with_classes_has_the_golden_bytes),
        cmocka_unit_test(a_guest_finds_the_classes_where_the_host_put_them),
        cmocka_unit_test(a_lie_about_the_classes_is_refused_by_its_rule),
        cmocka_unit_test(an_extent_with_another_header_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
