/* SPDX-License-Identifier: Apache-2.0 */
/* streams: bytes that go one way, from a method to a sink of the host; and calls of which many are
 * under way at once. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <rapahub/stream.h>

#include "tests/bench/stage.h"

#define LARGE     (1U << 20)
#define SMALL     24     /* bytes of a message that goes inline */
#define MANY      65536U /* such messages of a call: what the call costs is little beside them */
#define BYTES     (16U << 20)
#define LONGER    2.5 /* trials, so that there are some batches */
#define WINDOW    64U
#define PIPELINED 2048U
#define WITHIN_NS UINT64_C(10000000000)

enum stream_kind { POUR, CORKED, PIPELINE };

RAPAHUB_STUB(pour, void, u64, u32, sink);
RAPAHUB_STUB(pour_corked, void, u64, u32, sink);

struct streams {
    struct stage stage;
    struct rapahub_sink *sink;
    uint32_t size, count;
    uint32_t begun, done;
    int failure;
    uint64_t id;
};

static int once_pour(void *user)
{
    struct streams *streams = user;

    return pour(streams->stage.host, streams->stage.containers[0], streams->count, streams->size,
                streams->sink);
}

static int once_corked(void *user)
{
    struct streams *streams = user;

    return pour_corked(streams->stage.host, streams->stage.containers[0], streams->count,
                       streams->size, streams->sink);
}

static void on_done(void *user, int status, const void *result)
{
    struct streams *streams = user;

    (void)result;
    streams->done++;
    if (status < 0)
        streams->failure = status;
}

/* Fills the window, as long as the host takes calls. */
static int fill(struct streams *streams)
{
    static const uint8_t data[8];
    const struct rapahub_bytes in = {data, sizeof data};
    const void *const arguments[] = {&in};
    const struct rapahub_call call = {.target = streams->stage.containers[0],
                                      .method = "raw",
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments,
                                      .method_id = &streams->id};
    int r = 0;

    while (r == 0 && streams->begun < PIPELINED && streams->begun - streams->done < WINDOW) {
        r = rapahub_host_call_async(streams->stage.host, &call, on_done, streams, NULL);
        streams->begun += r == 0;
    }
    return r == -EBUSY || r == -EAGAIN ? 0 : r;
}

static int refill(struct streams *streams)
{
#ifdef BENCH_HAS_HOST_CORK
    int r = rapahub_host_cork(streams->stage.host, streams->stage.containers[0], true), last;

    if (r == 0)
        r = fill(streams);
    last = rapahub_host_cork(streams->stage.host, streams->stage.containers[0], false);
    return r < 0 ? r : last;
#else
    return fill(streams);
#endif
}

static int once_pipeline(void *user)
{
    struct streams *streams = user;
    uint64_t deadline = trial_now() + WITHIN_NS;
    uint32_t looks = 0;
    int r = 0;

    streams->begun = streams->done = 0;
    while (r >= 0 && streams->done < PIPELINED) {
        /* New ones when half of the window is free, as a program that reads its input does. */
        if (streams->begun - streams->done <= WINDOW / 2)
            r = refill(streams);
        if (r >= 0)
            r = rapahub_host_dispatch(streams->stage.host, 0);
        if (++looks % 4096 == 0 && trial_now() > deadline)
            r = -ETIMEDOUT;
    }
    return r < 0 ? r : streams->failure;
}

static int open_sink(struct streams *streams, int *fd)
{
    *fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return *fd < 0 ? -errno : rapahub_sink_of_fd(*fd, &streams->sink);
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static int (*const once[])(void *) = {once_pour, once_corked, once_pipeline};
    const struct stage_options how = {
        .host = {.payload_max = subject->size >= LARGE ? LARGE + 64 : 0},
        .trust = subject->guests > 0 ? RAPAHUB_TRUST_STANDARD : RAPAHUB_TRUST_TRUSTED};
    struct streams streams = {.size = subject->size,
                              .count = subject->size > SMALL ? BYTES / subject->size : MANY};
    struct trial_plan plan = {.once = once[subject->kind],
                              .user = &streams,
                              .ms = options->trial_ms * LONGER,
                              .per = subject->kind == PIPELINE ? PIPELINED : streams.count,
                              .fifo = subject->kind == PIPELINE && options->fifo};
    int fd = -1, r;

#ifndef BENCH_HAS_SINK_CORK
    if (subject->kind == CORKED)
        return stage_not_here(out, "needs rapahub_sink_cork");
#endif
    r = stage_open(subject, &how, out, &streams.stage);
    if (r == 0)
        r = open_sink(&streams, &fd);
    if (r == 0) {
        plan.peer = streams.stage.pids[0];
        r = trial_run(&plan, out);
        if (r < 0)
            (void)stage_failed(subject->id, r);
    }
    if (out->batch_ns > 0) /* messages per second, or GB/s */
        out->value = subject->size > SMALL ? subject->size / out->batch_ns : 1e9 / out->batch_ns;
    rapahub_sink_destroy(streams.sink);
    stage_close(&streams.stage);
    if (fd >= 0)
        close(fd);
    return r;
}

/* id, what, run, mode, place, kind, size, guests (1: a standard one), rounds */
const struct suite_subject streams_subjects[] = {
    {"pour", "small, each published", run, SUITE_ADAPT, SUITE_CROSS, POUR, SMALL, 0, 0},
    {"pour-corked", "small, 16 published at a time", run, SUITE_ADAPT, SUITE_CROSS, CORKED, SMALL,
     0, 0},
    {"pour-64k", "copied in and out", run, SUITE_ADAPT, SUITE_CROSS, POUR, 65536, 0, 0},
    {"pour-1m", "copied in and out", run, SUITE_ADAPT, SUITE_CROSS, POUR, LARGE, 0, 0},
    {"pour-64k-std", "from a standard guest", run, SUITE_ADAPT, SUITE_CROSS, POUR, 65536, 1, 0},
    {"pipeline", "64 raw calls under way", run, SUITE_ADAPT, SUITE_CROSS, PIPELINE, 8, 0, 0},
    {0},
};
