/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/random.h"
#include "hub/shm/slot_pool.h"
#include "tests/support/testing.h"

#define SLOT_SIZE 64
#define PEER      3

/* A pool and its memory, as it lies in a segment. */
struct rig {
    struct hub_geometry geometry;
    uint8_t *memory;
    struct hub_a64 *bitmap;
    struct hub_slot_pool pool;
};

static struct rig *begin(uint32_t count, bool shared)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    uint64_t bitmap = ((count + 63) / 64 * 8 + 63) & ~UINT64_C(63);

    assert_non_null(rig);
    rig->geometry = (struct hub_geometry){.limits = {.slot_size = SLOT_SIZE, .slot_count = count},
                                          .bitmap_size = bitmap};
    rig->geometry.pool_size = bitmap + (uint64_t)count * SLOT_SIZE;
    rig->memory = aligned_alloc(64, rig->geometry.pool_size);
    assert_non_null(rig->memory);
    memset(rig->memory, 0, rig->geometry.pool_size);
    rig->bitmap = (struct hub_a64 *)(void *)rig->memory;
    hub_slot_pool_format(&rig->geometry, rig->memory);
    assert_int_equal(hub_slot_pool_init(&rig->pool, &rig->geometry, rig->memory, shared), 0);
    return rig;
}

static void end(struct rig *rig)
{
    hub_slot_pool_fini(&rig->pool);
    free(rig->memory);
    free(rig);
}

static uint32_t generation_in(const struct rig *rig, uint32_t slot)
{
    uint32_t generation;

    memcpy(&generation, rig->memory + rig->geometry.bitmap_size + (size_t)slot * SLOT_SIZE, 4);
    return generation;
}

static void set_bit(struct rig *rig, uint32_t slot)
{
    hub_set_bits64(&rig->bitmap[slot / 64], UINT64_C(1) << slot % 64);
}

static uint32_t loan(struct rig *rig, uint32_t peer)
{
    uint32_t slot = UINT32_MAX, generation = 0;

    assert_int_equal(hub_slot_pool_loan(&rig->pool, peer, &slot, &generation), 0);
    assert_int_equal(generation, generation_in(rig, slot));
    return slot;
}

static uint32_t send_to(struct rig *rig, uint32_t peer)
{
    uint32_t slot = loan(rig, peer);

    hub_slot_pool_sent(&rig->pool, slot);
    return slot;
}

static int try_loan(struct rig *rig, uint32_t peer)
{
    uint32_t slot = UINT32_MAX, generation = 0;

    return hub_slot_pool_loan(&rig->pool, peer, &slot, &generation);
}

static void assert_violation(int r, const char *rule)
{
    assert_int_equal(r, RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

/* r[verify shm.slot.pool-layout] r[verify shm.slot.pool-header-size] */
static void a_new_pool_has_a_bit_for_each_slot_and_no_other(void **state)
{
    static const uint32_t counts[] = {1, 63, 64, 65, 200};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct rig *rig = begin(counts[i], false);
        uint32_t words = (uint32_t)(rig->geometry.bitmap_size / 8), bits = 0;

        for (uint32_t word = 0; word < words; word++)
            bits += (uint32_t)__builtin_popcountll(hub_load_relaxed64(&rig->bitmap[word]));
        assert_int_equal(bits, counts[i]);
        assert_true(
            hub_load_relaxed64(&rig->bitmap[(counts[i] - 1) / 64]) >> (counts[i] - 1) % 64 == 1);
        end(rig);
    }
}

/* r[verify shm.slot.allocate] r[verify shm.slot.exhaustion] */
static void slots_are_lent_from_the_lowest_on_until_none_is_left(void **state)
{
    struct rig *rig = begin(70, false);

    (void)state;
    for (uint32_t i = 0; i < 70; i++) {
        assert_int_equal(send_to(rig, 0), i);
        assert_int_equal(generation_in(rig, i), 1);
    }
    assert_false(hub_slot_pool_ready(&rig->pool, 0));
    assert_int_equal(try_loan(rig, 0), RAPAHUB_EAGAIN);
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), 0);
    set_bit(rig, 69);
    set_bit(rig, 5);
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), 2);
    assert_true(hub_slot_pool_ready(&rig->pool, 0));
    assert_int_equal(loan(rig, 0), 5);
    assert_int_equal(generation_in(rig, 5), 2);
    assert_int_equal(loan(rig, 0), 69);
    end(rig);
}

static void a_generation_goes_on_from_what_stands_in_the_slot(void **state)
{
    struct rig *rig = begin(2, false);
    const uint32_t last = UINT32_MAX;

    (void)state;
    hub_slot_pool_fini(&rig->pool);
    memcpy(rig->memory + rig->geometry.bitmap_size, &last, 4);
    assert_int_equal(hub_slot_pool_init(&rig->pool, &rig->geometry, rig->memory, false), 0);
    assert_int_equal(loan(rig, 0), 0);
    assert_int_equal(generation_in(rig, 0), 0);
    end(rig);
}

static void what_a_peer_writes_into_a_generation_is_never_read_back(void **state)
{
    struct rig *rig = begin(1, false);
    const uint32_t garbage = 0x77777777;

    (void)state;
    send_to(rig, 0);
    memcpy(rig->memory + rig->geometry.bitmap_size, &garbage, 4);
    set_bit(rig, 0);
    assert_int_equal(loan(rig, 0), 0);
    assert_int_equal(generation_in(rig, 0), 2);
    end(rig);
}

static void a_dropped_loan_is_lent_again(void **state)
{
    struct rig *rig = begin(4, false);

    (void)state;
    assert_int_equal(loan(rig, 0), 0);
    hub_slot_pool_drop(&rig->pool, 0);
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), 4);
    assert_int_equal(loan(rig, 0), 0);
    end(rig);
}

/* r[verify hub.slot.cache] */
static void a_returned_cache_leaves_all_bits_set(void **state)
{
    struct rig *rig = begin(70, false);

    (void)state;
    send_to(rig, 0);
    assert_true(hub_load_relaxed64(&rig->bitmap[0]) == 0);
    set_bit(rig, 0);
    hub_slot_pool_return_cache(&rig->pool);
    assert_true(hub_load_relaxed64(&rig->bitmap[0]) == UINT64_MAX);
    assert_true(hub_load_relaxed64(&rig->bitmap[1]) == 0x3F);
    assert_true(hub_slot_pool_ready(&rig->pool, 0));
    assert_int_equal(loan(rig, 0), 0);
    assert_true(rig->pool.stray_bits == 0);
    end(rig);
}

struct claim {
    const char *rule;
    uint32_t slot; /* the slot whose bit is set */
};

/* Among 4 slots one is LOANED, one SENT, two are CACHED: slots 0, 1; 2, 3. Then all are lent, so
 * that the next loan harvests. */
static int harvest_after(struct rig *rig, uint32_t stray)
{
    loan(rig, 0);
    send_to(rig, 0);
    set_bit(rig, stray);
    loan(rig, 0);
    loan(rig, 0);
    return try_loan(rig, 0);
}

static const struct claim claims[] = {{"shm.slot.free", 0},
                                      {"shm.slot.free", 3},
                                      {"shm.slot.pool-layout", 4},
                                      {"shm.slot.pool-layout", 63}};

#define CLAIMS_COUNT (sizeof(claims) / sizeof(claims[0]))

/* r[verify hub.slot.claim] */
static void a_stray_bit_is_a_violation_in_a_private_group(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLAIMS_COUNT; i++) {
        struct rig *rig = begin(4, false);

        assert_violation(harvest_after(rig, claims[i].slot), claims[i].rule);
        end(rig);
    }
}

static void a_stray_bit_is_counted_and_ignored_in_a_shared_group(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLAIMS_COUNT; i++) {
        struct rig *rig = begin(4, true);

        assert_int_equal(harvest_after(rig, claims[i].slot), RAPAHUB_EAGAIN);
        assert_true(rig->pool.stray_bits == 1);
        assert_false(hub_slot_pool_ready(&rig->pool, 0));
        set_bit(rig, 1);
        assert_int_equal(loan(rig, 0), 1);
        end(rig);
    }
}

static void a_waiter_is_told_of_a_stray_bit_only_where_it_is_a_violation(void **state)
{
    (void)state;
    for (int shared = 0; shared <= 1; shared++) {
        struct rig *rig = begin(4, shared != 0);

        for (int i = 0; i < 4; i++)
            loan(rig, 0);
        assert_false(hub_slot_pool_ready(&rig->pool, 0));
        set_bit(rig, 2);
        assert_int_equal(hub_slot_pool_ready(&rig->pool, 0), !shared);
        end(rig);
    }
}

static void a_bit_cleared_by_a_peer_is_a_violation_or_ignored(void **state)
{
    (void)state;
    for (int shared = 0; shared <= 1; shared++) {
        struct rig *rig = begin(4, shared != 0);

        hub_store_relaxed64(&rig->bitmap[0], 0x0D);
        if (!shared) {
            assert_violation(try_loan(rig, 0), "shm.slot.pool-layout");
        } else {
            for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(loan(rig, 0), i);
            assert_true(rig->pool.stray_bits == 1);
        }
        end(rig);
    }
}

static void a_slot_given_back_twice_is_free_once(void **state)
{
    struct rig *rig = begin(2, true);

    (void)state;
    assert_int_equal(send_to(rig, 0), 0);
    assert_int_equal(send_to(rig, 0), 1);
    set_bit(rig, 0);
    assert_int_equal(loan(rig, 0), 0);
    set_bit(rig, 0);
    assert_int_equal(try_loan(rig, 0), RAPAHUB_EAGAIN);
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), 0);
    end(rig);
}

/* r[verify hub.slot.quota] */
static void a_peer_gets_no_more_than_its_quota(void **state)
{
    struct rig *rig = begin(4, true);

    (void)state;
    hub_slot_pool_set_quota(&rig->pool, 2);
    assert_int_equal(send_to(rig, PEER), 0);
    assert_int_equal(send_to(rig, PEER), 1);
    assert_false(hub_slot_pool_ready(&rig->pool, PEER));
    assert_int_equal(try_loan(rig, PEER), RAPAHUB_EAGAIN);
    assert_true(hub_slot_pool_ready(&rig->pool, PEER + 1));
    assert_int_equal(send_to(rig, PEER + 1), 2);
    set_bit(rig, 2);
    assert_false(hub_slot_pool_ready(&rig->pool, PEER));
    set_bit(rig, 1);
    assert_true(hub_slot_pool_ready(&rig->pool, PEER));
    assert_int_equal(loan(rig, PEER), 1);
    end(rig);
}

static void a_quota_is_at_least_one_slot(void **state)
{
    struct rig *rig = begin(1, true);

    (void)state;
    hub_slot_pool_set_quota(&rig->pool, 0);
    assert_int_equal(loan(rig, PEER), 0);
    end(rig);
}

/* r[verify shm.crash.recovery] */
static void the_slots_of_a_dead_peer_come_back_and_those_of_others_stay(void **state)
{
    struct rig *rig = begin(8, true);

    (void)state;
    send_to(rig, PEER);     /* 0: never given back */
    send_to(rig, PEER + 1); /* 1 */
    send_to(rig, PEER);     /* 2: given back */
    loan(rig, PEER);        /* 3: a thread still writes it */
    set_bit(rig, 2);
    assert_int_equal(hub_slot_pool_reclaim(&rig->pool, PEER), 1);
    assert_int_equal(generation_in(rig, 0), 2);
    assert_int_equal(generation_in(rig, 1), 1);
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), 6);
    hub_slot_pool_drop(&rig->pool, 3);
    assert_int_equal(hub_slot_pool_reclaim(&rig->pool, PEER), 0);
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), 7);
    set_bit(rig, 1);
    hub_slot_pool_return_cache(&rig->pool);
    assert_true(hub_load_relaxed64(&rig->bitmap[0]) == 0xFF);
    end(rig);
}

static void the_pool_of_a_dead_owner_is_whole_with_new_generations(void **state)
{
    struct rig *rig = begin(3, false);

    (void)state;
    send_to(rig, 0);
    send_to(rig, 0);
    hub_store_relaxed64(&rig->bitmap[0], 0xFF00);
    hub_slot_pool_reset(&rig->geometry, rig->memory);
    assert_true(hub_load_relaxed64(&rig->bitmap[0]) == 7);
    assert_int_equal(generation_in(rig, 0), 2);
    assert_int_equal(generation_in(rig, 1), 2);
    assert_int_equal(generation_in(rig, 2), 1);
    end(rig);
}

static void a_payload_begins_behind_the_generation(void **state)
{
    struct rig *rig = begin(3, false);

    (void)state;
    assert_ptr_equal(hub_slot_pool_payload(&rig->pool, 2),
                     rig->memory + rig->geometry.bitmap_size + 2 * SLOT_SIZE + 4);
    end(rig);
}

static void a_zeroed_pool_may_be_ended(void **state)
{
    struct hub_slot_pool pool;

    (void)state;
    memset(&pool, 0, sizeof(pool));
    hub_slot_pool_fini(&pool);
}

/* A model that knows only who has a slot. r[verify shm.segment.slot-ownership] */
static void under_random_load_no_slot_is_lent_twice_or_lost(void **state)
{
    enum { COUNT = 130, LOANED = 1, SENT = 2 };
    struct rig *rig = begin(COUNT, false);
    uint8_t model[COUNT] = {0};
    struct hub_random random;

    (void)state;
    hub_random_init(&random, 7);
    for (int i = 0; i < 100000; i++) {
        uint32_t slot = (uint32_t)hub_random_below(&random, COUNT), generation;
        int r;

        if (model[slot] == LOANED && i % 2) {
            hub_slot_pool_drop(&rig->pool, slot);
            model[slot] = 0;
        } else if (model[slot] == LOANED) {
            hub_slot_pool_sent(&rig->pool, slot);
            model[slot] = SENT;
        } else if (model[slot] == SENT) {
            set_bit(rig, slot);
            model[slot] = 0;
        } else if (hub_random_below(&random, 100) == 0) {
            hub_slot_pool_return_cache(&rig->pool);
        } else {
            bool ready = hub_slot_pool_ready(&rig->pool, 0);

            r = hub_slot_pool_loan(&rig->pool, 0, &slot, &generation);
            assert_int_equal(r, ready ? 0 : RAPAHUB_EAGAIN);
            assert_true(r < 0 || model[slot] == 0);
            if (r == 0)
                model[slot] = LOANED;
        }
    }
    assert_true(rig->pool.stray_bits == 0);
    for (uint32_t slot = 0; slot < COUNT; slot++) {
        if (model[slot] == LOANED)
            hub_slot_pool_drop(&rig->pool, slot);
        if (model[slot] == SENT)
            set_bit(rig, slot);
    }
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), COUNT);
    end(rig);
}

#define THREADS 4
#define TURNS   5000

static void *lend_and_return(void *user)
{
    struct rig *rig = user;

    for (int done = 0; done < TURNS;) {
        uint32_t slot, generation;

        if (hub_slot_pool_loan(&rig->pool, 0, &slot, &generation) < 0)
            continue;
        memset(hub_slot_pool_payload(&rig->pool, slot), done & 0xFF, SLOT_SIZE - 4);
        if (done % 3 == 0) {
            hub_slot_pool_drop(&rig->pool, slot);
        } else {
            hub_slot_pool_sent(&rig->pool, slot);
            set_bit(rig, slot);
        }
        done++;
    }
    return NULL;
}

static void threads_share_a_pool(void **state)
{
    struct rig *rig = begin(3, false);
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, lend_and_return, rig), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(hub_slot_pool_free_count(&rig->pool), 3);
    assert_true(rig->pool.stray_bits == 0);
    end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_pool_has_a_bit_for_each_slot_and_no_other),
        cmocka_unit_test(slots_are_lent_from_the_lowest_on_until_none_is_left),
        cmocka_unit_test(a_generation_goes_on_from_what_stands_in_the_slot),
        cmocka_unit_test(what_a_peer_writes_into_a_generation_is_never_read_back),
        cmocka_unit_test(a_dropped_loan_is_lent_again),
        cmocka_unit_test(a_returned_cache_leaves_all_bits_set),
        cmocka_unit_test(a_stray_bit_is_a_violation_in_a_private_group),
        cmocka_unit_test(a_stray_bit_is_counted_and_ignored_in_a_shared_group),
        cmocka_unit_test(a_waiter_is_told_of_a_stray_bit_only_where_it_is_a_violation),
        cmocka_unit_test(a_bit_cleared_by_a_peer_is_a_violation_or_ignored),
        cmocka_unit_test(a_slot_given_back_twice_is_free_once),
        cmocka_unit_test(a_peer_gets_no_more_than_its_quota),
        cmocka_unit_test(a_quota_is_at_least_one_slot),
        cmocka_unit_test(the_slots_of_a_dead_peer_come_back_and_those_of_others_stay),
        cmocka_unit_test(the_pool_of_a_dead_owner_is_whole_with_new_generations),
        cmocka_unit_test(a_payload_begins_behind_the_generation),
        cmocka_unit_test(a_zeroed_pool_may_be_ended),
        cmocka_unit_test(under_random_load_no_slot_is_lent_twice_or_lost),
        cmocka_unit_test(threads_share_a_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
