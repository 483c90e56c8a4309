/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon whose warden has died ends at once, whatever its guests do. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cluster/node_process.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define WITHIN_MS 1000
#define POOL                                                                      \
    "pool_name: a\nmodule: " TEST_PREFIX "/tests/modules/ledger.so\ndurability: " \
    "none\n"

/* r[verify cluster.warden.death] */
static void a_guest_that_stands_still_does_not_hold_up_the_end(void **state)
{
    struct node_process node = {.option = NULL};
    struct pollfd ends[2];
    pid_t guest, daemon;

    (void)state;
    node_process_open(&node);
    node_process_begin(&node);
    node_process_apply(&node, POOL);
    guest = node_process_guest(&node, 0);
    daemon = node_process_daemon(&node);
    assert_true(guest > 0 && daemon > 0);
    ends[0] = (struct pollfd){.fd = pidfd_open(daemon, 0), .events = POLLIN};
    ends[1] = (struct pollfd){.fd = pidfd_open(guest, 0), .events = POLLIN};
    assert_true(ends[0].fd >= 0 && ends[1].fd >= 0);
    assert_int_equal(kill(guest, SIGSTOP), 0);
    assert_int_equal(kill(node.warden, SIGKILL), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(poll(&ends[i], 1, WITHIN_MS), 1);
        close(ends[i].fd);
    }
    assert_int_equal(waitpid(node.warden, NULL, 0), node.warden);
    node.warden = 0;
    node_process_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_that_stands_still_does_not_hold_up_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
