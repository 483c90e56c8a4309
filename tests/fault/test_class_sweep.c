/* SPDX-License-Identifier: Apache-2.0 */
/* The kill sweep and the stop sweep of a guest, where slots are of several sizes: after its death
 * all slots of all classes and extents are the host's, once, and the next guest in the entry works
 * with a payload of each class. */
#include "tests/fault/operations_on_classes.h"
#include "tests/support/testing.h"

#define STRIDE 13 /* one in so many points is a stop; a prime */

static void sweep_all(enum sweep_mode mode, uint32_t stride)
{
    struct stage_operation operation;
    unsigned failures = 0;

    for (unsigned i = 0; operations_on_classes_find(i, &operation); i++)
        failures += stage_sweep(&operation, mode, stride) < 0;
    assert_int_equal(failures, 0);
}

/* r[verify shm.varslot.ownership] r[verify shm.varslot.allocation] r[verify shm.varslot.freeing]
 * r[verify shm.varslot.extents] r[verify hub.var.single-popper] r[verify shm.crash.recovery] */
static void a_guest_dies_at_any_instruction(void **state)
{
    (void)state;
    sweep_all(SWEEP_KILL, 1);
}

/* r[verify hub.death.proof] */
static void a_guest_that_was_stopped_at_any_instruction_goes_on(void **state)
{
    sweep_all(SWEEP_STOP, *(uint32_t *)*state);
}

static void a_guest_that_was_stopped_at_any_instruction_is_killed(void **state)
{
    sweep_all(SWEEP_STOP_KILL, *(uint32_t *)*state);
}

int main(int argc, char **argv)
{
    uint32_t stride = stage_stride(argc, argv, STRIDE);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_dies_at_any_instruction),
        cmocka_unit_test_prestate(a_guest_that_was_stopped_at_any_instruction_goes_on, &stride),
        cmocka_unit_test_prestate(a_guest_that_was_stopped_at_any_instruction_is_killed, &stride),
    };

    if (stride == 0)
        return 64;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
