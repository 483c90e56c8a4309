/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/process/module.h"
#include "tests/support/testing.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_is_copied_into_sealed_memory),
        cmocka_unit_test(what_is_no_module_is_said),
        cmocka_unit_test(a_malformed_header_is_refused),
        cmocka_unit_test(what_is_no_file_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
