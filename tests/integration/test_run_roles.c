/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of guests by `rapahub run`: in the regions of a tree file, and in one that is there.
 * r[verify exp.config.regions] */
#include "tests/integration/running.h"

#define LINKS TEST_MODULES "/links.so"

/* `two` comes behind `one`, and has the index that it names. */
static const char tree[] = "regions:\n"
                           "  - {name: news, kind: fanout, cells: 64, consumers: 2}\n"
                           "  - {name: board, kind: state-latch}\n"
                           "supervisor:\n"
                           "  name: top\n"
                           "  children:\n"
                           "    - {name: pub, module: " LINKS ", trust: trusted,\n"
                           "       roles: [{name: out, region: news, role: producer},\n"
                           "               {name: board, region: board, role: writer}]}\n"
                           "    - {name: one, module: " LINKS ", trust: trusted,\n"
                           "       roles: [{name: in, region: news, role: consumer},\n"
                           "               {name: view, region: board, role: reader}]}\n"
                           "    - {name: two, module: " LINKS ", trust: trusted,\n"
                           "       roles: [{name: in, region: news, role: consumer, index: 0}]}\n";

static void push(const struct scene *scene, const char *guest, unsigned value)
{
    char method[32], text[16];

    snprintf(method, sizeof method, "%s.push", guest);
    snprintf(text, sizeof text, "%u", value);
    assert_told(ASK(scene, "call", method, text), 0, "");
}

static void assert_popped(const struct scene *scene, const char *guest, unsigned value)
{
    char method[32], text[16];

    snprintf(method, sizeof method, "%s.pop", guest);
    snprintf(text, sizeof text, "%u\n", value);
    assert_told(ASK(scene, "call", method), 0, text);
}

/* There is nothing left: a second one of a message would come. */
static void assert_empty(const struct scene *scene, const char *guest)
{
    char method[32];
    struct answer answer;

    snprintf(method, sizeof method, "%s.pop", guest);
    answer = ASK(scene, "call", method);
    assert_int_equal(answer.status, 0);
    assert_int_equal(answer.text[0], '-');
}

/* The life of that number, of the one guest that has had so many. */
static void await_life(struct scene *scene, const char *guest, unsigned epoch)
{
    char text[48];

    snprintf(text, sizeof text, "%s: died: signal SIGKILL", guest);
    await(scene, text);
    snprintf(text, sizeof text, "  epoch %u\n", epoch);
    await(scene, text);
}

static void end_host(struct scene *scene)
{
    process_kill(&scene->host, SIGTERM);
    assert_int_equal(end_of(scene, NULL, 0), 0);
}

static void a_subscriber_of_a_tree_that_is_killed_has_each_message_once(void **state)
{
    struct scene scene;
    unsigned sent = 0, one = 0, two = 0;

    (void)state;
    make_scene(&scene);
    write_file(&scene, tree);
    start_host(&scene, scene.file);
    await(&scene, "pub: ready in ");
    await(&scene, "one: ready in ");
    await(&scene, "two: ready in ");
    assert_told(ASK(&scene, "call", "two.index_of"), 0, "0\n");
    assert_told(ASK(&scene, "call", "one.index_of"), 0, "1\n");
    for (unsigned round = 0; round < 3; round++) {
        push(&scene, "pub", ++sent);
        push(&scene, "pub", ++sent);
        assert_popped(&scene, "one", ++one);
        assert_told(ASK(&scene, "kill", "one"), 0, "one: killed");
        push(&scene, "pub", ++sent);
        await_life(&scene, "one", round + 2);
        while (one < sent)
            assert_popped(&scene, "one", ++one);
    }
    assert_empty(&scene, "one");
    while (two < sent)
        assert_popped(&scene, "two", ++two);
    assert_empty(&scene, "two");
    assert_told(ASK(&scene, "call", "one.index_of"), 0, "1\n");
    assert_told(ASK(&scene, "call", "pub.set", "41"), 0, "");
    assert_told(ASK(&scene, "call", "one.get"), 0, "41\n");
    end_host(&scene);
    clear_scene(&scene);
}

static void await_delivered(const struct scene *scene, const char *guest, unsigned count)
{
    char method[64], wanted[16];
    struct answer answer;

    snprintf(method, sizeof method, "%s.delivered", guest);
    snprintf(wanted, sizeof wanted, "%u\n", count);
    do /* the host is given 40 s */
        answer = ASK(scene, "call", method);
    while (answer.status == 0 && strcmp(answer.text, wanted) != 0);
    assert_told(answer, 0, wanted);
}

/* r[verify supervise.role.deliver] */
static void a_role_of_a_tree_delivers(void **state)
{
    struct scene scene;

    (void)state;
    make_scene(&scene);
    write_file(&scene, "regions: [{name: told, kind: mpsc}]\n"
                       "supervisor:\n"
                       "  children:\n"
                       "    - name: both\n"
                       "      module: " LINKS "\n"
                       "      trust: trusted\n"
                       "      roles:\n"
                       "        - {name: out, region: told, role: producer}\n"
                       "        - {name: in, region: told, role: consumer, deliver: true}\n");
    start_host(&scene, scene.file);
    await(&scene, "both: ready in ");
    for (unsigned i = 1; i <= 3; i++)
        push(&scene, "both", i);
    await_delivered(&scene, "both", 3);
    end_host(&scene);
    clear_scene(&scene);
}

static void nothing_starts_of_a_tree_with_a_mistake_in_its_roles(void **state)
{
    struct scene scene;
    struct answer answer;

    (void)state;
    make_scene(&scene);
    write_file(&scene, "supervisor:\n"
                       "  children:\n"
                       "    - {name: good, module: " LINKS "}\n"
                       "    - name: bad\n"
                       "      module: " LINKS "\n"
                       "      trust: trusted\n"
                       "      roles: [{name: in, region: news, role: consumer}]\n");
    answer = ASK(&scene, "run", scene.file);
    assert_told(answer, 2,
                "tree.yaml:7:34: the file has no region 'news'; add it to the list regions\n"
                "          roles: [{name: in, region: news, role: consumer}]\n"
                "                                     ^\n"
                "  code RAPAHUB_ECONFIG  rule supervise.role.checked\n");
    assert_null(strstr(answer.text, "ready"));
    clear_scene(&scene);
}

/* ---- a module by its file ---- */

/* A region that the program made. */
struct made {
    char name[64], out[96], in[96];
};

static void make_region(const struct scene *scene, struct made *made)
{
    snprintf(made->name, sizeof made->name, "test-run-roles-%d", getpid());
    snprintf(made->out, sizeof made->out, "out=producer:%s", made->name);
    snprintf(made->in, sizeof made->in, "in=consumer:%s#0", made->name);
    assert_told(ASK(scene, "region", "create", made->name, "--kind", "fanin", "--producers", "2",
                    "--cells", "8"),
                0, "");
}

static void a_module_has_roles_in_a_region_that_is_there(void **state)
{
    struct scene scene;
    struct made made;

    (void)state;
    make_scene(&scene);
    make_region(&scene, &made);
    start_words(&scene, (const char *const[]){PROCESS_RAPAHUB, "run", "--trust", "trusted",
                                              "--role", made.out, "--role", made.in, LINKS, NULL});
    await(&scene, "links: ready in ");
    push(&scene, "links", 7);
    push(&scene, "links", 8);
    assert_popped(&scene, "links", 7);
    assert_told(ASK(&scene, "kill", "links"), 0, "links: killed");
    await_life(&scene, "links", 2);
    assert_popped(&scene, "links", 8);
    push(&scene, "links", 9);
    assert_told(ASK(&scene, "region", "tail", made.name), 6, "consumer that lives");
    end_host(&scene);
    assert_told(ASK(&scene, "region", "inspect", made.name), 0, "fanin");
    assert_told(ASK(&scene, "region", "rm", made.name), 0, "");
    clear_scene(&scene);
}

static void a_module_is_delivered_and_drops(void **state)
{
    char in[128], out[128];
    struct scene scene;
    struct made made;

    (void)state;
    make_scene(&scene);
    make_region(&scene, &made);
    snprintf(in, sizeof in, "%s,deliver", made.in);
    snprintf(out, sizeof out, "%s#0,on_full=drop", made.out);
    start_words(&scene, (const char *const[]){PROCESS_RAPAHUB, "run", "--trust", "trusted",
                                              "--role", out, "--role", in, LINKS, NULL});
    await(&scene, "links: ready in ");
    push(&scene, "links", 7);
    await_delivered(&scene, "links", 1);
    end_host(&scene);
    snprintf(out, sizeof out, "%s,on_full=drop", made.out);
    start_words(&scene, (const char *const[]){PROCESS_RAPAHUB, "run", "--trust", "trusted",
                                              "--role", out, LINKS, NULL});
    await(&scene, "links: ready in ");
    for (unsigned i = 0; i < 9; i++)
        push(&scene, "links", i);
    end_host(&scene);
    assert_told(ASK(&scene, "region", "rm", made.name), 0, "");
    clear_scene(&scene);
}

#define ROLE(scene, text, ...) \
    ASK(scene, "run", "--trust", "trusted", "--role", text, __VA_ARGS__, LINKS)

static void a_role_that_cannot_be_is_refused(void **state)
{
    struct scene scene;
    struct made made;
    char text[128];

    (void)state;
    make_scene(&scene);
    make_region(&scene, &made);
    assert_told(ROLE(&scene, "in", "-q"), 2, "--role: 'in' is not like NAME=KIND:REGION");
    assert_told(ROLE(&scene, "in=consumer", "-q"), 2, "is not like NAME=KIND:REGION");
    assert_told(ROLE(&scene, "=consumer:x", "-q"), 2, "is not like NAME=KIND:REGION");
    assert_told(
        ROLE(&scene, "in=consumr:x", "-q"), 2,
        "'consumr' is none of producer, consumer, writer, reader; did you mean 'consumer'?");
    assert_told(ROLE(&scene, "in=consumer:x#y", "-q"), 2, "index 'y' is not a number from 0 on");
    assert_told(ROLE(&scene, "in=consumer:x,delivr", "-q"), 2,
                "'delivr' is no option of a role: deliver, or on_full=WHAT");
    assert_told(ROLE(&scene, "in=consumer:x,", "-q"), 2, "'' is no option of a role");
    assert_told(ROLE(&scene, "out=producer:x#0,deliver,on_full=drp", "-q"), 2,
                "'drp' is none of block, backoff, drop, fail; did you mean 'drop'?");
    assert_told(ASK(&scene, "run", "--role", made.in, LINKS), 2, "--role needs --trust trusted");
    assert_told(ROLE(&scene, made.in, LINKS), 2, "--role needs a single module");
    assert_told(ROLE(&scene, "in=consumer:no-such-region", "-q"), 3,
                "error: region no-such-region: ");
    snprintf(text, sizeof text, "in=writer:%s", made.name);
    assert_told(ROLE(&scene, text, "-q"), 8, "has no writer, which the role 'in' is");
    snprintf(text, sizeof text, "out=producer:%s#2", made.name);
    assert_told(ROLE(&scene, text, "-q"), 2, "wants index 2");
    assert_told(ROLE(&scene, made.in, "--role", made.in), 2, "two roles have the name 'in'");
    write_file(&scene, tree);
    assert_told(ASK(&scene, "run", "--role", made.in, scene.file), 2,
                "--role is said in the file, of each guest");
    assert_told(ASK(&scene, "region", "rm", made.name), 0, "");
    clear_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subscriber_of_a_tree_that_is_killed_has_each_message_once),
        cmocka_unit_test(a_role_of_a_tree_delivers),
        cmocka_unit_test(nothing_starts_of_a_tree_with_a_mistake_in_its_roles),
        cmocka_unit_test(a_module_has_roles_in_a_region_that_is_there),
        cmocka_unit_test(a_module_is_delivered_and_drops),
        cmocka_unit_test(a_role_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
