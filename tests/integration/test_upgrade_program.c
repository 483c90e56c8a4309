/* SPDX-License-Identifier: Apache-2.0 */
/* `rapahub upgrade` as a person uses it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)

struct scene {
    char folder[64], variable[96];
    struct process host;
    struct process_result said; /* by the last command */
};

static void open_scene(struct scene *scene)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "run", TEST_MODULES "/ledger.so",
                                TEST_MODULES "/calc.so", NULL};
    const char *const variables[] = {scene->variable, NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .within_ns = 60 * SECOND};

    memset(scene, 0, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/rapahub-scene-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->variable, sizeof scene->variable, "XDG_RUNTIME_DIR=%s", scene->folder);
    assert_int_equal(process_start(&options, &scene->host), 0);
    assert_true(process_until_text(&scene->host, "calc: ready", true, 10 * SECOND));
}

/* Earlier output is forgotten. */
static int say(struct scene *scene, const char *const *argv)
{
    const char *const variables[] = {scene->variable, NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .within_ns = 30 * SECOND};

    process_result_fini(&scene->said);
    assert_int_equal(process_run(&options, &scene->said), 0);
    return scene->said.status;
}

static void answers(struct scene *scene, const char *method, const char *answer)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "call", method, "5", NULL};

    assert_int_equal(say(scene, argv), 0);
    assert_string_equal(scene->said.out, answer);
}

static int upgrade(struct scene *scene, const char *file, const char *option)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "upgrade", "ledger", file, option, NULL};

    return say(scene, argv);
}

static int check_loaded(struct scene *scene, const char *file)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "upgrade", "--check", "--load",
                                "ledger",        file,      NULL};

    return say(scene, argv);
}

static void close_scene(struct scene *scene)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "stop", "ledger/", NULL};
    struct process_result result;
    char folder[96];

    assert_int_equal(say(scene, argv), 0);
    process_result_fini(&scene->said);
    assert_int_equal(process_finish(&scene->host, &result), 0);
    process_result_fini(&result);
    snprintf(folder, sizeof folder, "%s/rapahub", scene->folder);
    rmdir(folder);
    rmdir(scene->folder);
}

static void a_person_upgrades_a_guest_that_serves(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene);
    answers(&scene, "ledger.enter", "1\n");
    assert_int_equal(upgrade(&scene, TEST_MODULES "/ledger2.so", "--check"), 0);
    assert_non_null(strstr(scene.said.err, "2.0 could take over from 1.0, by what its file says"));
    assert_int_equal(check_loaded(&scene, TEST_MODULES "/ledger2.so"), 0);
    assert_non_null(strstr(scene.said.err, "2.0 could take over from 1.0; ready in "));
    answers(&scene, "ledger.enter", "1\n");
    assert_int_equal(upgrade(&scene, TEST_MODULES "/ledger_load_fails.so", NULL), 12);
    assert_non_null(strstr(scene.said.err, "asked not to load"));
    answers(&scene, "ledger.enter", "1\n");
    assert_int_equal(upgrade(&scene, TEST_MODULES "/ledger2.so", NULL), 0);
    assert_non_null(strstr(scene.said.err, "2.0 took over from 1.0"));
    assert_non_null(strstr(scene.said.err, "0 calls held for "));
    assert_true(process_until_text(&scene.host, "ledger: upgraded to 2.0  pid ", true, SECOND));
    answers(&scene, "ledger.enter", "2\n");
    answers(&scene, "ledger.count", "4\n");
    assert_int_equal(upgrade(&scene, TEST_MODULES "/ledger.so", "--json"), 0);
    assert_non_null(strstr(scene.said.out, "\"methods_lost\": 1"));
    close_scene(&scene);
}

/* r[verify exp.inspect.unloaded] */
static void a_check_runs_nothing_of_the_file(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene);
    unlink(TRAP_MARK);
    assert_int_equal(upgrade(&scene, TEST_MODULES "/trap.so", "--check"), 0);
    assert_non_null(strstr(scene.said.err, "9.0 could take over from 1.0"));
    assert_non_null(strstr(scene.said.err, "of its methods are not in 9.0"));
    assert_int_not_equal(access(TRAP_MARK, F_OK), 0);
    assert_int_equal(upgrade(&scene, TEST_MODULES "/calc.so", "--check"), 6);
    assert_non_null(strstr(scene.said.err, "is a version of calc, and ledger runs ledger"));
    assert_int_equal(check_loaded(&scene, TEST_MODULES "/trap.so"), 0); /* else nothing was shown */
    assert_int_equal(access(TRAP_MARK, F_OK), 0);
    unlink(TRAP_MARK);
    close_scene(&scene);
}

static void what_cannot_be_is_said(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene);
    assert_int_equal(upgrade(&scene, TEST_MODULES "/calc.so", NULL), 6);
    assert_non_null(strstr(scene.said.err, "is a version of calc, and ledger runs ledger"));
    assert_int_equal(upgrade(&scene, "nowhere.so", NULL), 3);
    assert_non_null(strstr(scene.said.err, "cannot find nowhere.so"));
    close_scene(&scene);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A command, and that it did not wait for the upgrade, which lasts 4 s. */
static void answers_soon(struct scene *scene, const char *const *argv, const char *words)
{
    uint64_t began = now_ms(), lasted;

    assert_int_equal(say(scene, argv), 0);
    lasted = now_ms() - began;
    assert_non_null(strstr(scene->said.out, words));
    print_message("  %s %s: %u ms\n", argv[1], argv[2] ? argv[2] : "", (unsigned)lasted);
    assert_in_range(lasted, 0, 1500);
}

static void until_begun(struct scene *scene)
{
    const char *const ps[] = {PROCESS_RAPAHUB, "ps", NULL};

    for (uint64_t end = now_ms() + 10000; now_ms() < end;) {
        assert_int_equal(say(scene, ps), 0);
        if (strstr(scene->said.out, "ledger.next"))
            return;
    }
    fail_msg("the upgrade does not begin");
}

/* An upgrade whose load lasts. */
static void begin_slowly(struct scene *scene, struct process *upgrading)
{
    const char *const slow[] = {PROCESS_RAPAHUB, "upgrade", "ledger",
                                TEST_MODULES "/ledger_load_lasts.so", NULL};

    assert_int_equal(
        process_start(
            &(struct process_options){.argv = slow,
                                      .variables = (const char *const[]){scene->variable, NULL},
                                      .within_ns = 30 * SECOND},
            upgrading),
        0);
    until_begun(scene);
}

/* Calls to another guest are answered meanwhile, too; those to this one are held, and then done. */
static void the_host_answers_while_an_upgrade_lasts(void **state)
{
    const char *const ps[] = {PROCESS_RAPAHUB, "ps", NULL};
    const char *const tree[] = {PROCESS_RAPAHUB, "ps", "--tree", NULL};
    const char *const stats[] = {PROCESS_RAPAHUB, "stats", "ledger", NULL};
    const char *const call[] = {PROCESS_RAPAHUB, "call", "calc.add", "1", "2", NULL};
    struct process_result result;
    struct process upgrading;
    struct scene scene;

    (void)state;
    open_scene(&scene);
    begin_slowly(&scene, &upgrading);
    answers_soon(&scene, tree, "ready");
    answers_soon(&scene, stats, "messages_sent");
    answers_soon(&scene, call, "3\n");
    answers_soon(&scene, ps, "ledger.next"); /* it still lasts */
    assert_int_equal(upgrade(&scene, TEST_MODULES "/ledger2.so", NULL), 75);
    assert_non_null(strstr(scene.said.err, "is being upgraded already"));
    answers(&scene, "ledger.enter", "3\n"); /* held, and answered by the new one */
    assert_int_equal(process_finish(&upgrading, &result), 0);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.err, "3.0 took over from 1.0"));
    process_result_fini(&result);
    close_scene(&scene);
}

/* Operations under way end with their host. */
static void a_host_that_is_stopped_while_an_upgrade_lasts_ends(void **state)
{
    struct process_result result;
    struct process upgrading;
    struct scene scene;

    (void)state;
    open_scene(&scene);
    begin_slowly(&scene, &upgrading);
    close_scene(&scene);
    assert_int_equal(process_finish(&upgrading, &result), 0);
    assert_int_not_equal(result.status, 0);
    process_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_person_upgrades_a_guest_that_serves),
        cmocka_unit_test(a_check_runs_nothing_of_the_file),
        cmocka_unit_test(what_cannot_be_is_said),
        cmocka_unit_test(the_host_answers_while_an_upgrade_lasts),
        cmocka_unit_test(a_host_that_is_stopped_while_an_upgrade_lasts_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
