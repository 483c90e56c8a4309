/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest-sdk/load.h"
#include "hub/wire/postcard.h"
#include "tests/support/testing.h"

static int load_plain(struct guest_module *module, const char *name, const char *const *signatures)
{
    int fd = open(TEST_MODULES "/plain.so", O_RDONLY | O_CLOEXEC);
    static int number = 100; /* the loader takes a path it knows for the library it has */
    int r;

    assert_true(fd >= 0);
    memset(module, 0, sizeof *module);
    number = fcntl(fd, F_DUPFD_CLOEXEC, number + 1);
    r = guest_load_open(module, number, name, signatures);
    close(fd);
    close(number);
    return r;
}

static void refuse(const char *signature, int code, const char *words)
{
    const char *const signatures[] = {"plain_gcd(u64, u64) -> u64", signature, NULL};
    struct guest_module module;

    assert_int_equal(load_plain(&module, "plain.so", signatures), code);
    assert_non_null(strstr(rapahub_last_error()->text, words));
    guest_load_close(&module);
    assert_null(module.plain);
    guest_load_close(&module); /* nothing is left, and nothing is done */
}

static void a_function_is_called_by_the_signature_given(void **state)
{
    static const char *const signatures[] = {"plain_gcd(u64,u64)->u64",
                                             "plain_length(string) -> u64", NULL};
    struct guest_module module;
    struct hub_invoke *invoke;
    struct hub_outcome outcome;
    struct hub_writer writer;
    struct hub_reader reader;
    uint8_t arguments[16];

    (void)state;
    assert_int_equal(load_plain(&module, "dir/plain.so.1", signatures), 0);
    assert_string_equal(module.chimod->name, "plain");
    assert_int_equal(module.methods.count, 2);
    invoke = guest_methods_find(&module.methods, hub_signature_hash("plain_gcd(u64, u64) -> u64"));
    assert_non_null(invoke);
    hub_writer_init(&writer, arguments, sizeof arguments);
    hub_postcard_put_unsigned(&writer, 84);
    hub_postcard_put_unsigned(&writer, 36);
    hub_reader_init(&reader, arguments, writer.size);
    assert_int_equal(
        hub_invoke_call(invoke, &(struct hub_invoke_target){NULL, NULL}, &reader, &outcome), 0);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(*(const uint64_t *)outcome.result, 12);
    guest_load_close(&module);
}

static void a_file_whose_name_is_no_name_is_called_plain(void **state)
{
    static const char *const signatures[] = {"plain_length(string) -> u64", NULL};
    struct guest_module module;

    (void)state;
    assert_int_equal(load_plain(&module, "7zip.so", signatures), 0);
    assert_string_equal(module.chimod->name, "plain");
    guest_load_close(&module);
}

static void a_symbol_that_is_not_there_is_named(void **state)
{
    (void)state;
    refuse("plain_lcm(u64, u64) -> u64", RAPAHUB_ELOAD, "plain.so has no symbol 'plain_lcm'");
}

static void a_text_that_is_no_signature_is_refused(void **state)
{
    (void)state;
    refuse("plain_length(string -> u64", -EINVAL, "column");
}

static void a_function_that_would_return_bytes_is_refused(void **state)
{
    (void)state;
    refuse("plain_length(string) -> bytes", -ENOTSUP, "bytes");
}

static void more_than_1024_signatures_are_refused(void **state)
{
    static const char *signatures[GUEST_METHODS_MAX + 2];
    static char texts[GUEST_METHODS_MAX + 1][64];
    struct guest_module module;

    (void)state;
    for (int i = 0; i <= GUEST_METHODS_MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "plain_length(string, i%d, u%d) -> u64", 8 << (i & 3),
                 8 << (i >> 2 & 3));
        signatures[i] = texts[i];
    }
    assert_int_equal(load_plain(&module, "plain.so", signatures), -EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "1024"));
    guest_load_close(&module);
}

static void the_same_function_twice_is_refused(void **state)
{
    (void)state;
    refuse("plain_gcd(u64, u64) -> u64", RAPAHUB_EABI, "twice");
}

static void a_name_is_cut_where_its_room_ends(void **state)
{
    static const char *const signatures[] = {"plain_length(string) -> u64", NULL};
    struct guest_module module;
    char file[80], name[64];

    (void)state;
    memset(file, 'a', 70);
    memcpy(file + 70, ".so", sizeof ".so");
    memset(name, 'a', 63);
    name[63] = '\0';
    assert_int_equal(load_plain(&module, file, signatures), 0);
    assert_string_equal(module.chimod->name, name);
    guest_load_close(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_called_by_the_signature_given),
        cmocka_unit_test(a_file_whose_name_is_no_name_is_called_plain),
        cmocka_unit_test(a_symbol_that_is_not_there_is_named),
        cmocka_unit_test(a_text_that_is_no_signature_is_refused),
        cmocka_unit_test(a_function_that_would_return_bytes_is_refused),
        cmocka_unit_test(more_than_1024_signatures_are_refused),
        cmocka_unit_test(the_same_function_twice_is_refused),
        cmocka_unit_test(a_name_is_cut_where_its_room_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
