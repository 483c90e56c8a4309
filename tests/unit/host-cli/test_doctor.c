/* SPDX-License-Identifier: Apache-2.0 */
/* r[verify exp.honest] */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "host/cli/command/cli.h"
#include "host/cli/commands.h"
#include "tests/unit/host-cli/capture.h"

static const struct cli_command *const tables[] = {cli_commands, NULL};
static struct capture capture;

static void look(enum cli_output output)
{
    struct cli cli = {.output = output, .command = cli_command_find(tables, "doctor")};

    cli.arguments.command = cli.command;
    capture_begin(&capture, stdout);
    (void)cli_doctor(&cli);
    capture_end(&capture);
}

static const json_t *find_check(const json_t *document, const char *id)
{
    const json_t *checks = json_object_get(document, "checks");

    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);

        if (strcmp(json_string_value(json_object_get(check, "id")), id) == 0)
            return check;
    }
    return NULL;
}

/* NULL: the system's own. */
static const char *kernel;

int __real_uname(struct utsname *out);
int __wrap_uname(struct utsname *out);
int __wrap_uname(struct utsname *out)
{
    int r = __real_uname(out);

    if (kernel)
        snprintf(out->release, sizeof out->release, "%s", kernel);
    return r;
}

static void a_kernel_is_good_from_5_10_on(void **state)
{
    static const struct {
        const char *release, *result;
    } kernels[] = {{"4.19.0-27", "fail"}, {"5", "fail"},        {"5.9.16", "fail"},
                   {"5.10.0", "ok"},      {"5.15.0-91", "ok"},  {"6.1.0", "ok"},
                   {"6", "ok"},           {"10.0.1-test", "ok"}};

    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        json_t *document;
        const json_t *check;

        kernel = kernels[i].release;
        look(CLI_OUTPUT_JSON);
        kernel = NULL;
        document = json_loads(capture.text, 0, NULL);
        check = find_check(document, "kernel");
        assert_non_null(check);
        assert_string_equal(json_string_value(json_object_get(check, "result")), kernels[i].result);
        json_decref(document);
    }
}

static void what_is_not_enforced_is_said(void **state)
{
    json_t *document;
    const json_t *levels;

    (void)state;
    look(CLI_OUTPUT_TABLE);
    assert_non_null(strstr(capture.text, "levels     warn"));
    assert_non_null(strstr(capture.text, "no jail"));
    look(CLI_OUTPUT_JSON);
    document = json_loads(capture.text, 0, NULL);
    assert_non_null(document);
    levels = find_check(document, "levels");
    assert_non_null(levels);
    assert_string_equal(json_string_value(json_object_get(levels, "result")), "warn");
    json_decref(document);
}

static void what_is_not_ok_has_a_remedy(void **state)
{
    json_t *document;
    const json_t *checks;

    (void)state;
    look(CLI_OUTPUT_JSON);
    document = json_loads(capture.text, 0, NULL);
    checks = json_object_get(document, "checks");
    assert_int_equal(json_array_size(checks), 7);
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        const char *remedy = json_string_value(json_object_get(check, "remedy"));

        if (strcmp(json_string_value(json_object_get(check, "result")), "ok") != 0)
            assert_true(remedy[0]);
    }
    json_decref(document);
}

/* 0: the system's own. */
static uint64_t room;

int __real_statvfs(const char *path, struct statvfs *out);
int __wrap_statvfs(const char *path, struct statvfs *out);
int __wrap_statvfs(const char *path, struct statvfs *out)
{
    int r = __real_statvfs(path, out);

    if (room == 0)
        return r;
    out->f_frsize = 4096;
    out->f_bavail = room / 4096;
    return r;
}

static void less_than_64_mib_of_shared_memory_is_little(void **state)
{
    static const struct {
        uint64_t room;
        const char *result;
    } cases[] = {{4096, "warn"},
                 {(UINT64_C(64) << 20) - 4096, "warn"},
                 {UINT64_C(64) << 20, "ok"},
                 {UINT64_C(1) << 40, "ok"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *document;
        const json_t *check;

        room = cases[i].room;
        look(CLI_OUTPUT_JSON);
        room = 0;
        document = json_loads(capture.text, 0, NULL);
        check = find_check(document, "shm");
        assert_non_null(check);
        assert_string_equal(json_string_value(json_object_get(check, "result")), cases[i].result);
        json_decref(document);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_good_from_5_10_on),
        cmocka_unit_test(what_is_not_enforced_is_said),
        cmocka_unit_test(what_is_not_ok_has_a_remedy),
        cmocka_unit_test(less_than_64_mib_of_shared_memory_is_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
