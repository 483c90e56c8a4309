/* SPDX-License-Identifier: Apache-2.0 */
/* running: `rapahub run` in a folder of its own, and other commands that find its host. */
#ifndef TESTS_INTEGRATION_RUNNING_H
#define TESTS_INTEGRATION_RUNNING_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define UNUSED __attribute__((unused))
#define CALC   TEST_MODULES "/calc.so"
#define SECOND UINT64_C(1000000000)
#define WITHIN (10 * SECOND)

struct scene {
    char folder[64], variable[96], file[96];
    struct process host;
};

UNUSED static void make_scene(struct scene *scene)
{
    snprintf(scene->folder, sizeof scene->folder, "/tmp/rapahub-tree-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->variable, sizeof scene->variable, "XDG_RUNTIME_DIR=%s", scene->folder);
    snprintf(scene->file, sizeof scene->file, "%s/tree.yaml", scene->folder);
}

UNUSED static void write_file(const struct scene *scene, const char *text)
{
    FILE *file = fopen(scene->file, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

UNUSED static void start_words(struct scene *scene, const char *const *argv)
{
    const char *const variables[] = {scene->variable, NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .within_ns = 40 * SECOND};

    assert_int_equal(process_start(&options, &scene->host), 0);
}

UNUSED static void start_host(struct scene *scene, const char *tree)
{
    start_words(scene, (const char *const[]){PROCESS_RAPAHUB, "run", tree, NULL});
}

UNUSED static void await(struct scene *scene, const char *text)
{
    bool told = process_until_text(&scene->host, text, true, WITHIN);

    if (!told)
        print_error("no '%s' in: %s\n", text, scene->host.err);
    assert_true(told);
}

/* How it ended, and what it said on standard error. */
UNUSED static int end_of(struct scene *scene, char *said, size_t size)
{
    struct process_result result;
    int status;

    assert_int_equal(process_finish(&scene->host, &result), 0);
    assert_false(result.timed_out);
    status = result.status;
    if (said)
        snprintf(said, size, "%s", result.err);
    process_result_fini(&result);
    return status;
}

UNUSED static void clear_scene(const struct scene *scene)
{
    char runtime[96];

    unlink(scene->file);
    snprintf(runtime, sizeof runtime, "%s/rapahub", scene->folder);
    rmdir(runtime);
    assert_int_equal(rmdir(scene->folder), 0);
}

/* The result of a command: its status, and both its outputs. */
struct answer {
    int status;
    char text[4096];
};

UNUSED static struct answer ask(const struct scene *scene, const char *const *argv)
{
    const char *const variables[] = {scene->variable, NULL};
    const struct process_options options = {.argv = argv, .variables = variables};
    struct process_result result;
    struct answer answer;

    assert_int_equal(process_run(&options, &result), 0);
    answer.status = result.status;
    snprintf(answer.text, sizeof answer.text, "%s%s", result.out, result.err);
    process_result_fini(&result);
    return answer;
}

#define ASK(scene, ...) ask(scene, (const char *const[]){PROCESS_RAPAHUB, __VA_ARGS__, NULL})

#define assert_told(got, wanted_status, words)                                \
    do {                                                                      \
        const struct answer a_ = (got);                                       \
        if (a_.status != (wanted_status) || !strstr(a_.text, (words)))        \
            print_error("%d, no '%s' in: %s\n", a_.status, (words), a_.text); \
        assert_int_equal(a_.status, (wanted_status));                         \
        assert_non_null(strstr(a_.text, (words)));                            \
    } while (0)

#endif
