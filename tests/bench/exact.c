/* SPDX-License-Identifier: Apache-2.0 */
/* exact: counts that do not depend on the load of the machine: instructions, system calls, heap
 * allocations, page faults, cache lines of a call. Each is taken between two marks, or of n and of
 * 2n calls: the difference divided by n is free of what it costs to start. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/lines.h"
#include "tests/bench/once.h"
#include "tests/bench/pair.h"
#include "tests/bench/profile.h"
#include "tests/bench/stage.h"

#define CALLS     2000U
#define FEW       100U /* operations for the runs in which each load and store is printed */
#define ARGUMENTS 16
#define LOOKS     4
#define WHOLE     0.005

enum exact_kind { INSTRUCTIONS, GROWTH, SYSTEM_CALLS, ALLOCATIONS, FAULTS, LINES, IDLING };

/* The program of a row; for GROWTH also the one that is subtracted. */
static const struct exercise {
    const char *id, *of, *less;
} exercises[] = {
    {"x-raw", "raw", NULL},
    {"x-routed", "raw-routed", NULL},
    {"x-record", "add-record", NULL},
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
    {"x-lines", "raw", NULL},
    {"x-lines-loan", "loan-4k", NULL},
    {"x-idle", "idle-pair", NULL},
};

/* Runs one of the two under callgrind, the other one normally. */
static int under_callgrind(struct pair *pair, const char *subject, bool host, struct profile *out)
{
    char to[PAIR_PATH + 32];
    const char *const tool[] = {
        "valgrind", "-q", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
        to,         NULL};
    const struct pair_run run = {.subject = subject, .tool = tool, .of_host = host};
    int r;

    snprintf(to, sizeof to, "--callgrind-out-file=%s", pair->output);
    r = pair_run(pair, &run);
    return r != 0 ? r : profile_read(pair->output, out);
}

/* value: instructions of both sides that are ours; second: those of libffi. */
static int instructions(const char *subject, struct trial *out)
{
    struct profile few, many;
    struct pair pair;
    int r = pair_has("valgrind") ? pair_open(&pair) : stage_not_here(out, "needs valgrind");

    if (r > 0)
        return r;
    for (int side = 0; r == 0 && side < 2; side++) {
        snprintf(pair.count, sizeof pair.count, "%u", CALLS);
        r = under_callgrind(&pair, subject, side == 0, &few);
        snprintf(pair.count, sizeof pair.count, "%u", 2 * CALLS);
        if (r == 0)
            r = under_callgrind(&pair, subject, side == 0, &many);
        if (r == 0) {
            out->value += ((many.all - many.waiting - many.ffi - many.direct) -
                           (few.all - few.waiting - few.ffi - few.direct)) /
                          CALLS;
            out->second +=
                ((many.ffi - many.method + many.direct) - (few.ffi - few.method + few.direct)) /
                CALLS;
        }
    }
    pair_close(&pair);
    return r;
}

/* value: cache lines of the segment that the host touches. */
static int touched_lines(const char *subject, struct trial *out)
{
    static struct lines lines;
    char to[PAIR_PATH + 16];
    const char *const tool[] = {"valgrind", "-q", "--tool=lackey", "--trace-mem=yes", to, NULL};
    const struct pair_run run = {.subject = subject,
                                 .tool = tool,
                                 .of_host = true,
                                 .notes = true,
                                 .meanwhile = lines_read,
                                 .user = &lines};
    struct pair pair;
    int r = pair_has("valgrind") ? pair_open(&pair) : stage_not_here(out, "needs valgrind");

    if (r > 0)
        return r;
    lines = (struct lines){.trace = pair.output, .note = pair.note};
    snprintf(to, sizeof to, "--log-file=%s", pair.output);
    snprintf(pair.count, sizeof pair.count, "%u", FEW);
    if (r == 0 && mkfifo(pair.output, 0600) < 0)
        r = -errno;
    if (r == 0)
        r = pair_run(&pair, &run);
    if (r == 0)
        r = lines.failure;
    if (r == 0)
        out->value = (double)lines.all / (double)lines.operations;
    pair_close(&pair);
    return r;
}

/* Counts the system calls of all processes between the two marks. A call that another one
 * interrupts has two lines. */
static double between_marks(const char *path)
{
    FILE *file = fopen(path, "re");
    bool counts = false;
    char line[1024];
    double calls = 0;

    while (file && fgets(line, sizeof line, file)) {
        if (strstr(line, TRIAL_END))
            break;
        calls += counts && !strstr(line, " resumed>") && strchr(line, '(');
        counts = counts || strstr(line, TRIAL_BEGIN);
    }
    if (file)
        fclose(file);
    return counts ? calls : HUGE_VAL;
}

/* value: the number for one of `times` operations. That is a whole number, unless a process was
 * descheduled while none sleeps. Descheduling only adds, so the least of some runs is nearest to
 * the truth. */
static int system_calls(const char *const program[], double times, struct trial *out)
{
    struct pair pair;
    const char *argv[ARGUMENTS] = {"strace", "-f", "-o", pair.output};
    const struct process_options options = {.argv = argv, .within_ns = PAIR_WITHIN_NS};
    struct process_result result = {0};
    int r = pair_has("strace") ? pair_open(&pair) : stage_not_here(out, "needs strace");

    if (r > 0)
        return r;
    for (size_t n = 4; *program && n + 1 < ARGUMENTS; n++)
        argv[n] = *program++;
    out->value = HUGE_VAL;
    for (int looks = 0; r == 0 && looks < LOOKS; looks++) {
        r = process_run(&options, &result);
        r = pair_judge("strace", r, &result);
        process_result_fini(&result);
        if (r == 0)
            out->value = fmin(out->value, between_marks(pair.output) / times);
        if (fabs(out->value - rint(out->value)) < WHOLE)
            break;
    }
    if (r == SUITE_NOT_HERE)
        (void)stage_not_here(out, "needs the host option `waiting`");
    pair_close(&pair);
    return r;
}

static int system_calls_of_calls(const char *subject, struct trial *out)
{
    char n[16];
    const char *const program[] = {BENCH_SELF, "exactly", subject, n, NULL};

    snprintf(n, sizeof n, "%u", CALLS);
    return system_calls(program, CALLS, out);
}

/* In 10 s. */
static int system_calls_of_idling(const char *subject, const struct suite_options *options,
                                  struct trial *out)
{
    char s[16];
    const char *const program[] = {BENCH_SELF, "--idle", s, "trial", subject, NULL};

    snprintf(s, sizeof s, "%g", options->idle_s);
    return system_calls(program, options->idle_s / 10, out);
}

/* In the whole life of a host and its guest. */
static int count_allocations(const struct pair *pair, const char *subject, uint32_t n,
                             double *count)
{
    char times[16], file[PAIR_PATH + 32];
    const char *const argv[] = {BENCH_SELF, "exactly", subject, times, NULL};
    const char *const variables[] = {"LD_PRELOAD=" BENCH_MALLOC, file, NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .within_ns = PAIR_WITHIN_NS};
    struct process_result result = {0};
    uint64_t word = 0;
    int fd = open(pair->output, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r;

    snprintf(times, sizeof times, "%u", n);
    snprintf(file, sizeof file, "BENCH_MALLOC_FILE=%s", pair->output);
    if (fd < 0 || write(fd, &word, sizeof word) != sizeof word)
        return -errno;
    r = process_run(&options, &result);
    r = pair_judge(subject, r, &result);
    process_result_fini(&result);
    if (r == 0 && pread(fd, &word, sizeof word, 0) != sizeof word)
        r = -EIO;
    *count = (double)word;
    close(fd);
    return r;
}

static int allocations(const char *subject, struct trial *out)
{
    struct pair pair;
    double few = 0, many = 0;
    int r = pair_open(&pair);

    if (r == 0)
        r = count_allocations(&pair, subject, CALLS, &few);
    if (r == 0)
        r = count_allocations(&pair, subject, 2 * CALLS, &many);
    out->value = (many - few) / CALLS;
    pair_close(&pair);
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
        return instructions(exercise->of, out);
    case GROWTH:
        r = instructions(exercise->of, out);
        if (r == 0)
            r = instructions(exercise->less, &less);
        out->value -= less.value;
        return r;
    case FAULTS:
        return faults(exercise->of, options, out);
    case LINES:
        return touched_lines(exercise->of, out);
    case IDLING:
        return system_calls_of_idling(exercise->of, options, out);
    case SYSTEM_CALLS:
        return system_calls_of_calls(exercise->of, out);
    default:
        return allocations(exercise->of, out);
    }
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject exact_subjects[] = {
    {"x-raw", "instructions", run, SUITE_POLL, SUITE_CROSS, INSTRUCTIONS, 8, 0, 1},
    {"x-routed", "instructions", run, SUITE_POLL, SUITE_CROSS, INSTRUCTIONS, 8, 0, 1},
    {"x-record", "instructions", run, SUITE_POLL, SUITE_CROSS, INSTRUCTIONS, 32, 0, 1},
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
    {"x-lines", "cache lines", run, SUITE_POLL, SUITE_CROSS, LINES, 8, 0, 1},
    {"x-lines-loan", "cache lines", run, SUITE_POLL, SUITE_CROSS, LINES, 4096, 0, 1},
    {"x-idle", "system calls", run, SUITE_ADAPT, SUITE_FREE, IDLING, 0, 0, 1},
    {0},
};
