/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL after each instruction of an operation on shared memory; then the host recovers: slots of
 * both pools are complete, the entry is Empty, nothing is torn, the next guest in it works. */
#include "tests/fault/operations.h"
#include "tests/support/testing.h"

static void run(enum operation operation)
{
    assert_int_equal(stage_sweep(operations_find(operation), SWEEP_KILL, 1), 0);
}

/* r[verify shm.ordering.ring-publish] r[verify shm.slot.allocate] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_sends_a_request(void **state)
{
    (void)state;
    run(OPERATION_SEND);
}

/* r[verify shm.ordering.ring-consume] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_takes_a_response(void **state)
{
    (void)state;
    run(OPERATION_TAKE);
}

/* Nothing is seen of what is held back, or all of it. r[verify hub.ring.cork] */
static void a_guest_dies_while_it_pushes_a_request_held_back(void **state)
{
    (void)state;
    run(OPERATION_PUSH);
}

/* r[verify shm.spawn.guest-init] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_attaches(void **state)
{
    (void)state;
    run(OPERATION_ATTACH);
}

/* r[verify shm.spawn.reserved-state] */
static void a_host_dies_while_it_reserves_a_peer(void **state)
{
    (void)state;
    run(OPERATION_RESERVE);
}

/* The caller has its answer, wholly, or none. r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_serves_directly(void **state)
{
    (void)state;
    run(OPERATION_SERVE);
}

/* r[verify shm.slot.free] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_frees_a_slot(void **state)
{
    (void)state;
    run(OPERATION_FREE);
}

/* r[verify shm.flow.channel-activate] */
static void a_guest_dies_while_it_opens_a_channel(void **state)
{
    (void)state;
    run(OPERATION_OPEN);
}

static void a_guest_dies_while_it_writes_an_element(void **state)
{
    (void)state;
    run(OPERATION_WRITE);
}

static void a_guest_dies_while_it_reads_and_grants(void **state)
{
    (void)state;
    run(OPERATION_GRANT);
}

static void a_guest_dies_while_it_closes_a_channel(void **state)
{
    (void)state;
    run(OPERATION_CLOSE);
}

static void a_guest_dies_while_it_resets_a_channel(void **state)
{
    (void)state;
    run(OPERATION_RESET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_dies_while_it_sends_a_request),
        cmocka_unit_test(a_guest_dies_while_it_takes_a_response),
        cmocka_unit_test(a_guest_dies_while_it_pushes_a_request_held_back),
        cmocka_unit_test(a_guest_dies_while_it_attaches),
        cmocka_unit_test(a_host_dies_while_it_reserves_a_peer),
        cmocka_unit_test(a_guest_dies_while_it_serves_directly),
        cmocka_unit_test(a_guest_dies_while_it_frees_a_slot),
        cmocka_unit_test(a_guest_dies_while_it_opens_a_channel),
        cmocka_unit_test(a_guest_dies_while_it_writes_an_element),
        cmocka_unit_test(a_guest_dies_while_it_reads_and_grants),
        cmocka_unit_test(a_guest_dies_while_it_closes_a_channel),
        cmocka_unit_test(a_guest_dies_while_it_resets_a_channel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
