/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that change something on a node. */
#include <unistd.h>

#include "tests/unit/cluster-cli/typing.h"

#define MODULES TEST_PREFIX "/tests/modules/"

static void answer_number(const char *method, uint64_t number)
{
    fake_node_answer(&(struct fake_answer){method, 0, "", number});
}

static void a_pool_is_deleted_and_waited_for(void **state)
{
    (void)state;
    answer_number("remove", 7);
    assert_int_equal(type("rapahub delete tally"), 0);
    assert_is(fake_node.asked, "remove(tally)\nwait(7, 30000000000)\n");
    assert_is(errors.text, "tally is deleted\n");
    assert_int_equal(type("rapahub delete tally --json"), 0);
    assert_is(output.text,
              "{\"schema\": \"rapahub.delete/1\", \"operation\": 7, \"done\": true}\n");
}

static void nobody_need_wait(void **state)
{
    (void)state;
    answer_number("remove", 7);
    assert_int_equal(type("rapahub delete tally --no-wait"), 0);
    assert_is(fake_node.asked, "remove(tally)\n");
    assert_is(errors.text, "tally: operation 7 goes on\n");
    answer_number("remove", 0);
    assert_int_equal(type("rapahub delete tally --json"), 0);
    assert_is(fake_node.asked, "remove(tally)\n");
    assert_has(output.text, "\"done\": true");
}

static void an_operation_that_fails_is_the_failure(void **state)
{
    (void)state;
    answer_number("remove", 7);
    fake_node_answer(&(struct fake_answer){
        "wait", 0, "{\"number\": \"7\", \"result\": -4101, \"cause\": \"its guest died\"}", 0});
    assert_int_equal(type("rapahub delete tally"), 9);
    assert_has(errors.text, "error: tally: its guest died\n  code RAPAHUB_EDIED");
    fake_node_answer(&(struct fake_answer){"wait", RAPAHUB_ETIMEDOUT, "it goes on", 0});
    assert_int_equal(type("rapahub delete tally"), 5);
    assert_has(errors.text, "how far operation 7 is");
    fake_node_answer(&(struct fake_answer){"remove", RAPAHUB_EACCES, "it is for an admin", 0});
    assert_int_equal(type("rapahub delete tally"), 7);
    assert_is(fake_node.asked, "remove(tally)\n");
    assert_has(errors.text, "error: tally: it is for an admin");
}

static void a_container_is_released(void **state)
{
    (void)state;
    answer_number("release", 3);
    assert_int_equal(type("rapahub release tally#2"), 0);
    assert_is(fake_node.asked, "release(tally, 2)\nwait(3, 30000000000)\n");
    assert_is(errors.text, "tally#2 is released\n");
    assert_int_equal(type("rapahub release tally"), 2);
    assert_is(fake_node.asked, "");
    assert_has(errors.text, "'tally' is not POOL#N");
}

static void a_module_is_removed(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){"unpush", 0, "", 0});
    assert_int_equal(type("rapahub module rm calc:1.0"), 0);
    assert_is(fake_node.asked, "unpush(calc, 1.0)\n");
    assert_is(errors.text, "calc:1.0 is removed\n");
    assert_int_equal(type("rapahub module rm calc:1.0 --json"), 0);
    assert_has(output.text, "\"name\": \"calc\", \"version\": \"1.0\"");
    assert_int_equal(type("rapahub module rm calc"), 2);
    assert_int_equal(type("rapahub module rm :1"), 2);
    fake_node_answer(&(struct fake_answer){"unpush", RAPAHUB_ESTATE, "a pool has it", 0});
    assert_int_equal(type("rapahub module rm calc:1.0"), 6);
}

static unsigned lines(const char *text)
{
    unsigned count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void a_module_is_pushed_until_the_node_has_it(void **state)
{
    (void)state;
    answer_number("push", 1);
    assert_int_equal(type("rapahub module push " MODULES "calc.so"), 0);
    assert_is(output.text, "calc:0.1.0\n");
    assert_int_equal(lines(fake_node.asked), 1);
    assert_has(fake_node.asked, "push(");
    assert_int_equal(type("rapahub module push --json " MODULES "calc.so"), 0);
    assert_has(output.text,
               "{\"schema\": \"rapahub.module-push/1\", \"name\": \"calc\", \"version\": "
               "\"0.1.0\", \"sha256\": \"");
}

/* It is sent whole, and then the node must have it. */
static void a_module_that_the_node_never_has_is_a_failure(void **state)
{
    (void)state;
    answer_number("push", 0);
    assert_int_equal(type("rapahub module push " MODULES "calc.so"), 6);
    assert_has(errors.text, "has changed while it was sent");
    fake_node_answer(&(struct fake_answer){"push", RAPAHUB_ENOSPC, "the disk is full", 0});
    assert_int_equal(type("rapahub module push " MODULES "calc.so"), 13);
    assert_int_equal(type("rapahub module push " MODULES "plain.so"), 8);
    assert_is(fake_node.asked, "");
    assert_int_equal(type("rapahub module push /nonexistent.so"), 3);
}

/* ---- apply ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static char path[] = "/tmp/rapahub-apply-XXXXXX";

static int type_apply(const char *text, const char *options)
{
    char line[256];

    write_file(path, text);
    snprintf(line, sizeof line, "rapahub apply -f %s%s", path, options);
    return type(line);
}

static void pools_are_pushed_ordered_and_waited_for(void **state)
{
    const char *asked = fake_node.asked;

    (void)state;
    answer_number("push", 1);
    answer_number("apply", 9);
    assert_int_equal(type_apply("- {pool_name: a, module: " MODULES "calc.so}\n"
                                "- {pool_name: b, module: counter}\n",
                                ""),
                     0);
    assert_is(output.text, "NAME  MODULE   VERSION  CONTAINERS  GUESTS  DURABILITY\n"
                           "a     calc     0.1.0    1           shared  none\n"
                           "b     counter  1.10.0   1           shared  checkpoint\n");
    assert_int_equal(lines(asked), 6);
    assert_true(strstr(asked, "modules()\npush(") == asked);
    assert_has(asked, ", false)\nwait(9, 30000000000)\nwait(9, 30000000000)\n");
    assert_int_equal(type_apply("{pool_name: a, module: 'counter:1.9.0'}", " --no-wait"), 0);
    assert_has(output.text, "a     counter  1.9.0 ");
    assert_null(strstr(asked, "wait"));
}

static void all_modules_are_pushed_before_a_pool_is_ordered(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){"push", RAPAHUB_ENOSPC, "the disk is full", 0});
    assert_int_equal(type_apply("- {pool_name: a, module: counter}\n"
                                "- {pool_name: b, module: " MODULES "calc.so}\n",
                                ""),
                     13);
    assert_has(errors.text, "error: b: the disk is full\n");
    assert_null(strstr(fake_node.asked, "apply("));
}

static void a_file_that_is_wrong_asks_nothing(void **state)
{
    (void)state;
    assert_int_equal(type_apply("{pool_name: a, mod: calc}", ""), 2);
    assert_is(fake_node.asked, "");
    assert_int_equal(fake_node.closed, 0);
    assert_int_equal(type_apply("{pool_name: a, module: calc}", " --check"), 0);
    assert_int_equal(fake_node.closed, 0);
}

/* All modules are known before the first pool is ordered. */
static void a_module_that_the_node_does_not_have(void **state)
{
    (void)state;
    assert_int_equal(type_apply("- {pool_name: a, module: counter}\n"
                                "- {pool_name: b, module: 'counter:2'}\n",
                                ""),
                     3);
    assert_has(errors.text, "error: b: the node has no module counter:2\n");
    assert_has(errors.text, "hint: rapahub module push FILE");
    assert_is(fake_node.asked, "modules()\nmodules()\n");
}

static void a_module_of_which_the_node_does_not_tell_all(void **state)
{
    (void)state;
    answer_number("apply", 0);
    assert_int_equal(type_apply("{pool_name: a, module: other}", ""), 2);
    assert_has(errors.text, "durability: the node does not tell whether module other saves; write "
                            "none, local, checkpoint or acked");
    assert_has(errors.text, "{pool_name: a, module: other}");
    assert_int_equal(type_apply("{pool_name: a, module: other, durability: acked}", ""), 0);
    fake_node_answer(&(struct fake_answer){
        "modules", 0, "{\"modules\": [{\"name\": \"x\", \"version\": \"1\", \"sha256\": \"12\"}]}",
        0});
    assert_int_equal(type_apply("{pool_name: a, module: x}", ""), 9);
    assert_has(errors.text, "the node describes a module that cannot be");
    fake_node_answer(&(struct fake_answer){
        "modules", 0,
        "{\"modules\": [{\"name\": \"x\", \"version\": \"1\", \"saves\": true, \"sha256\": "
        "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff00\"}]}",
        0});
    assert_int_equal(type_apply("{pool_name: a, module: x}", ""), 9);
}

static void a_pool_that_differs_is_told_by_name(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){"apply", RAPAHUB_EEXIST, "these differ: containers", 0});
    assert_int_equal(type_apply("- {pool_name: a, module: counter}\n"
                                "- {pool_name: b, module: counter}\n",
                                ""),
                     6);
    assert_has(errors.text, "error: a: these differ: containers\n");
    assert_is(output.text, "");
}

static int make_path(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TYPING(a_pool_is_deleted_and_waited_for),
        TYPING(nobody_need_wait),
        TYPING(an_operation_that_fails_is_the_failure),
        TYPING(a_container_is_released),
        TYPING(a_module_is_removed),
        TYPING(a_module_is_pushed_until_the_node_has_it),
        TYPING(a_module_that_the_node_never_has_is_a_failure),
        TYPING(pools_are_pushed_ordered_and_waited_for),
        TYPING(all_modules_are_pushed_before_a_pool_is_ordered),
        TYPING(a_file_that_is_wrong_asks_nothing),
        TYPING(a_module_that_the_node_does_not_have),
        TYPING(a_module_of_which_the_node_does_not_tell_all),
        TYPING(a_pool_that_differs_is_told_by_name),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
