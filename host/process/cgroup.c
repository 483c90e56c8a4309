/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/base/random.h"

#define RULE   "supervise.limits.cgroup"
#define REMEDY "give the host a cgroup v2 of its own (systemd: Delegate=yes), by its option cgroup"
#define PERIOD 100000 /* us, for cpu.max */

/* ---- files ---- */

static int put(int folder, const char *file, const char *text)
{
    OWN(hub_fd) int fd = openat(folder, file, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return -errno;
    return 0;
}

/* "" if it cannot be read. */
static void get(int folder, const char *file, char *to, size_t size)
{
    OWN(hub_fd) int fd = openat(folder, file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, to, size - 1);

    to[n > 0 ? n : 0] = '\0';
}

/* Reads a value from a file of lines "key value". */
static uint64_t value_of(int folder, const char *file, const char *key)
{
    char text[1024], *line, *rest = text;
    size_t size = strlen(key);

    get(folder, file, text, sizeof text);
    while ((line = strsep(&rest, "\n")))
        if (strncmp(line, key, size) == 0 && line[size] == ' ')
            return strtoull(line + size + 1, NULL, 10);
    return 0;
}

/* ---- location ---- */

/* Returns the path after "0::", or NULL. */
static char *own_path(char *text)
{
    char *line;

    while ((line = strsep(&text, "\n")))
        if (strncmp(line, "0::", 3) == 0)
            return line + 3;
    return NULL;
}

/* Finds the mount point of cgroup v2: the fifth word of the line that names it after " - ". */
static bool find_mount(char to[256])
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char line[1024];
    bool found = false;

    while (mounts && !found && fgets(line, sizeof line, mounts)) {
        const char *kind = strstr(line, " - ");

        found = kind && strncmp(kind, " - cgroup2 ", 11) == 0 &&
                sscanf(line, "%*s %*s %*s %*s %255s", to) == 1;
    }
    if (mounts)
        fclose(mounts);
    return found;
}

static int open_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return rapahub_fail(-errno, RULE, "cannot open the cgroup %s: %s; " REMEDY, path,
                            strerrordesc_np(errno));
    return fd;
}

int host_cgroup_find(const char *path)
{
    char mount[256], text[1024], whole[1400], *own;

    if (path)
        return open_folder(path);
    get(AT_FDCWD, "/proc/self/cgroup", text, sizeof text);
    own = own_path(text);
    if (!own || !find_mount(mount))
        return rapahub_fail(-ENOTSUP, RULE, "there is no cgroup v2 here; mount it, and " REMEDY);
    snprintf(whole, sizeof whole, "%s%s", mount, own);
    return open_folder(whole);
}

/* ---- a cgroup ---- */

int host_cgroup_create(int above, struct host_cgroup *out)
{
    int fd;

    snprintf(out->name, sizeof out->name, "rapahub-%d-%016" PRIx64, (int)getpid(),
             hub_random_nonce());
    if (mkdirat(above, out->name, 0755) < 0)
        return rapahub_fail(-errno, RULE, "cannot make a cgroup: %s; " REMEDY,
                            strerrordesc_np(errno));
    fd = openat(above, out->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        int r = -errno;

        unlinkat(above, out->name, AT_REMOVEDIR);
        return rapahub_fail(r, RULE, "cannot open a cgroup that was made");
    }
    out->folder = fd;
    out->open = true;
    return 0;
}

static int limit(int folder, const char *file, const char *text)
{
    int r = put(folder, file, text);

    /* The controller is not delegated; only the cgroup above can do that, if it has no process. */
    if (r == -ENOENT && put(folder, "../cgroup.subtree_control", "+memory +pids +cpu") == 0)
        r = put(folder, file, text);
    if (r < 0)
        return rapahub_fail(r == -ENOENT ? -ENOTSUP : r, RULE,
                            "%s: %s; the host's cgroup must have the controllers memory, pids and "
                            "cpu and no process of its own: " REMEDY,
                            file, r == -ENOENT ? "no such controller" : strerrordesc_np(-r));
    return 0;
}

static int limit_to(int folder, const char *file, uint64_t value)
{
    char text[32];

    if (value == 0)
        return 0;
    snprintf(text, sizeof text, "%" PRIu64, value);
    return limit(folder, file, text);
}

/* r[impl supervise.limits.cgroup] */
int host_cgroup_limit(const struct host_cgroup *cgroup, const struct host_cgroup_limits *limits)
{
    char text[64];
    int r = limit_to(cgroup->folder, "memory.max", limits->memory_max);

    if (r == 0)
        r = limit_to(cgroup->folder, "memory.high", limits->memory_high);
    if (r == 0)
        r = limit_to(cgroup->folder, "pids.max", limits->pids_max);
    if (r < 0 || limits->cpu_percent == 0)
        return r;
    snprintf(text, sizeof text, "%" PRIu64 " %d", limits->cpu_percent * (PERIOD / 100), PERIOD);
    return limit(cgroup->folder, "cpu.max", text);
}

int host_cgroup_door(const struct host_cgroup *cgroup)
{
    int fd = openat(cgroup->folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    return fd < 0 ? rapahub_fail(-errno, RULE, "nobody may enter the cgroup: %s; " REMEDY,
                                 strerrordesc_np(errno))
                  : fd;
}

uint64_t host_cgroup_ooms(const struct host_cgroup *cgroup)
{
    return cgroup->open ? value_of(cgroup->folder, "memory.events", "oom_kill") : 0;
}

bool host_cgroup_populated(const struct host_cgroup *cgroup)
{
    return cgroup->open && value_of(cgroup->folder, "cgroup.events", "populated") != 0;
}

int host_cgroup_kill(const struct host_cgroup *cgroup)
{
    return cgroup->open ? put(cgroup->folder, "cgroup.kill", "1") : 0;
}

bool host_cgroup_release(int above, struct host_cgroup *cgroup)
{
    bool gone = true;

    if (!cgroup->open)
        return true;
    gone = unlinkat(above, cgroup->name, AT_REMOVEDIR) == 0;
    hub_fd_release(&cgroup->folder);
    cgroup->open = false;
    return gone;
}
