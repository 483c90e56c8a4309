/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/delta.h"
#include "tests/unit/cluster-wire/written.h"

#define POOL UINT64_C(0x0000010000000002)

static const struct cluster_delta_change changes[] = {
    {POOL,
     5,
     2,
     {.state = CLUSTER_ENTRY_MIGRATING,
      .owner = 3,
      .session = 11,
      .epoch = 5,
      .lineage = 0x10000,
      .destination = 4,
      .op = 77,
      .module = 1}},
    {POOL, 4095, 3, {.state = CLUSTER_ENTRY_NONE}},
};

static struct written write_delta(const struct cluster_delta *delta)
{
    static uint8_t to[WRITTEN_MAX];
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_delta_put(&writer, delta), 0);
    return written_by(&writer);
}

/* r[verify cluster.delta.form] */
static void a_delta_is_read_as_it_was_written(void **state)
{
    const struct cluster_delta delta = {9, {.of = changes, .count = 2}};
    struct written written = write_delta(&delta);
    struct cluster_delta_change change;
    struct cluster_delta out;

    (void)state;
    assert_int_equal(cluster_delta_read(written_bytes(&written), &out), 0);
    assert_int_equal(out.previous, 9);
    assert_int_equal(out.changes.count, 2);
    for (int i = 0; i < 2; i++) {
        memset(&change, 0, sizeof change);
        assert_true(cluster_delta_next(&out.changes, &change));
        assert_memory_equal(&change, &changes[i], WRITTEN_CHANGE);
    }
    assert_false(cluster_delta_next(&out.changes, &change));
    written_release(&written);
}

static int put(struct cluster_delta_change change)
{
    const struct cluster_delta delta = {9, {.of = &change, .count = 1}};
    struct hub_writer writer;

    hub_writer_count(&writer);
    return cluster_delta_put(&writer, &delta);
}

/* r[verify cluster.delta.form] */
static void a_change_that_no_entry_can_have_is_refused(void **state)
{
    struct cluster_delta_change change = changes[0];

    (void)state;
    assert_int_equal(put(change), 0);
    change.pool = 7;
    assert_int_equal(put(change), RAPAHUB_EINVAL);
    change = changes[0];
    change.container = 4096;
    assert_int_equal(put(change), RAPAHUB_EINVAL);
    change = changes[0];
    change.entry.owner = 0;
    assert_int_equal(put(change), RAPAHUB_EINVAL);
    change.entry = (struct cluster_entry){.state = CLUSTER_ENTRY_NONE};
    assert_int_equal(put(change), 0);
}

/* r[verify cluster.delta.form] */
static void of_an_entry_that_is_gone_nothing_is_left(void **state)
{
    struct cluster_delta_change gone[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        gone[i] = changes[1];
    gone[0].entry.session = 1;
    gone[1].entry.epoch = 1;
    gone[2].entry.lineage = 1;
    gone[3].entry.op = 1;
    gone[4].entry.owner = 1;
    gone[5].entry.destination = 1;
    gone[6].entry.module = 1;
    for (int i = 0; i < 7; i++)
        assert_int_equal(put(gone[i]), RAPAHUB_EINVAL);
    assert_int_equal(put(gone[7]), 0);
}

/* r[verify cluster.delta.form] */
static void a_delta_has_1_to_60_changes_and_a_revision_before_it(void **state)
{
    struct cluster_delta_change many[CLUSTER_DELTA_CHANGES_MAX + 1];
    struct cluster_delta delta = {0, {.of = many, .count = CLUSTER_DELTA_CHANGES_MAX}};
    struct written written;
    struct hub_writer writer;

    (void)state;
    for (size_t i = 0; i <= CLUSTER_DELTA_CHANGES_MAX; i++)
        many[i] = changes[0];
    written = write_delta(&delta);
    assert_int_equal(cluster_delta_read(written_bytes(&written), &delta), 0);
    written_release(&written);
    hub_writer_count(&writer);
    delta.changes = (struct cluster_list){.of = many, .count = CLUSTER_DELTA_CHANGES_MAX + 1};
    assert_int_equal(cluster_delta_put(&writer, &delta), RAPAHUB_EINVAL);
    delta.changes.count = 0;
    assert_int_equal(cluster_delta_put(&writer, &delta), RAPAHUB_EINVAL);
    delta.changes.count = 1;
    delta.previous = UINT64_C(1) << 63 | 1;
    assert_int_equal(cluster_delta_put(&writer, &delta), RAPAHUB_EINVAL);
}

/* r[verify cluster.delta.chain] */
static void a_node_applies_what_follows_its_map_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(cluster_delta_step(9, 12, 9), CLUSTER_DELTA_APPLY);
    assert_int_equal(cluster_delta_step(9, 12, 10), CLUSTER_DELTA_ASK);
    assert_int_equal(cluster_delta_step(9, 12, 8), CLUSTER_DELTA_ASK);
    assert_int_equal(cluster_delta_step(9, 9, 8), CLUSTER_DELTA_DROP);
    assert_int_equal(cluster_delta_step(9, 8, 9), CLUSTER_DELTA_DROP);
    assert_int_equal(cluster_delta_step(0, 1, 0), CLUSTER_DELTA_APPLY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delta_is_read_as_it_was_written),
        cmocka_unit_test(a_change_that_no_entry_can_have_is_refused),
        cmocka_unit_test(of_an_entry_that_is_gone_nothing_is_left),
        cmocka_unit_test(a_delta_has_1_to_60_changes_and_a_revision_before_it),
        cmocka_unit_test(a_node_applies_what_follows_its_map_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
