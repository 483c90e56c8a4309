/* SPDX-License-Identifier: Apache-2.0 */
/* `rapahub run tree.yaml` as a person uses it, and the commands around it. */
#include "tests/integration/running.h"

#define EXAMPLE TEST_PREFIX "/bin/shop.yaml"

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
