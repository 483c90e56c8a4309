/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 64

extern char **environ;

static cpu_set_t allowed;

void place_init(void)
{
    CPU_ZERO(&allowed);
    (void)sched_getaffinity(0, sizeof allowed, &allowed);
}

unsigned place_cpus(void)
{
    return (unsigned)CPU_COUNT(&allowed);
}

static cpu_set_t set_of(int cpu)
{
    cpu_set_t set;

    if (cpu < 0)
        return allowed;
    CPU_ZERO(&set);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed) && cpu-- == 0)
            CPU_SET(i, &set);
    return set;
}

unsigned place_cpu(unsigned n)
{
    const cpu_set_t set = set_of((int)n);
    unsigned cpu = 0;

    while (cpu + 1 < CPU_SETSIZE && !CPU_ISSET(cpu, &set))
        cpu++;
    return cpu;
}

/* Every thread of the process; 0 is this thread alone. */
static int threads_of(pid_t pid, pid_t out[THREADS_MAX])
{
    char path[64];
    struct dirent *entry;
    int count = 0;
    DIR *folder;

    out[0] = 0;
    if (pid == 0)
        return 1;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    folder = opendir(path);
    if (!folder)
        return 0;
    while ((entry = readdir(folder)) && count < THREADS_MAX)
        if (entry->d_name[0] != '.')
            out[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    closedir(folder);
    return count;
}

int place_pin(pid_t pid, int cpu)
{
    cpu_set_t set = set_of(cpu);
    pid_t threads[THREADS_MAX];
    int count = threads_of(pid, threads);

    for (int i = 0; i < count; i++)
        if (sched_setaffinity(threads[i], sizeof set, &set) < 0 && errno != ESRCH)
            return -errno;
    return count > 0 ? 0 : -ESRCH;
}

static int fifo(pid_t pid, bool on)
{
    const struct sched_param parameters = {.sched_priority = on ? 1 : 0};
    pid_t threads[THREADS_MAX];
    int count = threads_of(pid, threads);

    for (int i = 0; i < count; i++)
        if (sched_setscheduler(threads[i], on ? SCHED_FIFO : SCHED_OTHER, &parameters) < 0)
            return -errno;
    return 0;
}

int place_fifo(pid_t peer, bool on)
{
    int r = fifo(0, on);

    if (r == 0 && peer > 0)
        r = fifo(peer, on);
    if (r < 0 && on)
        (void)place_fifo(peer, false);
    return r;
}

int place_host(enum suite_place place, struct trial *out)
{
    if (place == SUITE_CROSS && place_cpus() < 2) {
        snprintf(out->why, sizeof out->why, "needs two CPUs");
        return SUITE_NOT_HERE;
    }
    return place_pin(0, place == SUITE_FREE ? -1 : 0);
}

int place_guest(enum suite_place place, pid_t guest)
{
    return place == SUITE_FREE ? place_pin(guest, -1) : place_pin(guest, place == SUITE_CROSS);
}

void place_end(void)
{
    (void)place_pin(0, -1);
}

uint64_t place_preempted(pid_t pid)
{
    char path[64], line[128];
    unsigned long long count = 0;
    FILE *file;

    if (pid == 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) == 1)
            break;
    fclose(file);
    return count;
}

uint64_t place_faults(pid_t pid)
{
    char path[64], line[512];
    unsigned long count = 0;
    FILE *file;

    if (pid == 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file && fgets(line, sizeof line, file) && strrchr(line, ')') &&
        sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %lu", &count) != 1)
        count = 0;
    if (file)
        fclose(file);
    return count;
}

int place_spawn(const char *name, int memory, int socket, pid_t *out)
{
    const char *const argv[] = {"rapahub-bench", "peer", name, NULL};
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);

    if (r == 0) {
        posix_spawn_file_actions_adddup2(&actions, memory, 3);
        posix_spawn_file_actions_adddup2(&actions, socket, 4);
        r = posix_spawn(out, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)argv,
                        environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    return -r;
}

static int share(struct place_child *child)
{
    int low = memfd_create("bench", MFD_CLOEXEC);

    if (low < 0)
        return -errno;
    child->memory = fcntl(low, F_DUPFD_CLOEXEC, 10); /* 3 and 4 are the child's */
    close(low);
    if (child->memory < 0 || ftruncate(child->memory, sizeof *child->shared) < 0)
        return -errno;
    child->shared = mmap(NULL, sizeof *child->shared, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_POPULATE, child->memory, 0);
    return child->shared == MAP_FAILED ? -errno : 0;
}

int place_start(const char *name, enum suite_place place, struct place_child *out)
{
    int ends[2] = {-1, -1}, theirs, r;
    char byte;

    *out = (struct place_child){.memory = -1, .socket = -1};
    r = share(out);
    if (r < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return r < 0 ? r : -errno;
    out->socket = ends[0];
    theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    close(ends[1]);
    r = place_spawn(name, out->memory, theirs, &out->pid);
    close(theirs);
    if (r == 0)
        r = place_guest(place, out->pid);
    if (r == 0 && read(out->socket, &byte, 1) != 1)
        r = -EPIPE;
    if (r < 0)
        place_stop(out);
    return r;
}

void place_stop(struct place_child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
    }
    if (child->shared && child->shared != MAP_FAILED)
        munmap(child->shared, sizeof *child->shared);
    if (child->socket >= 0)
        close(child->socket);
    if (child->memory >= 0)
        close(child->memory);
    *child = (struct place_child){.memory = -1, .socket = -1};
}
