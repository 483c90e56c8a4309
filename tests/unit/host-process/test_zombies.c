/* SPDX-License-Identifier: Apache-2.0 */
/* An eventfd stands for each pidfd, and a list says which of them can be reaped. */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "host/process/zombies.h"
#include "hub/base/clock.h"
#include "hub/base/proof.h"
#include "tests/support/testing.h"

#define MANY 3

static int held[MANY]; /* by their tracers */
static unsigned asked, paused, pauses_until_free;
static bool time_is_up;

int __wrap_hub_proof_reap(int pidfd, struct hub_exit *out);
int __wrap_hub_proof_reap(int pidfd, struct hub_exit *out)
{
    (void)out;
    asked++;
    for (int i = 0; i < MANY; i++)
        if (held[i] == pidfd)
            return -EAGAIN;
    return 0;
}

void __wrap_hub_clock_pause(uint64_t span_ns);
void __wrap_hub_clock_pause(uint64_t span_ns)
{
    assert_in_range(span_ns, 1, HUB_SECOND);
    if (++paused == pauses_until_free)
        held[0] = -1;
}

uint64_t __real_hub_clock_left(uint64_t deadline_ns);
uint64_t __wrap_hub_clock_left(uint64_t deadline_ns);
uint64_t __wrap_hub_clock_left(uint64_t deadline_ns)
{
    assert_in_range(__real_hub_clock_left(deadline_ns), 0, 2 * HUB_SECOND);
    return time_is_up ? 0 : 1;
}

static unsigned warnings;

static void count_warning(void *user, enum rapahub_log_level level, const char *topic,
                          const char *text)
{
    (void)user;
    (void)topic;
    (void)text;
    warnings += level == RAPAHUB_LOG_WARN;
}

struct rig {
    struct host_loop loop;
    struct host_zombies zombies;
    int fds[MANY]; /* of the zombies, by number */
};

static void open_rig(struct rig *rig)
{
    asked = paused = pauses_until_free = 0;
    time_is_up = false;
    assert_int_equal(host_loop_init(&rig->loop, 4), 0);
    host_zombies_open(&rig->zombies, &rig->loop);
    for (int i = 0; i < MANY; i++)
        held[i] = -1;
}

static void close_rig(struct rig *rig)
{
    host_zombies_close(&rig->zombies);
    host_loop_fini(&rig->loop);
}

/* A dead process that its tracer does not release. */
static void trace(struct rig *rig, int number)
{
    int pidfd = eventfd(0, EFD_CLOEXEC);

    held[number] = rig->fds[number] = pidfd;
    host_zombies_reap(&rig->zombies, &pidfd);
    assert_int_equal(pidfd, -1);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* As the loop does when the time has come. */
static void pass_the_time(struct rig *rig)
{
    host_loop_clear(&rig->zombies.again);
    rig->zombies.again.on(rig->zombies.again.user);
}

/* r[verify supervise.reap] */
static void a_process_that_can_be_reaped_leaves_its_descriptor_to_the_caller(void **state)
{
    int pidfd = eventfd(0, EFD_CLOEXEC), before = pidfd;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    host_zombies_reap(&rig.zombies, &pidfd);
    assert_int_equal(pidfd, before);
    assert_int_equal(asked, 1);
    assert_false(host_loop_is_set(&rig.zombies.again));
    close(pidfd);
    close_rig(&rig);
}

static void only_who_stays_traced_is_warned_of(void **state)
{
    struct rig rig;

    (void)state;
    warnings = 0;
    rapahub_log_to(count_warning, NULL, RAPAHUB_LOG_WARN);
    open_rig(&rig);
    close_rig(&rig);
    assert_int_equal(warnings, 0);
    open_rig(&rig);
    trace(&rig, 0);
    time_is_up = true;
    close_rig(&rig);
    assert_int_equal(warnings, 1);
    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_WARN);
}

/* r[verify supervise.reap] */
static void a_traced_process_is_tried_again_each_second_until_it_is_released(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    trace(&rig, 0);
    assert_in_range(__real_hub_clock_left(rig.zombies.again.due_ns), 1, HUB_SECOND);
    pass_the_time(&rig);
    assert_true(is_open(rig.fds[0]));
    assert_true(host_loop_is_set(&rig.zombies.again));
    held[0] = -1;
    pass_the_time(&rig);
    assert_false(is_open(rig.fds[0]));
    assert_false(host_loop_is_set(&rig.zombies.again));
    close_rig(&rig);
}

static void a_released_process_does_not_wait_for_a_traced_one(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    for (int i = 0; i < MANY; i++)
        trace(&rig, i);
    held[1] = -1;
    pass_the_time(&rig);
    assert_true(is_open(rig.fds[0]) && is_open(rig.fds[2]));
    assert_false(is_open(rig.fds[1]));
    assert_true(host_loop_is_set(&rig.zombies.again));
    held[0] = held[2] = -1;
    close_rig(&rig);
    assert_false(is_open(rig.fds[0]) || is_open(rig.fds[2]));
}

/* Else a host that gets one each half second would never look. */
static void another_zombie_does_not_put_off_the_next_try(void **state)
{
    struct rig rig;
    uint64_t due;

    (void)state;
    open_rig(&rig);
    trace(&rig, 0);
    due = rig.zombies.again.due_ns;
    trace(&rig, 1);
    assert_true(rig.zombies.again.due_ns == due);
    held[0] = held[1] = -1;
    close_rig(&rig);
}

static void the_end_of_the_host_waits_until_the_last_is_reaped(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    trace(&rig, 0);
    pauses_until_free = 3;
    host_zombies_close(&rig.zombies);
    assert_int_equal(paused, 3);
    assert_false(is_open(rig.fds[0]));
    assert_false(host_loop_is_set(&rig.zombies.again));
    close_rig(&rig);
    assert_int_equal(paused, 3);
}

static void the_end_of_the_host_waits_for_no_tracer_for_ever(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    trace(&rig, 0);
    trace(&rig, 1);
    time_is_up = true;
    host_zombies_close(&rig.zombies);
    assert_int_equal(paused, 0);
    assert_true(hub_list_empty(&rig.zombies.list));
    assert_false(is_open(rig.fds[0]) || is_open(rig.fds[1]));
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_can_be_reaped_leaves_its_descriptor_to_the_caller),
        cmocka_unit_test(only_who_stays_traced_is_warned_of),
        cmocka_unit_test(a_traced_process_is_tried_again_each_second_until_it_is_released),
        cmocka_unit_test(a_released_process_does_not_wait_for_a_traced_one),
        cmocka_unit_test(another_zombie_does_not_put_off_the_next_try),
        cmocka_unit_test(the_end_of_the_host_waits_until_the_last_is_reaped),
        cmocka_unit_test(the_end_of_the_host_waits_for_no_tracer_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
