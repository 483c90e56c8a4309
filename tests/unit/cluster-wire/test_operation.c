/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/wire/operation.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)

/* r[verify cluster.operation.states] */
static void an_operation_ends_once(void **state)
{
    const struct hub_states *states = &cluster_operation_states;

    (void)state;
    for (uint32_t to = 0; to < CLUSTER_OPERATION_STATES; to++) {
        assert_false(hub_states_may(states, CLUSTER_OPERATION_DONE, to));
        assert_false(hub_states_may(states, CLUSTER_OPERATION_ABORTED, to));
        assert_false(hub_states_may(states, to, CLUSTER_OPERATION_NEW));
    }
    assert_false(hub_states_may(states, CLUSTER_OPERATION_UNDOING, CLUSTER_OPERATION_DONE));
    assert_false(hub_states_may(states, CLUSTER_OPERATION_REMOVING, CLUSTER_OPERATION_ABORTED));
    assert_true(hub_states_may(states, CLUSTER_OPERATION_NEW, CLUSTER_OPERATION_BEGINNING));
    assert_true(hub_states_may(states, CLUSTER_OPERATION_PLACING, CLUSTER_OPERATION_UNDOING));
}

/* r[verify cluster.operation.states] */
static void arguments_are_read_as_they_were_written(void **state)
{
    const struct cluster_operation_arguments arguments = {POOL, 7, {"kv", 2}};
    struct cluster_operation_arguments read;
    struct hub_writer writer;
    uint8_t bytes[64];

    (void)state;
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_operation_put(&writer, &arguments), 0);
    for (size_t size = 0; size < writer.size; size++)
        assert_int_equal(cluster_operation_read((struct rapahub_bytes){bytes, size}, &read),
                         RAPAHUB_EFORMAT);
    assert_int_equal(cluster_operation_read((struct rapahub_bytes){bytes, writer.size}, &read), 0);
    assert_int_equal(read.pool, POOL);
    assert_int_equal(read.container, 7);
    assert_int_equal(read.name.size, 2);
    assert_memory_equal(read.name.data, "kv", 2);
}

/* r[verify cluster.operation.states] */
static void arguments_of_no_pool_are_refused(void **state)
{
    struct cluster_operation_arguments arguments = {3, 7, {"kv", 2}};
    struct hub_writer writer;
    uint8_t bytes[64];

    (void)state;
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_operation_put(&writer, &arguments), RAPAHUB_EINVAL);
    arguments = (struct cluster_operation_arguments){POOL, 4096, {"kv", 2}};
    assert_int_equal(cluster_operation_put(&writer, &arguments), RAPAHUB_EINVAL);
    arguments = (struct cluster_operation_arguments){POOL, 7, {"k v", 3}};
    assert_int_equal(cluster_operation_put(&writer, &arguments), RAPAHUB_EINVAL);
}

/* r[verify cluster.operation.states] */
static void a_recovery_is_read_as_it_was_written(void **state)
{
    struct cluster_operation_recovery recovery = {CLUSTER_PROOF_WORD, true}, read;
    struct hub_writer writer;
    uint8_t bytes[8];

    (void)state;
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_operation_put_recovery(&writer, &recovery), 0);
    assert_int_equal(
        cluster_operation_read_recovery((struct rapahub_bytes){bytes, writer.size - 1}, &read),
        RAPAHUB_EFORMAT);
    assert_int_equal(
        cluster_operation_read_recovery((struct rapahub_bytes){bytes, writer.size}, &read), 0);
    assert_int_equal(read.proof, CLUSTER_PROOF_WORD);
    assert_true(read.discard);
    bytes[0] = CLUSTER_PROOFS;
    assert_int_equal(
        cluster_operation_read_recovery((struct rapahub_bytes){bytes, writer.size}, &read),
        RAPAHUB_EFORMAT);
    recovery.proof = 0;
    assert_int_equal(cluster_operation_put_recovery(&writer, &recovery), RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_ends_once),
        cmocka_unit_test(arguments_are_read_as_they_were_written),
        cmocka_unit_test(arguments_of_no_pool_are_refused),
        cmocka_unit_test(a_recovery_is_read_as_it_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
