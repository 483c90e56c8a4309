/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of one node to a container of another: from a thread, from a chimod, to several, with
 * streams, while the link is cut, and when the other node has gone. */
#include <rapahub/error.h>

#include "tests/cluster/two_nodes.h"
#include "tests/support/process.h"

#define TIMEOUT_NS (30 * SECOND)
#define CALLS      200
#define LARGE      200000 /* bytes */

static struct two_nodes nodes;

static int open_stage(void **state)
{
    (void)state;
    two_nodes_begin(&nodes);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    two_nodes_end(&nodes);
    return 0;
}

static struct rapahub_container_id container(uint32_t number)
{
    return (struct rapahub_container_id){nodes.pool, number};
}

static int enter(struct living *on, uint32_t target, uint64_t number, uint64_t timeout_ns)
{
    const struct rapahub_call call = {.target = container(target),
                                      .method = "enter(u64)",
                                      .arguments = (const void *const[]){&number, NULL},
                                      .timeout_ns = timeout_ns};

    return rapahub_host_call(on->host, &call, NULL);
}

static int count(struct living *on, uint32_t target, uint64_t number, uint32_t *out)
{
    const struct rapahub_call call = {.target = container(target),
                                      .method = "count(u64) -> u32",
                                      .arguments = (const void *const[]){&number, NULL},
                                      .timeout_ns = TIMEOUT_NS};

    return rapahub_host_call(on->host, &call, out);
}

/* Node 2 itself says how often a number was entered in its container. */
static void was_entered(uint64_t number, uint32_t times)
{
    uint32_t found = 0;

    assert_done(count(&nodes.two, 1, number, &found));
    assert_int_equal(found, times);
}

/* r[verify cluster.node.frames] r[verify cluster.peer.send] */
static void a_call_reaches_the_container_of_another_node(void **state)
{
    uint32_t found = 0;

    (void)state;
    assert_done(enter(&nodes.one, 1, 7, TIMEOUT_NS));
    assert_done(count(&nodes.one, 1, 7, &found));
    assert_int_equal(found, 1);
    was_entered(7, 1);
    assert_done(enter(&nodes.one, 0, 7, TIMEOUT_NS)); /* the own one */
    was_entered(7, 1);
    assert_true(two_nodes_frames() >= 4);
}

/* r[verify cluster.node.frames] */
static void a_failure_and_its_text_come_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) { /* as from its own node */
        assert_int_equal(enter(&nodes.one, i, 100000, TIMEOUT_NS), RAPAHUB_EAPPLICATION);
        assert_int_equal(rapahub_last_error()->application, RAPAHUB_EINVAL);
        assert_non_null(strstr(rapahub_last_error()->text, "too large"));
    }
}

/* r[verify cluster.node.bodies] */
static void large_arguments_go_there(void **state)
{
    static char text[LARGE];
    const struct rapahub_string path = {text, sizeof text};
    const uint64_t number = 8;
    const struct rapahub_call call = {.target = container(1),
                                      .method = "note(u64, string)",
                                      .arguments = (const void *const[]){&number, &path, NULL},
                                      .timeout_ns = TIMEOUT_NS};

    (void)state;
    memset(text, 'x', sizeof text);
    assert_done(rapahub_host_call(nodes.one.host, &call, NULL));
    was_entered(8, 1);
}

/* r[verify cluster.node.frames] */
static void a_chimod_calls_a_container_of_another_node(void **state)
{
    const struct rapahub_string nowhere = {NULL, 0};
    const uint64_t number = 9, pool = (uint64_t)nodes.pool.major << 32 | nodes.pool.minor;
    const uint32_t there = 1;
    const struct rapahub_call call = {
        .target = container(0),
        .method = "relay(u64, u32, u64, string)",
        .arguments = (const void *const[]){&pool, &there, &number, &nowhere, NULL},
        .timeout_ns = TIMEOUT_NS};

    (void)state;
    assert_done(rapahub_host_call(nodes.one.host, &call, NULL));
    was_entered(9, 1);
}

struct ends {
    unsigned ended, failed;
};

static void count_end(void *user, struct rapahub_container_id from, int status, const void *result)
{
    struct ends *ends = user;

    (void)from;
    (void)result;
    ends->ended++;
    ends->failed += status < 0;
}

/* r[verify cluster.node.each] */
static void a_broadcast_reaches_both(void **state)
{
    struct ends ends = {0, 0};
    const uint64_t number = 10;
    const struct rapahub_query query = {
        .mode = RAPAHUB_QUERY_BROADCAST, .each = count_end, .user = &ends};
    const struct rapahub_call call = {.target = container(0),
                                      .method = "enter(u64)",
                                      .arguments = (const void *const[]){&number, NULL},
                                      .query = &query,
                                      .timeout_ns = TIMEOUT_NS};

    (void)state;
    assert_done(rapahub_host_call(nodes.one.host, &call, NULL));
    assert_int_equal(ends.ended, 2);
    assert_int_equal(ends.failed, 0);
    was_entered(10, 1);
}

/* r[verify cluster.peer.streams] */
static void a_call_with_a_stream_is_refused(void **state)
{
    const struct rapahub_string nowhere = {NULL, 0};
    const uint64_t number = 11;
    struct rapahub_source *from = NULL;
    const struct rapahub_call call = {.target = container(1),
                                      .method = "pour(source, u64, string)",
                                      .arguments =
                                          (const void *const[]){&from, &number, &nowhere, NULL},
                                      .timeout_ns = TIMEOUT_NS};

    (void)state;
    assert_done(rapahub_source_of_memory("abc", 3, &from));
    assert_int_equal(rapahub_host_call(nodes.one.host, &call, NULL), RAPAHUB_ENOTLOCAL);
    assert_non_null(strstr(rapahub_last_error()->text, "node 2"));
    rapahub_source_destroy(from);
    was_entered(11, 0);
}

/* ---- the link is cut ---- */

struct callers {
    atomic_uint next, done, wrong;
};

/* A number that was entered, or may have been, is not entered twice. */
static void *call_on(void *user)
{
    struct callers *callers = user;
    unsigned number;

    while ((number = atomic_fetch_add(&callers->next, 1)) < CALLS)
        if (enter(&nodes.one, 1, 1000 + number, TIMEOUT_NS) == 0)
            atomic_fetch_add(&callers->done, 1);
        else
            atomic_fetch_add(&callers->wrong, 1);
    return NULL;
}

/* r[verify cluster.peer.lost] r[verify cluster.node.unsent] */
static void calls_outlive_cuts_of_the_link(void **state)
{
    struct callers callers = {0, 0, 0};
    pthread_t threads[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_on, &callers), 0);
    while (atomic_load(&callers.next) < CALLS) {
        two_nodes_cut();
        pause_ms(5);
        two_nodes_mend();
        pause_ms(40);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(callers.wrong, 0);
    assert_int_equal(callers.done, CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        was_entered(1000 + i, 1);
}

/* r[verify cluster.peer.once] */
static void a_call_to_a_node_that_is_gone_ends_at_its_deadline(void **state)
{
    int status;

    (void)state;
    two_nodes_cut();
    status = enter(&nodes.one, 1, 12, SECOND / 2);
    assert_true(status == RAPAHUB_ETIMEDOUT || status == RAPAHUB_ENETTIMEOUT);
    two_nodes_mend();
    assert_done(enter(&nodes.one, 1, 13, TIMEOUT_NS));
    was_entered(12, 0);
    was_entered(13, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_reaches_the_container_of_another_node),
        cmocka_unit_test(a_failure_and_its_text_come_back),
        cmocka_unit_test(large_arguments_go_there),
        cmocka_unit_test(a_chimod_calls_a_container_of_another_node),
        cmocka_unit_test(a_broadcast_reaches_both),
        cmocka_unit_test(a_call_with_a_stream_is_refused),
        cmocka_unit_test(calls_outlive_cuts_of_the_link),
        cmocka_unit_test(a_call_to_a_node_that_is_gone_ends_at_its_deadline)};

    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
