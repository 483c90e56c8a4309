/* SPDX-License-Identifier: Apache-2.0 */
/* node_lives: how soon a node is back after its death, and what it costs while nothing happens. */
#include "tests/bench/node_lives.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "tests/bench/node.h"
#include "tests/bench/spent.h"
#include "tests/bench/stage.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"

#define KILLS      3
#define STARTS     3
#define MANY       1000
#define BACK_MS    60000
#define SETTLE_MS  2500 /* a host rests from the next second on */
#define PERCENT    1e7  /* of a CPU, in ns a second */
#define RESTED_MS  1000
#define HOST_IS_UP "up\n"

static const char one[] = "pools:\n"
                          "  - {pool_name: one, module: " BENCH_STATE ", trust: trusted,"
                          " durability: acked, params: \"1024\"}\n";
#define OF_MANY(name)                                                    \
    "pools:\n"                                                           \
    "  - {pool_name: " name ", module: " BENCH_STATE ", trust: trusted," \
    " durability: acked, params: \"64\", containers: 1000}\n"
static const char many[] = OF_MANY("many"), more[] = OF_MANY("more");

struct lives {
    struct node node;
    struct rapahub_container_id target;
    atomic_uint done, failed;
};

#define ADD_TO(lives, with)                                                                \
    {                                                                                      \
        .target = (lives)->target, .method = "add", .types = RAPAHUB_TYPES(u64, u64, u64), \
        .arguments = (with), .timeout_ns = BACK_MS * UINT64_C(1000000)                     \
    }

static int add(const struct lives *lives)
{
    static const uint64_t at = 0, amount = 1;
    const void *const arguments[] = {&at, &amount};
    const struct rapahub_call call = ADD_TO(lives, arguments);
    uint64_t sum = 0;
    int r = rapahub_client_call(lives->node.client, &call, &sum);

    return r < 0 ? node_failed("a client's call", r) : 0;
}

static int open_node(struct lives *lives, const char *pools, const char *name, struct trial *out)
{
    int r = node_open(&lives->node, out);

    if (r == 0)
        r = node_begin(&lives->node, -1);
    if (r == 0)
        r = node_apply(&lives->node, pools);
    return r == 0 ? node_find(&lives->node, name, &lives->target) : r;
}

/* ---- the daemon dies ---- */

/* The call is made at once, and its client waits for the next daemon. */
static int kill_once(const struct lives *lives, double *ns)
{
    pid_t daemon = node_daemon(&lives->node);
    uint64_t start;
    int r;

    pause_ms(RESTED_MS / KILLS);
    start = trial_now();
    if (daemon <= 0 || kill(daemon, SIGKILL) < 0)
        return node_failed("kill", -errno);
    r = add(lives);
    *ns = (double)(trial_now() - start);
    return r;
}

static int back(const struct suite_subject *subject, const struct suite_options *options,
                struct trial *out)
{
    struct lives lives = {.done = 0};
    double each[KILLS];
    int r = open_node(&lives, one, "one", out);

    (void)subject;
    (void)options;
    if (r == 0)
        r = add(&lives);
    for (unsigned i = 0; r == 0 && i < KILLS; i++)
        r = kill_once(&lives, &each[i]);
    out->n = KILLS;
    if (r == 0)
        out->p50_ns = out->batch_ns = trial_quantile(each, KILLS, 0.5);
    node_close(&lives.node);
    return r;
}

/* What has to be done at least: a daemon begins on a folder that is there, and a guest with a
 * container; each alone. */
static int start_once(struct node *node, const struct suite_subject *subject, struct trial *out,
                      double *ns)
{
    struct stage stage;
    uint64_t start;
    double daemon;
    int r;

    start = trial_now();
    r = node_begin(node, -1);
    daemon = (double)(trial_now() - start);
    if (r == 0)
        r = node_end(node);
    if (r < 0)
        return r;
    r = stage_open(subject, &(struct stage_options){.trust = RAPAHUB_TRUST_TRUSTED, .nobody = true},
                   out, &stage);
    start = trial_now();
    if (r == 0)
        r = stage_add(&stage, &(struct stage_options){.trust = RAPAHUB_TRUST_TRUSTED});
    *ns = daemon + (double)(trial_now() - start);
    stage_close(&stage);
    return r;
}

static int starts(const struct suite_subject *subject, const struct suite_options *options,
                  struct trial *out)
{
    double each[STARTS], first;
    struct node node;
    int r = node_open(&node, out);

    (void)options;
    if (r == 0)
        r = start_once(&node, subject, out, &first); /* which sets the folder up */
    for (unsigned i = 0; r == 0 && i < STARTS; i++)
        r = start_once(&node, subject, out, &each[i]);
    out->n = STARTS;
    if (r == 0)
        out->p50_ns = out->batch_ns = trial_quantile(each, STARTS, 0.5);
    node_close(&node);
    return r;
}

/* ---- many containers ---- */

static void on_done(void *user, int status, const void *result)
{
    struct lives *lives = user;

    (void)result;
    if (status < 0)
        lives->failed++;
    lives->done++;
}

static int add_to_all(struct lives *lives)
{
    const uint64_t at = 0, amount = 1;
    const void *const arguments[] = {&at, &amount};
    struct rapahub_call call = ADD_TO(lives, arguments);
    int r = 0;

    lives->done = lives->failed = 0;
    for (uint32_t i = 0; r == 0 && i < MANY; i++) {
        call.target.container = i;
        r = rapahub_client_call_async(lives->node.client, &call, on_done, lives, NULL);
    }
    for (unsigned ms = 0; r == 0 && lives->done < MANY && ms < BACK_MS; ms++)
        pause_ms(1);
    if (r == 0 && (lives->done < MANY || lives->failed > 0))
        r = -EIO;
    return r < 0 ? node_failed("calls to all containers", r) : 0;
}

/* The KiB by which the daemon grows for each of a thousand containers, when it has as many. */
static int growth(const struct lives *lives, double *kilobytes)
{
    pid_t daemon = node_daemon(&lives->node);
    double before = spent_kilobytes(daemon, "Rss");
    int r = node_apply(&lives->node, more);

    *kilobytes = (spent_kilobytes(daemon, "Rss") - before) / MANY;
    return r;
}

/* value: seconds from SIGKILL until each of a thousand containers has answered; second: KiB for
 * each of a thousand more. */
static int many_back(const struct suite_subject *subject, const struct suite_options *options,
                     struct trial *out)
{
    struct lives lives = {.done = 0};
    uint64_t start = 0;
    int r = open_node(&lives, many, "many", out);

    (void)subject;
    (void)options;
    if (r == 0)
        r = add_to_all(&lives);
    start = trial_now();
    if (r == 0 && kill(node_daemon(&lives.node), SIGKILL) < 0)
        r = -errno;
    if (r == 0)
        r = add_to_all(&lives);
    out->value = (double)(trial_now() - start) / 1e9;
    if (r == 0)
        r = growth(&lives, &out->second);
    node_close(&lives.node);
    return r;
}

/* ---- nothing happens ---- */

/* A host without guests, until it is told to end. */
int node_lives_peer(void)
{
    struct rapahub_host *host = NULL;
    char byte;

    if (rapahub_host_create(NULL, &host) < 0)
        return 1;
    (void)!write(STDOUT_FILENO, HOST_IS_UP, strlen(HOST_IS_UP));
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    rapahub_host_destroy(host);
    return 0;
}

static int empty_host(double *kilobytes)
{
    const char *const words[] = {BENCH_SELF, "peer", "host", NULL};
    const struct process_options how = {.argv = words};
    struct process_result result;
    struct process process;
    int r = process_start(&how, &process);

    if (r < 0)
        return r;
    if (!process_until_text(&process, HOST_IS_UP, false, UINT64_C(10000000000)))
        r = -ETIMEDOUT;
    *kilobytes = spent_kilobytes(process.pid, "Rss");
    (void)process_kill(&process, SIGKILL);
    (void)process_finish(&process, &result);
    process_result_fini(&result);
    return r;
}

/* value: MiB that a daemon without pools has more than an empty host; second: its wake-ups a
 * second; batch_ns: percent of a CPU. */
static int idle(const struct suite_subject *subject, const struct suite_options *options,
                struct trial *out)
{
    struct spent before, after;
    double host = 0;
    struct node node;
    pid_t daemon;
    int r = node_open(&node, out);

    (void)subject;
    if (r == 0)
        r = empty_host(&host);
    if (r == 0)
        r = node_begin(&node, -1);
    if (r == 0) {
        rapahub_client_close(node.client);
        node.client = NULL;
        pause_ms(SETTLE_MS);
        daemon = node_daemon(&node);
        out->value = (spent_kilobytes(daemon, "Rss") - host) / 1024;
        before = spent_by(daemon);
        pause_ms((int)(options->idle_s * 1000));
        after = spent_by(daemon);
        out->second = (after.wakes - before.wakes) / options->idle_s;
        out->batch_ns = (after.cpu_ns - before.cpu_ns) / options->idle_s / PERCENT;
    }
    node_close(&node);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject node_lives_subjects[] = {
    {"node-back", "SIGKILL to an answer", back, SUITE_ADAPT, SUITE_FREE, 0, 0, 1, 3},
    {"node-start", "a daemon, and a guest", starts, SUITE_ADAPT, SUITE_FREE, 0, 0, 1, 3},
    {"node-many", "1,000 containers", many_back, SUITE_ADAPT, SUITE_FREE, 0, 0, 1, 1},
    {"node-idle", "a daemon without pools", idle, SUITE_ADAPT, SUITE_FREE, 0, 0, 0, 1},
    {0},
};
