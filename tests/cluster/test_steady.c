/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon that has served many calls is no larger than one that has served half of them: its
 * memory and its descriptors stay what they are. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/node_process.h"
#include "tests/support/testing.h"

#define CALLS_SHORT UINT64_C(200000)
#define OPEN        64u
#define MORE_MAX    1024 /* KiB of both halves' difference: what an allocator takes at once */
#define WITHIN_S    600

/* What is under way, for the thread that begins calls and the one of the client. */
struct flow {
    struct rapahub_client *client;
    struct rapahub_container_id counter;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned open;
    uint64_t failed;
};

static void on_done(void *user, int status, const void *result)
{
    struct flow *flow = user;

    (void)result;
    pthread_mutex_lock(&flow->lock);
    flow->open--;
    flow->failed += status < 0;
    pthread_cond_signal(&flow->ended);
    pthread_mutex_unlock(&flow->lock);
}

static void await_open(struct flow *flow, unsigned most)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WITHIN_S;
    pthread_mutex_lock(&flow->lock);
    while (flow->open > most)
        assert_int_equal(pthread_cond_timedwait(&flow->ended, &flow->lock, &until), 0);
    pthread_mutex_unlock(&flow->lock);
}

static void begin_one(struct flow *flow)
{
    static const int64_t amount = 1;
    const void *const arguments[] = {&amount};
    const struct rapahub_call call = {.target = flow->counter,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64),
                                      .arguments = arguments};

    pthread_mutex_lock(&flow->lock);
    flow->open++;
    pthread_mutex_unlock(&flow->lock);
    assert_int_equal(rapahub_client_call_async(flow->client, &call, on_done, flow, NULL), 0);
}

static void make_calls(struct flow *flow, uint64_t count)
{
    while (count-- > 0) {
        await_open(flow, OPEN - 1);
        begin_one(flow);
    }
    await_open(flow, 0);
    assert_int_equal(flow->failed, 0);
}

static unsigned count_descriptors(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static long kilobytes(pid_t pid)
{
    char path[64], line[128];
    long kb = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    fclose(file);
    assert_true(kb > 0);
    return kb;
}

static void open_flow(struct flow *flow, const struct node_process *node)
{
    const char *const nodes[] = {node->address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};

    *flow = (struct flow){.open = 0};
    pthread_mutex_init(&flow->lock, NULL);
    pthread_cond_init(&flow->ended, NULL);
    assert_int_equal(rapahub_client_open(&options, &flow->client), 0);
    assert_int_equal(rapahub_client_pool(flow->client, "counter", &flow->counter.pool), 0);
}

static int64_t total(struct flow *flow)
{
    static const int64_t none = 0;
    const void *const arguments[] = {&none};
    const struct rapahub_call call = {.target = flow->counter,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64),
                                      .arguments = arguments};
    int64_t sum = 0;

    assert_int_equal(rapahub_client_call(flow->client, &call, &sum), 0);
    return sum;
}

/* r[verify cluster.dedup.bounds] */
static void many_calls_leave_nothing_behind(void **state)
{
    static const char pools[] = "pools:\n"
                                "  - pool_name: counter\n"
                                "    module: " TEST_PREFIX "/bin/counter.so\n"
                                "    durability: none\n";
    const char *wanted = getenv("RAPAHUB_TEST_CALLS");
    uint64_t calls = wanted ? strtoull(wanted, NULL, 10) : CALLS_SHORT;
    struct node_process node;
    struct flow flow;
    unsigned descriptors;
    long before, after;
    pid_t daemon;

    (void)state;
    node_process_open(&node);
    node_process_begin(&node);
    node_process_apply(&node, pools);
    open_flow(&flow, &node);
    daemon = node_process_daemon(&node);
    make_calls(&flow, calls / 2);
    before = kilobytes(daemon);
    descriptors = count_descriptors(daemon);
    make_calls(&flow, calls - calls / 2);
    after = kilobytes(daemon);
    printf("%llu calls | KiB after half of them %ld, after all %ld | descriptors %u, %u\n",
           (unsigned long long)calls, before, after, descriptors, count_descriptors(daemon));
    assert_true(after < before + MORE_MAX);
    assert_int_equal(count_descriptors(daemon), descriptors);
    assert_int_equal(total(&flow), (int64_t)calls);
    rapahub_client_close(flow.client);
    node_process_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_calls_leave_nothing_behind),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
