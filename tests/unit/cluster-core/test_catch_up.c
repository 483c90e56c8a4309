/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/map/catch_up.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)
#define MOST 6

struct stage {
    struct cluster_address_map *map;
    struct cluster_catch_up catch_up;
};

static struct stage open_stage(void)
{
    struct stage stage;

    assert_int_equal(cluster_address_map_create(MOST, 1, &stage.map), 0);
    cluster_catch_up_init(&stage.catch_up, stage.map);
    return stage;
}

/* A map that has read an empty metastore. */
static struct stage open_current(void)
{
    struct stage stage = open_stage();

    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 0), 0);
    cluster_catch_up_read_end(&stage.catch_up);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_CURRENT);
    return stage;
}

static struct cluster_entry entry_of(uint8_t state, uint32_t owner, uint64_t epoch)
{
    return (struct cluster_entry){.state = state,
                                  .owner = owner,
                                  .session = 5,
                                  .epoch = epoch,
                                  .lineage = cluster_ids_lineage(1, 0)};
}

static struct cluster_delta_change change_of(uint32_t container, uint32_t owner_before,
                                             uint8_t state, uint64_t epoch)
{
    struct cluster_delta_change change = {POOL, container, owner_before, {0}};

    if (state != CLUSTER_ENTRY_NONE)
        change.entry = entry_of(state, 1, epoch);
    return change;
}

static enum cluster_delta_step apply(struct stage *stage, uint64_t revision, uint64_t previous,
                                     const struct cluster_delta_change *changes, uint32_t count)
{
    static uint8_t bytes[8192];
    const struct cluster_delta delta = {previous, {.of = changes, .count = count}};
    struct hub_writer writer;
    struct cluster_delta read;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_delta_put(&writer, &delta), 0);
    assert_int_equal(cluster_delta_read((struct rapahub_bytes){bytes, writer.size}, &read), 0);
    return cluster_catch_up_apply(&stage->catch_up, revision, &read);
}

static enum cluster_delta_step apply_one(struct stage *stage, uint64_t revision, uint64_t previous,
                                         struct cluster_delta_change change)
{
    return apply(stage, revision, previous, &change, 1);
}

static uint8_t state_of(const struct stage *stage, uint32_t container)
{
    const struct cluster_address *address = cluster_address_map_find(stage->map, POOL, container);

    return address ? address->entry.state : CLUSTER_ENTRY_NONE;
}

/* r[verify cluster.delta.chain] */
static void a_delta_is_applied_on_the_one_before_it_only(void **state)
{
    struct stage stage = open_current();

    (void)state;
    assert_int_equal(apply_one(&stage, 10, 0, change_of(0, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_APPLY);
    assert_int_equal(stage.catch_up.revision, 10);
    assert_int_equal(apply_one(&stage, 10, 0, change_of(0, 1, CLUSTER_ENTRY_ACTIVE, 1)),
                     CLUSTER_DELTA_DROP);
    assert_int_equal(apply_one(&stage, 9, 0, change_of(0, 1, CLUSTER_ENTRY_ACTIVE, 1)),
                     CLUSTER_DELTA_DROP);
    assert_int_equal(state_of(&stage, 0), CLUSTER_ENTRY_STARTING);
    assert_int_equal(apply_one(&stage, 30, 20, change_of(0, 1, CLUSTER_ENTRY_ACTIVE, 1)),
                     CLUSTER_DELTA_ASK);
    assert_int_equal(state_of(&stage, 0), CLUSTER_ENTRY_STARTING);
    assert_int_equal(stage.catch_up.revision, 10);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
    assert_int_equal(apply_one(&stage, 20, 10, change_of(0, 1, CLUSTER_ENTRY_ACTIVE, 1)),
                     CLUSTER_DELTA_ASK);
    cluster_address_map_release(&stage.map);
}

/* r[verify cluster.map.whole] */
static void a_delta_that_does_not_fit_changes_nothing(void **state)
{
    const struct cluster_delta_change good = change_of(1, 0, CLUSTER_ENTRY_STARTING, 1);
    const struct cluster_delta_change bad[] = {
        change_of(0, 0, CLUSTER_ENTRY_ACTIVE, 1),    /* another owner was before */
        change_of(0, 1, CLUSTER_ENTRY_ACTIVE, 2),    /* no transition has this epoch */
        change_of(0, 1, CLUSTER_ENTRY_STARTING, 1),  /* the epoch must rise */
        change_of(2, 0, CLUSTER_ENTRY_ACTIVE, 1),    /* nothing begins so */
        change_of(2, 0, CLUSTER_ENTRY_NONE, 0),      /* it was not there */
        change_of(1, 0, CLUSTER_ENTRY_STARTING, 1)}; /* twice in one delta */

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct stage stage = open_current();
        struct cluster_delta_change changes[] = {good, bad[i]};

        assert_int_equal(apply_one(&stage, 10, 0, change_of(0, 0, CLUSTER_ENTRY_STARTING, 1)),
                         CLUSTER_DELTA_APPLY);
        assert_int_equal(apply(&stage, 20, 10, changes, 2), CLUSTER_DELTA_ASK);
        assert_int_equal(state_of(&stage, 0), CLUSTER_ENTRY_STARTING);
        assert_int_equal(state_of(&stage, 1), CLUSTER_ENTRY_NONE);
        assert_int_equal(stage.catch_up.revision, 10);
        assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
        cluster_address_map_release(&stage.map);
    }
}

/* r[verify cluster.map.whole] r[verify cluster.map.bounds] */
static void a_delta_for_which_the_map_has_no_space_changes_nothing(void **state)
{
    struct stage stage = open_current();
    struct cluster_delta_change changes[MOST + 1];

    (void)state;
    for (uint32_t i = 0; i <= MOST; i++)
        changes[i] = change_of(i, 0, CLUSTER_ENTRY_STARTING, 1);
    assert_int_equal(apply(&stage, 10, 0, changes, MOST + 1), CLUSTER_DELTA_ASK);
    assert_int_equal(cluster_address_map_count(stage.map), 0);
    assert_int_equal(stage.catch_up.revision, 0);
    cluster_address_map_release(&stage.map);
}

static int read_entry(struct stage *stage, uint32_t container, uint64_t revision)
{
    const struct cluster_entry entry = entry_of(CLUSTER_ENTRY_ACTIVE, 1, 1);

    return cluster_catch_up_entry(&stage->catch_up, POOL, container, revision, &entry);
}

/* r[verify cluster.map.reading] */
static void a_reading_leaves_the_entries_that_it_met(void **state)
{
    struct stage stage = open_current();

    (void)state;
    assert_int_equal(apply_one(&stage, 10, 0, change_of(0, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_APPLY);
    assert_int_equal(apply_one(&stage, 11, 10, change_of(1, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_APPLY);
    assert_int_equal(apply_one(&stage, 30, 20, change_of(3, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_ASK);
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 30), 0);
    assert_int_equal(apply_one(&stage, 30, 20, change_of(3, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_ASK);
    assert_int_equal(read_entry(&stage, 1, 20), 0);
    assert_int_equal(read_entry(&stage, 3, 30), 0);
    cluster_catch_up_read_end(&stage.catch_up);
    assert_int_equal(state_of(&stage, 0), CLUSTER_ENTRY_NONE);
    assert_int_equal(state_of(&stage, 1), CLUSTER_ENTRY_ACTIVE);
    assert_int_equal(state_of(&stage, 3), CLUSTER_ENTRY_ACTIVE);
    assert_int_equal(stage.catch_up.revision, 30);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_CURRENT);
    assert_int_equal(apply_one(&stage, 31, 30, change_of(0, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_APPLY);
    cluster_address_map_release(&stage.map);
}

/* r[verify cluster.map.reading] */
static void a_delta_that_came_during_a_reading_makes_another_one(void **state)
{
    struct stage stage = open_stage();

    (void)state;
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 30), 0);
    assert_int_equal(apply_one(&stage, 40, 30, change_of(0, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_ASK);
    cluster_catch_up_read_end(&stage.catch_up);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 40), 0);
    cluster_catch_up_read_end(&stage.catch_up);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_CURRENT);
    cluster_address_map_release(&stage.map);
}

/* r[verify cluster.map.forward] r[verify cluster.map.reading] */
static void a_map_never_goes_back(void **state)
{
    struct stage stage = open_stage();

    (void)state;
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 30), 0);
    assert_int_equal(read_entry(&stage, 1, 25), 0);
    cluster_catch_up_read_failed(&stage.catch_up);
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 29), RAPAHUB_ESTALE);
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 30), 0);
    assert_int_equal(read_entry(&stage, 1, 24), RAPAHUB_EFORMAT);
    assert_int_equal(read_entry(&stage, 1, 31), RAPAHUB_EFORMAT);
    assert_int_equal(read_entry(&stage, 1, 26), 0);
    cluster_catch_up_read_end(&stage.catch_up);
    assert_int_equal(apply_one(&stage, 35, 32, change_of(0, 0, CLUSTER_ENTRY_STARTING, 1)),
                     CLUSTER_DELTA_ASK);
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 29), RAPAHUB_ESTALE);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
    assert_int_equal(stage.catch_up.revision, 30);
    cluster_address_map_release(&stage.map);
}

/* r[verify cluster.map.reading] r[verify cluster.map.bounds] */
static void entries_that_cannot_be_are_not_read(void **state)
{
    struct stage stage = open_stage();
    const struct cluster_entry entry = entry_of(CLUSTER_ENTRY_ACTIVE, 1, 1);
    const struct cluster_entry nobody = entry_of(CLUSTER_ENTRY_ACTIVE, 0, 1);
    struct cluster_catch_up *catch_up = &stage.catch_up;

    (void)state;
    assert_int_equal(cluster_catch_up_read(catch_up, 30), 0);
    assert_int_equal(cluster_catch_up_entry(catch_up, 1, 0, 1, &entry), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_catch_up_entry(catch_up, POOL, 4096, 1, &entry), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_catch_up_entry(catch_up, POOL, 0, 1, &nobody), RAPAHUB_EFORMAT);
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(read_entry(&stage, i, 1), 0);
    assert_int_equal(read_entry(&stage, MOST, 1), RAPAHUB_EFULL);
    cluster_address_map_release(&stage.map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delta_is_applied_on_the_one_before_it_only),
        cmocka_unit_test(a_delta_that_does_not_fit_changes_nothing),
        cmocka_unit_test(a_delta_for_which_the_map_has_no_space_changes_nothing),
        cmocka_unit_test(a_reading_leaves_the_entries_that_it_met),
        cmocka_unit_test(a_delta_that_came_during_a_reading_makes_another_one),
        cmocka_unit_test(a_map_never_goes_back),
        cmocka_unit_test(entries_that_cannot_be_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
