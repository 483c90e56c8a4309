/* SPDX-License-Identifier: Apache-2.0 */
/* Tree files: every way to get one wrong: where, why, what to do.
 * r[verify exp.config] r[verify exp.config.limits] */
#include <sys/stat.h>

#include "tests/unit/host-config/tree_file.h"

/* ---- invalid files ---- */

/* A guest "a" in the list of the one supervisor, with these keys; its keys are in column 7. */
#define GUEST(keys)   \
    "supervisor:\n"   \
    "  children:\n"   \
    "    - name: a\n" \
    "      module: " MODULE "\n" keys
#define GUESTS(keys)        \
    GUEST("    - name: b\n" \
          "      module: " MODULE "\n" keys)

static const struct wrong wrongs[] = {
    /* the file */
    {"a: [1\n", "2:1: ", "flow sequence without a closing bracket", ""},
    {"", ": ", "nothing, where a map with the key supervisor belongs", ""},
    {"- a\n", "1:1: ", "a list, where a map with the key supervisor belongs", ""},
    {"limits: {guests: 3}\n", "1:1: ", "there is no supervisor", ""},
    {"supervisor: 3\n", "1:13: ", "supervisor: a text, where a map", ""},
    {"supervisor:\n  name: x\n", "2:3: ", "a supervisor without children", ""},
    {"supervisor:\n  children:\n", "2:", "children: nothing, where a list of guests", ""},
    {"supervisor:\n  children: [x]\n", "2:14: ", "a text, where a map with the keys of a guest",
     ""},
    {"supervisor:\n  children: []\n---\nb: 1\n", "4:1: ", "a second document", ""},
    {"x: &a 1\nsupervisor: *a\n", "2:14: ", "aliases are refused", ""},
    {"supervisor: !!map {children: []}\n", "1:", "tags are refused", ""},
    {"supervisor: {[a]: b}\n", "1:14: ", "a key is a word", ""},
    {"supervisor: {name: \"a\\tb\"}\n", "1:21: ", "a control character", ""},
    /* keys */
    {GUEST("      modulex: x\n"), "5:7: ", "unknown key 'modulex', did you mean 'module'?", ""},
    {GUEST("      backoff: {maxx: 1s}\n"), "5:17: ", "unknown key 'maxx', did you mean 'max'?", ""},
    {GUEST("      colour: red\n"), "5:7: ", "unknown key 'colour'; man rapahub-tree", ""},
    {GUEST("      strategy: simple\n"),
     "5:7: ", "'strategy' is a key of a supervisor, and this is a guest", ""},
    {"supervisor:\n  module: x\n",
     "2:3: ", "'module' is a key of a guest, and this is a supervisor", ""},
    {GUEST("      start: lazy\n      start: eager\n"), "6:7: ", "'start' is said in line 5 already",
     ""},
    {GUEST("      backoff: {max: 1s, max: 2s}\n"), "5:26: ", "'max' is said in line 5 already", ""},
    /* values */
    {GUEST("      start: laxy\n"), "5:14: ", "none of eager, lazy, manual; did you mean 'lazy'?",
     ""},
    {"supervisor:\n  strategy: one_for_al\n", "2:13: ",
     "none of one_for_one, one_for_all, rest_for_one, simple; did you mean 'one_for_all'?", ""},
    {GUEST("      stop: gentle\n"), "5:13: ", "stop: 'gentle' is none of brutal", ""},
    {GUEST("      stop: {term: soon}\n"), "5:20: ", "'soon' is not a duration, as 500ms, or none",
     ""},
    {GUEST("      start_timeout: 0s\n"), "5:22: ", "'0s' is not a duration", ""},
    {GUEST("      start_timeout: 5\n"), "5:22: ", "'5' is not a duration", ""},
    {GUEST("      start_timeout:\n"), "5:", "start_timeout has no value", ""},
    {GUEST("      backoff: 3s\n"), "5:16: ", "backoff: a text, where a map of its keys belongs",
     ""},
    {GUEST("      start: [lazy]\n"), "5:14: ", "start: a list, where a word belongs", ""},
    {GUEST("      intensity: 0\n"), "5:18: ", "0 restarts give up at the first failure; write none",
     ""},
    {GUEST("      intensity: 0/60s\n"), "5:18: ", "0 restarts give up at the first failure", ""},
    {GUEST("      intensity: {max: 0}\n"), "5:24: ", "0 restarts give up at the first failure", ""},
    {GUEST("      intensity: {max: 257}\n"), "5:24: ", "a number from 1 to 256, or none", ""},
    {GUEST("      intensity: often\n"), "5:18: ", "'often' is not a budget, as 5/60s, or none", ""},
    {GUEST("      heartbeat_misses: 0\n"), "5:25: ", "no number from 1 to 1000", ""},
    {GUEST("      backoff: {factor: 0.5}\n"), "5:25: ", "no number from 1 to 1000000", ""},
    {GUEST("      debug: maybe\n"), "5:14: ", "'maybe' is not true or false", ""},
    {GUEST("      watchdog_signal: SIGNOT\n"), "5:24: ", "'SIGNOT' is not a signal", ""},
    {GUEST("      force_exit: [256]\n"), "5:20: ", "neither a status from 0 to 255 nor a signal",
     ""},
    {GUEST("      restart: [crash]\n"), "5:17: ", "none of clean, code, signal", ""},
    {GUEST("      restart: []\n"), "5:16: ", "no end is named", ""},
    {"limits: {payload: 5G}\n", "1:19: ", "4 GiB or more", ""},
    {GUEST("      limits: {descriptors: 4}\n"), "5:29: ", "'4' is too little; write 16 or more",
     ""},
    {"limits: {slot: big}\n", "1:16: ", "'big' is not a size, as 64K", ""},
    {"supervisor: {name: 1st}\n", "1:20: ", "'1st' is no name", ""},
    /* guests */
    {"supervisor:\n  children:\n    - name: a\n", "3:7: ", "a guest without a module", ""},
    {"supervisor:\n  children: [{module: none.so}]\n", "2:23: ",
     "cannot find '/tmp/none.so' (No such file or directory); paths begin in the file's folder",
     ""},
    {"supervisor:\n  children: [{module: /tmp}]\n", "2:23: ", "'/tmp' is no shared object", ""},
    {"supervisor:\n  children: [{module: /proc/self/status}]\n",
     "2:23: ", "'/proc/self/status' is no shared object", ""},
    {"supervisor:\n  children:\n    - supervisor: {children: []}\n",
     "3:", "a supervisor without a name", ""},
    {"supervisor:\n  children:\n    - supervisor: {children: []}\n      name: x\n",
     "4:7: ", "'name' is a key of a guest or a supervisor, and this is neither", ""},
    /* each other */
    {GUEST("    - {name: a, module: " MODULE "}\n"),
     "5:14: ", "'a' is the name of another child, in line 3", "supervise.lint.name"},
    {GUEST("      requires: a\n"), "5:17: ", "'a' names itself", "supervise.lint.circle"},
    {GUESTS("      after: [a, c]\n"), "7:18: ", "there is no child 'c' beside 'b'", ""},
    {"supervisor:\n  children:\n    - {name: store, module: " MODULE ", wants: storex}\n"
     "    - {name: store2, module: " MODULE "}\n",
     "3:52: ", "did you mean 'store2'?", ""},
    {GUEST("    - supervisor:\n        name: s\n        children:\n"
           "          - {name: c, module: " MODULE ", requires: a}\n"),
     "8:57: ", "'a' is a child of another supervisor", ""},
    {GUEST("      requires: b\n    - name: b\n      module: " MODULE "\n      wants: a\n"),
     "8:14: ", "b: its dependencies are a circle, b -> a -> b; take one of them away",
     "supervise.lint.circle"},
    {GUEST("      requires: b\n    - {name: c, module: " MODULE "}\n"
           "    - name: b\n      module: " MODULE "\n      wants: [c, a]\n"),
     "9:", "b: its dependencies are a circle, b -> a -> b; take one of them away",
     "supervise.lint.circle"},
    /* traps */
    {GUEST("      backoff: {initial: 3s, max: 2s}\n"), "5:35: ",
     "a: backoff.max (2 s) is below backoff.initial (3 s); raise", "supervise.lint.backoff"},
    {GUEST("      intensity: 5/1s\n      backoff: {initial: 1s}\n"),
     "5:18: ", "a: its delays alone outlast intensity.period (1 s), so that 5 restarts",
     "supervise.lint.budget"},
    {GUEST("      start: lazy\n      when_down: fail\n"), "6:18: ", "a: is lazy, and the calls",
     "supervise.lint.lazy"},
    {GUEST("      significant: true\n"), "5:20: ", "is significant, and permanent",
     "supervise.lint.significant"},
    {GUEST("      restart: transient\n      significant: true\n"),
     "6:20: ", "below a supervisor whose auto_shutdown is never", "supervise.lint.significant"},
    {"supervisor:\n  stop: {term: 1s}\n  children:\n    - {name: a, module: " MODULE
     ", stop: {term: 3s}}\n",
     "4:",
     "a: stop.drain, stop.goodbye and stop.term make 3500 ms, above those of its "
     "supervisor, 1500 ms; shorten",
     "supervise.lint.stop"},
    {GUEST("      stop: {drain: 2h}\n"), "5:13: ",
     "a: stop.drain, stop.goodbye and stop.term make 7202500 ms, above the most "
     "there may be, 3600 s",
     "supervise.lint.stop"},
    {"supervisor:\n  strategy: simple\n  children:\n    - {name: b, module: " MODULE "}\n"
     "    - {name: a, module: " MODULE ", after: b}\n",
     "5:48: ", "children of a simple supervisor", "supervise.lint.simple"},
    {"supervisor:\n  children_max: 1\n  children:\n    - {name: b, module: " MODULE "}\n"
     "    - {name: a, module: " MODULE "}\n",
     "2:17: ", "its supervisor may have 1 children, as its children_max says", ""},
    {GUEST("      stall: 5ms\n"), "5:14: ", "a: stall is neither 0", "supervise.lint.limits"},
    {GUEST("      overrun: 25h\n"), "5:16: ", "a: overrun is neither 0", "supervise.lint.limits"},
    {GUEST("      probes: {readiness: {timeout: 1s}}\n"),
     "5:27: ", "a: probes.readiness.period is not set", "supervise.lint.probe"},
    {GUEST("      probes:\n        liveness: {period: 2ms}\n"),
     "6:28: ", "a: probes.liveness.period is not from 10 ms", "supervise.lint.probe"},
    {GUEST("      probes: {startup: {period: 1s, timeout: 25h}}\n"),
     "5:47: ", "a: probes.startup.timeout is not from 10 ms", "supervise.lint.probe"},
    {GUEST("      ready: probe\n"), "5:14: ", "a: ready is probe, and it has neither",
     "supervise.lint.probe"},
    {GUEST("      ready: probe\n      start: lazy\n      probes: {startup: {period: 1s}}\n"), "",
     "a: is lazy, so that its first call waits for its probes, too; set ready to message",
     "supervise.lint.probe"},
    {"supervisor:\n  children:\n    - supervisor:\n        name: s\n"
     "        itself: {intensity: 5/1s}\n        backoff: {initial: 1s}\n"
     "        children: [{name: c, module: " MODULE "}]\n",
     "5:", "s: its delays alone outlast itself.intensity (1 s)", "supervise.lint.budget"},
    {"supervisor:\n  children:\n    - supervisor:\n        name: s\n"
     "        backoff: {initial: 3s, max: 2s}\n"
     "        children: [{name: c, module: " MODULE "}]\n",
     "5:37: ", "s: backoff.max (2 s) is below backoff.initial (3 s)", "supervise.lint.backoff"},
};

static void each_mistake_has_its_place_and_its_remedy(void **state)
{
    (void)state;
    assert_each_told(wrongs, sizeof wrongs / sizeof *wrongs);
    assert_int_equal(rapahub_error_exit(RAPAHUB_ECONFIG), 2);
}

static void the_line_is_shown_with_a_caret(void **state)
{
    struct file file;

    (void)state;
    open_text(&file, GUEST("      stärt: lazy\n"));
    assert_string_equal(file.tree.yaml.quote, "      stärt: lazy\n      ^");
    close_file(&file);
    open_text(&file, GUEST("\x09  modulex: x\n"));
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    assert_null(strchr(file.tree.yaml.quote, '\t'));
    close_file(&file);
}

static void of_a_long_line_a_part_is_shown(void **state)
{
    char text[2000], name[901];
    const char *caret;
    struct file file;

    (void)state;
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "supervisor: {children: [], name: %s, x: 1}\n", name);
    open_text(&file, text);
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    assert_true(strlen(file.tree.yaml.quote) < 200);
    close_file(&file);
    open_text(&file, "supervisor: {children: [],                                              "
                     "                                                       colour: 1}\n");
    caret = strchr(file.tree.yaml.quote, '\n');
    assert_non_null(caret);
    assert_int_equal(file.tree.yaml.quote[strlen(caret + 1) - 1], 'c');
    close_file(&file);
}

/* ---- limits ---- */

static void too_much_is_refused(void **state)
{
    static char large[CONFIG_YAML_SIZE + 2];
    char deep[256] = "supervisor: ";
    struct file file;

    (void)state;
    memset(large, '#', sizeof large);
    open_bytes(&file, large, sizeof large - 1);
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, "more than 1 MiB"));
    close_file(&file);
    memset(deep + strlen(deep), '[', 32);
    memset(deep + strlen(deep), ']', 32);
    open_text(&file, deep);
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, ":1:44: more than 32 lists and maps"));
    close_file(&file);
    memcpy(large, "supervisor: {children: []}\n", 27);
    open_bytes(&file, large, CONFIG_YAML_SIZE);
    assert_int_equal(file.r, 0);
    close_file(&file);
    memset(large, '[', sizeof large);
    open_bytes(&file, large, CONFIG_YAML_SIZE);
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    close_file(&file);
}

static void supervisors_are_counted(void **state)
{
    char text[8192] = "supervisor:\n  children:\n";
    struct file file;

    (void)state;
    for (unsigned i = 0; i < CONFIG_TREE_SUPERVISORS; i++)
        snprintf(text + strlen(text), 80, "    - supervisor: {name: s%u, children: []}\n", i);
    open_text(&file, text);
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    if (!strstr(rapahub_last_error()->text, ":62:19: more than 60 supervisors"))
        print_error("%s\n", rapahub_last_error()->text);
    assert_non_null(strstr(rapahub_last_error()->text, ":62:19: more than 60 supervisors"));
    close_file(&file);
}

/* Reading it would wait until it is written; a device may have no end.
 * r[verify exp.config.limits] */
static void only_a_plain_file_is_read(void **state)
{
    char folder[] = "/tmp/rapahub-fifo-XXXXXX", path[64];
    struct config_tree tree;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tree.yaml", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    assert_int_equal(config_tree_open(path, RAPAHUB_TRUST_STANDARD, &tree), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, "is no plain file; copy it into one"));
    config_tree_close(&tree);
    assert_int_equal(config_tree_open("/dev/zero", RAPAHUB_TRUST_STANDARD, &tree), RAPAHUB_ECONFIG);
    config_tree_close(&tree);
    alarm(0);
    unlink(path);
    rmdir(folder);
}

static void a_file_that_is_not_there_is_no_such_thing(void **state)
{
    struct config_tree tree;

    (void)state;
    assert_int_equal(config_tree_open("/nowhere/tree.yaml", RAPAHUB_TRUST_STANDARD, &tree),
                     RAPAHUB_ENOENT);
    config_tree_close(&tree);
    assert_true(config_tree_is_file("a/b.yaml") && config_tree_is_file("x.yml"));
    assert_false(config_tree_is_file("a.yaml/b") || config_tree_is_file("yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_plain_file_is_read),
        cmocka_unit_test(each_mistake_has_its_place_and_its_remedy),
        cmocka_unit_test(the_line_is_shown_with_a_caret),
        cmocka_unit_test(of_a_long_line_a_part_is_shown),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(supervisors_are_counted),
        cmocka_unit_test(a_file_that_is_not_there_is_no_such_thing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
