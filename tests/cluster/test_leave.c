/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes of one cluster as real processes. Node 3 leaves: its daemon and its warden end, and
 * what it had goes on at node 2, with every call that was answered. */
#include <sys/wait.h>

#include "hub/base/clock.h"
#include "tests/cluster/mesh_stage.h"

#define CONTAINERS 6

static struct mesh *mesh;

static struct node_process *node(unsigned number)
{
    return number == 1   ? &mesh->joined->stage->first
           : number == 2 ? &mesh->joined->second
                         : &mesh->third;
}

static int open_stage(void **state)
{
    assert_int_equal(mesh_begin(state), 0);
    mesh = *state;
    mesh_push(node(1), TEST_PREFIX "/bin/counter.so");
    return 0;
}

static int close_stage(void **state)
{
    return mesh_end(state);
}

static void apply(const char *name, const char *more)
{
    char text[512];

    snprintf(text, sizeof text,
             "pools:\n  - pool_name: %s\n    module: " TEST_PREFIX
             "/bin/counter.so\n    containers: %d\n    placement: {nodes: [2, 3]}\n%s",
             name, CONTAINERS, more);
    node_process_apply(node(1), text);
    AWAIT(node(2), "\"owner\":3", "describe", "pool", name, "--json");
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

/* How often the description of a pool says this. */
static unsigned count(const char *pool, const char *text)
{
    const char *const words[] = {"describe", "pool", pool, "--json", NULL};
    struct process_result result;
    unsigned times = 0;

    assert_int_equal(node_process_rapahub(node(1), words, &result), 0);
    for (const char *at = result.out; (at = strstr(at, text)); at++)
        times++;
    process_result_fini(&result);
    return times;
}

static void run(const char *const *words)
{
    struct process_result result;

    if (node_process_rapahub(node(1), words, &result) != 0)
        fail_msg("%s %s: %s", words[0], words[1], result.err);
    process_result_fini(&result);
}

/* The warden ends with status 0 once its daemon has. */
static void await_end_of_third(void)
{
    struct node_process *of = node(3);
    int status = 0;

    for (unsigned i = 0; i < 1200 && waitpid(of->warden, &status, WNOHANG) == 0; i++)
        pause_ms(50);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    of->warden = 0;
}

/* ---- tests ---- */

/* r[verify cluster.leave.order] r[verify cluster.leave.kept] */
static void what_would_lose_something_is_refused(void **state)
{
    (void)state;
    apply("here", "    durability: local\n");
    joined_refuses(node(1), (const char *const[]){"node", "leave", "3", NULL}, 9,
                   "only the disk of node 3");
    joined_refuses(node(1), (const char *const[]){"node", "leave", "1", NULL}, 2, "authority");
    joined_refuses(node(1), (const char *const[]){"node", "leave", "9", NULL}, 3, "no node 9");
    joined_refuses(node(1), (const char *const[]){"node", "leave", "x", NULL}, 2, "no number");
    joined_refuses(node(2), (const char *const[]){"node", "leave", "3", NULL}, 6, "node 1");
    assert_true(count("here", "\"owner\":3") > 0);
    run((const char *const[]){"delete", "here", NULL});
}

/* r[verify cluster.leave.ends] r[verify cluster.leave.left] */
static void what_a_node_had_goes_on_elsewhere(void **state)
{
    uint64_t begun_ns;

    (void)state;
    apply("kept", "    durability: acked\n    copies: 2\n    min_copies: 1\n");
    apply("free", "    durability: none\n");
    assert_int_equal(add_to_all("kept"), CONTAINERS);
    assert_int_equal(add_to_all("free"), CONTAINERS);
    for (unsigned i = 0; i < 1200 && count("kept", "\"holders\":\"2,3\"") < CONTAINERS; i++)
        pause_ms(50);
    assert_int_equal(count("kept", "\"holders\":\"2,3\""), CONTAINERS);
    begun_ns = hub_clock_now();
    run((const char *const[]){"node", "leave", "3", NULL});
    print_message("left after %.2f s\n", (double)(hub_clock_now() - begun_ns) / 1e9);
    await_end_of_third();
    assert_int_equal(count("kept", "\"owner\":3"), 0);
    assert_int_equal(count("free", "\"owner\":3"), 0);
    assert_int_equal(add_to_all("kept"), 2 * CONTAINERS);
    assert_true(add_to_all("free") < 2 * CONTAINERS);
    AWAIT(node(1), "\"state\":\"LEFT\"", "get", "nodes", "--json");
    run((const char *const[]){"node", "leave", "3", NULL}); /* it has, already */
}

/* r[verify cluster.leave.left] */
static void its_folder_begins_no_more(void **state)
{
    struct node_process *of = node(3);
    int status = 0;

    (void)state;
    node_process_begin(of);
    for (unsigned i = 0; i < 1200 && waitpid(of->warden, &status, WNOHANG) == 0; i++)
        pause_ms(50);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 0);
    of->warden = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_would_lose_something_is_refused),
        cmocka_unit_test(what_a_node_had_goes_on_elsewhere),
        cmocka_unit_test(its_folder_begins_no_more),
    };

    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
