/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/proof.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/clock.h"

int hub_proof_open(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return fd < 0 ? -errno : fd;
}

static bool same_file(const struct statx *a, const struct statx *b)
{
    return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
           a->stx_dev_minor == b->stx_dev_minor;
}

/* Parses "lock: 1: OFDLCK ADVISORY WRITE -1 00:1a:77 4096 4096": the last two numbers are the first
 * and the last byte of the range; the last may be "EOF". The kernel writes these lines, and the
 * process cannot influence them. */
static bool is_lock_at(char *line, uint64_t start)
{
    char *end = NULL, *last;

    if (strncmp(line, "lock:", 5) != 0 || !strstr(line, " OFDLCK ") || !strstr(line, " WRITE "))
        return false;
    last = strrchr(line, ' ');
    *last = '\0';
    last = strrchr(line, ' ');
    return strtoull(last, &end, 10) == start && end > last + 1 && *end == '\0';
}

static bool tells_of_lock(FILE *info, uint64_t start)
{
    char line[256];
    bool found = false;

    while (!found && fgets(line, sizeof line, info))
        found = is_lock_at(line, start);
    return found;
}

static bool holds_lock(pid_t pid, const char *number, uint64_t start)
{
    char path[64];
    FILE *info;
    bool holds;

    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.16s", (int)pid, number);
    info = fopen(path, "re");
    if (!info)
        return false;
    holds = tells_of_lock(info, start);
    (void)fclose(info);
    return holds;
}

/* No file system is accessed that might not answer. */
bool hub_proof_has_lock(pid_t pid, int fd, uint64_t start)
{
    const int flags = AT_STATX_DONT_SYNC;
    struct statx wanted, found;
    struct dirent *entry;
    char path[32];
    bool has = false;
    DIR *folder;

    if (statx(fd, "", flags | AT_EMPTY_PATH, STATX_INO, &wanted) < 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    folder = opendir(path);
    while (folder && !has && (entry = readdir(folder)))
        has = entry->d_name[0] != '.' &&
              statx(dirfd(folder), entry->d_name, flags, STATX_INO, &found) == 0 &&
              same_file(&wanted, &found) && holds_lock(pid, entry->d_name, start);
    if (folder)
        closedir(folder);
    return has;
}

bool hub_proof_of_death(int pidfd)
{
    return hub_proof_wait(pidfd, 0) == 0;
}

int hub_proof_wait(int pidfd, uint64_t deadline_ns)
{
    struct pollfd ends = {.fd = pidfd, .events = POLLIN};

    for (;;) {
        int n = poll(&ends, 1, hub_clock_left_ms(deadline_ns, 10000));

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && (ends.revents & POLLIN))
            return 0;
        if (n > 0) /* not a pidfd, so it proves nothing */
            return -EBADF;
        if (hub_clock_left(deadline_ns) == 0)
            return -ETIMEDOUT;
    }
}

static int look(int pidfd, int options, struct hub_exit *out)
{
    siginfo_t info = {0};

    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | options) < 0)
        if (errno != EINTR)
            return -errno;
    if (info.si_pid == 0)
        return -EAGAIN;
    *out = (struct hub_exit){.code = info.si_code, .status = info.si_status};
    return 0;
}

int hub_proof_status(int pidfd, struct hub_exit *out)
{
    return look(pidfd, WNOWAIT, out);
}

static uint64_t nanoseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * HUB_SECOND + (uint64_t)time->tv_usec * HUB_MICROSECOND;
}

/* glibc's waitid does not pass on the kernel's last argument. */
int hub_proof_usage(int pidfd, struct hub_usage *out)
{
    const int options = WEXITED | WNOHANG | WNOWAIT;
    struct rusage usage = {0};
    siginfo_t info = {0};

    while (syscall(SYS_waitid, P_PIDFD, pidfd, &info, options, &usage) < 0)
        if (errno != EINTR)
            return -errno;
    if (info.si_pid == 0)
        return -EAGAIN;
    *out = (struct hub_usage){.user_ns = nanoseconds(&usage.ru_utime),
                              .system_ns = nanoseconds(&usage.ru_stime),
                              .memory_max = (uint64_t)usage.ru_maxrss << 10};
    return 0;
}

int hub_proof_reap(int pidfd, struct hub_exit *out)
{
    return look(pidfd, 0, out);
}
