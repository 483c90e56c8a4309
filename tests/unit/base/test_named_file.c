/* SPDX-License-Identifier: Apache-2.0 */
/* Files without a name, their names, and files that others made: hub/base/mapping.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/base/mapping.h"
#include "tests/support/testing.h"

#define SIZE 10000

static const char *path(const char *end)
{
    static char text[64];

    snprintf(text, sizeof text, "/dev/shm/test-named-%d%s", getpid(), end);
    return text;
}

static int open_named(struct hub_mapping_order order, size_t least, struct hub_mapping *out)
{
    return hub_mapping_open_named(path(""), &order, least, out);
}

static void a_file_without_a_name_gets_one_in_one_step(void **state)
{
    struct hub_mapping made, again;
    struct stat file;

    (void)state;
    assert_int_equal(hub_mapping_create_unnamed("/dev/shm", 0640, SIZE, &made), 0);
    assert_int_equal(fstat(made.fd, &file), 0);
    assert_int_equal(file.st_nlink, 0);
    assert_int_equal(file.st_mode & 0777, 0640);
    assert_true((uint64_t)file.st_blocks * 512 >= SIZE);
    made.data[SIZE - 1] = 7;
    assert_int_equal(hub_mapping_name(&made, path("")), 0);
    assert_int_equal(hub_mapping_name(&made, path("")), -EEXIST);
    assert_int_equal(open_named((struct hub_mapping_order){0}, SIZE, &again), 0);
    assert_int_equal(again.data[SIZE - 1], 7);
    again.data[0] = 9;
    assert_int_equal(made.data[0], 9);
    assert_int_equal(hub_lock_try(made.fd, HUB_LOCK_HOST, 1), 0);
    assert_int_equal(hub_lock_try(again.fd, HUB_LOCK_HOST, 1), -EAGAIN);
    hub_mapping_fini(&again);
    hub_mapping_fini(&made);
    assert_int_equal(stat(path(""), &file), 0);
    unlink(path(""));
}

static void a_folder_that_is_not_there_is_refused(void **state)
{
    struct hub_mapping made;

    (void)state;
    assert_int_equal(hub_mapping_create_unnamed("/dev/shm/none", 0600, SIZE, &made), -ENOENT);
    assert_int_equal(hub_mapping_create_unnamed("/dev/shm", 0600, (size_t)1 << 50, &made), -ENOSPC);
    assert_int_equal(hub_mapping_create_unnamed("/dev/shm", 0600, SIZE, &made), 0);
    assert_int_equal(hub_mapping_name(&made, "/dev/shm/none/file"), -ENOENT);
    hub_mapping_fini(&made);
}

static void a_file_is_read_through_a_descriptor_that_cannot_write(void **state)
{
    const struct hub_mapping_order order = {.read_only = true, .own_only = true};
    struct hub_mapping made, again;

    (void)state;
    assert_int_equal(hub_mapping_create_unnamed("/dev/shm", 0600, SIZE, &made), 0);
    assert_int_equal(hub_mapping_name(&made, path("")), 0);
    assert_int_equal(open_named(order, SIZE, &again), 0);
    assert_int_equal(fcntl(again.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fcntl(again.fd, F_GETFD), FD_CLOEXEC);
    hub_mapping_fini(&again);
    assert_int_equal(open_named(order, SIZE + 1, &again), RAPAHUB_ETRUNCATED);
    unlink(path(""));
    assert_int_equal(open_named(order, 0, &again), -ENOENT);
    assert_int_equal(symlink("/dev/shm", path("")), 0);
    assert_int_equal(open_named(order, 0, &again), -ELOOP);
    unlink(path(""));
    hub_mapping_fini(&made);
}

static void an_empty_file_is_opened_and_nothing_is_mapped(void **state)
{
    struct hub_mapping again;
    int fd = open(path(""), O_CREAT | O_RDWR | O_CLOEXEC, 0600);

    (void)state;
    assert_int_equal(open_named((struct hub_mapping_order){0}, 1, &again), RAPAHUB_ETRUNCATED);
    assert_int_equal(open_named((struct hub_mapping_order){0}, 0, &again), 0);
    assert_null(again.data);
    assert_true(again.fd >= 0);
    hub_mapping_fini(&again);
    close(fd);
    unlink(path(""));
}

static void files_of_others_and_elsewhere_are_refused(void **state)
{
    struct hub_mapping again;
    const struct hub_mapping_order order = {.read_only = true, .foreign = true, .follow = true};

    (void)state;
    assert_int_equal(hub_mapping_open_named("/proc/self/exe", &order, 0, &again), RAPAHUB_ENOTSUP);
    assert_int_equal(hub_mapping_open_named("/dev/shm", &order, 0, &again), RAPAHUB_EINVAL);
    if (getuid() != 0)
        return;
    close(open(path(""), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    assert_int_equal(chown(path(""), 12345, 12345), 0);
    assert_int_equal(open_named((struct hub_mapping_order){0}, 0, &again), RAPAHUB_EPERM);
    assert_int_equal(open_named((struct hub_mapping_order){.foreign = true}, 0, &again), 0);
    hub_mapping_fini(&again);
    unlink(path(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_without_a_name_gets_one_in_one_step),
        cmocka_unit_test(a_folder_that_is_not_there_is_refused),
        cmocka_unit_test(a_file_is_read_through_a_descriptor_that_cannot_write),
        cmocka_unit_test(an_empty_file_is_opened_and_nothing_is_mapped),
        cmocka_unit_test(files_of_others_and_elsewhere_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
