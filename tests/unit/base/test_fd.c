/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "hub/base/own.h"
#include "tests/support/testing.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void a_released_descriptor_is_closed_and_the_variable_empty(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), number = fd;

    (void)state;
    assert_true(is_open(number));
    hub_fd_release(&fd);
    assert_int_equal(fd, -1);
    assert_false(is_open(number));
    hub_fd_release(&fd);
    assert_int_equal(fd, -1);
}

static void a_release_keeps_errno(void **state)
{
    int bad = 1 << 20;

    (void)state;
    errno = EXDEV;
    hub_fd_release(&bad);
    assert_int_equal(errno, EXDEV);
}

static int lose_in_a_scope(void)
{
    OWN(hub_fd) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(is_open(fd));
    return fd;
}

static int hand_out_of_a_scope(void)
{
    OWN(hub_fd) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    return TAKE(fd);
}

static void what_is_owned_ends_with_its_scope_unless_it_is_taken(void **state)
{
    int taken;

    (void)state;
    assert_false(is_open(lose_in_a_scope()));
    taken = hand_out_of_a_scope();
    assert_true(is_open(taken));
    close(taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_released_descriptor_is_closed_and_the_variable_empty),
        cmocka_unit_test(a_release_keeps_errno),
        cmocka_unit_test(what_is_owned_ends_with_its_scope_unless_it_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
