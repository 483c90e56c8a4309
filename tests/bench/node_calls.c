/* SPDX-License-Identifier: Apache-2.0 */
/* node_calls: what a call to the pools of a node costs: by a client, from guest to guest. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "tests/bench/node.h"
#include "tests/bench/place.h"
#include "tests/bench/stage.h"

#define VISITS    41 /* of which the median is kept, of so many calls each */
#define CALLS     100
#define WITHIN_NS UINT64_C(20000000000)

/* Its client on one CPU, the daemon and its guests on the other, as the base is placed. */
#define CPU_CLIENT 0
#define CPU_NODE   1

#define POOL(name)                                                        \
    "pools:\n"                                                            \
    "  - {pool_name: " name ", module: " BENCH_CHIMOD ", trust: trusted," \
    " durability: none}\n"

enum calls_kind { SOCKET, SHARED, NETWORK, IN_HOST, IN_NODE, IN_CALL };

struct calls {
    struct node node;
    struct rapahub_container_id target;
    uint64_t method;
};

static int open_node(struct node *node, bool listens, struct trial *out)
{
    int r = place_cpus() < 2 ? stage_not_here(out, "needs two CPUs") : node_open(node, out);

    if (r == 0 && listens)
        r = node_listen(node);
    if (r == 0)
        r = node_begin(node, CPU_NODE);
    return r == 0 ? node_apply(node, POOL("there")) : r;
}

/* ---- of a client ---- */

static int once_add(void *user)
{
    struct calls *calls = user;
    const int64_t a = 40, b = 2;
    const void *const arguments[] = {&a, &b};
    const struct rapahub_call call = {.target = calls->target,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64, i64),
                                      .arguments = arguments,
                                      .method_id = &calls->method};
    int64_t sum = 0;
    int r = rapahub_client_call(calls->node.client, &call, &sum);

    return r < 0 ? node_failed("a client's call", r) : sum == 42 ? 0 : -EIO;
}

/* The thread of the client is born where this one is. */
static int by_client(const struct suite_subject *subject, const struct suite_options *options,
                     struct trial *out)
{
    struct calls calls = {.method = 0};
    const struct trial_plan plan = {.once = once_add, .user = &calls, .ms = options->trial_ms};
    int r = open_node(&calls.node, subject->kind == NETWORK, out);

    if (r == 0)
        r = node_transport(&calls.node, subject->kind == SHARED, out);
    if (r == 0)
        r = node_find(&calls.node, "there", &calls.target);
    if (r == 0)
        r = place_pin(getpid(), CPU_CLIENT);
    if (r == 0)
        r = trial_run(&plan, out);
    (void)place_pin(getpid(), -1);
    node_close(&calls.node);
    return r;
}

/* ---- from guest to guest ---- */

/* All on one CPU: nobody could be put to another one before the first of these calls. */
static int keep(struct trial *out, uint64_t ns)
{
    out->n = 1;
    out->batch_ns = out->p50_ns = (double)ns;
    return ns > 0 ? 0 : node_failed("a guest made no calls", -EIO);
}

static int ask(struct calls *calls, const struct rapahub_call *call, uint64_t *ns)
{
    int r = rapahub_client_call(calls->node.client, call, ns);

    return r < 0 ? node_failed("a client's call", r) : 0;
}

/* Calls that serve no other call: the container makes them as it begins. */
static int at_first(struct calls *calls, struct rapahub_container_id there, uint64_t *ns)
{
    struct rapahub_call call = {.method = "visited", .types = RAPAHUB_TYPES(u64, void)};
    char pool[512];
    int r;

    snprintf(pool, sizeof pool,
             "pools:\n"
             "  - {pool_name: here, module: " BENCH_CHIMOD ", trust: trusted, durability: none,"
             " params: visit %u %u}\n",
             there.pool.major, there.pool.minor);
    r = node_apply(&calls->node, pool);
    if (r == 0)
        r = node_find(&calls->node, "here", &call.target);
    return r == 0 ? ask(calls, &call, ns) : r;
}

/* Calls that serve a client's call. */
static int in_a_call(struct calls *calls, struct rapahub_container_id there, uint64_t *ns)
{
    static double each[VISITS];
    const uint64_t count = CALLS;
    const void *const arguments[] = {&there.pool.major, &there.pool.minor, &count};
    struct rapahub_call call = {
        .method = "visit", .types = RAPAHUB_TYPES(u64, u32, u32, u64), .arguments = arguments};
    int r = node_apply(&calls->node, POOL("here"));

    if (r == 0)
        r = node_find(&calls->node, "here", &call.target);
    for (unsigned i = 0; r == 0 && i < VISITS; i++) {
        r = ask(calls, &call, ns);
        each[i] = (double)*ns / CALLS;
    }
    *ns = (uint64_t)trial_quantile(each, VISITS, 0.5);
    return r;
}

static int in_node(const struct suite_subject *subject, struct trial *out)
{
    struct rapahub_container_id there = {{0, 0}, 0};
    struct calls calls = {.method = 0};
    uint64_t ns = 0;
    int r = open_node(&calls.node, false, out);

    if (r == 0)
        r = node_find(&calls.node, "there", &there);
    if (r == 0)
        r = subject->kind == IN_CALL ? in_a_call(&calls, there, &ns) : at_first(&calls, there, &ns);
    node_close(&calls.node);
    return r == 0 ? keep(out, ns) : r;
}

static struct {
    bool ended;
    int status;
} begun;

static void on_begun(void *user, int status, const void *result)
{
    (void)user;
    (void)result;
    begun.status = status;
    begun.ended = true;
}

/* The host sleeps at its descriptor between its turns, as that of `rapahub run` and of a daemon. */
static int dispatch_until_begun(struct stage *stage)
{
    struct pollfd fd = {.fd = rapahub_host_fd(stage->host), .events = POLLIN};
    uint64_t until = trial_now() + WITHIN_NS;
    int r = 0;

    while (r >= 0 && !begun.ended && trial_now() < until) {
        (void)poll(&fd, 1, 1000);
        r = rapahub_host_dispatch(stage->host, 0);
    }
    return r < 0 ? r : begun.ended ? begun.status : -ETIMEDOUT;
}

/* The second guest, whose container calls that of the first one as it begins. */
static int begin_other(struct stage *stage, uint64_t *ns)
{
    static const char params[] = "visit 1 0";
    const struct rapahub_guest_options plugin = {.chimod = BENCH_CHIMOD,
                                                 .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options here = {
        .id = {{3, 0}, 0}, .pool_name = "here", .params = {params, sizeof params - 1}};
    const struct rapahub_step step = {.target = here.id, .on_done = on_begun};
    const struct rapahub_call call = {
        .target = here.id, .method = "visited", .types = RAPAHUB_TYPES(u64, void)};
    int r = rapahub_host_spawn(stage->host, &plugin, &stage->guests[1]);

    stage->count = 2;
    begun.ended = false;
    if (r == 0)
        r = rapahub_host_begin_async(stage->host, &step, stage->guests[1], &here,
                                     RAPAHUB_BEGIN_INIT);
    if (r == 0)
        r = dispatch_until_begun(stage);
    if (r == 0)
        r = rapahub_host_call(stage->host, &call, ns);
    return r < 0 ? stage_failed("container", r) : 0;
}

static int in_host(const struct suite_subject *subject, struct trial *out)
{
    const struct stage_options how = {.trust = RAPAHUB_TRUST_TRUSTED, .as_it_is = true};
    struct stage stage = {.host = NULL};
    uint64_t ns = 0;
    int r = place_cpus() < 2 ? stage_not_here(out, "needs two CPUs") : place_pin(0, CPU_NODE);

    if (r == 0)
        r = stage_open(subject, &how, out, &stage);
    if (r == 0)
        r = begin_other(&stage, &ns);
    stage_close(&stage);
    return r == 0 ? keep(out, ns) : r;
}

static int guest_to_guest(const struct suite_subject *subject, const struct suite_options *options,
                          struct trial *out)
{
    (void)options;
    return subject->kind == IN_HOST ? in_host(subject, out) : in_node(subject, out);
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject node_calls_subjects[] = {
    {"node-call", "i64, i64 -> i64 by the socket", by_client, SUITE_ADAPT, SUITE_CROSS, SOCKET, 16,
     0, 0},
    {"node-shared", "i64, i64 -> i64 by shared memory", by_client, SUITE_ADAPT, SUITE_CROSS, SHARED,
     16, 0, 0},
    {"node-tls", "i64, i64 -> i64 by TLS", by_client, SUITE_ADAPT, SUITE_CROSS, NETWORK, 16, 0, 0},
    {"guests-host", "guest to guest", guest_to_guest, SUITE_ADAPT, SUITE_SAME, IN_HOST, 16, 2, 0},
    {"guests-node", "guest to guest", guest_to_guest, SUITE_ADAPT, SUITE_SAME, IN_NODE, 16, 2, 0},
    {"guests-call", "in a client's call", guest_to_guest, SUITE_ADAPT, SUITE_SAME, IN_CALL, 16, 2,
     0},
    {0},
};
