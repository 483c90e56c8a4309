/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/process/module.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

/* The clock of a file system may tick this seldom: two changes within one tick leave the same
 * times. */
#define TICK (2 * HUB_SECOND)

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * HUB_SECOND + (uint64_t)time->tv_nsec;
}

static struct host_modules_stamp stamp_of(const struct stat *status)
{
    return (struct host_modules_stamp){.device = status->st_dev,
                                       .inode = status->st_ino,
                                       .size = (uint64_t)status->st_size,
                                       .modified_ns = nanoseconds(&status->st_mtim),
                                       .changed_ns = nanoseconds(&status->st_ctim)};
}

static bool is_same(const struct host_modules_stamp *a, const struct host_modules_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static struct host_modules_kept *find(struct host_modules *modules,
                                      const struct host_modules_stamp *stamp)
{
    for (int i = 0; i < HOST_MODULES_KEPT; i++)
        if (modules->kept[i].copy >= 0 && is_same(&modules->kept[i].stamp, stamp))
            return &modules->kept[i];
    return NULL;
}

static int give(struct host_modules *modules, struct host_modules_kept *kept, int *out)
{
    int copy = fcntl(kept->copy, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return rapahub_fail(-errno, "", "no descriptor is left for a module");
    kept->used = ++modules->uses;
    *out = copy;
    return 0;
}

/* Replaces the least recently used copy. */
static void keep(struct host_modules *modules, const struct host_modules_stamp *stamp, int copy)
{
    struct host_modules_kept *place = &modules->kept[0];
    int mine = fcntl(copy, F_DUPFD_CLOEXEC, 0);

    if (mine < 0)
        return;
    for (int i = 1; i < HOST_MODULES_KEPT; i++)
        if (modules->kept[i].used < place->used)
            place = &modules->kept[i];
    hub_fd_release(&place->copy);
    *place = (struct host_modules_kept){*stamp, mine, ++modules->uses};
}

/* Says whether the file changed neither during the copy, nor so shortly before that another change
 * would leave no trace. */
static bool is_settled(const struct host_modules *modules, int file,
                       const struct host_modules_stamp *before, uint64_t copied_ns)
{
    struct host_modules_stamp after;
    struct stat status;

    if (fstat(file, &status) < 0)
        return false;
    after = stamp_of(&status);
    return is_same(before, &after) && before->changed_ns < copied_ns &&
           copied_ns - before->changed_ns > modules->settled_ns;
}

int host_modules_open(struct host_modules *modules, const char *path, int *out)
{
    OWN(hub_fd) int file = -1;
    struct host_modules_stamp stamp;
    struct host_modules_kept *kept;
    struct stat status;
    uint64_t now;
    int r = host_module_open_file(path, &status, &file);

    if (r < 0)
        return r;
    stamp = stamp_of(&status);
    kept = find(modules, &stamp);
    if (kept)
        return give(modules, kept, out);
    now = hub_clock_wall();
    r = host_module_copy(file, path, out);
    if (r == 0 && stamp.size <= HOST_MODULES_SIZE_MAX && is_settled(modules, file, &stamp, now))
        keep(modules, &stamp, *out);
    return r;
}

void host_modules_init(struct host_modules *modules)
{
    *modules = (struct host_modules){.settled_ns = TICK};
    for (int i = 0; i < HOST_MODULES_KEPT; i++)
        modules->kept[i].copy = -1;
}

void host_modules_fini(struct host_modules *modules)
{
    for (int i = 0; i < HOST_MODULES_KEPT; i++)
        hub_fd_release(&modules->kept[i].copy);
}
