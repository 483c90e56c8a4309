/* SPDX-License-Identifier: Apache-2.0 */
/* `rapahub run --control-group` as root starts it, and what other users get from it. It needs root,
 * a /run of its own, and setpriv. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define CALC    TEST_MODULES "/calc.so"
#define SECOND  UINT64_C(1000000000)
#define GROUP   "200000031"
#define ANOTHER "200000032"

static bool possible;

/* Until this process ends /run is empty, for it and for those it starts. */
static bool have_own_run(void)
{
    return geteuid() == 0 && access(PROCESS_RAPAHUB, X_OK) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/run", "tmpfs", 0, "mode=755") == 0;
}

struct said {
    int status;
    char out[4096], err[4096];
};

/* A command of a user of this group, who has no other; `words` end with NULL. */
static void type(const char *group, const char *const *words, struct said *out)
{
    const char *argv[16] = {"setpriv",   "--reuid",  "200000041", "--regid",
                            "200000041", "--groups", group,       PROCESS_RAPAHUB};
    const char *const variables[] = {"XDG_RUNTIME_DIR=", NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .folder = "/", .within_ns = 60 * SECOND};
    struct process_result result;

    for (unsigned i = 8; i < 15 && *words; i++)
        argv[i] = *words++;
    assert_int_equal(process_run(&options, &result), 0);
    out->status = result.status;
    snprintf(out->out, sizeof out->out, "%s", result.out);
    snprintf(out->err, sizeof out->err, "%s", result.err);
    process_result_fini(&result);
}

#define TYPE(group, said, ...) type(group, (const char *const[]){__VA_ARGS__, NULL}, said)

static void start(const char *group, struct process *host)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "run", "--control-group", group, CALC, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 120 * SECOND};

    assert_int_equal(process_start(&options, host), 0);
    assert_true(process_until_text(host, "calc: ready", true, 30 * SECOND));
}

static void stop(struct process *host)
{
    struct process_result result;

    assert_int_equal(kill(host->pid, SIGTERM), 0);
    assert_int_equal(process_finish(host, &result), 0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
    assert_int_equal(access("/run/rapahub/calc.sock", F_OK), -1);
}

static void need_root(void)
{
    struct said said;

    if (!possible)
        skip();
    TYPE(GROUP, &said, "version");
    if (said.status != 0)
        skip(); /* no setpriv, or the program is in a folder that is not for others */
}

/* r[verify sec.control.role] */
static void viewers_look_and_strangers_are_told_that_it_is_not_theirs(void **state)
{
    struct process host;
    struct stat status;
    struct said said;

    (void)state;
    need_root();
    start(GROUP, &host);
    assert_int_equal(stat("/run/rapahub/calc.sock", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    TYPE(GROUP, &said, "ps", "-o", "name");
    assert_int_equal(said.status, 0);
    assert_string_equal(said.out, "calc\n");
    TYPE(GROUP, &said, "call", "calc.add", "40", "2");
    assert_int_not_equal(said.status, 0);
    assert_non_null(strstr(said.err, "that takes an operator; you are a viewer of this host"));
    assert_non_null(strstr(said.err, "RAPAHUB_EACCES"));
    TYPE(GROUP, &said, "stop", "calc");
    assert_non_null(strstr(said.err, "you are a viewer"));
    TYPE(ANOTHER, &said, "ps", "-o", "name");
    assert_int_equal(said.status, 0);
    assert_string_equal(said.out, "");
    assert_non_null(strstr(said.err, "for its user, for root, and for its group"));
    TYPE(ANOTHER, &said, "call", "calc.add", "40", "2");
    assert_int_equal(said.status, 4);
    stop(&host);
}

/* r[verify sec.control.role] */
static void operators_call_but_do_not_stop_the_host(void **state)
{
    struct process host;
    struct said said;

    (void)state;
    need_root();
    start(GROUP ":operator", &host);
    TYPE(GROUP, &said, "call", "calc.add", "40", "2");
    assert_int_equal(said.status, 0);
    assert_string_equal(said.out, "42\n");
    TYPE(GROUP, &said, "upgrade", "calc", CALC);
    assert_non_null(strstr(said.err, "that takes an admin; you are an operator of this host"));
    TYPE(GROUP, &said, "stop", "calc/");
    assert_non_null(strstr(said.err, "that takes an admin; you are an operator of this host"));
    TYPE(GROUP, &said, "restart", "calc");
    assert_int_equal(said.status, 0);
    stop(&host);
}

/* The hint says what root has to do. r[verify sec.control.host] */
static void who_does_not_own_the_folder_opens_no_host_in_it(void **state)
{
    struct said said;

    (void)state;
    need_root();
    if (mkdir("/run/rapahub", 0755) < 0)
        assert_int_equal(errno, EEXIST);
    TYPE(GROUP, &said, "run", "--control-group", GROUP, CALC);
    assert_int_not_equal(said.status, 0);
    assert_non_null(strstr(said.err, "'/run/rapahub' belongs to user 0"));
    assert_non_null(strstr(said.err, "install -d -m 755 -o 200000041 /run/rapahub"));
    assert_int_equal(chmod("/run/rapahub", 0777), 0);
    TYPE(GROUP, &said, "run", "--control-group", GROUP, CALC);
    assert_non_null(strstr(said.err, "'/run/rapahub' is open to others"));
    assert_int_equal(chmod("/run/rapahub", 0755) | chown("/run/rapahub", 200000041, 0), 0);
    TYPE(GROUP, &said, "run", "--control-group", ANOTHER, CALC);
    assert_non_null(strstr(said.err, "in which you are not"));
    assert_non_null(strstr(said.err, "a group that `id` shows"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(viewers_look_and_strangers_are_told_that_it_is_not_theirs),
        cmocka_unit_test(operators_call_but_do_not_stop_the_host),
        cmocka_unit_test(who_does_not_own_the_folder_opens_no_host_in_it),
    };

    possible = process_possible() && have_own_run();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
