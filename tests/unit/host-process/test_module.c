/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/process/module.h"
#include "tests/support/testing.h"

#define SEALED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

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

/* Writes so many bytes of it to a file, and opens that as a module. */
static int open_image(const struct image *image, size_t size, int *out)
{
    char path[] = "/tmp/rapahub-module-XXXXXX";
    int fd = mkstemp(path), r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, image, size), size);
    close(fd);
    r = host_module_open(path, out);
    if (r < 0)
        assert_non_null(strstr(rapahub_last_error()->text, path));
    unlink(path);
    return r;
}

static void a_module_is_copied_into_sealed_memory(void **state)
{
    struct image image = good(), copy;
    int fd = -1;

    (void)state;
    assert_int_equal(open_image(&image, sizeof image, &fd), 0);
    assert_int_equal(pread(fd, &copy, sizeof copy, 0), sizeof copy);
    assert_memory_equal(&copy, &image, sizeof copy);
    assert_true(pwrite(fd, "x", 1, 0) < 0);
    assert_true(ftruncate(fd, 1) < 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void refuse(const struct image *image, size_t size, const char *words)
{
    int fd;

    assert_int_equal(open_image(image, size, &fd), RAPAHUB_ELOAD);
    assert_non_null(strstr(rapahub_last_error()->text, words));
}

static void what_is_no_module_is_said(void **state)
{
    struct image image = good();

    (void)state;
    refuse(&image, 0, "empty");
    refuse(&image, 20, "truncated");
    refuse(&image, sizeof image - 1, "truncated");
    image.head.e_ident[EI_CLASS] = ELFCLASS32;
    refuse(&image, sizeof image, "32-bit");
    image = good();
    image.head.e_ident[EI_DATA] = ELFDATA2MSB;
    refuse(&image, sizeof image, "big-endian");
    image = good();
    image.head.e_type = ET_REL;
    refuse(&image, sizeof image, "no shared object");
    image = good();
    image.head.e_machine = EM_RISCV;
    refuse(&image, sizeof image, "risc-v");
    image = good();
    image.head.e_machine = EM_S390;
    refuse(&image, sizeof image, "another machine");
    image = good();
    image.head.e_ident[0] = 'x';
    refuse(&image, sizeof image, "no ELF file");
}

/* Numbers of a header are no reason to trust them. */
static void a_malformed_header_is_refused(void **state)
{
    struct image image = good();

    (void)state;
    image.segment.p_offset = UINT64_MAX - 10;
    refuse(&image, sizeof image, "truncated");
    image = good();
    image.head.e_phoff = UINT64_MAX - 10;
    refuse(&image, sizeof image, "truncated");
    image = good();
    image.head.e_phnum = 60000;
    refuse(&image, sizeof image, "malformed");
    image = good();
    image.head.e_phentsize = 1;
    refuse(&image, sizeof image, "malformed");
}

static void what_is_no_file_is_said(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(host_module_open("/nowhere", &fd), RAPAHUB_ENOENT);
    assert_int_equal(host_module_open("/", &fd), RAPAHUB_ELOAD);
    assert_int_equal(host_module_open("/dev/null", &fd), RAPAHUB_ELOAD);
}

/* ---- bytes behind a descriptor ---- */

static int memory_with(const struct image *image, size_t size, int seals)
{
    int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, image, size), size); /* its offset is at the end then */
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static ino_t inode_of(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return status.st_ino;
}

/* Takes it, and checks that the bytes are those of the image and the caller's descriptor is as it
 * was. */
static ino_t taken_inode(int from, bool shared, const struct image *image)
{
    struct image copy;
    off_t at = lseek(from, 0, SEEK_CUR);
    int fd = -1;
    ino_t inode;

    assert_int_equal(host_module_take(from, "it", shared, &fd), 0);
    assert_true(fd >= 0 && fd != from);
    assert_int_equal(pread(fd, &copy, sizeof copy, 0), sizeof copy);
    assert_memory_equal(&copy, image, sizeof copy);
    assert_int_equal(fcntl(fd, F_GET_SEALS) & SEALED, SEALED);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(lseek(from, 0, SEEK_CUR), at);
    inode = inode_of(fd);
    close(fd);
    return inode;
}

/* r[verify hub.module.bytes] */
static void only_sealed_memory_is_used_as_it_is_and_only_for_trusted_guests(void **state)
{
    const struct image image = good();
    int open_memory = memory_with(&image, sizeof image, F_SEAL_SHRINK | F_SEAL_GROW),
        sealed = memory_with(&image, sizeof image, SEALED);

    (void)state;
    assert_true(taken_inode(sealed, true, &image) == inode_of(sealed));
    assert_true(taken_inode(sealed, false, &image) != inode_of(sealed));
    assert_true(taken_inode(open_memory, true, &image) != inode_of(open_memory));
    assert_true(taken_inode(open_memory, false, &image) != inode_of(open_memory));
    close(open_memory);
    close(sealed);
}

static void refuse_descriptor(int fd, int code, const char *words)
{
    int out = -1;

    for (int shared = 0; shared < 2; shared++) {
        assert_int_equal(host_module_take(fd, "it", shared, &out), code);
        assert_non_null(strstr(rapahub_last_error()->text, words));
        assert_int_equal(out, -1);
    }
}

static void what_is_no_module_behind_a_descriptor_is_said(void **state)
{
    struct image image = good();
    int short_one = memory_with(&image, 40, SEALED), foreign, pair[2];

    (void)state;
    image.head.e_machine = EM_RISCV;
    foreign = memory_with(&image, sizeof image, SEALED);
    refuse_descriptor(foreign, RAPAHUB_ELOAD, "risc-v");
    refuse_descriptor(short_one, RAPAHUB_ELOAD, "truncated");
    close(foreign);
    close(short_one);
    refuse_descriptor(short_one, RAPAHUB_EBADF, "cannot be read");
    assert_int_equal(pipe(pair), 0);
    refuse_descriptor(pair[0], RAPAHUB_ELOAD, "no regular file");
    refuse_descriptor(pair[1], RAPAHUB_EBADF, "cannot be read");
    close(pair[0]);
    close(pair[1]);
    pair[0] = open("/tmp", O_RDONLY | O_CLOEXEC);
    refuse_descriptor(pair[0], RAPAHUB_ELOAD, "a folder");
    close(pair[0]);
    pair[0] = open("/etc/passwd", O_PATH | O_CLOEXEC);
    refuse_descriptor(pair[0], RAPAHUB_EBADF, "cannot be read");
    close(pair[0]);
    pair[0] = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    refuse_descriptor(pair[0], RAPAHUB_ELOAD, "no ELF file");
    close(pair[0]);
}

/* It is refused by all of its size, at its first piece. */
static void a_module_beyond_the_limit_of_files_is_refused_before_it_is_copied(void **state)
{
    static uint8_t bytes[200 * 1024];
    const struct image image = good();
    struct rlimit before, small;
    int from, out = -1, r;

    (void)state;
    memcpy(bytes, &image, sizeof image);
    from = memory_with((const struct image *)(const void *)bytes, sizeof bytes, 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 150 * 1024;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    r = host_module_take(from, "it", false, &out);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(r, RAPAHUB_EFBIG);
    assert_int_equal(out, -1);
    assert_non_null(strstr(rapahub_last_error()->text, "204800 bytes are needed"));
    close(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_is_copied_into_sealed_memory),
        cmocka_unit_test(what_is_no_module_is_said),
        cmocka_unit_test(a_malformed_header_is_refused),
        cmocka_unit_test(what_is_no_file_is_said),
        cmocka_unit_test(only_sealed_memory_is_used_as_it_is_and_only_for_trusted_guests),
        cmocka_unit_test(what_is_no_module_behind_a_descriptor_is_said),
        cmocka_unit_test(a_module_beyond_the_limit_of_files_is_refused_before_it_is_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
