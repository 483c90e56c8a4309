/* SPDX-License-Identifier: Apache-2.0 */
/* exact: counts that do not depend on the load of the machine: instructions, system calls, heap
 * allocations, page faults of a call. Each is taken of n and of 2n calls; the difference divided by
 * n is free of what it costs to start. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/once.h"
#include "tests/bench/profile.h"
#include "tests/bench/stage.h"
#include "tests/support/process.h"

#define CALLS     2000U
#define FEW       100U /* of those that move a MiB, where they should not */
#define FOLDER    96
#define WITHIN_NS UINT64_C(120000000000)

enum exact_kind { INSTRUCTIONS, GROWTH, SYSTEM_CALLS, ALLOCATIONS, FAULTS };

/* Which program; for GROWTH what is taken off. */
static const struct exercise {
    const char *id, *of, *less;
} exercises[] = {
    {"x-raw", "raw", NULL},
    {"x-loan", "loan-4k", NULL},
    {"x-growth", "loan-1m", "loan-4k"},
    {"x-calls", "raw", NULL},
    {"x-calls-sleep", "add-sleep", NULL},
    {"x-calls-bell", "add-bell", NULL},
    {"x-heap-add", "add", NULL},
    {"x-heap-raw", "raw", NULL},
    {"x-heap-loan", "loan-4k", NULL},
    {"x-heap-async", "pipeline", NULL},
    {"x-faults", "raw", NULL},
};

struct workshop {
    char folder[FOLDER], segment[FOLDER + 16], profile[FOLDER + 16], count[16];
};

static bool is_there(const char *tool)
{
    struct process_result result;
    int r = process_run_argv((const char *const[]){tool, "--version", NULL}, &result);

    if (r == 0) {
        r = result.status;
        process_result_fini(&result);
    }
    return r == 0;
}

static int open_shop(struct workshop *shop)
{
    snprintf(shop->folder, sizeof shop->folder, "/dev/shm/rapahub-bench-XXXXXX");
    if (!mkdtemp(shop->folder))
        return -errno;
    snprintf(shop->segment, sizeof shop->segment, "%s/segment", shop->folder);
    snprintf(shop->profile, sizeof shop->profile, "%s/profile", shop->folder);
    return 0;
}

static void close_shop(const struct workshop *shop)
{
    unlink(shop->segment);
    unlink(shop->profile);
    rmdir(shop->folder);
}

/* This very program, and its host waits for a guest. */
static int failed(const char *what, int r, const struct process_result *result)
{
    if (r == 0 && result->status == 77)
        return SUITE_NOT_HERE;
    if (r == 0 && result->status == 0)
        return 0;
    fprintf(stderr, "\n%s: status %d\n%.2000s\n", what, r < 0 ? r : result->status,
            r < 0 ? "" : result->err);
    return r < 0 ? r : -ECHILD;
}

static bool has_segment(void *user)
{
    return access(user, F_OK) == 0;
}

/* Host and guest, one of them under callgrind, by itself; the other one as ever. */
static int under_callgrind(struct workshop *shop, const char *subject, bool host,
                           struct profile *out)
{
    char to[FOLDER + 64], path[FOLDER + 64];
    const char *const tool[] = {
        "valgrind", "-q", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no", to};
    const char *host_argv[16] = {NULL}, *guest_argv[16] = {NULL};
    const char *const variables[] = {"LD_PRELOAD=" BENCH_PIDFD, NULL};
    const struct process_options host_options = {
        .argv = host_argv, .variables = host ? variables : NULL, .within_ns = WITHIN_NS};
    const struct process_options guest_options = {.argv = guest_argv, .within_ns = WITHIN_NS};
    struct process host_process, guest_process;
    struct process_result result;
    size_t h = 0, g = 0;
    int r, guest;

    snprintf(to, sizeof to, "--callgrind-out-file=%s", shop->profile);
    snprintf(path, sizeof path, "--hub-path=%s", shop->segment);
    for (size_t i = 0; i < sizeof tool / sizeof *tool; i++)
        *(host ? &host_argv[h++] : &guest_argv[g++]) = tool[i];
    memcpy(host_argv + h,
           (const char *[]){BENCH_SELF, "exactly", subject, shop->count, shop->segment},
           5 * sizeof *host_argv);
    memcpy(guest_argv + g, (const char *[]){BENCH_GUEST, path, BENCH_CHIMOD},
           3 * sizeof *guest_argv);
    r = process_start(&host_options, &host_process);
    if (r < 0)
        return r;
    (void)process_until(has_segment, shop->segment, UINT64_C(20000000000));
    guest = process_start(&guest_options, &guest_process);
    r = process_finish(&host_process, &result);
    r = failed("host", r, &result);
    process_result_fini(&result);
    if (guest == 0) {
        guest = process_finish(&guest_process, &result);
        guest = failed("guest", guest, &result);
        process_result_fini(&result);
    }
    return r != 0 ? r : guest != 0 ? guest : profile_read(shop->profile, out);
}

/* value: instructions of both sides that are ours; second: those of libffi. */
static int instructions(const char *subject, uint32_t calls, struct trial *out)
{
    struct workshop shop;
    struct profile few, many;
    int r = is_there("valgrind") ? open_shop(&shop) : stage_not_here(out, "needs valgrind");

    for (int side = 0; r == 0 && side < 2; side++) {
        snprintf(shop.count, sizeof shop.count, "%u", calls);
        r = under_callgrind(&shop, subject, side == 0, &few);
        snprintf(shop.count, sizeof shop.count, "%u", 2 * calls);
        if (r == 0)
            r = under_callgrind(&shop, subject, side == 0, &many);
        if (r == 0) {
            out->value += ((many.all - many.waiting - many.ffi - many.direct) -
                           (few.all - few.waiting - few.ffi - few.direct)) /
                          calls;
            out->second +=
                ((many.ffi - many.method + many.direct) - (few.ffi - few.method + few.direct)) /
                calls;
        }
    }
    if (r <= 0 && *shop.folder)
        close_shop(&shop);
    return r;
}

/* The total that strace prints: "100.00 0.01 5 230 10 total". */
static double total_of(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[512];
    double calls = 0;

    while (file && fgets(line, sizeof line, file))
        if (strstr(line, " total") && sscanf(line, "%*f %*f %*f %lf", &calls) != 1)
            calls = 0;
    if (file)
        fclose(file);
    return calls;
}

static int count_under(struct workshop *shop, const char *subject, uint32_t n, enum exact_kind kind,
                       double *count)
{
    const char *const traced[] = {"strace",   "-f",      "-c",    "-o",        shop->profile,
                                  BENCH_SELF, "exactly", subject, shop->count, NULL};
    const char *const counted[] = {BENCH_SELF, "exactly", subject, shop->count, NULL};
    char file[FOLDER + 64];
    const char *const variables[] = {"LD_PRELOAD=" BENCH_MALLOC, file, NULL};
    const struct process_options options = {.argv = kind == ALLOCATIONS ? counted : traced,
                                            .variables = kind == ALLOCATIONS ? variables : NULL,
                                            .within_ns = WITHIN_NS};
    struct process_result result;
    uint64_t word = 0;
    int fd = open(shop->profile, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r;

    snprintf(shop->count, sizeof shop->count, "%u", n);
    snprintf(file, sizeof file, "BENCH_MALLOC_FILE=%s", shop->profile);
    if (fd < 0 || write(fd, &word, sizeof word) != sizeof word)
        return -errno;
    r = process_run(&options, &result);
    if (r == 0) {
        r = failed(subject, r, &result);
        process_result_fini(&result);
    }
    if (r == 0 && kind == ALLOCATIONS && pread(fd, &word, sizeof word, 0) != sizeof word)
        r = -EIO;
    *count = kind == ALLOCATIONS ? (double)word : total_of(shop->profile);
    close(fd);
    return r;
}

static int counts(const char *subject, enum exact_kind kind, struct trial *out)
{
    struct workshop shop;
    double few = 0, many = 0;
    int r = kind == ALLOCATIONS || is_there("strace") ? open_shop(&shop)
                                                      : stage_not_here(out, "needs strace");
    if (r != 0)
        return r;
    r = count_under(&shop, subject, CALLS, kind, &few);
    if (r == 0)
        r = count_under(&shop, subject, 2 * CALLS, kind, &many);
    if (r == 0)
        out->value = (many - few) / CALLS;
    if (r == SUITE_NOT_HERE)
        (void)stage_not_here(out, "needs the host option `waiting`");
    close_shop(&shop);
    return r;
}

static int faults(const char *id, const struct suite_options *options, struct trial *out)
{
    int r;

    trial_exactly(CALLS);
    r = once_run(suite_find(id), options, out);
    trial_exactly(0);
    out->value = out->faults;
    return r;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    const struct exercise *exercise = exercises;
    struct trial less = {0};
    int r;

    while (strcmp(exercise->id, subject->id) != 0)
        exercise++;
#ifndef BENCH_HAS_WAITING
    if (subject->kind == SYSTEM_CALLS)
        return stage_not_here(out, "needs the host option `waiting`");
#endif
    switch ((enum exact_kind)subject->kind) {
    case INSTRUCTIONS:
        return instructions(exercise->of, CALLS, out);
    case GROWTH:
        r = instructions(exercise->of, FEW, out);
        if (r == 0)
            r = instructions(exercise->less, FEW, &less);
        out->value -= less.value;
        return r;
    case FAULTS:
        return faults(exercise->of, options, out);
    default:
        return counts(exercise->of, (enum exact_kind)subject->kind, out);
    }
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject exact_subjects[] = {
    {"x-raw", "instructions", run, SUITE_POLL, SUITE_CROSS, INSTRUCTIONS, 8, 0, 1},
    {"x-loan", "instructions", run, SUITE_POLL, SUITE_CROSS, INSTRUCTIONS, 4096, 0, 1},
    {"x-growth", "instructions", run, SUITE_POLL, SUITE_CROSS, GROWTH, 1 << 20, 0, 1},
    {"x-calls", "system calls", run, SUITE_POLL, SUITE_CROSS, SYSTEM_CALLS, 8, 0, 1},
    {"x-calls-sleep", "system calls", run, SUITE_SLEEP, SUITE_CROSS, SYSTEM_CALLS, 16, 0, 1},
    {"x-calls-bell", "system calls", run, SUITE_BELL, SUITE_CROSS, SYSTEM_CALLS, 16, 0, 1},
    {"x-heap-add", "allocations", run, SUITE_POLL, SUITE_CROSS, ALLOCATIONS, 16, 0, 1},
    {"x-heap-raw", "allocations", run, SUITE_POLL, SUITE_CROSS, ALLOCATIONS, 8, 0, 1},
    {"x-heap-loan", "allocations", run, SUITE_POLL, SUITE_CROSS, ALLOCATIONS, 4096, 0, 1},
    {"x-heap-async", "allocations", run, SUITE_ADAPT, SUITE_CROSS, ALLOCATIONS, 8, 0, 1},
    {"x-faults", "page faults", run, SUITE_POLL, SUITE_CROSS, FAULTS, 8, 0, 1},
    {0},
};
