/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/lock.h"
#include "tests/support/testing.h"

static int make_file(void)
{
    int fd = memfd_create("lock", MFD_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

/* Another open file description of the same file, as another process has it. */
static int open_again(int fd)
{
    char path[64];
    int again;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    again = open(path, O_RDWR | O_CLOEXEC);
    assert_true(again >= 0);
    return again;
}

static void a_lock_that_another_holds_cannot_be_had(void **state)
{
    int one = make_file(), other = open_again(one);

    (void)state;
    assert_int_equal(hub_lock_free(other, HUB_LOCK_HOST, 1), 1);
    assert_int_equal(hub_lock_try(one, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_free(other, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_try(other, HUB_LOCK_HOST, 1), -EAGAIN);
    close(one);
    close(other);
}

static void a_lock_is_no_obstacle_to_its_own_holder(void **state)
{
    int one = make_file();

    (void)state;
    assert_int_equal(hub_lock_try(one, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_try(one, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_free(one, HUB_LOCK_HOST, 1), 1);
    close(one);
}

static void a_dropped_lock_can_be_had_again(void **state)
{
    int one = make_file(), other = open_again(one);

    (void)state;
    assert_int_equal(hub_lock_try(one, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_drop(one, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_try(other, HUB_LOCK_HOST, 1), 0);
    close(one);
    close(other);
}

static void ranges_that_do_not_meet_are_independent(void **state)
{
    int one = make_file(), other = open_again(one);

    (void)state;
    assert_int_equal(hub_lock_try(one, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_try(other, HUB_LOCK_HOST + 1, 100), 0);
    assert_int_equal(hub_lock_try(other, HUB_LOCK_HOST - 10, 10), 0);
    assert_int_equal(hub_lock_try(other, HUB_LOCK_HOST - 1, 2), -EAGAIN);
    assert_int_equal(hub_lock_try(one, HUB_LOCK_HOST + 100, 1), -EAGAIN);
    close(one);
    close(other);
}

/* An fd that leaked to a child delays the proof, and never hastens it. */
static void a_lock_ends_with_the_last_copy_of_its_descriptor(void **state)
{
    int one = make_file(), copy = fcntl(one, F_DUPFD_CLOEXEC, 0), other = open_again(one);

    (void)state;
    assert_int_equal(hub_lock_try(one, HUB_LOCK_HOST, 1), 0);
    close(one);
    assert_int_equal(hub_lock_try(other, HUB_LOCK_HOST, 1), -EAGAIN);
    close(copy);
    assert_int_equal(hub_lock_try(other, HUB_LOCK_HOST, 1), 0);
    close(other);
}

static void a_lock_ends_with_the_process_that_held_it(void **state)
{
    int file = make_file(), ends[2];
    pid_t child;
    char byte;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int own = open_again(file);

        if (hub_lock_try(own, HUB_LOCK_HOST, 1) == 0 && write(ends[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(hub_lock_free(file, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(hub_lock_free(file, HUB_LOCK_HOST, 1), 1);
    close(ends[0]);
    close(ends[1]);
    close(file);
}

static void a_descriptor_that_cannot_be_locked_is_a_failure(void **state)
{
    int fd = make_file();

    (void)state;
    close(fd);
    assert_int_equal(hub_lock_try(fd, 0, 1), -EBADF);
    assert_int_equal(hub_lock_drop(fd, 0, 1), -EBADF);
    assert_int_equal(hub_lock_free(fd, 0, 1), -EBADF);
}

/* ---- ranges of guests ---- */

#define PID 4711

/* r[verify hub.file.lock] */
static void a_guest_s_range_says_who_has_it(void **state)
{
    int host = make_file(), guest = open_again(host);
    pid_t pid = 1;

    (void)state;
    assert_int_equal(hub_lock_test_peer(host, 3, &pid), 0);
    assert_int_equal(pid, 0);
    assert_int_equal(hub_lock_acquire_peer(guest, 3, PID), 0);
    assert_int_equal(hub_lock_test_peer(host, 3, &pid), 1);
    assert_int_equal(pid, PID);
    assert_int_equal(hub_lock_seize_peer(host, 3), -EAGAIN);
    assert_int_equal(hub_lock_test_peer(host, 2, &pid), 0);
    assert_int_equal(hub_lock_test_peer(host, 4, &pid), 0);
    assert_int_equal(hub_lock_free(host, HUB_LOCK_HOST, 1), 1);
    close(guest);
    assert_int_equal(hub_lock_test_peer(host, 3, &pid), 0);
    close(host);
}

/* r[verify hub.file.lock] */
static void a_range_ends_with_the_last_mapping_not_with_the_descriptor(void **state)
{
    int host = make_file(), guest = open_again(host);
    void *page;
    pid_t pid;

    (void)state;
    assert_int_equal(ftruncate(host, 4096), 0);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, guest, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(hub_lock_acquire_peer(guest, 1, PID), 0);
    close(guest);
    assert_int_equal(hub_lock_seize_peer(host, 1), -EAGAIN);
    assert_int_equal(hub_lock_test_peer(host, 1, &pid), 1);
    munmap(page, 4096);
    assert_int_equal(hub_lock_seize_peer(host, 1), 0);
    close(host);
}

static void a_seized_range_is_no_guest_s(void **state)
{
    int host = make_file(), guest = open_again(host);

    (void)state;
    assert_int_equal(hub_lock_try(host, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_seize_peer(host, 1), 0);
    assert_int_equal(hub_lock_seize_peer(host, 1), 0);
    assert_int_equal(hub_lock_seize_peer(host, 2), 0); /* merged with the first by the system */
    assert_int_equal(hub_lock_acquire_peer(guest, 1, PID), -EAGAIN);
    assert_int_equal(hub_lock_acquire_peer(guest, 2, PID), -EAGAIN);
    assert_int_equal(hub_lock_drop_peer(host, 1), 0);
    assert_int_equal(hub_lock_acquire_peer(guest, 1, PID), 0);
    assert_int_equal(hub_lock_acquire_peer(guest, 2, PID), -EAGAIN);
    close(guest);
    close(host);
}

static void a_host_that_wants_no_guests_keeps_all_ranges(void **state)
{
    int host = make_file(), guest = open_again(host);

    (void)state;
    assert_int_equal(hub_lock_try(host, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_refuse_peers(host), 0);
    assert_int_equal(hub_lock_acquire_peer(guest, 1, PID), -EACCES);
    assert_int_equal(hub_lock_acquire_peer(guest, 255, PID), -EACCES);
    close(guest);
    close(host);
}

static void readers_share_a_lock_that_keeps_writers_out(void **state)
{
    int one = make_file(), other = open_again(one), writer = open_again(one);

    (void)state;
    assert_int_equal(hub_lock_share(one, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_share(other, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_try(writer, HUB_LOCK_HOST, 1), -EAGAIN);
    assert_int_equal(hub_lock_free(writer, HUB_LOCK_HOST, 1), 0);
    close(one);
    assert_int_equal(hub_lock_try(writer, HUB_LOCK_HOST, 1), -EAGAIN);
    close(other);
    assert_int_equal(hub_lock_try(writer, HUB_LOCK_HOST, 1), 0);
    one = open_again(writer);
    assert_int_equal(hub_lock_share(one, HUB_LOCK_HOST, 1), -EAGAIN);
    close(one);
    close(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_another_holds_cannot_be_had),
        cmocka_unit_test(a_lock_is_no_obstacle_to_its_own_holder),
        cmocka_unit_test(a_dropped_lock_can_be_had_again),
        cmocka_unit_test(readers_share_a_lock_that_keeps_writers_out),
        cmocka_unit_test(ranges_that_do_not_meet_are_independent),
        cmocka_unit_test(a_lock_ends_with_the_last_copy_of_its_descriptor),
        cmocka_unit_test(a_lock_ends_with_the_process_that_held_it),
        cmocka_unit_test(a_descriptor_that_cannot_be_locked_is_a_failure),
        cmocka_unit_test(a_guest_s_range_says_who_has_it),
        cmocka_unit_test(a_range_ends_with_the_last_mapping_not_with_the_descriptor),
        cmocka_unit_test(a_seized_range_is_no_guest_s),
        cmocka_unit_test(a_host_that_wants_no_guests_keeps_all_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
