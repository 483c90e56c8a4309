/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "hub/shm/geometry.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

#define ROUNDS 100000

static const struct hub_limits usual = {.payload_max = 60,
                                        .credit_size = 1024,
                                        .guests_max = 2,
                                        .ring_size = 4,
                                        .slot_size = 64,
                                        .slot_count = 3,
                                        .channels_max = 4,
                                        .heartbeat_ns = 0};

static void assert_refused(int r, int code, const char *rule)
{
    assert_int_equal(r, code);
    assert_int_equal(rapahub_last_error()->code, code);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

static uint64_t member(const json_t *object, const char *name)
{
    return vectors_u64(vectors_member(object, name));
}

static struct hub_limits limits_of(const json_t *config)
{
    return (struct hub_limits){
        .payload_max = (uint32_t)member(config, "max_payload_size"),
        .credit_size = (uint32_t)member(config, "initial_credit"),
        .guests_max = (uint32_t)member(config, "max_guests"),
        .ring_size = (uint32_t)member(config, "ring_size"),
        .slot_size = (uint32_t)member(config, "slot_size"),
        .slot_count = (uint32_t)member(config, "slots_per_guest"),
        .channels_max = (uint32_t)member(config, "max_channels"),
    };
}

static void assert_guest(const struct hub_geometry *geometry, const json_t *guest, uint32_t peer)
{
    struct hub_peer_place place;

    hub_geometry_place(geometry, peer, &place);
    assert_int_equal(place.entry, 128 + 64 * (peer - 1));
    assert_int_equal(place.guest_to_host_ring, member(guest, "ring_offset"));
    assert_int_equal(place.host_to_guest_ring, member(guest, "host_to_guest_ring"));
    assert_int_equal(place.channel_table, member(guest, "channel_table_offset"));
    assert_int_equal(place.guest_pool, member(guest, "slot_pool_offset"));
}

static void assert_vector(const struct vector *vector)
{
    struct hub_limits limits = limits_of(vectors_member(vector->value, "config"));
    const json_t *guests = vectors_member(vector->value, "guests");
    struct hub_geometry geometry;

    assert_int_equal(hub_geometry_compute(&limits, &geometry), 0);
    assert_int_equal(geometry.slot_region, member(vector->value, "slot_region_offset"));
    assert_int_equal(geometry.pool_size, member(vector->value, "pool_size"));
    assert_int_equal(geometry.guest_area, member(vector->value, "guest_area"));
    assert_int_equal(geometry.guest_stride, member(vector->value, "guest_stride"));
    assert_int_equal(geometry.total_size, member(vector->value, "total_size"));
    for (uint32_t i = 0; i < json_array_size(guests); i++)
        assert_guest(&geometry, vectors_element(guests, i), i + 1);
}

/* The interval of a vector does not touch its geometry, and may be shorter than a host may ask for:
 * it is left out. r[verify hub.layout.canonical] */
static void the_vectors_of_fixed_pools_are_what_is_computed(void **state)
{
    struct vectors *vectors = vectors_open();
    unsigned rounds = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(vectors, "geometry", v)) != NULL;) {
        if (strcmp(v->type, "fixed pools") != 0)
            continue;
        assert_vector(v);
        rounds++;
    }
    assert_int_equal(rounds, 5);
    vectors_close(vectors);
}

static uint32_t between(struct hub_random *random, uint32_t least, uint32_t most)
{
    /* Each power of two is as likely: small numbers and borders come often. */
    uint32_t span = most - least;
    uint32_t bits = span ? 32 - (uint32_t)__builtin_clz(span) : 0;
    uint32_t chosen = (uint32_t)hub_random_below(random, bits + 1);
    uint64_t value = hub_random_below(random, UINT64_C(1) << chosen);

    return least + (uint32_t)(value > span ? span : value);
}

static struct hub_limits random_limits(struct hub_random *random)
{
    struct hub_limits limits = {
        .credit_size = between(random, 1, 0x7FFFFFFF),
        .guests_max = between(random, 1, 255),
        .ring_size = UINT32_C(4) << hub_random_below(random, 15),
        .slot_size = 64 * between(random, 1, 1 << 24),
        .slot_count = between(random, 1, 65536),
        .channels_max = between(random, 4, 65536),
    };

    limits.payload_max = between(random, 32, limits.slot_size - 4);
    return limits;
}

struct region {
    uint64_t offset, size;
};

static void assert_apart(const struct region *regions, size_t count, uint64_t total)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(regions[i].offset % 64 == 0);
        assert_true(regions[i].offset <= total && regions[i].size <= total - regions[i].offset);
        for (size_t j = 0; j < i; j++)
            assert_true(regions[i].offset >= regions[j].offset + regions[j].size ||
                        regions[j].offset >= regions[i].offset + regions[i].size);
    }
}

static void fill_regions(const struct hub_geometry *g, uint32_t peer, struct region regions[5])
{
    struct hub_peer_place place;
    uint64_t ring = 64 * (uint64_t)g->limits.ring_size;

    hub_geometry_place(g, peer, &place);
    regions[0] = (struct region){place.entry, 64};
    regions[1] = (struct region){place.guest_to_host_ring, ring};
    regions[2] = (struct region){place.host_to_guest_ring, ring};
    regions[3] = (struct region){place.channel_table, 16 * (uint64_t)g->limits.channels_max};
    regions[4] = (struct region){place.guest_pool, g->pool_size};
}

/* Header, host's pool, and all that the first, the last and a middle peer have. */
static void assert_geometry(const struct hub_geometry *g, uint32_t middle)
{
    const uint32_t peers[] = {1, middle, g->limits.guests_max};
    struct region regions[2 + 3 * 5] = {{0, 128}, {g->slot_region, g->pool_size}};
    size_t count = 2;

    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && peers[i] == peers[i - 1])
            continue;
        fill_regions(g, peers[i], &regions[count]);
        count += 5;
    }
    assert_apart(regions, count, g->total_size);
    assert_true(g->bitmap_size * 8 >= g->limits.slot_count);
    assert_true(g->pool_size ==
                g->bitmap_size + (uint64_t)g->limits.slot_count * g->limits.slot_size);
}

static struct hub_foreign foreign_of(const struct hub_geometry *g, uint32_t peer,
                                     const struct hub_peer_place *place)
{
    return (struct hub_foreign){
        .header = {.magic = {HUB_MAGIC},
                   .version = 1,
                   .header_size = 128,
                   .total_size = g->total_size,
                   .max_payload_size = g->limits.payload_max,
                   .initial_credit = g->limits.credit_size,
                   .max_guests = g->limits.guests_max,
                   .ring_size = g->limits.ring_size,
                   .peer_table_offset = 128,
                   .slot_region_offset = g->slot_region,
                   .slot_size = g->limits.slot_size,
                   .slots_per_guest = g->limits.slot_count,
                   .max_channels = g->limits.channels_max},
        .entry = {.ring_offset = place->guest_to_host_ring,
                  .slot_pool_offset = place->guest_pool,
                  .channel_table_offset = place->channel_table},
        .peer = peer,
        .file_size = g->total_size,
    };
}

/* A guest accepts the geometry of a host, and finds everything at the same places. */
static void assert_read_back(const struct hub_geometry *g, uint32_t peer)
{
    struct hub_peer_place place, found;
    struct hub_foreign foreign;
    struct hub_geometry read;

    hub_geometry_place(g, peer, &place);
    foreign = foreign_of(g, peer, &place);
    assert_int_equal(hub_geometry_read(&foreign, &read, &found), 0);
    assert_memory_equal(&found, &place, sizeof(place));
    assert_memory_equal(&read.limits, &g->limits, offsetof(struct hub_limits, channels_max) + 4);
    assert_true(read.slot_region == g->slot_region && read.pool_size == g->pool_size);
}

/* r[verify shm.ring.alignment] r[verify shm.segment.pool-size] r[verify hub.layout.validate] */
/* r[verify shm.flow.channel-table] r[verify shm.flow.channel-table-location]
 * r[verify shm.topology.hub.communication] */
static void regions_of_any_geometry_are_aligned_apart_and_inside(void **state)
{
    struct hub_random random;
    unsigned made = 0;

    (void)state;
    hub_random_init(&random, 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct hub_limits limits = random_limits(&random);
        uint32_t peer = 1 + (uint32_t)hub_random_below(&random, limits.guests_max);
        struct hub_geometry geometry;
        int r = hub_geometry_compute(&limits, &geometry);

        if (r < 0) { /* only for its size */
            assert_refused(r, RAPAHUB_EINVAL, "shm.file.attach");
            assert_non_null(strstr(rapahub_last_error()->text, "the most are 1099511627776"));
            continue;
        }
        assert_true(geometry.total_size <= UINT64_C(1) << 40);
        assert_geometry(&geometry, peer);
        assert_read_back(&geometry, peer);
        made++;
    }
    assert_true(made > ROUNDS / 2);
}

/* r[verify hub.limits] */
/* r[verify shm.topology.max-guests] r[verify shm.flow.wrap-rule]
 * r[verify flow.channel.infinite-credit] */
static void each_limit_out_of_its_range_is_refused_by_name(void **state)
{
    struct {
        uint32_t at; /* offset in hub_limits */
        uint32_t values[3];
        const char *name, *rule;
    } cases[] = {
        {offsetof(struct hub_limits, guests_max),
         {0, 256, 256},
         "guests_max",
         "shm.topology.max-guests"},
        {offsetof(struct hub_limits, ring_size), {2, 6, 131072}, "ring_size", "shm.ring.capacity"},
        {offsetof(struct hub_limits, credit_size),
         {0, 0x80000000, UINT32_MAX},
         "credit_size",
         "shm.flow.wrap-rule"},
        {offsetof(struct hub_limits, channels_max),
         {0, 3, 65537},
         "channels_max",
         "shm.handshake.no-negotiation"},
        {offsetof(struct hub_limits, slot_size),
         {0, 96, (1u << 30) + 64},
         "slot_size",
         "shm.slot.generation"},
        {offsetof(struct hub_limits, slot_count),
         {0, 65537, UINT32_MAX},
         "slot_count",
         "shm.slot.generation"},
        {offsetof(struct hub_limits, payload_max),
         {0, 31, (1u << 30) + 1},
         "payload_max",
         "shm.slot.generation"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t j = 0; j < 3; j++) {
            struct hub_limits limits = usual;
            struct hub_geometry geometry;

            memcpy((uint8_t *)&limits + cases[i].at, &cases[i].values[j], sizeof(uint32_t));
            assert_refused(hub_geometry_compute(&limits, &geometry), RAPAHUB_EINVAL, cases[i].rule);
            assert_non_null(strstr(rapahub_last_error()->text, cases[i].name));
        }
}

static void a_heartbeat_is_none_or_between_10_ms_and_an_hour(void **state)
{
    static const struct {
        uint64_t ns;
        bool fits;
    } cases[] = {{0, true},
                 {1, false},
                 {10 * HUB_MILLISECOND - 1, false},
                 {10 * HUB_MILLISECOND, true},
                 {3600 * HUB_SECOND, true},
                 {3600 * HUB_SECOND + 1, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hub_limits limits = usual;
        struct hub_geometry geometry;

        limits.heartbeat_ns = cases[i].ns;
        assert_int_equal(hub_geometry_compute(&limits, &geometry),
                         cases[i].fits ? 0 : RAPAHUB_EINVAL);
    }
}

/* Of another host, which may have no slots at all. r[verify shm.handshake.no-negotiation] */
static void payloads_of_one_byte_are_the_least(void **state)
{
    struct hub_peer_place place, found;
    struct hub_geometry geometry, read;
    struct hub_foreign foreign;

    (void)state;
    assert_int_equal(hub_geometry_compute(&usual, &geometry), 0);
    hub_geometry_place(&geometry, 1, &place);
    foreign = foreign_of(&geometry, 1, &place);
    foreign.header.max_payload_size = 1;
    assert_int_equal(hub_geometry_read(&foreign, &read, &found), 0);
    assert_int_equal(read.limits.payload_max, 1);
    foreign.header.max_payload_size = 0;
    assert_refused(hub_geometry_read(&foreign, &read, &found), RAPAHUB_EFORMAT,
                   "shm.handshake.no-negotiation");
}

/* r[verify shm.file.attach] */
static void a_segment_has_1_tib_at_most(void **state)
{
    const uint64_t most = UINT64_C(1) << 40;
    struct hub_limits limits = usual;
    struct hub_geometry geometry;

    (void)state;
    limits.guests_max = 1;
    limits.ring_size = limits.channels_max = 4;
    limits.slot_size = (1U << 30) - 64;
    limits.slot_count = 512; /* twice: little less than all of it */
    assert_int_equal(hub_geometry_compute(&limits, &geometry), 0);
    limits.channels_max +=
        (uint32_t)((most - geometry.total_size) / sizeof(struct hub_channel_entry));
    assert_int_equal(hub_geometry_compute(&limits, &geometry), 0);
    assert_true(geometry.total_size == most);
    limits.channels_max++;
    assert_refused(hub_geometry_compute(&limits, &geometry), RAPAHUB_EINVAL, "shm.file.attach");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_fixed_pools_are_what_is_computed),
        cmocka_unit_test(regions_of_any_geometry_are_aligned_apart_and_inside),
        cmocka_unit_test(each_limit_out_of_its_range_is_refused_by_name),
        cmocka_unit_test(a_heartbeat_is_none_or_between_10_ms_and_an_hour),
        cmocka_unit_test(payloads_of_one_byte_are_the_least),
        cmocka_unit_test(a_segment_has_1_tib_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
