/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes of one cluster as real processes. Node 3 dies in several ways, and its containers
 * begin on node 2, or wait for it. Each test has a pool of its own on nodes 2 and 3. */
#include <sys/wait.h>

#include "hub/base/clock.h"
#include "tests/cluster/mesh_stage.h"

#define CONTAINERS 6

static struct mesh *mesh;
static char config[64];

static struct node_process *node(unsigned number)
{
    return number == 1   ? &mesh->joined->stage->first
           : number == 2 ? &mesh->joined->second
                         : &mesh->third;
}

/* ---- the stage ---- */

/* All daemons of the test find out soon which nodes live. */
static void write_config(void)
{
    FILE *file;
    int fd;

    snprintf(config, sizeof config, "/tmp/rapahub-recover-XXXXXX");
    fd = mkstemp(config);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file, "detection: fast\n");
    fclose(file);
    assert_int_equal(setenv("RAPAHUB_CONFIG", config, 1), 0);
}

static int open_stage(void **state)
{
    write_config();
    assert_int_equal(mesh_begin(state), 0);
    mesh = *state;
    mesh_push(node(1), TEST_PREFIX "/bin/counter.so");
    return 0;
}

static int close_stage(void **state)
{
    assert_int_equal(mesh_end(state), 0);
    assert_int_equal(unlink(config), 0);
    return 0;
}

/* Waits until the row of a node, as node 1 lists it, has this text. */
static void await_row(unsigned of, const char *text)
{
    static const char *const words[] = {"get", "nodes", "--json", NULL};
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);
    bool found = false;
    char row[40];

    snprintf(row, sizeof row, "{\"number\":%u,", of);
    while (!found) {
        struct process_result result;
        char *at, *end;

        if (hub_clock_left(until_ns) == 0)
            fail_msg("node 1 does not come to say '%s' of node %u", text, of);
        if (node_process_rapahub(node(1), words, &result) == 0 && (at = strstr(result.out, row))) {
            end = strchr(at, '}');
            if (end)
                *end = '\0';
            found = strstr(at, text) != NULL;
        }
        process_result_fini(&result);
        pause_ms(20);
    }
}

static void await_all_alive(void)
{
    await_row(2, "\"verdict\":\"alive\"");
    await_row(3, "\"verdict\":\"alive\"");
}

static void apply(const char *name, const char *more)
{
    char text[512];

    await_all_alive();
    snprintf(text, sizeof text,
             "pools:\n  - pool_name: %s\n    module: " TEST_PREFIX
             "/bin/counter.so\n    containers: %d\n    placement: {nodes: [2, 3]}\n%s",
             name, CONTAINERS, more);
    node_process_apply(node(1), text);
    AWAIT(node(2), "\"owner\":2", "describe", "pool", name, "--json");
    AWAIT(node(2), "\"owner\":3", "describe", "pool", name, "--json");
}

static void delete (const char *name)
{
    const char *const words[] = {"delete", name, NULL};
    struct process_result result;

    if (node_process_rapahub(node(1), words, &result) != 0)
        fail_msg("delete: %s", result.err);
    process_result_fini(&result);
}

/* The host of node 3 is lost, with all that runs there. */
static void lose_host(void)
{
    struct node_process *of = node(3);
    pid_t daemon = node_process_daemon(of);

    assert_true(daemon > 0);
    assert_int_equal(kill(of->warden, SIGSTOP), 0);
    assert_int_equal(kill(daemon, SIGKILL), 0);
    assert_int_equal(kill(of->warden, SIGKILL), 0);
    assert_int_equal(waitpid(of->warden, NULL, 0), of->warden);
    of->warden = 0;
}

static void come_back(void)
{
    node_process_begin(node(3));
    join_await(node(3));
    await_row(3, "\"state\":\"ACTIVE\"");
    await_all_alive();
}

static void say_dead(bool discard)
{
    const char *const words[] = {"node", "dead", "3", "--yes", discard ? "--discard" : NULL, NULL};
    struct process_result result;

    if (node_process_rapahub(node(1), words, &result) != 0)
        fail_msg("node dead: %s", result.err);
    process_result_fini(&result);
}

/* Adds 1 in each container. Returns the sum of their totals. */
static long add_to_all(const char *pool)
{
    char target[64];
    long sum = 0;

    for (unsigned c = 0; c < CONTAINERS; c++) {
        snprintf(target, sizeof target, "%s#%u.add", pool, c);
        sum += joined_add(node(2), target);
    }
    return sum;
}

static unsigned count_owned(const char *pool, const char *by)
{
    const char *const words[] = {"describe", "pool", pool, "--json", NULL};
    struct process_result result;
    unsigned count = 0;

    assert_int_equal(node_process_rapahub(node(1), words, &result), 0);
    for (const char *at = result.out; (at = strstr(at, by)); at++)
        count++;
    process_result_fini(&result);
    return count;
}

static unsigned await_none_of_third(const char *pool)
{
    for (unsigned i = 0; i < 1200 && count_owned(pool, "\"owner\":3") > 0; i++)
        pause_ms(50);
    assert_int_equal(count_owned(pool, "\"owner\":3"), 0);
    return count_owned(pool, "\"owner\":2");
}

/* ---- tests ---- */

/* r[verify cluster.recover.word] r[verify cluster.recover.silent] r[verify cluster.session.fencer]
 */
static void containers_of_a_lost_host_begin_elsewhere_when_a_person_says_so(void **state)
{
    uint64_t begun_ns;
    unsigned of_third;

    (void)state;
    apply("free", "    durability: none\n");
    of_third = count_owned("free", "\"owner\":3");
    assert_int_equal(add_to_all("free"), CONTAINERS);
    joined_refuses(node(1), (const char *const[]){"node", "dead", "3", "--yes", NULL}, 6,
                   "node 3 lives");
    joined_refuses(node(1), (const char *const[]){"node", "dead", "1", "--yes", NULL}, 2, "leads");
    joined_refuses(node(1), (const char *const[]){"node", "dead", "3", NULL}, 2, "add --yes");
    joined_refuses(node(1), (const char *const[]){"node", "dead", "9", "--yes", NULL}, 3,
                   "no node 9");
    lose_host();
    await_row(3, "EPROOF");
    assert_int_equal(count_owned("free", "\"owner\":3"), of_third);
    begun_ns = hub_clock_now();
    say_dead(false);
    assert_int_equal(add_to_all("free"), 2 * CONTAINERS - of_third);
    print_message("said: all of %u answer after %.2f s\n", of_third,
                  (double)(hub_clock_now() - begun_ns) / 1e9);
    assert_int_equal(await_none_of_third("free"), CONTAINERS);
    await_row(3, "FENCED");
    come_back();
    assert_int_equal(count_owned("free", "\"owner\":2"), CONTAINERS);
    assert_int_equal(add_to_all("free"), 3 * CONTAINERS - of_third);
    delete ("free");
}

#define GRACE (2 * HUB_SECOND) /* so long a pool waits for the next life of a daemon */

/* False: the next life was there before the death was known, so that nothing had to move. */
static bool await_moved(const char *pool, uint32_t boot)
{
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);
    bool is_back = false;

    while (count_owned(pool, "\"owner\":3") > 0 && hub_clock_left(until_ns) > 0) {
        if (!is_back && joined_boot_of(node(3)) > boot) {
            is_back = true;
            until_ns = hub_clock_after(5 * HUB_SECOND);
        }
        pause_ms(50);
    }
    return count_owned(pool, "\"owner\":3") == 0;
}

/* Returns whether its containers moved. */
static bool kill_daemon_of_third(void)
{
    uint32_t boot = joined_boot_of(node(3));
    uint64_t begun_ns, before_ns, span_ns;
    unsigned of_third;
    bool moved, in_time;

    /* A call may be sent before its node sees that the link is gone. */
    apply("moves", "    durability: none\n    on_daemon_death: recover\n    repeat: all\n");
    apply("stays", "    durability: none\n");
    of_third = count_owned("moves", "\"owner\":3");
    begun_ns = hub_clock_now();
    assert_int_equal(add_to_all("moves"), CONTAINERS);
    before_ns = hub_clock_now() - begun_ns; /* longer, on a machine that is slow */
    begun_ns = hub_clock_now();
    joined_kill(node(3));
    assert_int_equal(add_to_all("moves"), 2 * CONTAINERS - of_third);
    span_ns = hub_clock_now() - begun_ns;
    print_message("daemon killed: all of %u answer after %.2f s\n", of_third,
                  (double)span_ns / 1e9);
    moved = await_moved("moves", boot);
    join_await(node(3));
    await_row(3, "\"state\":\"ACTIVE\"");
    in_time = hub_clock_now() - begun_ns < GRACE;
    assert_int_equal(add_to_all("stays"), CONTAINERS);
    assert_true(!in_time || count_owned("stays", "\"owner\":3") > 0);
    assert_int_equal(add_to_all("moves"), 3 * CONTAINERS - of_third);
    delete ("moves");
    delete ("stays");
    assert_true(!moved || span_ns < 2 * HUB_SECOND + 10 * before_ns);
    return moved;
}

/* The warden does not hold the next life for long, so on a slow machine that may be faster.
 * r[verify cluster.death.sent] r[verify cluster.death.certificate] r[verify cluster.session.back]
 */
static void containers_of_a_dead_daemon_begin_elsewhere_at_once(void **state)
{
    bool moved = false;

    (void)state;
    for (int i = 0; i < 3 && !moved; i++)
        moved = kill_daemon_of_third();
    assert_true(moved);
}

static void await_owned(const char *pool, const char *by, unsigned count)
{
    for (unsigned i = 0; i < 1200 && count_owned(pool, by) != count; i++)
        pause_ms(50);
    assert_int_equal(count_owned(pool, by), count);
}

/* All that was answered is there, and nobody has given anything up. r[verify
 * cluster.recover.holders]
 */
static void what_another_node_keeps_is_there(void **state)
{
    uint64_t begun_ns;
    unsigned of_third;

    (void)state;
    apply("safe", "    durability: acked\n    copies: 2\n    min_copies: 1\n");
    await_owned("safe", "\"holders\":\"2,3\"", CONTAINERS);
    of_third = count_owned("safe", "\"owner\":3");
    assert_true(of_third > 0);
    assert_int_equal(add_to_all("safe"), CONTAINERS);
    assert_int_equal(add_to_all("safe"), 2 * CONTAINERS);
    lose_host();
    await_row(3, "\"verdict\":\"dead\"");
    begun_ns = hub_clock_now();
    say_dead(false);
    assert_int_equal(add_to_all("safe"), 3 * CONTAINERS);
    print_message("said: all of %u answer with their states after %.2f s\n", of_third,
                  (double)(hub_clock_now() - begun_ns) / 1e9);
    assert_int_equal(await_none_of_third("safe"), CONTAINERS);
    come_back();
    assert_int_equal(add_to_all("safe"), 4 * CONTAINERS);
    await_owned("safe", "\"holders\":\"2,3\"", CONTAINERS); /* it keeps copies again */
    delete ("safe");
}

/* r[verify cluster.recover.local] r[verify cluster.recover.resume] */
static void what_only_its_disk_has_waits_for_the_node(void **state)
{
    unsigned of_third;

    (void)state;
    apply("kept", "    durability: acked\n");
    of_third = count_owned("kept", "\"owner\":3");
    assert_int_equal(add_to_all("kept"), CONTAINERS);
    lose_host();
    await_row(3, "\"verdict\":\"dead\"");
    say_dead(false);
    await_row(3, "ENOCOPY");
    assert_int_equal(count_owned("kept", "\"owner\":3"), of_third);
    come_back();
    assert_int_equal(add_to_all("kept"), 2 * CONTAINERS);
    assert_int_equal(count_owned("kept", "\"owner\":3"), of_third);
    lose_host();
    await_row(3, "\"verdict\":\"dead\"");
    say_dead(true);
    joined_kill(node(1)); /* in the middle of it: its next life goes on */
    assert_int_equal(add_to_all("kept"), 3 * CONTAINERS - 2 * of_third);
    join_await(node(1));
    assert_int_equal(await_none_of_third("kept"), CONTAINERS);
    come_back();
    assert_int_equal(add_to_all("kept"), 4 * CONTAINERS - 2 * of_third);
    delete ("kept");
}

/* ---- calls that are open ---- */

/* Returns a container of node 3. */
static unsigned find_of_third(const char *pool)
{
    const char *const words[] = {"describe", "pool", pool, "--json", NULL};
    struct process_result result;
    const char *at, *owner;
    unsigned container = CONTAINERS;

    assert_int_equal(node_process_rapahub(node(1), words, &result), 0);
    owner = strstr(result.out, "\"owner\":3");
    assert_non_null(owner);
    for (at = result.out; (at = strstr(at, "\"container\":")) && at < owner; at++)
        container = (unsigned)strtoul(at + strlen("\"container\":"), NULL, 10);
    process_result_fini(&result);
    assert_true(container < CONTAINERS);
    return container;
}

/* Kills the daemon of node 3 while a call runs there. Returns the exit status of its caller. */
static int kill_within_call(const char *pool)
{
    char target[64], notes[NODE_PROCESS_PATH + 16], ran[NODE_PROCESS_PATH + 24];
    const char *const argv[] = {
        PROCESS_RAPAHUB, "call",   target,           "5", notes, "--timeout",
        "30s",           "--node", node(2)->address, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 90 * HUB_SECOND};
    struct process_result result;
    struct process caller;
    int status;

    /* The method makes it, and waits to be killed. */
    snprintf(notes, sizeof notes, "%s/note", node(1)->folder);
    snprintf(ran, sizeof ran, "%s.ran", notes);
    snprintf(target, sizeof target, "%s#%u.note", pool, find_of_third(pool));
    assert_int_equal(process_start(&options, &caller), 0);
    for (unsigned i = 0; i < 6000 && access(notes, F_OK) != 0; i++)
        pause_ms(5);
    joined_kill(node(3));
    assert_int_equal(process_finish(&caller, &result), 0);
    status = result.status;
    process_result_fini(&result);
    assert_int_equal(unlink(notes), 0);
    (void)unlink(ran);
    join_await(node(3));
    return status;
}

static void apply_chained(const char *name, const char *more)
{
    char text[512];

    await_all_alive();
    snprintf(text, sizeof text,
             "pools:\n  - pool_name: %s\n    module: " TEST_PREFIX
             "/tests/modules/chained.so\n    containers: %d\n    durability: none\n"
             "    on_daemon_death: recover\n    placement: {nodes: [2, 3]}\n%s",
             name, CONTAINERS, more);
    node_process_apply(node(1), text);
}

/* r[verify cluster.call.lineage] r[verify cluster.recover.plan] */
static void a_call_that_was_open_there_ends_as_its_pool_says(void **state)
{
    (void)state;
    mesh_push(node(1), TEST_PREFIX "/tests/modules/chained.so");
    apply_chained("once", "");
    assert_int_equal(kill_within_call("once"), 9); /* RAPAHUB_EMAYBE */
    delete ("once");
    apply_chained("again", "    repeat: all\n");
    assert_int_equal(kill_within_call("again"), 0);
    delete ("again");
}

/* Its host stands still for so long that a person takes it for dead, and goes on then.
 * r[verify cluster.session.back] r[verify cluster.nodes.gone] */
static void a_node_that_was_taken_for_dead_begins_anew(void **state)
{
    uint32_t boot = joined_boot_of(node(3));
    pid_t daemon = node_process_daemon(node(3));
    unsigned of_third;

    (void)state;
    apply("paused", "    durability: none\n    repeat: all\n");
    of_third = count_owned("paused", "\"owner\":3");
    assert_int_equal(add_to_all("paused"), CONTAINERS);
    assert_int_equal(kill(node(3)->warden, SIGSTOP), 0);
    assert_int_equal(kill(daemon, SIGSTOP), 0);
    await_row(3, "\"verdict\":\"dead\"");
    say_dead(false);
    assert_int_equal(add_to_all("paused"), 2 * CONTAINERS - of_third);
    assert_int_equal(kill(daemon, SIGCONT), 0);
    assert_int_equal(kill(node(3)->warden, SIGCONT), 0);
    await_row(3, "\"state\":\"ACTIVE\"");
    join_await(node(3));
    await_all_alive();
    assert_true(joined_boot_of(node(3)) > boot);
    assert_int_equal(count_owned("paused", "\"owner\":2"), CONTAINERS);
    assert_int_equal(add_to_all("paused"), 3 * CONTAINERS - of_third);
    assert_true(joined_add(node(3), "paused#0.add") > 2);
    delete ("paused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_of_a_lost_host_begin_elsewhere_when_a_person_says_so),
        cmocka_unit_test(containers_of_a_dead_daemon_begin_elsewhere_at_once),
        cmocka_unit_test(a_call_that_was_open_there_ends_as_its_pool_says),
        cmocka_unit_test(what_another_node_keeps_is_there),
        cmocka_unit_test(what_only_its_disk_has_waits_for_the_node),
        cmocka_unit_test(a_node_that_was_taken_for_dead_begins_anew),
    };

    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
