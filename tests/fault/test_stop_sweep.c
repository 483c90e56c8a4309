/* SPDX-License-Identifier: Apache-2.0 */
/* SIGSTOP after each instruction of an operation on shared memory: silence is not death. While it
 * stands still the other side goes on, waits for nothing and repairs nothing; then it goes on and
 * comes to its end, or is killed, and all is recovered. */
#include "tests/fault/operations.h"
#include "tests/support/testing.h"

static void sweep_all(enum sweep_mode mode)
{
    unsigned failures = 0;

    for (int i = 0; i < OPERATIONS_COUNT; i++)
        failures += stage_sweep(operations_find((enum operation)i), mode, 1) < 0;
    assert_int_equal(failures, 0);
}

/* r[verify hub.death.proof] */
static void who_was_stopped_at_any_instruction_goes_on_and_nothing_is_lost(void **state)
{
    (void)state;
    sweep_all(SWEEP_STOP);
}

/* r[verify shm.crash.recovery] */
static void who_was_stopped_at_any_instruction_is_killed_and_all_is_recovered(void **state)
{
    (void)state;
    sweep_all(SWEEP_STOP_KILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_stopped_at_any_instruction_goes_on_and_nothing_is_lost),
        cmocka_unit_test(who_was_stopped_at_any_instruction_is_killed_and_all_is_recovered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
