/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/leak.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

static void assert_left(struct leak *leak, const char *text)
{
    char *left = leak_left(leak);

    assert_non_null(left);
    assert_non_null(strstr(left, text));
    free(left);
}

static void what_was_closed_again_is_no_leak(void **state)
{
    struct leak *leak = leak_begin();
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    void *page;

    (void)state;
    close(fd);
    fd = memfd_create("rapahub", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), 0);
    page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    munmap(page, 4096);
    close(fd);
    leak_assert_none(leak);
}

static void a_descriptor_left_open_is_named(void **state)
{
    struct leak *leak = leak_begin();
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_left(leak, ": /dev/null");
    close(fd);
    leak_assert_none(leak);
}

static void a_descriptor_that_became_another_is_named(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct leak *leak = leak_begin();

    (void)state;
    close(fd);
    assert_int_equal(open("/dev/zero", O_RDONLY | O_CLOEXEC), fd);
    assert_left(leak, ": /dev/zero");
    close(fd);
    leak_assert_none(leak);
}

static void a_mapping_of_a_segment_is_named(void **state)
{
    struct leak *leak = leak_begin();
    int fd = memfd_create("rapahub", MFD_CLOEXEC);
    void *page;

    (void)state;
    assert_int_equal(ftruncate(fd, 4096), 0);
    page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    assert_left(leak, "/memfd:rapahub");
    munmap(page, 4096);
    leak_assert_none(leak);
}

static void a_zombie_is_named(void **state)
{
    struct leak *leak = leak_begin();
    pid_t child = fork();
    siginfo_t info;

    (void)state;
    if (child == 0)
        _exit(0);
    assert_left(leak, "child ");
    waitid(P_PID, (id_t)child, &info, WEXITED);
    leak_assert_none(leak);
}

static void a_file_of_this_process_and_of_an_adopted_one_is_named(void **state)
{
    int stranger = 1 << 30 | getpid(); /* beyond all pids */
    char own[128], other[128];
    struct leak *leak = leak_begin();
    int fd;

    (void)state;
    snprintf(own, sizeof(own), "/dev/shm/rapahub-%u-%d-0", getuid(), (int)getpid());
    snprintf(other, sizeof(other), "/dev/shm/rapahub-%u-%d-%d", getuid(), stranger, (int)getpid());
    fd = open(own, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    close(fd);
    fd = open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    close(fd);
    assert_left(leak, own);
    unlink(own);
    leak_adopt(leak, stranger);
    assert_left(leak, other);
    unlink(other);
    leak_assert_none(leak);
}

/* Not of our family: its parent is gone. False where this user may not choose numbers, or another
 * was faster. */
static bool start_grandchild_as(pid_t wanted, pid_t *out)
{
    int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC), ends[2], status;
    char text[16];
    pid_t parent;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pause_ms(30); /* its time of birth is told in hundredths of a second */
    parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        int size = snprintf(text, sizeof(text), "%d", (int)wanted - 1);
        pid_t pid = last >= 0 && write(last, text, (size_t)size) == size ? fork() : -1;

        if (pid == 0) {
            close(1); /* a test that fails leaves no process waiting for it */
            close(2);
            pause_ms(20000);
            _exit(0);
        }
        _exit(write(ends[1], &pid, sizeof(pid)) != sizeof(pid));
    }
    *out = -1;
    assert_int_equal(read(ends[0], out, sizeof(*out)), sizeof(*out));
    assert_int_equal(waitpid(parent, &status, 0), parent);
    close(ends[0]);
    close(ends[1]);
    if (last >= 0)
        close(last);
    if (*out > 0 && *out != wanted)
        kill(*out, SIGKILL);
    return *out == wanted;
}

/* The number was another's before: "adopted" and dead. The file is of who has the number now. */
static void a_number_that_is_used_again_adopts_nobody(void **state)
{
    struct leak *leak = leak_begin();
    siginfo_t info;
    pid_t child, other;
    char file[128];
    int fd;

    (void)state;
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        pause();
    leak_adopt(leak, child);
    kill(child, SIGKILL);
    waitid(P_PID, (id_t)child, &info, WEXITED);
    if (!start_grandchild_as(child, &other)) {
        print_message("the number cannot be had here\n");
        leak_assert_none(leak);
        return;
    }
    snprintf(file, sizeof(file), "/dev/shm/rapahub-%u-%d-0", getuid(), (int)other);
    fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    close(fd);
    leak_assert_none(leak);
    unlink(file);
    kill(other, SIGKILL);
}

static void *wait_for_byte(void *argument)
{
    const int *fd = argument;
    char byte;

    return read(*fd, &byte, 1) == 1 ? argument : NULL;
}

static void a_thread_is_named(void **state)
{
    int ends[2];
    pthread_t thread;
    struct leak *leak;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    leak = leak_begin();
    assert_int_equal(pthread_create(&thread, NULL, wait_for_byte, &ends[0]), 0);
    assert_left(leak, "thread ");
    assert_int_equal(write(ends[1], "", 1), 1);
    pthread_join(thread, NULL);
    leak_assert_none(leak);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_closed_again_is_no_leak),
        cmocka_unit_test(a_descriptor_left_open_is_named),
        cmocka_unit_test(a_descriptor_that_became_another_is_named),
        cmocka_unit_test(a_mapping_of_a_segment_is_named),
        cmocka_unit_test(a_zombie_is_named),
        cmocka_unit_test(a_file_of_this_process_and_of_an_adopted_one_is_named),
        cmocka_unit_test(a_number_that_is_used_again_adopts_nobody),
        cmocka_unit_test(a_thread_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
