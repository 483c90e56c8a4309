/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a call whose answer is lost because the daemon dies: when its method has run and
 * has not returned, and when the node has told the answer and the client has not got it. A row for
 * each kind of pool: what the caller gets, how often the method ran, what the state has. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/answer_thief.h"
#include "tests/cluster/node_process.h"
#include "tests/support/testing.h"

#define SECOND       UINT64_C(1000000000)
#define CALL_TIMEOUT (60 * SECOND)

enum moment { BEFORE_ITS_END, ON_ITS_WAY, MOMENTS };

static const char *const moment_names[MOMENTS] = {"before its end", "answer on its way"};

/* What is promised: docs/keep-it-running.md has this table too. */
struct row {
    const char *pool, *durability;
    bool repeat;
    struct {
        int status;
        unsigned runs, in_state;
    } wanted[MOMENTS];
};

static const struct row rows[] = {
    {"a", "acked", false, {{0, 2, 1}, {0, 1, 1}}},
    {"ar", "acked", true, {{0, 2, 1}, {0, 1, 1}}},
    {"c", "checkpoint", false, {{RAPAHUB_EMAYBE, 1, 0}, {RAPAHUB_EMAYBE, 1, 0}}},
    {"cr", "checkpoint", true, {{0, 2, 1}, {0, 2, 1}}},
    {"n", "none", false, {{RAPAHUB_EMAYBE, 1, 0}, {RAPAHUB_EMAYBE, 1, 0}}},
    {"nr", "none", true, {{0, 2, 1}, {0, 2, 1}}},
};

#define ROWS (sizeof rows / sizeof *rows)

struct run {
    struct node_process node;
    struct answer_thief thief;
    char through[NODE_PROCESS_PATH]; /* address of the thief */
    struct rapahub_client *client;   /* through the thief */
    char path[NODE_PROCESS_PATH + 32];
    uint64_t number;
};

struct asked {
    struct run *run;
    struct rapahub_container_id target;
    int status;
};

static int call(struct rapahub_client *client, struct rapahub_container_id target,
                const char *method, const void *const *arguments, void *result)
{
    const struct rapahub_call call = {
        .target = target, .method = method, .arguments = arguments, .timeout_ns = CALL_TIMEOUT};

    return rapahub_client_call(client, &call, result);
}

static void *ask(void *user)
{
    struct asked *asked = user;
    const struct rapahub_string path = rapahub_string_of(asked->run->path);

    asked->status = call(asked->run->client, asked->target, "note(u64, string) -> void",
                         (const void *const[]){&asked->run->number, &path, NULL}, NULL);
    return NULL;
}

static bool is_there(void *user)
{
    return access(user, F_OK) == 0;
}

static bool has_kept(void *user)
{
    return atomic_load(&((struct answer_thief *)user)->kept);
}

static bool kill_the_daemon(void *user)
{
    return node_process_kill_daemon(user);
}

/* A path that is there lets the method pass. */
static void make_path(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static unsigned runs_of(const struct run *run)
{
    char path[NODE_PROCESS_PATH + 64];
    struct stat status = {.st_size = 0};

    snprintf(path, sizeof path, "%s.ran", run->path);
    return stat(path, &status) == 0 ? (unsigned)status.st_size : 0;
}

static void await_moment(struct run *run, enum moment moment)
{
    if (moment == BEFORE_ITS_END)
        assert_true(process_until(is_there, run->path, 30 * SECOND));
    else
        assert_true(process_until(has_kept, &run->thief, 30 * SECOND));
}

static void lose_one(struct run *run, const struct row *row, enum moment moment)
{
    struct asked asked = {.run = run};
    uint32_t in_state = 0;
    pthread_t thread;

    run->number++;
    snprintf(run->path, sizeof run->path, "%.400s/at.%" PRIu64, run->node.folder, run->number);
    if (moment == ON_ITS_WAY)
        make_path(run->path);
    assert_int_equal(rapahub_client_pool(run->client, row->pool, &asked.target.pool), 0);
    atomic_store(&run->thief.kept, false);
    atomic_store(&run->thief.keeps, moment == ON_ITS_WAY);
    assert_int_equal(pthread_create(&thread, NULL, ask, &asked), 0);
    await_moment(run, moment);
    assert_true(process_until(kill_the_daemon, &run->node, 30 * SECOND));
    atomic_store(&run->thief.keeps, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(call(run->client, asked.target, "count(u64) -> u32",
                          (const void *const[]){&run->number, NULL}, &in_state),
                     0);
    printf("%s%s | daemon killed %s | the caller gets %s | ran %u | in the state %u\n",
           row->durability, row->repeat ? ", repeat" : "", moment_names[moment],
           asked.status == 0 ? "the result" : rapahub_error_name(asked.status), runs_of(run),
           in_state);
    fflush(stdout);
    assert_int_equal(asked.status, row->wanted[moment].status);
    assert_int_equal(runs_of(run), row->wanted[moment].runs);
    assert_int_equal(in_state, row->wanted[moment].in_state);
}

static void apply(const struct run *run)
{
    char text[4096];
    size_t size = (size_t)snprintf(text, sizeof text, "pools:\n");

    for (unsigned i = 0; i < ROWS; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "  - pool_name: %s\n    module: " TEST_PREFIX
                                 "/tests/modules/chained.so\n    durability: %s\n%s",
                                 rows[i].pool, rows[i].durability,
                                 rows[i].repeat ? "    repeat: all\n" : "");
    assert_true(size < sizeof text);
    node_process_apply(&run->node, text);
}

static void begin(struct run *run)
{
    const char *const nodes[] = {run->through, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};

    node_process_open(&run->node);
    run->node.option = "--warden-reset-after=1ms"; /* it begins again at once */
    node_process_begin(&run->node);
    apply(run);
    snprintf(run->through, sizeof run->through, "unix:%.400s/thief", run->node.folder);
    answer_thief_begin(&run->thief, run->through + 5, run->node.address + 5);
    assert_int_equal(rapahub_client_open(&options, &run->client), 0);
}

/* r[verify cluster.call.lineage] r[verify cluster.copy.acked] r[verify cluster.client.again] */
static void each_call_gets_what_its_pool_promises(void **state)
{
    static struct run run;

    (void)state;
    begin(&run);
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned moment = 0; moment < MOMENTS; moment++)
            lose_one(&run, &rows[i], (enum moment)moment);
    rapahub_client_close(run.client);
    answer_thief_end(&run.thief);
    node_process_close(&run.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_gets_what_its_pool_promises),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
