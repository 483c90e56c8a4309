/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "tests/support/clock_page.h"
#include "tests/support/testing.h"

#define HOUR (3600 * HUB_SECOND)

static void the_boot_clock_leaps_and_no_other_does(void **state)
{
    uint64_t boot = hub_clock_boot(), now = hub_clock_now(), wall = hub_clock_wall();

    (void)state;
    clock_page_open();
    clock_page_leap((int64_t)HOUR);
    assert_true(hub_clock_boot() - boot >= HOUR);
    assert_true(hub_clock_boot() - boot < HOUR + 100 * HUB_SECOND);
    assert_true(hub_clock_now() - now < 100 * HUB_SECOND);
    assert_true(hub_clock_wall() - wall < 100 * HUB_SECOND);
    clock_page_leap(-(int64_t)HOUR);
    assert_true(hub_clock_boot() - boot < 100 * HUB_SECOND);
    clock_page_close();
    assert_true(hub_clock_boot() - boot < 100 * HUB_SECOND);
}

static void the_wall_clock_is_set_and_no_other_is(void **state)
{
    uint64_t boot = hub_clock_boot(), now = hub_clock_now(), wall = hub_clock_wall();
    time_t seconds = time(NULL);

    (void)state;
    clock_page_open();
    clock_page_set_wall(-(int64_t)HOUR);
    assert_true(hub_clock_wall() < wall - HOUR + 100 * HUB_SECOND);
    assert_true(time(NULL) < seconds - 3500);
    clock_page_set_wall(2 * (int64_t)HOUR);
    assert_true(hub_clock_wall() - wall >= HOUR);
    assert_true(hub_clock_boot() - boot < 100 * HUB_SECOND);
    assert_true(hub_clock_now() - now < 100 * HUB_SECOND);
    clock_page_close();
    assert_true(hub_clock_wall() - wall < 100 * HUB_SECOND);
}

/* A clock at 1,000 times the rate gains 10 s in 10 ms, and loses nothing when it is slow again. */
static void the_rate_changes_without_a_leap(void **state)
{
    uint64_t boot, fast;

    (void)state;
    clock_page_open();
    boot = hub_clock_boot();
    clock_page_rate(1000 * CLOCK_PAGE_RATE);
    hub_clock_pause(10 * HUB_MILLISECOND);
    fast = hub_clock_boot();
    assert_true(fast - boot >= 10 * HUB_SECOND);
    clock_page_rate(CLOCK_PAGE_RATE / 1000);
    assert_true(hub_clock_boot() >= fast);
    boot = hub_clock_boot();
    hub_clock_pause(10 * HUB_MILLISECOND);
    assert_true(hub_clock_boot() - boot < HUB_SECOND);
    clock_page_close();
}

/* Prints nothing: its exit status says whether its clock is an hour ahead of ours. */
static int child_is_ahead(uint64_t than_ns)
{
    return hub_clock_boot() >= than_ns + HOUR - HUB_SECOND ? 0 : 1;
}

static void another_process_reads_the_same_page(void **state)
{
    char number[32];
    int status = -1;
    pid_t child;

    (void)state;
    snprintf(number, sizeof number, "%llu", (unsigned long long)hub_clock_boot());
    setenv(CLOCK_PAGE_FILE, clock_page_open(), 1);
    clock_page_leap((int64_t)HOUR);
    child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "child", number, NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unsetenv(CLOCK_PAGE_FILE);
    clock_page_close();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_boot_clock_leaps_and_no_other_does),
        cmocka_unit_test(the_wall_clock_is_set_and_no_other_is),
        cmocka_unit_test(the_rate_changes_without_a_leap),
        cmocka_unit_test(another_process_reads_the_same_page),
    };

    if (argc == 2)
        return child_is_ahead(strtoull(argv[1], NULL, 10));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
