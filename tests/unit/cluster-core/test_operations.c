/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/ops/operations.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)

static struct cluster_operations *open_operations(void)
{
    struct cluster_operations *all;

    assert_int_equal(cluster_operations_create(&all), 0);
    return all;
}

static int put(struct cluster_operations *all, uint64_t number, uint64_t revision, uint8_t kind,
               uint8_t step)
{
    const struct cluster_operation_arguments of = {POOL, 3, {"kv", 2}};
    struct cluster_record_operation record = {
        .kind = kind, .step = step, .budget_ms = 9, .result = -5, .text = {"why\x01", 4}};
    struct hub_writer writer;
    uint8_t bytes[64];

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_operation_put(&writer, &of), 0);
    record.arguments = (struct rapahub_bytes){bytes, writer.size};
    return cluster_operations_put(all, number, revision, &record);
}

/* r[verify cluster.operation.resume] */
static void one_of_the_metastore_is_taken_once(void **state)
{
    struct cluster_operations *all = open_operations();
    const struct cluster_operations_row *row;

    (void)state;
    assert_int_equal(put(all, 7, 20, CLUSTER_OPERATION_RELEASE, CLUSTER_OPERATION_BEGINNING), 0);
    row = cluster_operations_at(all, cluster_operations_find(all, 7));
    assert_int_equal(row->state, CLUSTER_OPERATION_BEGINNING);
    assert_int_equal(row->pool, POOL);
    assert_int_equal(row->container, 3);
    assert_int_equal(row->result, -5);
    assert_string_equal(row->name, "kv");
    assert_string_equal(row->text, "why?");
    assert_int_equal(put(all, 7, 20, CLUSTER_OPERATION_RELEASE, CLUSTER_OPERATION_DONE), 0);
    assert_int_equal(row->state, CLUSTER_OPERATION_BEGINNING);
    assert_int_equal(put(all, 7, 21, CLUSTER_OPERATION_RELEASE, CLUSTER_OPERATION_DONE), 0);
    assert_int_equal(row->state, CLUSTER_OPERATION_DONE);
    assert_int_equal(cluster_operations_after(all, cluster_operations_find(all, 7)), 0);
    row = cluster_operations_at(
        all, cluster_operations_add(all, CLUSTER_OPERATION_DELETE, POOL, 0, "kv"));
    assert_int_equal(row->number, 8);
    cluster_operations_release(&all);
}

/* r[verify cluster.operation.states] */
static void one_that_cannot_be_is_refused(void **state)
{
    struct cluster_operations *all = open_operations();
    const struct cluster_record_operation bare = {.kind = 1, .step = 1};

    (void)state;
    assert_int_equal(put(all, 0, 1, CLUSTER_OPERATION_CREATE, 1), RAPAHUB_EFORMAT);
    assert_int_equal(put(all, 1, 1, CLUSTER_OPERATION_KINDS, 1), RAPAHUB_EFORMAT);
    assert_int_equal(put(all, 1, 1, 0, 1), RAPAHUB_EFORMAT);
    assert_int_equal(put(all, 1, 1, 1, CLUSTER_OPERATION_NEW), RAPAHUB_EFORMAT);
    assert_int_equal(put(all, 1, 1, 1, CLUSTER_OPERATION_STATES), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_operations_put(all, 1, 1, &bare), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_operations_after(all, 0), 0);
    cluster_operations_release(&all);
}

/* r[verify cluster.operation.bounds] */
static void the_oldest_that_has_ended_is_one_too_many(void **state)
{
    struct cluster_operations *all = open_operations();
    uint32_t most = CLUSTER_OPERATIONS_MAX + CLUSTER_OPERATIONS_SPARE;

    (void)state;
    for (uint32_t i = 1; i <= most; i++) {
        uint8_t step = i == 1 || i == 4 ? CLUSTER_OPERATION_REMOVING : CLUSTER_OPERATION_DONE;

        assert_int_equal(put(all, i, i, CLUSTER_OPERATION_DELETE, step), 0);
        assert_int_equal(cluster_operations_surplus(all) != 0, i > CLUSTER_OPERATIONS_MAX);
    }
    assert_int_equal(put(all, most + 1, 1, CLUSTER_OPERATION_DELETE, CLUSTER_OPERATION_DONE),
                     RAPAHUB_EFULL);
    assert_int_equal(cluster_operations_add(all, CLUSTER_OPERATION_DELETE, POOL, 0, "kv"), 0);
    assert_int_equal(cluster_operations_at(all, cluster_operations_surplus(all))->number, 2);
    for (uint64_t number = 2; number < 6; number++) {
        uint32_t place = cluster_operations_surplus(all);

        assert_int_equal(cluster_operations_at(all, place)->number, number + (number > 3));
        cluster_operations_remove(all, place);
    }
    cluster_operations_release(&all);
}

/* r[verify cluster.delete.name] */
static void they_are_found_by_kind_pool_and_name(void **state)
{
    struct cluster_operations *all = open_operations();
    const struct rapahub_string kv = {"kv", 2}, other = {"k", 1};

    (void)state;
    assert_int_equal(put(all, 1, 1, CLUSTER_OPERATION_DELETE, CLUSTER_OPERATION_DONE), 0);
    assert_int_equal(put(all, 2, 2, CLUSTER_OPERATION_DELETE, CLUSTER_OPERATION_REMOVING), 0);
    assert_int_equal(put(all, 3, 3, CLUSTER_OPERATION_CREATE, CLUSTER_OPERATION_DONE), 0);
    assert_int_equal(cluster_operations_open(all, CLUSTER_OPERATION_DELETE, POOL),
                     cluster_operations_find(all, 2));
    assert_int_equal(cluster_operations_open(all, CLUSTER_OPERATION_CREATE, POOL), 0);
    assert_int_equal(cluster_operations_open(all, CLUSTER_OPERATION_DELETE, POOL + 1), 0);
    assert_int_equal(cluster_operations_last(all, CLUSTER_OPERATION_DELETE, 0, kv),
                     cluster_operations_find(all, 2));
    assert_int_equal(cluster_operations_last(all, CLUSTER_OPERATION_DELETE, POOL + 1, kv), 0);
    assert_int_equal(cluster_operations_last(all, CLUSTER_OPERATION_DELETE, 0, other), 0);
    cluster_operations_release(&all);
}

/* r[verify cluster.operation.resume] */
static void its_record_is_what_it_will_be(void **state)
{
    struct cluster_operations *all = open_operations(), *others = open_operations();
    uint32_t place = cluster_operations_add(all, CLUSTER_OPERATION_CREATE, POOL, 0, "kv");
    struct cluster_operations_row *row = cluster_operations_at(all, place);
    uint8_t arguments[CLUSTER_OPERATIONS_ARGUMENTS];
    struct cluster_record_operation record;

    (void)state;
    row->budget_ms = 77;
    record = cluster_operations_record(row, CLUSTER_OPERATION_UNDOING, -3, "no", arguments);
    assert_int_equal(row->state, CLUSTER_OPERATION_NEW);
    assert_int_equal(cluster_operations_put(others, 1, 5, &record), 0);
    row = cluster_operations_at(others, cluster_operations_find(others, 1));
    assert_int_equal(row->state, CLUSTER_OPERATION_UNDOING);
    assert_int_equal(row->budget_ms, 77);
    assert_string_equal(row->name, "kv");
    assert_string_equal(row->text, "no");
    cluster_operations_note(row, "other");
    assert_string_equal(row->text, "no");
    cluster_operations_move(row, CLUSTER_OPERATION_ABORTED, -3, "");
    cluster_operations_note(row, "other");
    assert_string_equal(row->text, "other");
    assert_true(cluster_operations_has_ended(row));
    cluster_operations_release(&all);
    cluster_operations_release(&others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_the_metastore_is_taken_once),
        cmocka_unit_test(one_that_cannot_be_is_refused),
        cmocka_unit_test(the_oldest_that_has_ended_is_one_too_many),
        cmocka_unit_test(they_are_found_by_kind_pool_and_name),
        cmocka_unit_test(its_record_is_what_it_will_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
