/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/tracer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/process/life_process.h"
#include "hub/base/own.h"

#define FIELD       "TracerPid:"
#define PARENTS_MAX 64 /* ancestors of a tracer that are checked */
#define TEXT_SIZE   2048

/* ---- texts ---- */

pid_t host_tracer_of(const char *status)
{
    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, FIELD, sizeof FIELD - 1) == 0)
            return (pid_t)strtol(line + sizeof FIELD - 1, NULL, 10);
    }
    return 0;
}

/* The name is in brackets, and may contain brackets; after the last one come only numbers. */
bool host_tracer_kin(const char *stat, struct host_tracer_kin *out)
{
    const char *rest = strrchr(stat, ')');
    char *end = NULL;

    if (!rest || strlen(rest) < sizeof ") S" - 1)
        return false;
    rest += sizeof ") S" - 1;
    out->parent = (pid_t)strtol(rest, &end, 10);
    if (end == rest)
        return false;
    rest = end;
    out->group = (pid_t)strtol(rest, &end, 10);
    return end != rest;
}

/* ---- processes ---- */

/* "" if it cannot be read. */
static void get(pid_t pid, const char *file, char to[TEXT_SIZE])
{
    OWN(hub_fd) int fd = -1;
    char path[48];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, to, TEXT_SIZE - 1);
    to[n > 0 ? n : 0] = '\0';
}

/* Says whether `pid` is the guest, in its process group, or a descendant of either. */
static bool descends(pid_t pid, pid_t guest)
{
    struct host_tracer_kin kin;
    char text[TEXT_SIZE];

    for (int i = 0; i < PARENTS_MAX && pid > 1; i++) {
        if (pid == guest)
            return true;
        get(pid, "stat", text);
        if (!host_tracer_kin(text, &kin))
            return false;
        if (kin.group == guest)
            return true;
        pid = kin.parent;
    }
    return false;
}

static bool shares_cgroup(pid_t pid, const struct host_life_process *process)
{
    char of_guest[TEXT_SIZE], of_other[TEXT_SIZE];

    if (!process->cgroup.open)
        return false;
    get(process->pid, "cgroup", of_guest);
    get(pid, "cgroup", of_other);
    return strcmp(of_guest, of_other) == 0;
}

/* A pid is safe to use while its process cannot have been reaped: our child's until we reap it, an
 * anonymous guest's while it is proven alive. r[impl supervise.watchdog.tracer] */
bool host_tracer_has(const struct host_life_process *process)
{
    char text[TEXT_SIZE];
    pid_t tracer;

    if (process->pidfd < 0)
        return false;
    get(process->pid, "status", text);
    tracer = host_tracer_of(text);
    return tracer > 0 && !descends(tracer, process->pid) && !shares_cgroup(tracer, process);
}
