/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest-sdk/load.h"
#include "tests/support/testing.h"

#define MODULE(name) TEST_MODULES "/" name ".so"

static const char *const no_signatures[] = {NULL};

static int load_file(struct guest_module *module, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    static int number = 100; /* the loader takes a path it knows for the library it has */
    int r;

    assert_true(fd >= 0);
    memset(module, 0, sizeof *module);
    number = fcntl(fd, F_DUPFD_CLOEXEC, number + 1);
    r = guest_load_open(module, number, "the.so", no_signatures);
    close(fd);
    close(number);
    return r;
}

static void refuse(const char *path, int code, const char *words)
{
    struct guest_module module;

    assert_int_equal(load_file(&module, path), code);
    if (!strstr(rapahub_last_error()->text, words))
        print_error("%s\n", rapahub_last_error()->text);
    assert_non_null(strstr(rapahub_last_error()->text, words));
    assert_non_null(strstr(rapahub_last_error()->text, "the.so"));
    assert_null(strstr(rapahub_last_error()->text, "/proc/"));
    guest_load_close(&module);
}

static void a_good_module_is_loaded_and_closed_again(void **state)
{
    struct guest_module module;

    (void)state;
    assert_int_equal(load_file(&module, MODULE("adder")), 0);
    assert_string_equal(module.chimod->name, "adder");
    assert_int_equal(module.methods.count, 2);
    assert_non_null(module.ops.init);
    assert_in_range((uintptr_t)module.chimod, module.start, module.end);
    guest_load_close(&module);
}

static void a_chimod_of_the_program_itself_is_checked_alike(void **state)
{
    const struct rapahub_chimod good = {.abi = RAPAHUB_CHIMOD_ABI, .name = "built_in-1"};
    const struct rapahub_chimod bad = {.abi = RAPAHUB_CHIMOD_ABI, .name = "-"};
    struct guest_module module = {.handle = NULL};

    (void)state;
    assert_int_equal(guest_load_own(&module, &good), 0);
    assert_non_null(module.ops.fini);
    guest_load_close(&module);
    assert_int_equal(guest_load_own(&module, &bad), RAPAHUB_EABI);
    guest_load_close(&module);
}

static void names_are_letters_digits_underscores_and_dashes(void **state)
{
    static const struct {
        const char *name;
        bool good;
    } names[] = {{"a", true},   {"_a-9", true}, {"Kv_2", true}, {"", false},         {"9a", false},
                 {"-a", false}, {"a b", false}, {"a.b", false}, {"\xc3\xa4", false}, {NULL, false}};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct rapahub_chimod chimod = {.abi = RAPAHUB_CHIMOD_ABI, .name = names[i].name};
        struct guest_module module = {.handle = NULL};

        assert_int_equal(guest_load_own(&module, &chimod), names[i].good ? 0 : RAPAHUB_EABI);
        guest_load_close(&module);
    }
}

static void a_name_has_63_bytes_at_most(void **state)
{
    char name[66] = "";
    const struct rapahub_chimod chimod = {.abi = RAPAHUB_CHIMOD_ABI, .name = name};
    struct guest_module module = {.handle = NULL};

    (void)state;
    memset(name, 'a', 63);
    assert_int_equal(guest_load_own(&module, &chimod), 0);
    guest_load_close(&module);
    name[63] = 'a';
    assert_int_equal(guest_load_own(&module, &chimod), RAPAHUB_EABI);
    guest_load_close(&module);
}

static void a_library_without_the_symbol_is_told_how_to_use_it(void **state)
{
    (void)state;
    refuse(MODULE("no_symbol"), RAPAHUB_ELOAD, "--plain");
}

static void a_symbol_nobody_has_is_named(void **state)
{
    (void)state;
    refuse(MODULE("unresolved"), RAPAHUB_ELOAD, "function_that_nobody_has");
}

static void another_abi_is_refused(void **state)
{
    (void)state;
    refuse(MODULE("later_abi"), RAPAHUB_EABI, "abi");
}

static void more_callbacks_than_this_release_knows_are_refused(void **state)
{
    (void)state;
    refuse(MODULE("later_ops"), RAPAHUB_EABI, "callbacks");
}

static void a_name_nobody_could_type_is_refused(void **state)
{
    (void)state;
    refuse(MODULE("bad_name"), RAPAHUB_EABI, ".name");
}

static void a_state_above_1_gib_is_refused(void **state)
{
    (void)state;
    refuse(MODULE("large_state"), RAPAHUB_EABI, ".state_size");
}

/* A copy of a good module, cut to `size` bytes, with two bytes of its head changed. */
static void refuse_changed(size_t size, size_t at, uint16_t value, const char *words)
{
    char path[] = "/tmp/rapahub-test-XXXXXX", head[4096];
    int from = open(MODULE("adder"), O_RDONLY | O_CLOEXEC), to = mkostemp(path, O_CLOEXEC);

    assert_true(from >= 0 && to >= 0);
    assert_int_equal(read(from, head, sizeof head), sizeof head);
    memcpy(head + at, &value, sizeof value);
    assert_int_equal(write(to, head, size), size);
    close(from);
    close(to);
    refuse(path, RAPAHUB_ELOAD, words);
    unlink(path);
}

static void what_is_no_elf_file_is_refused(void **state)
{
    (void)state;
    refuse("/dev/null", RAPAHUB_ELOAD, "no ELF file");
    refuse_changed(4096, 0, 0, "no ELF file");
    refuse_changed(20, offsetof(Elf64_Ehdr, e_type), ET_DYN, "truncated");
}

static void another_machine_is_told_from_a_broken_file(void **state)
{
    const uint16_t class_and_data = ELFCLASS32 | ELFDATA2LSB << 8;

    (void)state;
    refuse_changed(4096, offsetof(Elf64_Ehdr, e_machine), EM_RISCV, "another machine");
    refuse_changed(4096, EI_CLASS, class_and_data, "another machine");
}

static void a_program_is_no_module(void **state)
{
    (void)state;
    refuse_changed(4096, offsetof(Elf64_Ehdr, e_type), ET_EXEC, "no shared object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_module_is_loaded_and_closed_again),
        cmocka_unit_test(a_chimod_of_the_program_itself_is_checked_alike),
        cmocka_unit_test(names_are_letters_digits_underscores_and_dashes),
        cmocka_unit_test(a_name_has_63_bytes_at_most),
        cmocka_unit_test(a_library_without_the_symbol_is_told_how_to_use_it),
        cmocka_unit_test(a_symbol_nobody_has_is_named),
        cmocka_unit_test(another_abi_is_refused),
        cmocka_unit_test(more_callbacks_than_this_release_knows_are_refused),
        cmocka_unit_test(a_name_nobody_could_type_is_refused),
        cmocka_unit_test(a_state_above_1_gib_is_refused),
        cmocka_unit_test(what_is_no_elf_file_is_refused),
        cmocka_unit_test(another_machine_is_told_from_a_broken_file),
        cmocka_unit_test(a_program_is_no_module),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
