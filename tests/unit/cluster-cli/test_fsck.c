/* SPDX-License-Identifier: Apache-2.0 */
/* fsck: what `rapahub fsck` prints of a folder, and its status. */
#include <unistd.h>

#include "cluster/node/boot/boot.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"
#include "tests/unit/cluster-cli/typing.h"

static struct folder_stage stage;

static int begin(void **state)
{
    struct boot_told told = {0};
    struct cluster_boot boot;

    (void)reset(state);
    folder_stage_begin(&stage);
    assert_int_equal(boot_stage_run(&stage, &boot), 0);
    assert_int_equal(cluster_boot_read_all(&boot, &boot_stage_visitor, &told), 0);
    cluster_boot_close(&boot);
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_stage_end(&stage);
    return 0;
}

static int fsck(const char *options)
{
    char line[FOLDER_STAGE_PATH_MAX + 80];

    snprintf(line, sizeof line, "rapahub fsck --data %s%s", stage.path, options);
    return type(line);
}

/* r[verify cluster.fsck] */
static void a_clean_folder_has_the_status_0(void **state)
{
    (void)state;
    assert_int_equal(fsck(""), 0);
    assert_has(output.text, "node 1, life 1");
    assert_has(output.text, "0 findings\n");
    assert_is(errors.text, "");
    assert_int_equal(fsck(" --quiet"), 0);
    assert_is(output.text, "");
}

static void a_finding_has_a_line_and_the_status_1(void **state)
{
    char line[FOLDER_STAGE_PATH_MAX + 80];

    (void)state;
    folder_stage_write(&stage, "letter.txt", "x", 1);
    assert_int_equal(fsck(" --quiet"), 1);
    snprintf(line, sizeof line,
             "stray  %s/letter.txt: no node has made it, and none reads it: take it away\n",
             stage.path);
    assert_is(output.text, line);
    assert_int_equal(fsck(" -o name"), 1);
    snprintf(line, sizeof line, "%s/letter.txt\n", stage.path);
    assert_is(output.text, line);
    assert_int_equal(fsck(" --json"), 1);
    assert_has(output.text, "{\"schema\": \"rapahub.fsck/1\", \"findings\": [{\"result\": \"ok\"");
    assert_has(output.text, "{\"result\": \"stray\", \"path\": ");
    assert_int_equal(fsck(""), 1);
    assert_has(output.text, "1 finding\n");
}

static void damage_names_the_file_and_what_may_be_done(void **state)
{
    char line[FOLDER_STAGE_PATH_MAX + 80];

    (void)state;
    folder_stage_flip(&stage, "node.store", 20);
    assert_int_equal(fsck(" -q"), 1);
    snprintf(line, sizeof line, "wrong  %s/node.store: it is damaged", stage.path);
    assert_has(output.text, line);
    assert_has(output.text, "put a backup of it in its place");
}

static void a_folder_that_is_in_use_names_the_process(void **state)
{
    struct cluster_boot boot;
    char text[80];

    (void)state;
    assert_int_equal(boot_stage_run(&stage, &boot), 0);
    assert_int_equal(fsck(""), 75);
    snprintf(text, sizeof text, "process %d runs a node in this folder", (int)getpid());
    assert_has(errors.text, text);
    assert_has(errors.text, "hint: rapahub ps");
    assert_is(output.text, "");
    assert_int_equal(fsck(" --json"), 75);
    assert_has(errors.text, "\"name\": \"RAPAHUB_EBUSY\"");
    cluster_boot_close(&boot);
}

static void a_folder_that_is_not_there_is_no_finding(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub fsck --data /nonexistent/data"), 3);
    assert_has(errors.text, "/nonexistent/data");
    assert_int_equal(type("rapahub fsck more"), 2);
}

/* The folder is that of the settings, then that of the user. */
static void without_a_folder_it_is_that_of_the_daemon(void **state)
{
    char path[FOLDER_STAGE_PATH_MAX], text[FOLDER_STAGE_PATH_MAX + 16];
    int size;

    (void)state;
    size = snprintf(text, sizeof text, "data: %s\n", stage.path);
    folder_stage_write(&stage, "../rapahub.yaml", text, (size_t)size);
    snprintf(path, sizeof path, "%s/rapahub.yaml", stage.top);
    setenv("RAPAHUB_CONFIG", path, 1);
    assert_int_equal(type("rapahub fsck"), 0);
    assert_has(output.text, stage.path);
    folder_stage_write(&stage, "../rapahub.yaml", "dta: /x\n", 8);
    assert_int_equal(type("rapahub fsck"), 2);
    assert_has(errors.text,
               "rapahub.yaml:1:1: unknown key 'dta', did you mean 'data'?\n    dta: /x\n");
    unsetenv("RAPAHUB_CONFIG");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_clean_folder_has_the_status_0),
        TEST(a_finding_has_a_line_and_the_status_1),
        TEST(damage_names_the_file_and_what_may_be_done),
        TEST(a_folder_that_is_in_use_names_the_process),
        TEST(a_folder_that_is_not_there_is_no_finding),
        TEST(without_a_folder_it_is_that_of_the_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
