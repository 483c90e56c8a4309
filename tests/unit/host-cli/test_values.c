/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/target/values.h"
#include "tests/support/testing.h"

static struct hub_signature *signature_of(const char *text)
{
    struct hub_signature *signature = NULL;

    assert_int_equal(hub_signature_parse(text, &signature), 0);
    return signature;
}

static void texts_become_values_and_a_tuple(void **state)
{
    struct hub_signature *signature = signature_of("f(i64, string, bytes, bool) -> void");
    char *texts[] = {(char[]){"-1"}, (char[]){"hi"}, (char[]){"hex:00ff"}, (char[]){"true"}};
    struct cli_values values;

    (void)state;
    assert_int_equal(cli_values_parse(signature, 4, texts, &values), 0);
    assert_int_equal(*(const int64_t *)values.values[0], -1);
    assert_int_equal(((const struct rapahub_string *)values.values[1])->size, 2);
    assert_int_equal(((const struct rapahub_bytes *)values.values[2])->size, 2);
    assert_int_equal(values.payload.size, 8);
    assert_memory_equal(values.payload.data, "\x01\x02hi\x02\x00\xff\x01", 8);
    cli_values_fini(&values);
    hub_signature_release(&signature);
}

static void the_number_of_arguments_must_be_the_signatures(void **state)
{
    struct hub_signature *signature = signature_of("add(i64, i64) -> i64");
    char *texts[] = {(char[]){"1"}, (char[]){"2"}, (char[]){"3"}};
    struct cli_values values;

    (void)state;
    assert_int_equal(cli_values_parse(signature, 3, texts, &values), RAPAHUB_EARGUMENTS);
    assert_string_equal(rapahub_last_error()->text, "add takes 2 arguments, 3 given");
    cli_values_fini(&values);
    assert_int_equal(cli_values_parse(signature, 0, texts, &values), RAPAHUB_EARGUMENTS);
    cli_values_fini(&values);
    hub_signature_release(&signature);
}

static void the_argument_that_does_not_fit_is_named(void **state)
{
    struct hub_signature *signature = signature_of("f(u8, u8) -> void");
    char *texts[] = {(char[]){"1"}, (char[]){"256"}};
    struct cli_values values;

    (void)state;
    assert_int_equal(cli_values_parse(signature, 2, texts, &values), RAPAHUB_EARGUMENTS);
    assert_int_equal(strncmp(rapahub_last_error()->text, "argument 2 of f: ", 17), 0);
    cli_values_fini(&values);
    hub_signature_release(&signature);
}

static void a_file_stands_in_for_bytes_and_strings(void **state)
{
    struct hub_signature *signature = signature_of("f(bytes, string) -> void");
    char path[64];
    char *texts[] = {path, (char[]){"@@home"}};
    struct cli_values values;
    int fd = memfd_create("content", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(write(fd, "a\0b", 3), 3);
    snprintf(path, sizeof path, "@/proc/self/fd/%d", fd);
    assert_int_equal(cli_values_parse(signature, 2, texts, &values), 0);
    assert_int_equal(((const struct rapahub_bytes *)values.values[0])->size, 3);
    assert_memory_equal(((const struct rapahub_bytes *)values.values[0])->data, "a\0b", 3);
    assert_memory_equal(((const struct rapahub_string *)values.values[1])->data, "@home", 5);
    cli_values_fini(&values);
    close(fd);
    texts[0] = (char[]){"@/nowhere"};
    assert_int_equal(cli_values_parse(signature, 2, texts, &values), RAPAHUB_ENOENT);
    cli_values_fini(&values);
    hub_signature_release(&signature);
}

static void a_string_that_is_no_utf8_is_refused(void **state)
{
    struct hub_signature *signature = signature_of("f(string) -> void");
    char *texts[] = {(char[]){"\xff"}};
    struct cli_values values;

    (void)state;
    assert_int_equal(cli_values_parse(signature, 1, texts, &values), RAPAHUB_EARGUMENTS);
    cli_values_fini(&values);
    hub_signature_release(&signature);
}

static void raw_bytes_must_be_the_whole_tuple(void **state)
{
    struct hub_signature *signature = signature_of("add(i64, i64) -> i64");
    struct cli_values values;

    (void)state;
    assert_int_equal(cli_values_parse_raw(signature, "hex:5004", &values), 0);
    assert_int_equal(*(const int64_t *)values.values[0], 40);
    assert_int_equal(*(const int64_t *)values.values[1], 2);
    cli_values_fini(&values);
    assert_int_equal(cli_values_parse_raw(signature, "hex:50", &values), RAPAHUB_EARGUMENTS);
    cli_values_fini(&values);
    assert_int_equal(cli_values_parse_raw(signature, "hex:500404", &values), RAPAHUB_EARGUMENTS);
    cli_values_fini(&values);
    hub_signature_release(&signature);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_values_and_a_tuple),
        cmocka_unit_test(the_number_of_arguments_must_be_the_signatures),
        cmocka_unit_test(the_argument_that_does_not_fit_is_named),
        cmocka_unit_test(a_file_stands_in_for_bytes_and_strings),
        cmocka_unit_test(a_string_that_is_no_utf8_is_refused),
        cmocka_unit_test(raw_bytes_must_be_the_whole_tuple),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
