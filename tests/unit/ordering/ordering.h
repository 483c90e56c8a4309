/* SPDX-License-Identifier: Apache-2.0 */
/* ordering: runs in which nothing may be broken, and runs in which something must. */
#ifndef TESTS_UNIT_ORDERING_ORDERING_H
#define TESTS_UNIT_ORDERING_ORDERING_H

#include "hub/base/atomic.h"
#include "tests/support/testing.h"
#include "tests/support/weak.h"

#define ORDERING_RUNS 300

static inline void assert_ordered(const struct weak_plan *plan, void *user)
{
    char what[WEAK_TEXT];
    unsigned broken = weak_run(plan, user, ORDERING_RUNS, what);

    if (broken > 0)
        print_error("%u of %u runs are broken; the first: %s\n", broken, ORDERING_RUNS, what);
    assert_int_equal(broken, 0);
}

#endif
