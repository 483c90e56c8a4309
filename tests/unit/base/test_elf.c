/* SPDX-License-Identifier: Apache-2.0 */
/* The test itself is the shared object that is read, through its descriptor and from memory. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hub/base/elf_facts.h"
#include "tests/support/testing.h"

#define SELF "/proc/self/exe"

/* The header and the program headers of this program, which is linked as ET_DYN. */
struct image {
    uint8_t bytes[8192];
    Elf64_Ehdr head;
};

static struct image self(void)
{
    struct image image;
    int fd = open(SELF, O_RDONLY | O_CLOEXEC);

    assert_int_equal(read(fd, image.bytes, sizeof image.bytes), sizeof image.bytes);
    close(fd);
    memcpy(&image.head, image.bytes, sizeof image.head);
    return image;
}

/* The faults of the first `size` bytes of a file, with this header. */
static unsigned faults_of(struct image image, size_t size)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    struct hub_elf elf;
    unsigned faults;

    memcpy(image.bytes, &image.head, sizeof image.head);
    assert_int_equal(write(fd, image.bytes, size), (ssize_t)size);
    hub_elf_of_fd(fd, &elf);
    faults = hub_elf_faults(&elf);
    close(fd);
    return faults;
}

static void a_whole_file_has_no_fault(void **state)
{
    int fd = open(SELF, O_RDONLY | O_CLOEXEC);
    struct hub_elf elf;

    (void)state;
    hub_elf_of_fd(fd, &elf);
    assert_int_equal(hub_elf_faults(&elf), 0);
    close(fd);
}

static void each_fault_has_its_bit(void **state)
{
    struct image image = self();

    (void)state;
    assert_int_equal(faults_of(image, sizeof image.bytes), HUB_ELF_CUT);
    assert_true(faults_of(image, 0) & HUB_ELF_EMPTY);
    assert_false(faults_of(image, 1) & HUB_ELF_EMPTY);
    assert_true(faults_of(image, 3) & HUB_ELF_NO_MAGIC);
    assert_false(faults_of(image, 4) & HUB_ELF_NO_MAGIC);
    assert_true(faults_of(image, sizeof image.head - 1) & HUB_ELF_SHORT);
    image.head.e_ident[EI_CLASS] = ELFCLASS32;
    image.head.e_ident[EI_DATA] = ELFDATA2MSB;
    assert_int_equal(faults_of(image, sizeof image.bytes) & ~(unsigned)HUB_ELF_CUT,
                     HUB_ELF_CLASS | HUB_ELF_ORDER);
    image = self();
    image.head.e_type = ET_REL;
    image.head.e_machine = EM_S390;
    assert_int_equal(faults_of(image, sizeof image.bytes) & ~(unsigned)HUB_ELF_CUT,
                     HUB_ELF_TYPE | HUB_ELF_MACHINE);
    image = self();
    image.head.e_phentsize = 1;
    assert_int_equal(faults_of(image, sizeof image.bytes), HUB_ELF_MALFORMED);
    image = self();
    image.head.e_phnum = 513;
    assert_int_equal(faults_of(image, sizeof image.bytes), HUB_ELF_MALFORMED);
}

static void what_is_no_file_is_read_as_an_empty_one(void **state)
{
    struct hub_elf elf;

    (void)state;
    hub_elf_of_fd(-1, &elf);
    assert_true(hub_elf_faults(&elf) & HUB_ELF_NO_MAGIC);
    assert_int_equal(elf.head.e_phnum, 0);
}

static void a_descriptor_tells_what_memory_does(void **state)
{
    struct hub_elf_facts *facts = calloc(2, sizeof *facts);
    int fd = open(SELF, O_RDONLY | O_CLOEXEC);
    struct hub_elf by_fd, by_path;

    (void)state;
    assert_non_null(facts);
    assert_int_equal(hub_elf_open(SELF, &by_path), 0);
    hub_elf_of_fd(fd, &by_fd);
    hub_elf_facts_build_id(&by_fd, facts[1].build_id);
    hub_elf_facts_read(&by_path, &facts[0]);
    assert_string_equal(facts[0].build_id, facts[1].build_id);
    assert_true(facts[0].need_count > 0);
    hub_elf_fini(&by_path);
    close(fd);
    free(facts);
}

/* This program, with what a linker writes for code that is relocated. */
static void relocated_code_is_told_by_its_flag_alone(void **state)
{
    struct hub_elf_facts *facts = calloc(1, sizeof *facts);
    struct hub_elf elf;
    Elf64_Phdr segment;

    (void)state;
    assert_non_null(facts);
    assert_int_equal(hub_elf_open(SELF, &elf), 0);
    hub_elf_facts_read(&elf, facts);
    assert_false(facts->text_relocations);
    for (unsigned i = 0; hub_elf_segment(&elf, i, &segment); i++) {
        Elf64_Dyn *entries = (Elf64_Dyn *)(void *)(elf.data + segment.p_offset);
        bool has_flags = false;

        if (segment.p_type != PT_DYNAMIC)
            continue;
        for (Elf64_Dyn *at = entries; at->d_tag != DT_NULL; at++)
            has_flags = has_flags || at->d_tag == DT_FLAGS;
        for (Elf64_Dyn *at = entries; at->d_tag != DT_NULL; at++)
            if (at->d_tag == (has_flags ? DT_FLAGS : DT_DEBUG))
                *at = (Elf64_Dyn){.d_tag = DT_FLAGS, .d_un.d_val = DF_TEXTREL};
    }
    hub_elf_facts_read(&elf, facts);
    assert_true(facts->text_relocations);
    hub_elf_fini(&elf);
    free(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_has_no_fault),
        cmocka_unit_test(each_fault_has_its_bit),
        cmocka_unit_test(what_is_no_file_is_read_as_an_empty_one),
        cmocka_unit_test(a_descriptor_tells_what_memory_does),
        cmocka_unit_test(relocated_code_is_told_by_its_flag_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
