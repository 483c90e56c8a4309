/* SPDX-License-Identifier: Apache-2.0 */
/* node_copies: what a call costs whose answer waits until the state that has it is on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "tests/bench/node.h"
#include "tests/bench/place.h"
#include "tests/bench/stage.h"
#include "tests/support/pause.h"

#define TIMES     4 /* a sync takes long, so a trial does too */
#define OPEN      64
#define BLOCK     4096
#define BLOCKS    256
#define LOADED_MS 100000
#define CPU_NODE  1

enum copies_kind { ACKED, OPEN_CALLS, BARE };

struct copies {
    struct node node;
    struct rapahub_container_id target;
    uint64_t method, at;
    int fd;
    atomic_uint open, done;
    atomic_int failure;
};

/* A container of so many bytes, with copies and without. */
static int open_node(struct copies *copies, bool acked, uint32_t size, struct trial *out)
{
    char pool[512];
    int r = node_open(&copies->node, out);

    snprintf(pool, sizeof pool,
             "pools:\n"
             "  - {pool_name: state, module: " BENCH_STATE ", trust: trusted, durability: %s,"
             " params: \"%u\"}\n",
             acked ? "acked" : "none", size);
    if (r == 0)
        r = node_begin(&copies->node, place_cpus() > 1 ? CPU_NODE : -1);
    if (r == 0)
        r = node_apply(&copies->node, pool);
    return r == 0 ? node_find(&copies->node, "state", &copies->target) : r;
}

static int once_add(void *user)
{
    struct copies *copies = user;
    const uint64_t at = copies->at++, amount = 1;
    const void *const arguments[] = {&at, &amount};
    const struct rapahub_call call = {.target = copies->target,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(u64, u64, u64),
                                      .arguments = arguments,
                                      .method_id = &copies->method};
    uint64_t sum = 0;
    int r = rapahub_client_call(copies->node.client, &call, &sum);

    return r < 0 ? node_failed("a client's call", r) : 0;
}

/* ---- one at a time ---- */

/* value: calls a second. The first copy is of the whole state. */
static int acked(struct copies *copies, double ms, struct trial *out)
{
    const struct trial_plan plan = {.once = once_add, .user = copies, .ms = ms};
    int r = once_add(copies);

    if (r == 0)
        r = trial_run(&plan, out);
    out->value = out->p50_ns > 0 ? 1e9 / out->p50_ns : 0;
    return r;
}

/* ---- many open ---- */

static void on_done(void *user, int status, const void *result)
{
    struct copies *copies = user;

    (void)result;
    if (status < 0)
        copies->failure = status;
    copies->done++;
    copies->open--;
}

static int begin_add(struct copies *copies)
{
    const uint64_t at = copies->at++, amount = 1;
    const void *const arguments[] = {&at, &amount};
    const struct rapahub_call call = {.target = copies->target,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(u64, u64, u64),
                                      .arguments = arguments};

    copies->open++;
    return rapahub_client_call_async(copies->node.client, &call, on_done, copies, NULL);
}

/* value: calls a second. */
static int open_calls(struct copies *copies, double ms, struct trial *out)
{
    uint64_t start, now, until;
    unsigned before;
    int r = once_add(copies);

    start = trial_now();
    until = start + (uint64_t)(ms * 1e6);
    before = copies->done;
    for (now = start; r == 0 && now < until; now = trial_now()) {
        while (r == 0 && copies->open < OPEN)
            r = begin_add(copies);
        pause_ns(20000);
    }
    out->n = copies->done - before;
    out->value = (double)out->n * 1e9 / (double)(now - start);
    for (unsigned i = 0; copies->open > 0 && i < LOADED_MS; i++)
        pause_ms(1);
    if (r == 0)
        r = copies->failure;
    return r < 0 ? node_failed("open calls", r) : copies->open > 0 ? -ETIMEDOUT : 0;
}

/* ---- what is compared with: a sync, and the call without a copy ---- */

static int once_sync(void *user)
{
    static const char block[BLOCK];
    const struct copies *copies = user;
    off_t at = (off_t)(((struct copies *)user)->at++ % BLOCKS) * BLOCK;

    return pwrite(copies->fd, block, sizeof block, at) == BLOCK && fdatasync(copies->fd) == 0
               ? 0
               : -errno;
}

static int bare(struct copies *copies, double ms, struct trial *out)
{
    const struct trial_plan sync = {.once = once_sync, .user = copies, .ms = ms / 2},
                            call = {.once = once_add, .user = copies, .ms = ms / 2};
    char path[NODE_PATH + 8];
    struct trial of_sync = {0};
    int r;

    snprintf(path, sizeof path, "%s.sync", copies->node.data);
    copies->fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (copies->fd < 0)
        return node_failed(path, -errno);
    r = trial_run(&sync, &of_sync);
    if (r == 0)
        r = trial_run(&call, out);
    close(copies->fd);
    (void)unlink(path);
    out->second = of_sync.p50_ns;
    out->p50_ns += of_sync.p50_ns;
    out->batch_ns += of_sync.batch_ns;
    return r;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static int (*const kinds[])(struct copies *, double, struct trial *) = {acked, open_calls,
                                                                            bare};
    struct copies copies = {.at = 0};
    int r = open_node(&copies, subject->kind != BARE, subject->size, out);

    if (r == 0)
        r = kinds[subject->kind](&copies, TIMES * options->trial_ms, out);
    node_close(&copies.node);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject node_copies_subjects[] = {
    {"acked", "a state of 1 KiB", run, SUITE_ADAPT, SUITE_CROSS, ACKED, 1024, 0, 5},
    {"acked-64m", "a state of 64 MiB", run, SUITE_ADAPT, SUITE_CROSS, ACKED, 64U << 20, 0, 3},
    {"acked-open", "64 calls are open", run, SUITE_ADAPT, SUITE_CROSS, OPEN_CALLS, 1024, 0, 3},
    {"synced", "fdatasync of 4 KiB, and a call", run, SUITE_ADAPT, SUITE_CROSS, BARE, 1024, 0, 5},
    {0},
};
