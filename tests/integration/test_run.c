/* SPDX-License-Identifier: Apache-2.0 */
/* `rapahub run --anonymous` as a person uses it: its path, a guest started by hand, calls. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define PROGRAM PROCESS_LIBEXEC("rapahub/rapahub-guest")
#define CALC    TEST_MODULES "/calc.so"
#define SECOND  UINT64_C(1000000000)

struct scene {
    char folder[64], variable[96], path[256];
    struct process host, guest;
};

static void open_scene(struct scene *scene)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "run", "--anonymous", "--name", "scene", NULL};
    const char *const variables[] = {scene->variable, NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .within_ns = 30 * SECOND};

    snprintf(scene->folder, sizeof scene->folder, "/tmp/rapahub-scene-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->variable, sizeof scene->variable, "XDG_RUNTIME_DIR=%s", scene->folder);
    assert_int_equal(process_start(&options, &scene->host), 0);
    assert_true(process_until_text(&scene->host, "\n", false, 10 * SECOND));
    snprintf(scene->path, sizeof scene->path, "--hub-path=%.*s",
             (int)strcspn(scene->host.out, "\n"), scene->host.out);
}

static void start_guest(struct scene *scene)
{
    const char *const argv[] = {PROGRAM, scene->path, CALC, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 30 * SECOND};

    assert_int_equal(process_start(&options, &scene->guest), 0);
}

static int end_of(struct process *process)
{
    struct process_result result;
    int status;

    assert_int_equal(process_finish(process, &result), 0);
    status = result.status;
    process_result_fini(&result);
    return status;
}

static int call(struct scene *scene, const char *target, char *answer, size_t size)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "call", target, "40", "2", NULL};
    const char *const variables[] = {scene->variable, NULL};
    const struct process_options options = {.argv = argv, .variables = variables};
    struct process_result result;
    int status;

    assert_int_equal(process_run(&options, &result), 0);
    snprintf(answer, size, "%s", result.status == 0 ? result.out : result.err);
    status = result.status;
    process_result_fini(&result);
    return status;
}

static void a_guest_started_by_hand_is_called_by_its_name(void **state)
{
    struct scene scene;
    char answer[256];

    (void)state;
    open_scene(&scene);
    start_guest(&scene);
    assert_true(process_until_text(&scene.host, "calc: attached", true, 10 * SECOND));
    assert_int_equal(call(&scene, "calc.add", answer, sizeof answer), 0);
    assert_string_equal(answer, "42\n");
    process_kill(&scene.guest, SIGTERM);
    assert_int_equal(end_of(&scene.guest), 0);
    assert_true(
        process_until_text(&scene.host, "calc: gone: detached: terminated", true, 10 * SECOND));
    assert_int_not_equal(call(&scene, "calc.add", answer, sizeof answer), 0);
    assert_non_null(strstr(answer, "RAPAHUB_ENOENT"));
    start_guest(&scene); /* under the same name again */
    assert_true(process_until_text(&scene.host, "epoch 2", true, 10 * SECOND));
    assert_int_equal(call(&scene, "calc.add", answer, sizeof answer), 0);
    process_kill(&scene.host, SIGTERM);
    assert_int_equal(end_of(&scene.host), 0);
    assert_int_equal(end_of(&scene.guest), 0);
    assert_int_equal(access(scene.path + strlen("--hub-path="), F_OK), -1);
    snprintf(answer, sizeof answer, "%.60s/rapahub", scene.folder);
    assert_int_equal(rmdir(answer), 0);
    assert_int_equal(rmdir(scene.folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_started_by_hand_is_called_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
