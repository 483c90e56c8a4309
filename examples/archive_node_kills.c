/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_node_kills.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive_calls.h"

#define ANSWER_MS 20000             /* for the next answer */
#define END_MS    10000             /* for a daemon without a warden */
#define LEFT_NS   UINT64_C(2000000) /* answers that were on their way when the process died */
#define KINDS_MIN 10u
#define CHILDREN  256

/* Adds the children that a thread of the process has begun. */
static unsigned add_children(pid_t process, const char *thread, int children[CHILDREN],
                             unsigned count)
{
    char path[512], list[4096], *at = list, *end = list;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)process, thread);
    file = fopen(path, "re");
    list[file ? fread(list, 1, sizeof list - 1, file) : 0] = '\0';
    if (file)
        (void)fclose(file);
    for (; count < CHILDREN; at = end, count++) {
        children[count] = (int)strtol(at, &end, 10);
        if (end == at)
            break;
    }
    return count;
}

/* Returns the `turn`-th child of a process, or 0. */
static pid_t child_of(pid_t parent, uint64_t turn)
{
    int children[CHILDREN];
    unsigned count = 0;
    struct dirent *thread;
    char path[64];
    DIR *threads;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    threads = parent > 0 ? opendir(path) : NULL;
    if (!threads)
        return 0;
    while ((thread = readdir(threads)))
        if (thread->d_name[0] != '.')
            count = add_children(parent, thread->d_name, children, count);
    (void)closedir(threads);
    return count > 0 ? children[turn % count] : 0;
}

static bool is_still_a_guest(void *self, int32_t pid)
{
    struct archive_node_kills *kills = self;

    return child_of(child_of(kills->warden, 0), kills->turn) == pid;
}

static bool is_still_the_daemon(void *self, int32_t pid)
{
    return child_of(((struct archive_node_kills *)self)->warden, 0) == pid;
}

static bool kill_guest(struct archive_node_kills *kills)
{
    kills->turn++;
    return archive_killer_kill(child_of(child_of(kills->warden, 0), kills->turn), is_still_a_guest,
                               kills);
}

/* A daemon that has no guest yet has just begun: it is left to begin. */
static bool kill_daemon(struct archive_node_kills *kills)
{
    pid_t daemon = child_of(kills->warden, 0);

    return child_of(daemon, 0) > 0 && archive_killer_kill(daemon, is_still_the_daemon, kills);
}

/* The daemon ends when its warden is dead, and lets go of the folder then. */
static void await_end(int daemon)
{
    struct pollfd end = {.fd = daemon, .events = POLLIN};

    (void)poll(&end, 1, END_MS);
    (void)close(daemon);
}

/* The warden is a child of this program, so its pid is its own until it is waited for. A service
 * manager would begin it again as often as is needed. */
static bool replace_warden(struct archive_node_kills *kills)
{
    int daemon = pidfd_open(child_of(kills->warden, 0), 0);
    pid_t next;

    if (kill(kills->warden, SIGKILL) < 0 || waitpid(kills->warden, NULL, 0) < 0)
        return false;
    if (daemon >= 0)
        await_end(daemon);
    next = kills->begin(kills->node);
    if (next > 0)
        kills->warden = next;
    return next > 0;
}

static bool kill_both(struct archive_node_kills *kills)
{
    return kill_daemon(kills) && replace_warden(kills);
}

static bool kill_warden(struct archive_node_kills *kills)
{
    return child_of(child_of(kills->warden, 0), 0) > 0 && replace_warden(kills);
}

/* Waits for an answer that came after the kill. At the end of the run none comes. */
static void await_answer(struct archive_node_kills *kills, unsigned kind, uint64_t killed_ns)
{
    uint64_t answered_ns = 0;

    for (int waited = 0; waited < ANSWER_MS && answered_ns <= killed_ns + LEFT_NS; waited++) {
        (void)poll(NULL, 0, 1);
        answered_ns = atomic_load(kills->answered_ns);
    }
    if (answered_ns > killed_ns && kills->count[kind] < ARCHIVE_NODE_KILLS_MAX)
        kills->gap_ns[kind][kills->count[kind]++] = answered_ns - killed_ns;
}

static bool kill_one(void *self, unsigned victim)
{
    static bool (*const functions[VICTIMS])(struct archive_node_kills *) = {
        [VICTIM_GUEST] = kill_guest,
        [VICTIM_DAEMON] = kill_daemon,
        [VICTIM_BOTH] = kill_both,
        [VICTIM_WARDEN] = kill_warden};
    struct archive_node_kills *kills = self;
    uint64_t now = archive_calls_now();

    if (!functions[victim](kills))
        return false;
    await_answer(kills, victim, now);
    return true;
}

static const unsigned moments[] = {1u << VICTIM_GUEST, 1u << VICTIM_DAEMON, 1u << VICTIM_BOTH,
                                   1u << VICTIM_WARDEN};

const struct archive_victims archive_node_kills_victims = {
    .moments = moments, .moments_count = VICTIMS, .count = VICTIMS, .kill = kill_one};

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

static double share_ms(const uint64_t *sorted, unsigned count, double share)
{
    unsigned at = (unsigned)((double)(count - 1) * share + 0.5);

    return (double)sorted[at] / 1e6;
}

void archive_node_kills_print(const struct archive_node_kills *kills)
{
    static const char *const names[VICTIMS] = {"guest", "daemon", "both", "warden"};

    for (unsigned kind = 0; kind < VICTIMS; kind++) {
        static uint64_t sorted[ARCHIVE_NODE_KILLS_MAX];
        unsigned count = kills->count[kind];

        for (unsigned i = 0; i < count; i++)
            sorted[i] = kills->gap_ns[kind][i];
        qsort(sorted, count, sizeof *sorted, compare);
        if (count > 0)
            printf("%-7s killed  %u  (next answer p50 %.1f, p99 %.1f, max %.1f ms)\n", names[kind],
                   count, share_ms(sorted, count, 0.5), share_ms(sorted, count, 0.99),
                   share_ms(sorted, count, 1));
    }
}

const char *archive_node_kills_verdict(const struct archive_node_kills *kills)
{
    for (unsigned kind = 0; kind < VICTIMS; kind++)
        if (kills->count[kind] < KINDS_MIN)
            return "fewer than 10 kills of a kind: the run proves too little";
    return NULL;
}
