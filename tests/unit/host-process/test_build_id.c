/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/process/build_id.h"
#include "tests/support/testing.h"

/* A file with one segment of notes: one that is passed over, and the id. */
struct file {
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    Elf64_Nhdr other;
    char other_name[8], other_data[4];
    Elf64_Nhdr note;
    char name[4];
    uint8_t id[20];
};

static struct file whole(void)
{
    struct file file = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                 .e_phoff = offsetof(struct file, segment),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 1},
        .segment = {.p_type = PT_NOTE, .p_offset = offsetof(struct file, other)},
        .other = {.n_namesz = 5, .n_descsz = 3, .n_type = NT_GNU_BUILD_ID},
        .note = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID},
        .name = "GNU",
        .id = {0x01, 0xab},
    };

    file.segment.p_filesz = sizeof file - offsetof(struct file, other);
    return file;
}

static void read_id(const void *data, size_t size, char *to)
{
    int fd = memfd_create("file", MFD_CLOEXEC);

    assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(to, HOST_BUILD_ID_SIZE, "%s", host_build_id_of(&(struct host_build_id){0}, fd));
    close(fd);
}

static void the_id_is_read(void **state)
{
    const struct file file = whole();
    char id[HOST_BUILD_ID_SIZE];

    (void)state;
    read_id(&file, sizeof file, id);
    assert_string_equal(id, "01ab000000000000000000000000000000000000");
}

/* The file does not change, so it is read once: also where there is nothing to be found. */
static void what_was_asked_for_is_known(void **state)
{
    const struct file file = whole();
    struct host_build_id id = {0}, none = {0};
    int fd = memfd_create("file", MFD_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_string_equal(host_build_id_of(&none, fd), "");
    assert_true(write(fd, &file, sizeof file) == (ssize_t)sizeof file);
    assert_string_equal(host_build_id_of(&id, fd), "01ab000000000000000000000000000000000000");
    assert_string_equal(host_build_id_of(&id, -1), "01ab000000000000000000000000000000000000");
    assert_string_equal(host_build_id_of(&none, fd), "");
    close(fd);
}

static void what_is_no_such_file_has_none(void **state)
{
    char id[HOST_BUILD_ID_SIZE];

    (void)state;
    read_id("", 0, id);
    assert_string_equal(id, "");
    read_id("#!/bin/sh\n", 10, id);
    assert_string_equal(id, "");
    assert_string_equal(host_build_id_of(&(struct host_build_id){0}, -1), "");
}

/* Each byte of it changed, and each length: nothing outside of the file is looked at. */
static void a_damaged_file_does_no_harm(void **state)
{
    static const uint8_t values[] = {0, 1, 5, 0x7f, 0x80, 0xff};
    char id[HOST_BUILD_ID_SIZE];

    (void)state;
    for (size_t size = 0; size < offsetof(struct file, id) + 20; size++) {
        const struct file file = whole();

        read_id(&file, size, id);
        assert_string_equal(id, "");
    }
    for (size_t at = 0; at < sizeof(struct file); at++)
        for (size_t i = 0; i < sizeof values; i++) {
            struct file file = whole();

            memcpy((uint8_t *)&file + at, &values[i], 1);
            read_id(&file, sizeof file, id);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_read),
        cmocka_unit_test(what_was_asked_for_is_known),
        cmocka_unit_test(what_is_no_such_file_has_none),
        cmocka_unit_test(a_damaged_file_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
