/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "tests/unit/host-control/fixture.h"

/* A host's standard input may be closed. */
static void a_client_may_have_any_descriptor(void **state)
{
    const struct fixture *f = *state;
    struct host_client *first = connect_to(f), *second;
    int input = dup(0);

    assert_true(input > 0);
    close(0);
    serve(f);
    assert_true(fcntl(0, F_GETFD) >= 0);
    second = connect_to(f);
    serve(f);
    ask(f, first, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(first), 0);
    ask(f, second, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(second), 0);
    host_client_release(&first);
    host_client_release(&second);
    serve(f);
    hub_closer_settle(f->control->closer);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_may_have_any_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
