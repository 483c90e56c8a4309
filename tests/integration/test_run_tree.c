/* SPDX-License-Identifier: Apache-2.0 */
/* `rapahub run tree.yaml` as a person uses it, and the commands around it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define EXAMPLE TEST_PREFIX "/bin/shop.yaml"
#define CALC    TEST_MODULES "/calc.so"
#define SECOND  UINT64_C(1000000000)
#define WITHIN  (10 * SECOND)

struct scene {
    char folder[64], variable[96], file[96];
    struct process host;
};

static void make_scene(struct scene *scene)
{
    snprintf(scene->folder, sizeof scene->folder, "/tmp/rapahub-tree-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->variable, sizeof scene->variable, "XDG_RUNTIME_DIR=%s", scene->folder);
    snprintf(scene->file, sizeof scene->file, "%s/tree.yaml", scene->folder);
}

static void write_file(const struct scene *scene, const char *text)
{
    FILE *file = fopen(scene->file, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void start_host(struct scene *scene, const char *tree)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "run", tree, NULL};
    const char *const variables[] = {scene->variable, NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .within_ns = 40 * SECOND};

    assert_int_equal(process_start(&options, &scene->host), 0);
}

static void await(struct scene *scene, const char *text)
{
    bool told = process_until_text(&scene->host, text, true, WITHIN);

    if (!told)
        print_error("no '%s' in: %s\n", text, scene->host.err);
    assert_true(told);
}

/* How it ended, and what it said on standard error. */
static int end_of(struct scene *scene, char *said, size_t size)
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

static void clear_scene(const struct scene *scene)
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

static struct answer ask(const struct scene *scene, const char *const *argv)
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

/* ---- the example ---- */

static void assert_no_process(const char *listing, const char *line)
{
    const char *found = strstr(listing, line);

    assert_non_null(found);
    found += strlen(line);
    found += strspn(found, " ");
    assert_memory_equal(found, "- ", 2);
}

static void check_listing(const struct scene *scene)
{
    const struct answer tree = ASK(scene, "ps", "--tree");

    assert_told(tree, 0, "\nshop        shop  rest_for_one  ready ");
    assert_told(tree, 0, "\n  ledger    shop  guest         ready ");
    assert_told(tree, 0, "\n  tills     shop  one_for_all   ready ");
    assert_told(tree, 0, "\n    till-1  shop  guest         ready ");
    assert_told(tree, 0, "\n  report    shop  guest         stopped ");
    assert_no_process(tree.text, "\n  report    shop  guest         stopped ");
    assert_no_process(tree.text, "\n  tills     shop  one_for_all   ready ");
    assert_told(ASK(scene, "ps", "--tree", "-o", "name"), 0, "shop\nledger\ntills\ntill-1\n");
    assert_told(ASK(scene, "ps", "--tree", "--json"), 0,
                "{\"name\": \"tills\", \"host\": \"shop\", \"number\": 4, \"parent\": 2, "
                "\"supervisor\": true, \"strategy\": \"one_for_all\", \"state\": \"ready\"");
    assert_told(ASK(scene, "__complete", "rapahub", "restart", "led"), 0, "ledger\n");
}

/* Returns the text after the next of these words. */
static const char *next(const char *said, const char *words)
{
    const char *found = strstr(said, words);

    if (!found)
        print_error("no '%s' in: %s\n", words, said);
    assert_non_null(found);
    return found + strlen(words);
}

static void the_example_lives_through_what_is_done_to_it(void **state)
{
    struct scene scene;
    char said[8192];
    const char *end;

    (void)state;
    make_scene(&scene);
    start_host(&scene, EXAMPLE);
    await(&scene, "ledger: ready in ");
    await(&scene, "till-1: ready in ");
    await(&scene, "till-2: ready in ");
    check_listing(&scene);
    assert_told(ASK(&scene, "call", "report.add", "5"), 0, "5\n"); /* the call starts it */
    await(&scene, "report: ready  pid ");
    assert_told(ASK(&scene, "kill", "till-1"), 0, "till-1: killed");
    await(&scene, "till-1: died: signal SIGKILL after ");
    await(&scene, "till-2: down: ");
    assert_told(ASK(&scene, "restart", "ledger"), 0, "ledger: ready again");
    /* the children after it come when it is already ready */
    assert_told(ASK(&scene, "restart", "till-2"), 0, "till-2: ready again");
    assert_told(ASK(&scene, "stop", "till-2"), 0, "till-2: stopped");
    assert_told(ASK(&scene, "call", "till-2.add", "1"), 6, "RAPAHUB_ESTOPPED");
    assert_told(ASK(&scene, "restart", "till-2"), 0, "till-2: ready again");
    assert_told(ASK(&scene, "call", "till-2.add", "1"), 0, "1\n");
    assert_told(ASK(&scene, "stats", "till-2"), 0, "messages_sent");
    assert_told(ASK(&scene, "logs", "till-2"), 0, "till-2: ready in");
    process_kill(&scene.host, SIGTERM);
    assert_int_equal(end_of(&scene, said, sizeof said), 0);
    end = next(said, "till-2: stopped: "); /* when it was asked to; then all, in reverse */
    end = next(end, "till-2: stopped: ");
    end = next(end, "till-1: stopped: ");
    next(end, "ledger: stopped: ");
    clear_scene(&scene);
}

/* ---- a supervisor is stopped and started as a whole ---- */

/* The pid of a guest, as it says itself; 0: it does not. */
static int pid_of(const struct scene *scene, const char *method)
{
    const struct answer answer = ASK(scene, "call", method);

    return answer.status == 0 ? (int)strtol(answer.text, NULL, 10) : 0;
}

static void open_groups(struct scene *scene)
{
    make_scene(scene);
    write_file(scene, "supervisor:\n"
                      "  name: top\n"
                      "  children:\n"
                      "    - {name: alone, module: " CALC "}\n"
                      "    - supervisor:\n"
                      "        name: pair\n"
                      "        strategy: rest_for_one\n"
                      "        children:\n"
                      "          - {name: one, module: " CALC "}\n"
                      "          - {name: two, module: " CALC "}\n");
    start_host(scene, scene->file);
    await(scene, "alone: ready in ");
    await(scene, "two: ready in ");
}

/* r[verify supervise.restart.asked] */
static void a_supervisor_restarts_all_its_children(void **state)
{
    struct scene scene;
    int alone, one, two;
    char said[8192];
    const char *end;

    (void)state;
    open_groups(&scene);
    alone = pid_of(&scene, "alone.pid");
    one = pid_of(&scene, "one.pid");
    two = pid_of(&scene, "two.pid");
    assert_told(ASK(&scene, "restart", "pair"), 0, "pair: ready again, with all its children\n");
    assert_int_equal(pid_of(&scene, "alone.pid"), alone);
    assert_int_not_equal(pid_of(&scene, "one.pid"), one);
    assert_int_not_equal(pid_of(&scene, "two.pid"), two);
    assert_true(pid_of(&scene, "one.pid") > 0 && pid_of(&scene, "two.pid") > 0);
    assert_told(ASK(&scene, "restart", "top/top", "--json"), 0, "\"guest\": \"top\"");
    assert_int_not_equal(pid_of(&scene, "alone.pid"), alone);
    process_kill(&scene.host, SIGTERM);
    assert_int_equal(end_of(&scene, said, sizeof said), 0);
    end = next(said, "\ntwo: stopped: "); /* in reverse, and then in order */
    end = next(end, "\none: stopped: ");
    end = next(end, "\none: ready  pid ");
    end = next(end, "  epoch 2\ntwo: ready  pid ");
    next(end, "  epoch 2\n");
    clear_scene(&scene);
}

static void a_supervisor_is_stopped_with_all_its_children(void **state)
{
    struct scene scene;

    (void)state;
    open_groups(&scene);
    assert_told(ASK(&scene, "stop", "pair"), 0, "pair: stopped, with all its children\n");
    assert_told(ASK(&scene, "ps", "--tree"), 0, "rest_for_one  stopped");
    assert_told(ASK(&scene, "call", "one.pid"), 6, "RAPAHUB_ESTOPPED");
    assert_told(ASK(&scene, "restart", "one"), 6, "one: its supervisor pair does not run");
    assert_true(pid_of(&scene, "alone.pid") > 0);
    assert_told(ASK(&scene, "restart", "pair"), 0, "pair: ready again");
    assert_true(pid_of(&scene, "one.pid") > 0 && pid_of(&scene, "two.pid") > 0);
    assert_told(ASK(&scene, "stop", "top"), 0, "top: stopped"); /* and the tree has ended */
    assert_int_equal(end_of(&scene, NULL, 0), 0);
    clear_scene(&scene);
}

static void a_name_that_is_none_is_answered_with_the_nearest(void **state)
{
    struct scene scene;

    (void)state;
    open_groups(&scene);
    assert_told(ASK(&scene, "restart", "pairx"), 4,
                "no host or guest named 'pairx', did you mean 'pair'? running: alone, one, two");
    assert_told(ASK(&scene, "stop", "alon"), 4, "did you mean 'alone'?");
    assert_told(ASK(&scene, "restart", "top/pairx"), 4, "did you mean 'pair'?");
    assert_told(ASK(&scene, "kill", "pair"), 2, "pair: that is a supervisor; kill takes a guest");
    assert_told(ASK(&scene, "upgrade", "pair", CALC), 2, "upgrade takes a guest");
    assert_told(ASK(&scene, "call", "pair.add", "1", "2"), 2, "call takes a guest");
    assert_told(ASK(&scene, "stop", "top", "-y"), 0, "top: stopped");
    assert_int_equal(end_of(&scene, NULL, 0), 0);
    clear_scene(&scene);
}

/* ---- how it ends ---- */

static void a_tree_that_fails_ends_the_command(void **state)
{
    struct scene scene;
    char said[8192];

    (void)state;
    make_scene(&scene);
    write_file(&scene,
               "supervisor:\n"
               "  name: frail\n"
               "  children:\n"
               "    - {name: good, module: " CALC "}\n"
               "    - {name: bad, module: " CALC ", intensity: none, on_exhausted: escalate}\n");
    start_host(&scene, scene.file);
    await(&scene, "good: ready in ");
    await(&scene, "bad: ready in ");
    assert_told(ASK(&scene, "call", "bad.crash"), 9, "RAPAHUB_EDIED");
    assert_int_equal(end_of(&scene, said, sizeof said), 9);
    assert_non_null(strstr(said, "good: stopped: "));
    assert_non_null(strstr(said, "error: frail: the tree has failed; last: bad: "));
    assert_non_null(strstr(said, "code RAPAHUB_EGIVENUP"));
    clear_scene(&scene);
}

static void a_tree_whose_work_is_done_ends_well(void **state)
{
    struct scene scene;
    char said[8192];

    (void)state;
    make_scene(&scene);
    write_file(&scene,
               "supervisor:\n"
               "  auto_shutdown: any_significant\n"
               "  children:\n"
               "    - {name: helper, module: " CALC "}\n"
               "    - {name: work, module: " CALC ", restart: transient, significant: true}\n");
    start_host(&scene, scene.file);
    await(&scene, "helper: ready in ");
    await(&scene, "work: ready in ");
    assert_told(ASK(&scene, "call", "work.leave", "0"), 9, "RAPAHUB_EDIED");
    assert_int_equal(end_of(&scene, said, sizeof said), 0);
    assert_non_null(strstr(said, "work: died: exit status 0 after "));
    assert_non_null(strstr(said, "not started again"));
    assert_non_null(strstr(said, "helper: stopped: "));
    clear_scene(&scene);
}

static void one_that_was_given_up_comes_back_when_asked(void **state)
{
    struct scene scene;

    (void)state;
    make_scene(&scene);
    write_file(&scene, "limits: {guests: 3, payload: 64K}\n"
                       "supervisor:\n"
                       "  children:\n"
                       "    - {name: bad, module: " CALC ", intensity: {max: none}}\n");
    start_host(&scene, scene.file);
    await(&scene, "bad: ready in ");
    assert_told(ASK(&scene, "call", "bad.crash"), 9, "RAPAHUB_EDIED");
    await(&scene, "not started again");
    assert_told(ASK(&scene, "ps", "--tree"), 0, "failed");
    assert_told(ASK(&scene, "call", "bad.pid"), 9,
                "code RAPAHUB_EGIVENUP\nhint: rapahub restart bad\n");
    assert_told(ASK(&scene, "restart", "bad"), 0, "bad: ready again");
    assert_told(ASK(&scene, "call", "bad.pid"), 0, "\n");
    assert_told(ASK(&scene, "stop", "tree"), 0, "tree: stopped"); /* the file's name */
    assert_int_equal(end_of(&scene, NULL, 0), 0);
    clear_scene(&scene);
}

static void a_supervisor_that_fails_is_told_of(void **state)
{
    struct scene scene;

    (void)state;
    make_scene(&scene);
    write_file(&scene, "supervisor:\n"
                       "  name: top\n"
                       "  children:\n"
                       "    - supervisor:\n"
                       "        name: group\n"
                       "        intensity: none\n"
                       "        on_exhausted: park\n"
                       "        children: [{name: bad, module: " CALC "}]\n");
    start_host(&scene, scene.file);
    await(&scene, "bad: ready in ");
    assert_told(ASK(&scene, "upgrade", "bad", "nowhere.so"), 3, "error: cannot find nowhere.so: ");
    assert_told(ASK(&scene, "call", "bad.crash"), 9, "RAPAHUB_EDIED");
    await(&scene, "group: failed: its children died too often; they stay down until rapahub "
                  "restart group\n");
    assert_told(ASK(&scene, "call", "bad.pid"), 6, "hint: rapahub restart bad\n");
    assert_told(ASK(&scene, "restart", "bad"), 6,
                "error: bad: its supervisor group does not run; start that\n");
    assert_told(ASK(&scene, "restart", "group"), 0, "group: ready again");
    assert_told(ASK(&scene, "call", "bad.pid"), 0, "\n");
    assert_told(ASK(&scene, "logs", "bat"), 4, "did you mean 'bad'?");
    assert_told(ASK(&scene, "logs", "groups"), 4, "no host or guest named 'groups'; running");
    assert_told(ASK(&scene, "inspect", "group"), 2, "group: that is a supervisor");
    assert_told(ASK(&scene, "stop", "top", "-y"), 0, "top: stopped");
    assert_int_equal(end_of(&scene, NULL, 0), 0);
    clear_scene(&scene);
}

/* ---- before it begins ---- */

static void a_plain_library_has_its_signatures_in_the_file(void **state)
{
    struct scene scene;

    (void)state;
    make_scene(&scene);
    write_file(&scene, "supervisor:\n"
                       "  name: top\n"
                       "  children:\n"
                       "    - {name: one, module: " TEST_MODULES "/plain.so,\n"
                       "       plain: ['gcd(u64, u64) -> u64']}\n");
    start_host(&scene, scene.file);
    await(&scene, "one: ready in ");
    assert_told(ASK(&scene, "call", "one.gcd", "12", "18"), 0, "6\n");
    assert_told(ASK(&scene, "stop", "top", "-y"), 0, "top: stopped");
    (void)end_of(&scene, NULL, 0);
    clear_scene(&scene);
}

static void a_check_starts_nothing(void **state)
{
    struct scene scene;

    (void)state;
    make_scene(&scene);
    assert_told(ASK(&scene, "run", "--check", EXAMPLE), 0,
                "shop.yaml: 4 guests, 2 supervisors, no fault found\n");
    assert_told(ASK(&scene, "run", "--check", "--json", EXAMPLE), 0, "\"guests\": 4");
    assert_told(ASK(&scene, "run", "--check", CALC), 2, "--check takes a tree");
    write_file(&scene, "supervisor:\n"
                       "  strategy: one_for_al\n"
                       "  children: []\n");
    assert_told(ASK(&scene, "run", "--check", scene.file), 2,
                "tree.yaml:2:13: strategy: 'one_for_al' is none of one_for_one, one_for_all, "
                "rest_for_one, simple; did you mean 'one_for_all'?\n"
                "      strategy: one_for_al\n"
                "                ^\n"
                "  code RAPAHUB_ECONFIG\n"
                "hint: man rapahub-tree; rapahub run --check ");
    assert_told(ASK(&scene, "run", scene.file), 2, "tree.yaml:2:13: ");
    assert_told(ASK(&scene, "run", "nowhere.yaml"), 3, "cannot read 'nowhere.yaml'");
    clear_scene(&scene);
}

static void what_the_file_says_is_not_said_twice(void **state)
{
    struct scene scene;

    (void)state;
    make_scene(&scene);
    assert_told(ASK(&scene, "run", "--budget", "5/60s", EXAMPLE), 2,
                "--budget is said in the file, of each guest");
    assert_told(ASK(&scene, "run", "--anonymous", EXAMPLE), 2, "does not go with a tree");
    assert_told(ASK(&scene, "run", CALC, EXAMPLE), 2, "a tree is a file alone");
    assert_told(ASK(&scene, "run", "--trust", "strict", EXAMPLE), 7, "RAPAHUB_ESANDBOX");
    clear_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_lives_through_what_is_done_to_it),
        cmocka_unit_test(a_supervisor_restarts_all_its_children),
        cmocka_unit_test(a_supervisor_is_stopped_with_all_its_children),
        cmocka_unit_test(a_name_that_is_none_is_answered_with_the_nearest),
        cmocka_unit_test(a_tree_that_fails_ends_the_command),
        cmocka_unit_test(a_tree_whose_work_is_done_ends_well),
        cmocka_unit_test(one_that_was_given_up_comes_back_when_asked),
        cmocka_unit_test(a_supervisor_that_fails_is_told_of),
        cmocka_unit_test(a_plain_library_has_its_signatures_in_the_file),
        cmocka_unit_test(a_check_starts_nothing),
        cmocka_unit_test(what_the_file_says_is_not_said_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
