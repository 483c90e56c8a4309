/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/process/modules.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define TICK   (50 * HUB_MILLISECOND) /* no file system in use here has a longer one */
#define WITHIN (10 * HUB_SECOND)

/* A shared object without anything in it, for the machine the test runs on. */
struct image {
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    char rest[100];
};

static struct image good(void)
{
    struct image image;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    memset(&image, 0, sizeof image);
    assert_int_equal(read(fd, &image.head, sizeof image.head), sizeof image.head);
    close(fd);
    image.head.e_type = ET_DYN;
    image.head.e_phoff = offsetof(struct image, segment);
    image.head.e_phentsize = sizeof image.segment;
    image.head.e_phnum = 1;
    image.segment.p_type = PT_LOAD;
    image.segment.p_filesz = sizeof image;
    return image;
}

struct folder {
    char path[32], files[HOST_MODULES_KEPT + 1][48];
};

/* So many files, each with a letter of its own at its end. */
static void make(struct folder *folder, int count)
{
    struct image image = good();

    *folder = (struct folder){.path = "/tmp/rapahub-modules-XXXXXX"};
    assert_non_null(mkdtemp(folder->path));
    for (int i = 0; i < count; i++) {
        int fd;

        snprintf(folder->files[i], sizeof folder->files[i], "%s/%d.so", folder->path, i);
        image.rest[99] = (char)('a' + i);
        fd = open(folder->files[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, &image, sizeof image), sizeof image);
        close(fd);
    }
}

static void clear(struct folder *folder, int count)
{
    for (int i = 0; i < count; i++)
        unlink(folder->files[i]);
    rmdir(folder->path);
}

/* Returns the inode of a copy; checks its last letter and that it is sealed. */
static ino_t copy_of(struct host_modules *modules, const char *path, char letter)
{
    struct image image;
    struct stat status;
    int fd = -1;

    assert_int_equal(host_modules_open(modules, path, &fd), 0);
    assert_int_equal(pread(fd, &image, sizeof image, 0), sizeof image);
    assert_int_equal(image.rest[99], letter);
    assert_true(pwrite(fd, "x", 1, 0) < 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fstat(fd, &status), 0);
    close(fd);
    return status.st_ino;
}

static void change(const char *path, char letter)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, &letter, 1, offsetof(struct image, rest) + 99), 1);
    close(fd);
}

/* The same, as soon as its last change is old enough. */
static ino_t kept_copy_of(struct host_modules *modules, const char *path, char letter)
{
    uint64_t deadline = hub_clock_after(WITHIN);
    ino_t first, second;

    do {
        first = copy_of(modules, path, letter);
        second = copy_of(modules, path, letter);
        assert_true(hub_clock_left(deadline) > 0);
    } while (first != second);
    return first;
}

static void a_file_is_copied_once(void **state)
{
    struct host_modules modules;
    struct folder folder;
    ino_t first;

    (void)state;
    host_modules_init(&modules);
    modules.settled_ns = TICK;
    make(&folder, 1);
    first = kept_copy_of(&modules, folder.files[0], 'a');
    assert_int_equal(copy_of(&modules, folder.files[0], 'a'), first);
    host_modules_fini(&modules);
    clear(&folder, 1);
}

static void a_file_that_was_changed_is_copied_anew(void **state)
{
    struct host_modules modules;
    struct folder folder;
    ino_t first;

    (void)state;
    host_modules_init(&modules);
    modules.settled_ns = TICK;
    make(&folder, 2);
    first = kept_copy_of(&modules, folder.files[0], 'a');
    change(folder.files[0], 'A');
    assert_int_not_equal(copy_of(&modules, folder.files[0], 'A'), first);
    /* A file in the place of another has the same name, size and perhaps time. */
    assert_int_equal(rename(folder.files[1], folder.files[0]), 0);
    assert_int_not_equal(copy_of(&modules, folder.files[0], 'b'), first);
    host_modules_fini(&modules);
    clear(&folder, 1);
}

/* Two changes within a tick of the file system's clock cannot be told apart. */
static void a_file_that_has_just_changed_is_not_kept(void **state)
{
    struct host_modules modules;
    struct folder folder;

    (void)state;
    host_modules_init(&modules);
    make(&folder, 1);
    for (int i = 0; i < 200; i++) {
        char letter = (char)('a' + i % 26);

        change(folder.files[0], letter);
        (void)copy_of(&modules, folder.files[0], letter);
    }
    for (int i = 0; i < HOST_MODULES_KEPT; i++)
        assert_int_equal(modules.kept[i].copy, -1);
    host_modules_fini(&modules);
    clear(&folder, 1);
}

static void the_file_not_used_for_longest_is_forgotten(void **state)
{
    const int count = HOST_MODULES_KEPT + 1;
    ino_t copies[HOST_MODULES_KEPT + 1];
    struct host_modules modules;
    struct folder folder;

    (void)state;
    host_modules_init(&modules);
    modules.settled_ns = TICK;
    make(&folder, count);
    for (int i = 0; i < HOST_MODULES_KEPT; i++)
        copies[i] = kept_copy_of(&modules, folder.files[i], (char)('a' + i));
    assert_int_equal(copy_of(&modules, folder.files[0], 'a'), copies[0]);
    (void)kept_copy_of(&modules, folder.files[count - 1], (char)('a' + count - 1));
    assert_int_equal(copy_of(&modules, folder.files[0], 'a'), copies[0]);
    assert_int_not_equal(copy_of(&modules, folder.files[1], 'b'), copies[1]);
    host_modules_fini(&modules);
    clear(&folder, count);
}

static void what_is_no_module_is_refused(void **state)
{
    struct host_modules modules;
    int fd = -1;

    (void)state;
    host_modules_init(&modules);
    assert_int_equal(host_modules_open(&modules, "/nowhere", &fd), RAPAHUB_ENOENT);
    assert_int_equal(host_modules_open(&modules, "/etc/passwd", &fd), RAPAHUB_ELOAD);
    assert_int_equal(fd, -1);
    host_modules_fini(&modules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_copied_once),
        cmocka_unit_test(a_file_that_was_changed_is_copied_anew),
        cmocka_unit_test(a_file_that_has_just_changed_is_not_kept),
        cmocka_unit_test(the_file_not_used_for_longest_is_forgotten),
        cmocka_unit_test(what_is_no_module_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
