/* SPDX-License-Identifier: Apache-2.0 */
/* command: what rapahubd says without starting anything. */
#include "tests/cluster/rapahubd.h"

static struct rapahubd d;

static int begin(void **state)
{
    (void)state;
    rapahubd_make(&d);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rapahubd_remove(&d);
    return 0;
}

/* Runs it with up to three words; `config` is $RAPAHUB_CONFIG. */
static void run(const char *const *words, const char *config, struct process_result *out)
{
    const char *argv[6] = {RAPAHUBD};
    char variable[200];
    const char *const variables[] = {variable, NULL};
    const struct process_options how = {.argv = argv, .variables = variables};

    for (unsigned i = 0; words[i]; i++)
        argv[1 + i] = words[i];
    snprintf(variable, sizeof variable, "RAPAHUB_CONFIG=%s", config);
    assert_int_equal(process_run(&how, out), 0);
}
#define RUN(config, out, ...) run((const char *const[]){__VA_ARGS__, NULL}, config, out)

/* Its status, and what it says on standard output and standard error. */
static void expect(struct process_result *result, int status, const char *out, const char *err)
{
    if (result->status != status || !strstr(result->out, out) || !strstr(result->err, err))
        fail_msg("status %d, not %d; or not '%s' and '%s' in:\n%s%s", result->status, status, out,
                 err, result->out, result->err);
    process_result_fini(result);
}

static const char *write_config(const char *text)
{
    static char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/rapahub.yaml", d.root);
    file = fopen(path, "we");
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void it_says_how_it_is_used(void **state)
{
    struct process_result result;

    (void)state;
    RUN("", &result, "--help");
    expect(&result, 0, "usage: rapahubd [OPTION...]", "");
    RUN("", &result, "-h");
    expect(&result, 0, "--warden-backoff-initial DUR\n", "");
    RUN("", &result, "--version");
    expect(&result, 0, "rapahubd 0.", "");
}

/* r[verify cluster.daemon.settings] */
static void wrong_settings_are_told_with_the_next_step(void **state)
{
    struct process_result result;

    (void)state;
    RUN("", &result, "--dta=/x");
    expect(&result, 2, "", "error: unknown option '--dta', did you mean '--data'?\n");
    RUN("", &result, "--dta=/x");
    expect(&result, 2, "", "code RAPAHUB_ECONFIG\nhint: rapahubd --help\n");
    RUN(write_config("log:\n  lewel: info\n"), &result, "--check");
    expect(&result, 2, "",
           "rapahub.yaml:2:3: unknown key 'lewel', did you mean 'level'?\n"
           "      lewel: info\n      ^\n");
    RUN(write_config("dta: /x\n"), &result, "--check");
    expect(&result, 2, "", "hint: man rapahub.yaml\n");
    RUN("/nowhere/x.yaml", &result, "--check");
    expect(&result, 3, "", "cannot read '/nowhere/x.yaml'");
    RUN(write_config(""), &result, "--warden-backoff-initial=6s", "--check");
    expect(&result, 2, "", "warden.backoff.initial (6.00 s) is longer than warden.backoff.max");
    RUN("", &result, "--as-daemon=7:8:9:0", "--data=/nowhere");
    expect(&result, 2, "", "only the warden starts the daemon");
}

/* r[verify cluster.daemon.settings] */
static void a_check_prints_all_that_is_set_and_makes_nothing(void **state)
{
    const char *config = write_config("data: /nowhere/data\nrun: /nowhere/run\nname: first\n");
    struct process_result result;

    (void)state;
    RUN(config, &result, "--check", "--name=second");
    expect(&result, 0, "data: /nowhere/data\nrun: /nowhere/run\nname: second\n", "");
    RUN("/nowhere/x.yaml", &result, "--check", "--config", config);
    expect(&result, 0, "name: first\n", "");
    RUN(write_config(""), &result, "--check");
    expect(&result, 0, "/rapahub\n", "");
}

/* Each before anything is started. */
static void folders_that_cannot_be_used_are_refused(void **state)
{
    char data[256];
    struct process_result result;

    (void)state;
    snprintf(data, sizeof data, "--data=%s/none/data", d.root);
    RUN(write_config(""), &result, data, "--run=/tmp/rapahub-test-run-folder");
    (void)rmdir("/tmp/rapahub-test-run-folder");
    expect(&result, 3, "", "the folder above is not there; make it, or name another with --data");
    snprintf(data, sizeof data, "--data=%s", d.root); /* it has other files */
    RUN(write_config(""), &result, data, "--run=/tmp/rapahub-test-run-folder");
    (void)rmdir("/tmp/rapahub-test-run-folder");
    expect(&result, 2, "", "is not empty, and is no folder of rapahubd");
    snprintf(data, sizeof data, "--run=%s/%0100d", d.root, 0);
    RUN(write_config(""), &result, data);
    expect(&result, 2, "", "the path of a socket at most 107; name a shorter folder with --run");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(it_says_how_it_is_used),
                                       TEST(wrong_settings_are_told_with_the_next_step),
                                       TEST(a_check_prints_all_that_is_set_and_makes_nothing),
                                       TEST(folders_that_cannot_be_used_are_refused)};

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
