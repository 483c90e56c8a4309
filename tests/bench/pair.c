/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/pair.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/suite.h"

#define ARGUMENTS  16
#define SEGMENT_NS UINT64_C(20000000000)

bool pair_has(const char *tool)
{
    struct process_result result = {0};
    int r = process_run_argv((const char *const[]){tool, "--version", NULL}, &result);

    if (r == 0) {
        r = result.status;
        process_result_fini(&result);
    }
    return r == 0;
}

int pair_open(struct pair *pair)
{
    *pair = (struct pair){.folder = "/dev/shm/rapahub-bench-XXXXXX"};
    if (!mkdtemp(pair->folder)) {
        *pair->folder = '\0';
        return -errno;
    }
    snprintf(pair->segment, sizeof pair->segment, "%s/segment", pair->folder);
    snprintf(pair->output, sizeof pair->output, "%s/output", pair->folder);
    snprintf(pair->note, sizeof pair->note, "%s/note", pair->folder);
    return 0;
}

void pair_close(const struct pair *pair)
{
    if (!*pair->folder)
        return;
    unlink(pair->segment);
    unlink(pair->output);
    unlink(pair->note);
    rmdir(pair->folder);
}

int pair_judge(const char *what, int r, const struct process_result *result)
{
    if (r == 0 && result->status == SUITE_STATUS_NOT_HERE)
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

static int finish(const char *what, struct process *process)
{
    struct process_result result = {0};
    int r = process_finish(process, &result);

    r = pair_judge(what, r, &result);
    process_result_fini(&result);
    return r;
}

/* The tool, if it is this one's, and then the program. */
static void compose(const char *argv[ARGUMENTS], const char *const *tool,
                    const char *const *program)
{
    size_t n = 0;

    while (tool && *tool)
        argv[n++] = *tool++;
    while (*program)
        argv[n++] = *program++;
    argv[n] = NULL;
}

static int run_both(struct pair *pair, const struct pair_run *run)
{
    static const char *const variables[] = {"LD_PRELOAD=" BENCH_PIDFD, NULL};
    char path[PAIR_PATH + 16];
    const char *const host[] = {BENCH_SELF,  "exactly",     run->subject,
                                pair->count, pair->segment, run->notes ? pair->note : NULL,
                                NULL};
    const char *const guest[] = {BENCH_GUEST, path, "--waiting=poll", BENCH_CHIMOD, NULL};
    const char *host_argv[ARGUMENTS], *guest_argv[ARGUMENTS];
    const struct process_options host_options = {.argv = host_argv,
                                                 .variables = run->of_host ? variables : NULL,
                                                 .within_ns = PAIR_WITHIN_NS};
    const struct process_options guest_options = {.argv = guest_argv, .within_ns = PAIR_WITHIN_NS};
    struct process host_process, guest_process;
    int r, of_guest;

    snprintf(path, sizeof path, "--hub-path=%s", pair->segment);
    compose(host_argv, run->of_host ? run->tool : NULL, host);
    compose(guest_argv, run->of_host ? NULL : run->tool, guest);
    r = process_start(&host_options, &host_process);
    if (r < 0)
        return r;
    (void)process_until(has_segment, pair->segment, SEGMENT_NS);
    of_guest = process_start(&guest_options, &guest_process);
    r = finish("host", &host_process);
    if (of_guest == 0)
        of_guest = finish("guest", &guest_process);
    return r != 0 ? r : of_guest;
}

int pair_run(struct pair *pair, const struct pair_run *run)
{
    pthread_t thread;
    int r = run->meanwhile ? -pthread_create(&thread, NULL, run->meanwhile, run->user) : 0;

    if (r < 0)
        return r;
    r = run_both(pair, run);
    if (run->meanwhile)
        pthread_join(thread, NULL);
    return r;
}
