/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_run.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rapahub/host.h>

#define KILLS_MIN 10u
#define MIB       (UINT64_C(1) << 20)

static int list_files(const struct archive_options *options, struct archive_files *files)
{
    for (size_t i = 0; options->folders[i]; i++) {
        if (archive_files_add(files, options->folders[i], options->folder_max) == 0)
            continue;
        fprintf(stderr, "error: cannot read %s: %s\n", options->folders[i], strerror(errno));
        return -1;
    }
    return 0;
}

static void show_progress(const struct archive_run *run, const char *phase, const char *end)
{
    fprintf(stderr, "%s%-8s %6zu of %zu files  %7.1f MiB  %u kills%s", end[0] ? "" : "\r", phase,
            atomic_load(&run->done), run->files.count,
            (double)atomic_load(&run->plain) / (double)MIB, atomic_load(&run->kills), end);
}

/* Signals are polled, not delivered: an interrupted run still removes the data it stored. */
static void set_interrupts(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGHUP);
}

static void stop_if_interrupted(struct archive_run *run)
{
    const struct timespec at_once = {0};
    sigset_t set;

    set_interrupts(&set);
    if (sigtimedwait(&set, NULL, &at_once) > 0)
        atomic_store(&run->deadline_ns, 0);
}

/* Lets the workers do one half of the work, and reports their progress to the killer. */
static int run_phase(struct archive_run *run, struct archive_worker *workers,
                     struct archive_killer *killer, const char *phase, void *(*body)(void *))
{
    const bool first = body == archive_work_store, terminal = isatty(STDERR_FILENO);
    struct timespec soon;
    unsigned started = 0, ended = 0;

    atomic_store(&run->next, 0);
    atomic_store(&run->done, 0);
    while (started < run->workers &&
           pthread_create(&workers[started].thread, NULL, body, &workers[started]) == 0)
        started++;
    while (ended < started) {
        (void)clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 2000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(workers[ended].thread, NULL, &soon) == 0)
            ended++;
        stop_if_interrupted(run);
        atomic_store(&killer->progress,
                     (first ? 0 : 500) + 500 * atomic_load(&run->done) / (run->files.count + 1));
        if (terminal)
            show_progress(run, phase, "");
    }
    if (terminal)
        fputs("\r\033[K", stderr);
    show_progress(run, phase, "\n");
    return started == run->workers ? 0 : -EAGAIN;
}

static void print_table(const struct archive_run *run, const struct archive_calls *all,
                        double seconds)
{
    printf("files           %zu\n", run->files.count - (size_t)atomic_load(&run->skipped));
    if (run->files.skipped + atomic_load(&run->skipped) > 0)
        printf("skipped         %zu  (cannot be read, or an unusual name)\n",
               run->files.skipped + (size_t)atomic_load(&run->skipped));
    printf("bytes           %" PRIu64 "  (%" PRIu64 " compressed)\n",
           (uint64_t)atomic_load(&run->plain), (uint64_t)atomic_load(&run->packed));
    printf("calls           %" PRIu64 "  (%.0f a second)\n", all->answered,
           (double)all->answered / seconds);
    printf("call p50        %.1f us\n", archive_calls_percentile_us(all, 0.50));
    printf("call p99        %.1f us\n", archive_calls_percentile_us(all, 0.99));
    printf("longest wait    %.1f ms  (first try to answer, restarts included)\n",
           (double)all->longest_ns / 1e6);
    printf("kills           %u\n", atomic_load(&run->kills));
    printf("retried calls   %" PRIu64 "\n", all->retried);
    printf("failed calls    %" PRIu64 "\n", (uint64_t)atomic_load(&run->failed));
    printf("lost            %" PRIu64 "\n", (uint64_t)atomic_load(&run->lost));
    printf("wrong           %" PRIu64 "\n", (uint64_t)atomic_load(&run->wrong));
    printf("seconds         %.1f\n", seconds);
}

/* Returns the reason for which the run failed, or NULL. */
static const char *verdict(const struct archive_run *run, const struct archive_options *options,
                           const struct archive_plugins *plugins)
{
    if (archive_calls_now() > atomic_load(&run->deadline_ns))
        return "interrupted, or not done in time";
    if (atomic_load(&run->lost) + atomic_load(&run->wrong) + atomic_load(&run->failed) > 0)
        return "not everything came back";
    if (options->kills > 0 && atomic_load(&run->kills) < KILLS_MIN)
        return "fewer than 10 kills: the run proves too little";
    return plugins->verdict && options->kills > 0 ? plugins->verdict(plugins->self) : NULL;
}

static int make_workers(struct archive_run *run, struct archive_worker **out)
{
    struct archive_worker *workers = calloc(run->workers, sizeof(*workers));
    int r = workers ? 0 : -ENOMEM;

    for (unsigned i = 0; workers && i < run->workers; i++) {
        workers[i].run = run;
        workers[i].calls.way = &run->way;
        workers[i].calls.answered_ns = &run->answered_ns;
        workers[i].calls.deadline_ns = &run->deadline_ns;
        workers[i].packed = malloc(ARCHIVE_PACKED_MAX);
        if (!workers[i].packed)
            r = -ENOMEM;
    }
    *out = workers;
    return r;
}

/* Leaves the counts of all workers in `all`. */
static void drop_workers(struct archive_run *run, struct archive_worker *workers,
                         struct archive_calls *all)
{
    for (unsigned i = 0; workers && i < run->workers; i++) {
        archive_calls_merge(all, &workers[i].calls);
        free(workers[i].packed);
    }
    free(workers);
}

static int work(struct archive_run *run, const struct archive_options *options,
                const struct archive_plugins *plugins)
{
    struct archive_killer killer = {.victims = plugins->victims,
                                    .self = plugins->self,
                                    .wanted = options->kills,
                                    .random = options->seed,
                                    .kills = &run->kills};
    struct archive_calls all = {.way = &run->way};
    const uint64_t begin = archive_calls_now();
    struct archive_worker *workers;
    const char *failure;
    int r = make_workers(run, &workers);

    if (r == 0)
        r = archive_killer_start(&killer);
    if (r == 0) {
        r = run_phase(run, workers, &killer, "storing", archive_work_store);
        if (r == 0)
            r = run_phase(run, workers, &killer, "checking", archive_work_check);
        archive_killer_stop(&killer);
    }
    drop_workers(run, workers, &all);
    print_table(run, &all, (double)(archive_calls_now() - begin) / 1e9);
    plugins->print(plugins->self);
    failure = r != 0 ? "no memory or no threads" : verdict(run, options, plugins);
    if (failure)
        fprintf(stderr, "error: %s; the seed was %" PRIu64 "\n", failure, options->seed);
    return failure ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_store(const char *folder)
{
    if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        fprintf(stderr, "warning: %s stays: %s\n", folder, strerror(errno));
}

int archive_run_main(int argc, char **argv, const struct archive_plugins *plugins)
{
    const struct archive_options options = archive_options_parse(argc, argv, plugins->kills);
    const char *base = getenv("TMPDIR");
    struct archive_run run = {.workers = options.threads};
    char folder[2048];
    sigset_t interrupts;
    int r;

    atomic_init(&run.deadline_ns, archive_calls_now() + options.seconds * UINT64_C(1000000000));
    set_interrupts(&interrupts);
    (void)pthread_sigmask(SIG_BLOCK, &interrupts, NULL);
    rapahub_log_to(NULL, NULL, options.verbose ? RAPAHUB_LOG_DEBUG : RAPAHUB_LOG_ERROR);
    (void)snprintf(folder, sizeof(folder), "%s/rapahub-archive-XXXXXX",
                   base && base[0] ? base : "/var/tmp");
    if (!mkdtemp(folder)) {
        fprintf(stderr, "error: cannot make %s: %s\n", folder, strerror(errno));
        return 1;
    }
    fprintf(stderr, "seed %" PRIu64 "  store %s\n", options.seed, folder);
    r = list_files(&options, &run.files);
    if (r == 0)
        r = plugins->start(plugins->self, &run, &options, folder);
    if (r == 0)
        r = work(&run, &options, plugins);
    plugins->stop(plugins->self);
    archive_files_fini(&run.files);
    remove_store(folder);
    return r != 0;
}
