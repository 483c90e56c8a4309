/* SPDX-License-Identifier: Apache-2.0 */
/* `rapahub inspect` and `upgrade --check` of untrusted files: none of their code is run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)
#define TRAP   TEST_MODULES "/trap.so"
#define LOOP   TEST_MODULES "/constructor_loop.so"

static void clear_marks(void)
{
    unlink(TRAP_MARK);
    unlink(TRAP_MARK ".child");
}

static bool has_mark(void *user)
{
    (void)user;
    return access(TRAP_MARK, F_OK) == 0 || access(TRAP_MARK ".child", F_OK) == 0;
}

/* Nor by a process that it left. */
static void assert_not_run(void)
{
    assert_false(process_until(has_mark, NULL, SECOND / 5));
}

static void run(const char *const *argv, struct process_result *out)
{
    const struct process_options options = {.argv = argv, .within_ns = 20 * SECOND};

    assert_int_equal(process_run(&options, out), 0);
    assert_false(out->timed_out);
}

static void inspect(const char *file, const char *first, const char *second,
                    struct process_result *out)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "inspect", file, first, second, NULL};

    run(argv, out);
}

/* r[verify exp.inspect.unloaded] */
static void nothing_of_a_file_is_run(void **state)
{
    struct process_result result;

    (void)state;
    clear_marks();
    inspect(TRAP, NULL, NULL, &result);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "ledger 9.0 "));
    assert_non_null(
        strstr(result.out, "  weigh({inner: {kind: u8, text: string}, weight: f64}) -> f64  "));
    assert_non_null(strstr(result.out, "  read(source, bool) -> bytes "));
    assert_non_null(strstr(result.out, "  nothing() -> void "));
    assert_null(strstr(result.out, "problem"));
    process_result_fini(&result);
    assert_not_run();
    inspect(TRAP, "--load", NULL, &result); /* else nothing was shown */
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
    assert_true(has_mark(NULL));
    clear_marks();
}

/* r[verify exp.inspect.unloaded] */
static void one_that_never_loads_has_a_deadline(void **state)
{
    struct process_result result;

    (void)state;
    inspect(LOOP, NULL, NULL, &result);
    assert_int_equal(result.status, 0);
    assert_null(strstr(result.out, "problem"));
    process_result_fini(&result);
    inspect(LOOP, "--load", NULL, &result);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "problem: constructor_loop was not ready after"));
    process_result_fini(&result);
}

/* The part of the text that the methods are. */
static char *methods_of(const char *json)
{
    const char *start = strstr(json, "\"methods\""),
               *end = start ? strstr(start, "\"needs\"") : NULL;

    assert_non_null(end);
    return strndup(start, (size_t)(end - start));
}

static void the_file_says_what_the_guest_does(void **state)
{
    static const char *const files[] = {PROCESS_CHIMOD("echo"), PROCESS_CHIMOD("kv"),
                                        TEST_MODULES "/calc.so", TRAP};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct process_result read, loaded;
        char *a, *b;

        inspect(files[i], "--json", NULL, &read);
        inspect(files[i], "--json", "--load", &loaded);
        a = methods_of(read.out);
        b = methods_of(loaded.out);
        assert_non_null(strstr(a, "\"id\""));
        assert_string_equal(a, b);
        free(a);
        free(b);
        process_result_fini(&read);
        process_result_fini(&loaded);
    }
    clear_marks();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_a_file_is_run),
        cmocka_unit_test(one_that_never_loads_has_a_deadline),
        cmocka_unit_test(the_file_says_what_the_guest_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
