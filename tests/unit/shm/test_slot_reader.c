/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/shm/slot_pool.h"
#include "tests/support/testing.h"

#define SLOT_SIZE 64
#define COUNT     3

/* The pool of a sender, and its receiver. */
struct rig {
    struct hub_geometry geometry;
    uint8_t *memory;
    struct hub_slot_pool pool;
    struct hub_slot_reader reader;
};

static int begin(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    rig->geometry = (struct hub_geometry){.limits = {.slot_size = SLOT_SIZE, .slot_count = COUNT},
                                          .bitmap_size = 64,
                                          .pool_size = 64 + COUNT * SLOT_SIZE};
    rig->memory = aligned_alloc(64, rig->geometry.pool_size);
    assert_non_null(rig->memory);
    memset(rig->memory, 0, rig->geometry.pool_size);
    hub_slot_pool_format(&rig->geometry, rig->memory);
    assert_int_equal(hub_slot_pool_init(&rig->pool, &rig->geometry, rig->memory, false), 0);
    assert_int_equal(hub_slot_reader_init(&rig->reader, &rig->geometry, rig->memory), 0);
    *state = rig;
    return 0;
}

static int end(void **state)
{
    struct rig *rig = *state;

    hub_slot_reader_fini(&rig->reader);
    hub_slot_pool_fini(&rig->pool);
    free(rig->memory);
    free(rig);
    return 0;
}

/* A payload of 40 bytes of `fill`, sent. */
static struct hub_descriptor sent(struct rig *rig, int fill)
{
    struct hub_descriptor d = {.msg_type = HUB_DATA, .payload_len = 40};

    assert_int_equal(hub_slot_pool_loan(&rig->pool, 0, &d.payload_slot, &d.payload_generation), 0);
    memset(hub_slot_pool_payload(&rig->pool, d.payload_slot), fill, 40);
    hub_slot_pool_sent(&rig->pool, d.payload_slot);
    return d;
}

static void assert_violation(int r, const char *rule)
{
    assert_int_equal(r, RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

/* r[verify shm.payload.slot] r[verify shm.slot.free] */
static void a_payload_is_copied_and_its_slot_given_back(void **state)
{
    struct rig *rig = *state;
    uint8_t expected[40], copy[40] = {0};

    for (int i = 0; i < 20; i++) {
        struct hub_descriptor d = sent(rig, i);

        memset(expected, i, sizeof(expected));
        assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
        assert_memory_equal(copy, expected, sizeof(copy));
        assert_int_equal(hub_slot_reader_free(&rig->reader, d.payload_slot), 0);
    }
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), COUNT);
}

static void a_payload_that_nobody_wants_is_checked_and_given_back(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);

    assert_int_equal(hub_slot_reader_check(&rig->reader, &d), 0);
    assert_int_equal(hub_slot_reader_free(&rig->reader, d.payload_slot), 0);
    assert_violation(hub_slot_reader_check(&rig->reader, &d), "hub.slot.twice");
}

static void a_payload_may_begin_anywhere_in_its_slot(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[33];

    memset(hub_slot_pool_payload(&rig->pool, d.payload_slot) + 27, 9, 33);
    d.payload_offset = 27;
    d.payload_len = 33;
    assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
    assert_int_equal(copy[0], 9);
    assert_int_equal(copy[32], 9);
}

static void a_slot_past_the_pool_is_a_violation(void **state)
{
    static const uint32_t slots[] = {COUNT, COUNT + 1, 63, 64, 0xFFFFFFFE, 0x80000000};
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[64];

    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        d.payload_slot = slots[i];
        assert_violation(hub_slot_reader_copy(&rig->reader, &d, copy), "shm.payload.slot");
    }
}

/* r[verify shm.slot.payload-offset] */
static void a_payload_past_its_slot_is_a_violation(void **state)
{
    static const uint32_t places[][2] = {{21, 40},        {0, 61},         {60, 1},
                                         {0xFFFFFFFF, 1}, {1, 0xFFFFFFFF}, {0xFFFFFFE0, 0x40}};
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[64];

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        d.payload_offset = places[i][0];
        d.payload_len = places[i][1];
        assert_violation(hub_slot_reader_copy(&rig->reader, &d, copy), "shm.slot.payload-offset");
    }
    d.payload_offset = 0;
    d.payload_len = 60;
    assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
}

/* r[verify shm.slot.generation] */
static void another_generation_is_a_violation(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[64];

    d.payload_generation++;
    assert_violation(hub_slot_reader_copy(&rig->reader, &d, copy), "shm.slot.generation");
    d.payload_generation--;
    assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
}

static void raise_generation(struct rig *rig, uint32_t slot)
{
    struct hub_a32 *generation =
        (struct hub_a32 *)(void *)(rig->memory + 64 + (size_t)slot * SLOT_SIZE);

    hub_store_relaxed(generation, hub_load_relaxed(generation) + 1);
}

/* The sender has used its slot again before it came back: a copy may hold some of either message.
 * r[verify shm.slot.generation] */
static void a_generation_that_changed_behind_a_part_is_a_violation(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[64];

    assert_int_equal(hub_slot_reader_check(&rig->reader, &d), 0);
    assert_int_equal(hub_slot_reader_copy_part(&rig->reader, &d, copy), 0);
    raise_generation(rig, d.payload_slot);
    assert_violation(hub_slot_reader_copy_part(&rig->reader, &d, copy), "shm.slot.generation");
    assert_non_null(strstr(rapahub_last_error()->text, "behind its payload"));
}

/* r[verify hub.slot.twice] */
static void one_slot_in_two_descriptors_is_a_violation(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[64];

    assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
    assert_violation(hub_slot_reader_copy(&rig->reader, &d, copy), "hub.slot.twice");
    assert_int_equal(hub_slot_reader_free(&rig->reader, d.payload_slot), 0);
    assert_violation(hub_slot_reader_copy(&rig->reader, &d, copy), "hub.slot.twice");
}

static void a_slot_that_is_held_does_not_come_again_with_a_new_generation(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[64];

    assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
    d.payload_generation++;
    memcpy(rig->memory + 64 + (size_t)d.payload_slot * SLOT_SIZE, &d.payload_generation, 4);
    assert_violation(hub_slot_reader_copy(&rig->reader, &d, copy), "hub.slot.twice");
}

static void generation_0_is_one_like_any_other(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = {.payload_slot = 1, .payload_len = 40};
    uint8_t copy[64];

    assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
    hub_store_relaxed64(rig->reader.bitmap, 0);
    assert_int_equal(hub_slot_reader_free(&rig->reader, 1), 0);
    assert_violation(hub_slot_reader_copy(&rig->reader, &d, copy), "hub.slot.twice");
}

static void a_bit_that_is_set_already_is_a_violation(void **state)
{
    struct rig *rig = *state;
    struct hub_descriptor d = sent(rig, 1);
    uint8_t copy[64];

    assert_int_equal(hub_slot_reader_copy(&rig->reader, &d, copy), 0);
    hub_set_bits64(rig->reader.bitmap, UINT64_C(1) << d.payload_slot);
    assert_violation(hub_slot_reader_free(&rig->reader, d.payload_slot), "shm.slot.free");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_payload_is_copied_and_its_slot_given_back),
        CASE(a_payload_that_nobody_wants_is_checked_and_given_back),
        CASE(a_payload_may_begin_anywhere_in_its_slot),
        CASE(a_slot_past_the_pool_is_a_violation),
        CASE(a_payload_past_its_slot_is_a_violation),
        CASE(another_generation_is_a_violation),
        CASE(a_generation_that_changed_behind_a_part_is_a_violation),
        CASE(one_slot_in_two_descriptors_is_a_violation),
        CASE(a_slot_that_is_held_does_not_come_again_with_a_new_generation),
        CASE(generation_0_is_one_like_any_other),
        CASE(a_bit_that_is_set_already_is_a_violation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
