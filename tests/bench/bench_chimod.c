/* SPDX-License-Identifier: Apache-2.0 */
/* bench_chimod: the methods that are measured. None does anything worth the name. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/chimod.h>

#include "tests/bench/four.h"

#define VISITS  41 /* of which the median is kept, of so many calls each */
#define CALLS   100
#define TOUCHED 8 /* bytes of a loan that are read, and written */

static int bench_add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

/* Floats are passed in registers of their own. */
static int bench_addf(void *self, double a, double b, double *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

/* A record is passed through libffi. */
static int bench_addr(void *self, struct bench_four four, double *sum)
{
    (void)self;
    *sum = (double)(four.a + four.b) + four.c + four.d;
    return 0;
}

/* Returns its argument. */
static int bench_raw(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    (void)self;
    *out = in;
    return 0;
}

/* Returns as many bytes as it got, only a few of which are touched. */
static int bench_lend(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    void *data = rapahub_chimod_alloc(in.size);

    (void)self;
    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory");
    memcpy(data, in.data, in.size < TOUCHED ? in.size : TOUCHED);
    *out = (struct rapahub_bytes){data, in.size};
    return 0;
}

/* Calls the host that calls it: the container {2, 0} 0 there has a method of the same name. */
static int bench_nested(void *self, int64_t a, int64_t b, int64_t *sum)
{
    const void *const arguments[] = {&a, &b, NULL};
    static uint64_t id;
    const struct rapahub_call call = {.target = {{2, 0}, 0},
                                      .method = "nested",
                                      .types = RAPAHUB_TYPES(i64, i64, i64),
                                      .arguments = arguments,
                                      .method_id = &id};

    (void)self;
    return rapahub_chimod_call(&call, sum);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Calls the first container of another pool so often, and says how long that took. */
static int bench_visit(void *self, uint32_t major, uint32_t minor, uint64_t count, uint64_t *ns)
{
    const int64_t a = 40, b = 2;
    const void *const arguments[] = {&a, &b, NULL};
    uint64_t id = 0, start = now_ns();
    const struct rapahub_call call = {.target = {{major, minor}, 0},
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64, i64),
                                      .arguments = arguments,
                                      .method_id = &id};
    int64_t sum;
    int r = 0;

    (void)self;
    while (r == 0 && count-- > 0)
        r = rapahub_chimod_call(&call, &sum);
    *ns = now_ns() - start;
    return r;
}

static int ascending(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static uint64_t visited; /* by this guest's last container that was told to: ns of a call */

/* What begins a container answers no call, so neither do the calls that are made here. */
static int visit_at_first(uint32_t major, uint32_t minor)
{
    uint64_t each[VISITS];
    int r = 0;

    for (unsigned i = 0; r == 0 && i < VISITS; i++)
        r = bench_visit(NULL, major, minor, CALLS, &each[i]);
    if (r < 0)
        return r;
    qsort(each, VISITS, sizeof *each, ascending);
    visited = each[VISITS / 2] / CALLS;
    return 0;
}

static int bench_visited(void *self, uint64_t *ns)
{
    (void)self;
    *ns = visited;
    return 0;
}

/* Writes `count` messages of `size` bytes. */
static int bench_pour(void *self, uint64_t count, uint32_t size, struct rapahub_sink *to)
{
    static _Alignas(4096) const uint8_t data[1 << 20];
    int r = 0;

    (void)self;
    while (r == 0 && count-- > 0)
        r = rapahub_sink_write(to, data, size < sizeof data ? size : sizeof data);
    return r;
}

#ifdef BENCH_HAS_SINK_CORK
/* The same, 16 at a time. */
static int bench_pour_corked(void *self, uint64_t count, uint32_t size, struct rapahub_sink *to)
{
    int r = 0;

    while (r == 0 && count > 0) {
        uint64_t now = count < 16 ? count : 16;

        r = rapahub_sink_cork(to, true);
        if (r == 0)
            r = bench_pour(self, now, size, to);
        if (r == 0)
            r = rapahub_sink_cork(to, false);
        count -= now;
    }
    return r;
}
#endif

/* Memory that it keeps until it dies. */
static int bench_hold(void *self, uint64_t bytes)
{
    void *held = malloc(bytes);

    (void)self;
    if (!held)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory");
    memset(held, 1, bytes);
    __asm__ volatile("" : : "r"(held) : "memory");
    return 0;
}

/* Its thread goes to a CPU, now: as a plugin does that knows its machine. */
static int bench_pin(void *self, uint32_t cpu)
{
    cpu_set_t one;

    (void)self;
    CPU_ZERO(&one);
    CPU_SET(cpu % CPU_SETSIZE, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "", "cannot go to CPU %" PRIu32, cpu);
}

/* With params: the CPU to go to, or "visit MAJOR MINOR". */
static int bench_init(void *self, const struct rapahub_container_info *info)
{
    uint32_t cpu, major, minor;
    char text[64] = "";

    if (info->params.size < sizeof text && info->params.size > 0)
        memcpy(text, info->params.data, info->params.size);
    if (sscanf(text, "visit %" SCNu32 " %" SCNu32, &major, &minor) == 2)
        return visit_at_first(major, minor);
    if (info->params.size != sizeof cpu)
        return 0;
    memcpy(&cpu, info->params.data, sizeof cpu);
    return bench_pin(self, cpu);
}

static const struct rapahub_container_ops ops = {.init = bench_init};

/* Reads all there is, and says how many bytes that were. */
static int bench_blackhole(void *self, struct rapahub_source *from, uint64_t *count)
{
    static uint8_t data[1 << 20];
    ssize_t n;

    (void)self;
    *count = 0;
    while ((n = rapahub_source_read(from, data, sizeof data)) > 0)
        *count += (uint64_t)n;
    return n < 0 ? (int)n : 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, bench_add, i64, i64, i64),
    RAPAHUB_METHOD(addf, bench_addf, f64, f64, f64),
    RAPAHUB_METHOD(addr, bench_addr, f64, bench_four),
    RAPAHUB_METHOD(raw, bench_raw, bytes, bytes),
    RAPAHUB_METHOD(lend, bench_lend, bytes, bytes),
    RAPAHUB_METHOD(nested, bench_nested, i64, i64, i64),
    RAPAHUB_METHOD(visited, bench_visited, u64, void),
    RAPAHUB_METHOD(visit, bench_visit, u64, u32, u32, u64),
    RAPAHUB_METHOD(pour, bench_pour, void, u64, u32, sink),
#ifdef BENCH_HAS_SINK_CORK
    RAPAHUB_METHOD(pour_corked, bench_pour_corked, void, u64, u32, sink),
#endif
    RAPAHUB_METHOD(hold, bench_hold, void, u64),
    RAPAHUB_METHOD(pin, bench_pin, void, u32),
    RAPAHUB_METHOD(blackhole, bench_blackhole, u64, source),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "bench", .version = "1.0.0", .ops = &ops, .methods = methods);
