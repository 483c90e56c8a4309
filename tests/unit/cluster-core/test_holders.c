/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes keep copies, as the metastore has it, and which copy a life begins with. */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/copies/holders.h"
#include "cluster/core/copies/sealed.h"
#include "tests/support/testing.h"

#define POOL  (UINT64_C(256) << 32)
#define OTHER (UINT64_C(257) << 32)

static uint8_t memory[256];

static struct rapahub_bytes encode(uint32_t joining, const uint32_t *nodes, uint32_t count)
{
    const struct cluster_record record = {.holders = {joining, {.of = nodes, .count = count}}};
    struct hub_writer writer;

    hub_writer_init(&writer, memory, sizeof memory);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_HOLD, &record), 0);
    return (struct rapahub_bytes){memory, writer.size};
}

static int put(struct cluster_holders *holders, uint64_t revision, uint32_t joining,
               const uint32_t *nodes, uint32_t count)
{
    struct cluster_record record;

    assert_int_equal(cluster_record_read(CLUSTER_KEY_HOLD, encode(joining, nodes, count), &record),
                     0);
    return cluster_holders_put(holders, &(struct cluster_holders_put){.pool = POOL,
                                                                      .revision = revision,
                                                                      .container = 3,
                                                                      .record = &record.holders});
}

/* r[verify cluster.hold.record] */
static void the_newest_record_counts(void **state)
{
    static const uint32_t one[] = {1}, two[] = {1, 4};
    const struct cluster_holders_put gone = {.pool = POOL, .revision = 30, .container = 3};
    struct cluster_holders *holders;
    const struct cluster_holders_row *row;
    uint32_t place = 0;

    (void)state;
    assert_int_equal(cluster_holders_create(4, 9, &holders), 0);
    assert_null(cluster_holders_find(holders, POOL, 3));
    assert_int_equal(put(holders, 20, 0, two, 2), 0);
    assert_int_equal(put(holders, 10, 4, one, 1), 0); /* a reading that is late */
    row = cluster_holders_find(holders, POOL, 3);
    assert_non_null(row);
    assert_null(cluster_holders_find(holders, OTHER, 3));
    assert_int_equal(row->count, 2);
    assert_true(cluster_holders_names(row, 1) && cluster_holders_names(row, 4));
    assert_false(cluster_holders_names(row, 2) || cluster_holders_waits_for(row, 0));
    assert_ptr_equal(cluster_holders_after(holders, &place), row);
    assert_null(cluster_holders_after(holders, &place));
    assert_int_equal(cluster_holders_put(holders, &gone), 0);
    assert_null(cluster_holders_find(holders, POOL, 3));
    assert_int_equal(cluster_holders_put(holders, &gone), 0);
    cluster_holders_release(&holders);
}

/* r[verify cluster.hold.record] */
static void a_reading_brings_no_record_back_that_is_gone(void **state)
{
    static const uint32_t one[] = {1};
    struct cluster_holders_put gone = {
        .pool = POOL, .revision = 30, .container = 3, .reading = true};
    struct cluster_holders *holders;
    uint32_t place = 0;

    (void)state;
    assert_int_equal(cluster_holders_create(1, 9, &holders), 0);
    assert_int_equal(put(holders, 20, 4, one, 1), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cluster_holders_put(holders, &gone), 0);
        assert_null(cluster_holders_find(holders, POOL, 3));
        assert_null(cluster_holders_after(holders, &place));
        assert_int_equal(put(holders, 20, 4, one, 1), 0);
        assert_null(cluster_holders_find(holders, POOL, 3));
        cluster_holders_read(holders); /* the second time it was not known that there was one */
    }
    assert_int_equal(put(holders, 20, 4, one, 1), 0);
    assert_non_null(cluster_holders_find(holders, POOL, 3));
    gone.reading = false;
    assert_int_equal(cluster_holders_put(holders, &gone), 0);
    assert_int_equal(put(holders, 20, 4, one, 1), 0); /* there is a place */
    gone.reading = true;
    assert_int_equal(cluster_holders_put(holders, &gone), 0);
    assert_int_equal(put(holders, 31, 4, one, 1), 0); /* it comes again */
    assert_non_null(cluster_holders_find(holders, POOL, 3));
    assert_int_equal(cluster_holders_find(holders, POOL, 3)->held, 0);
    cluster_holders_read(holders);
    assert_non_null(cluster_holders_find(holders, POOL, 3));
    cluster_holders_release(&holders);
}

/* r[verify cluster.hold.name] */
static void only_a_node_that_joins_is_noted(void **state)
{
    static const uint32_t one[] = {1}, two[] = {1, 4};
    struct cluster_holders *holders;
    struct cluster_holders_row *row;

    (void)state;
    assert_int_equal(cluster_holders_create(4, 9, &holders), 0);
    assert_int_equal(put(holders, 20, 4, one, 1), 0);
    row = cluster_holders_find(holders, POOL, 3);
    assert_true(cluster_holders_waits_for(row, 4) && !cluster_holders_names(row, 4));
    assert_false(cluster_holders_note_held(row, 1, 7));
    assert_false(cluster_holders_note_held(row, 0, 7));
    assert_true(cluster_holders_note_held(row, 4, 7));
    assert_true(row->held == 4 && row->held_epoch == 7);
    assert_int_equal(put(holders, 21, 5, two, 2), 0); /* what another one has is of no use */
    assert_int_equal(row->held, 0);
    cluster_holders_release(&holders);
}

static void a_full_table_says_so(void **state)
{
    static const uint32_t one[] = {1};
    struct cluster_holders *holders;
    struct cluster_record record;

    (void)state;
    assert_int_equal(cluster_holders_create(1, 9, &holders), 0);
    assert_int_equal(put(holders, 20, 0, one, 1), 0);
    assert_int_equal(cluster_record_read(CLUSTER_KEY_HOLD, encode(0, one, 1), &record), 0);
    assert_int_equal(
        cluster_holders_put(holders, &(struct cluster_holders_put){.pool = OTHER,
                                                                   .revision = 21,
                                                                   .container = 3,
                                                                   .record = &record.holders}),
        RAPAHUB_EFULL);
    cluster_holders_release(&holders);
}

/* r[verify cluster.copy.newest] */
static void the_newest_copy_is_that_of_the_greatest_token_and_seq(void **state)
{
    const struct cluster_sealed sealed[] = {
        {1, 0, 0, 0}, {2, 5, 9, 1}, {3, 6, 1, 1}, {4, 6, 2, 1}, {5, 6, 2, 1}};

    (void)state;
    assert_int_equal(cluster_sealed_newest(sealed, 5), 3);
    assert_int_equal(cluster_sealed_newest(sealed, 3), 2);
    assert_int_equal(cluster_sealed_newest(sealed, 2), 1);
    assert_int_equal(cluster_sealed_newest(sealed, 1), 1); /* none has any */
    assert_int_equal(cluster_sealed_newest(sealed, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_record_counts),
        cmocka_unit_test(a_reading_brings_no_record_back_that_is_gone),
        cmocka_unit_test(only_a_node_that_joins_is_noted),
        cmocka_unit_test(a_full_table_says_so),
        cmocka_unit_test(the_newest_copy_is_that_of_the_greatest_token_and_seq),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
