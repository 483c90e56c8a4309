/* SPDX-License-Identifier: Apache-2.0 */
/* The library itself is the shared object that is read; broken ones are made of its bytes. */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/target/elf_methods.h"
#include "host/config/module.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define MUTANTS 300

/* Bytes of the library, read once. */
struct sample {
    uint8_t *data;
    size_t size;
    int fd;
    char path[64];
};

static int set_up(void **state)
{
    struct sample *sample = calloc(1, sizeof *sample);
    int fd = open(TEST_PROGRAM, O_RDONLY | O_CLOEXEC);

    assert_non_null(sample);
    assert_true(fd >= 0);
    sample->size = (size_t)lseek(fd, 0, SEEK_END);
    sample->data = malloc(sample->size);
    assert_int_equal(pread(fd, sample->data, sample->size, 0), (ssize_t)sample->size);
    close(fd);
    sample->fd = memfd_create("mutant", MFD_CLOEXEC);
    snprintf(sample->path, sizeof sample->path, "/proc/self/fd/%d", sample->fd);
    *state = sample;
    return 0;
}

static int tear_down(void **state)
{
    struct sample *sample = *state;

    close(sample->fd);
    free(sample->data);
    free(sample);
    return 0;
}

static int read_mutant(const struct sample *sample, size_t size, struct config_module *out)
{
    assert_int_equal(ftruncate(sample->fd, 0), 0);
    assert_int_equal(pwrite(sample->fd, sample->data, size, 0), (ssize_t)size);
    return config_module_read(sample->path, out);
}

static bool needs(const struct config_module *elf, const char *library)
{
    for (unsigned i = 0; i < elf->facts.need_count; i++) {
        if (strncmp(elf->facts.needs[i].library, library, strlen(library)) == 0)
            return true;
    }
    return false;
}

static void a_library_is_described(void **state)
{
    const struct sample *sample = *state;
    struct config_module *elf = malloc(sizeof *elf);
    char glibc[HUB_ELF_NAME];

    assert_non_null(elf);
    assert_int_equal(config_module_read(TEST_PROGRAM, elf), 0);
    assert_int_equal(elf->size_bytes, sample->size);
    assert_true(needs(elf, "libc.so"));
    assert_true(needs(elf, "libffi.so"));
    hub_elf_facts_glibc(&elf->facts, glibc);
    assert_int_equal(strncmp(glibc, "2.", 2), 0);
    assert_false(elf->facts.text_relocations);
    assert_false(elf->facts.executable_stack);
    assert_false(elf->is_chimod);
    free(elf);
}

static void what_is_no_shared_object_is_refused(void **state)
{
    struct sample *sample = *state;
    struct config_module *elf = malloc(sizeof *elf);

    assert_non_null(elf);
    assert_int_equal(config_module_read("/nowhere.so", elf), RAPAHUB_ENOENT);
    assert_int_equal(config_module_read("/", elf), RAPAHUB_ELOAD);
    assert_int_equal(config_module_read("/dev/zero", elf), RAPAHUB_ELOAD);
    assert_int_equal(read_mutant(sample, 0, elf), RAPAHUB_ELOAD);
    assert_int_equal(read_mutant(sample, 63, elf), RAPAHUB_ELOAD);
    sample->data[18] ^= 0xff; /* e_machine */
    assert_int_equal(read_mutant(sample, sample->size, elf), RAPAHUB_ELOAD);
    sample->data[18] ^= 0xff;
    sample->data[16] = 2; /* e_type: ET_EXEC */
    assert_int_equal(read_mutant(sample, sample->size, elf), RAPAHUB_ELOAD);
    free(elf);
}

static void no_cut_of_a_file_is_read_beyond_its_end(void **state)
{
    const struct sample *sample = *state;
    struct config_module *elf = malloc(sizeof *elf);

    assert_non_null(elf);
    for (size_t size = 64; size < sample->size; size += 1 + sample->size / 100)
        (void)read_mutant(sample, size, elf);
    assert_int_equal(read_mutant(sample, sample->size, elf), 0);
    free(elf);
}

/* Heads and tables decide where is read: they are what is broken. */
static void no_broken_head_leads_out_of_the_file(void **state)
{
    struct sample *sample = *state;
    struct config_module *elf = malloc(sizeof *elf);
    size_t size = sample->size < 65536 ? sample->size : 65536;
    struct hub_random random;

    assert_non_null(elf);
    hub_random_init(&random, 7);
    for (unsigned i = 0; i < MUTANTS; i++) {
        uint8_t *at = sample->data + 20 + hub_random_below(&random, i % 2 ? 600 : size - 20);
        uint8_t before = *at;

        *at = (uint8_t)hub_random_next(&random);
        (void)read_mutant(sample, size, elf);
        *at = before;
    }
    assert_true(elf->facts.need_count <= HUB_ELF_FACTS_NEEDS);
    free(elf);
}

/* ---- its methods ---- */

#define RELOCATIONS 100000
#define METHODS     1000

/* A chimod, its pointers in place, before a table of relocations in which none of them is. */
struct made {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    Elf64_Dyn dynamic[6];
    Elf64_Shdr section;
    Elf64_Sym symbol;
    char strings[64];
    uint64_t chimod[7];
    struct rapahub_type type;
    uint64_t types[2];
    struct rapahub_method methods[METHODS + 1];
    Elf64_Rela relocations[RELOCATIONS];
};

#define AT(member) ((uint64_t)offsetof(struct made, member))

static void *pointer(uint64_t value)
{
    void *made;

    memcpy(&made, &value, sizeof made);
    return made;
}

static void make_methods(struct made *made)
{
    memcpy(made->strings, "\0rapahub_chimod\0take\0u8", 24);
    made->chimod[0] = 1;
    made->chimod[6] = AT(methods);
    made->type = (struct rapahub_type){.kind = RAPAHUB_KIND_U8, .word = pointer(AT(strings) + 21)};
    made->types[0] = AT(type);
    for (unsigned i = 0; i < METHODS; i++)
        made->methods[i] =
            (struct rapahub_method){.name = pointer(AT(strings) + 16), .types = pointer(AT(types))};
    for (unsigned i = 0; i < RELOCATIONS; i++)
        made->relocations[i].r_offset = UINT64_MAX;
}

static struct made *make(const struct sample *sample, uint64_t relocations)
{
    struct made *made = calloc(1, sizeof *made);
    const Elf64_Dyn dynamic[] = {{DT_STRTAB, {AT(strings)}},
                                 {DT_STRSZ, {sizeof made->strings}},
                                 {DT_SYMTAB, {AT(symbol)}},
                                 {DT_RELA, {AT(relocations)}},
                                 {DT_RELASZ, {relocations * sizeof(Elf64_Rela)}}};

    assert_non_null(made);
    memcpy(&made->head, sample->data, sizeof made->head);
    made->head.e_phoff = AT(segments);
    made->head.e_phnum = 2;
    made->head.e_shoff = AT(section);
    made->head.e_shnum = 1;
    made->head.e_shentsize = sizeof made->section;
    made->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof *made};
    made->segments[1] = (Elf64_Phdr){
        .p_type = PT_DYNAMIC, .p_offset = AT(dynamic), .p_filesz = sizeof made->dynamic};
    memcpy(made->dynamic, dynamic, sizeof dynamic);
    made->section = (Elf64_Shdr){
        .sh_type = SHT_DYNSYM, .sh_offset = AT(symbol), .sh_size = sizeof made->symbol};
    made->symbol = (Elf64_Sym){.st_name = 1, .st_shndx = 1, .st_value = AT(chimod)};
    make_methods(made);
    return made;
}

static int read_made(const struct sample *sample, uint64_t relocations, struct cli_texts *out)
{
    struct made *made = make(sample, relocations);

    assert_int_equal(ftruncate(sample->fd, 0), 0);
    assert_int_equal(pwrite(sample->fd, made, sizeof *made, 0), (ssize_t)sizeof *made);
    free(made);
    return cli_elf_methods_read(sample->path, out);
}

static void methods_are_read_from_the_file(void **state)
{
    struct cli_texts methods = {0};

    assert_int_equal(read_made(*state, 10, &methods), 0);
    assert_int_equal(methods.count, METHODS);
    assert_string_equal(methods.texts[METHODS - 1], "take() -> u8");
    cli_texts_fini(&methods);
}

/* For each pointer all relocations would be looked at. */
static void no_file_is_looked_at_for_long(void **state)
{
    struct cli_texts methods = {0};

    assert_int_equal(read_made(*state, RELOCATIONS, &methods), RAPAHUB_ELOAD);
    assert_int_equal(methods.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_library_is_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_shared_object_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_cut_of_a_file_is_read_beyond_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_broken_head_leads_out_of_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(methods_are_read_from_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_file_is_looked_at_for_long, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
