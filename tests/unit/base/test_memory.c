/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/own.h"
#include "tests/support/testing.h"

/* That it is freed, and once, AddressSanitizer and valgrind see. */
static void released_memory_leaves_the_variable_empty(void **state)
{
    char *text = strdup("text");

    (void)state;
    assert_non_null(text);
    hub_memory_release(&text);
    assert_null(text);
    hub_memory_release(&text);
    assert_null(text);
}

static void a_release_keeps_errno(void **state)
{
    char *text = strdup("text");

    (void)state;
    errno = EXDEV;
    hub_memory_release(&text);
    assert_int_equal(errno, EXDEV);
}

static char *hand_out_of_a_scope(const char *from)
{
    OWN(hub_memory) char *kept = strdup(from);
    OWN(hub_memory) char *lost = strdup(from);

    assert_non_null(lost);
    return TAKE(kept);
}

static void what_is_taken_outlives_its_scope(void **state)
{
    char *text = hand_out_of_a_scope("text");

    (void)state;
    assert_string_equal(text, "text");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_memory_leaves_the_variable_empty),
        cmocka_unit_test(a_release_keeps_errno),
        cmocka_unit_test(what_is_taken_outlives_its_scope),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
