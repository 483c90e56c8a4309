/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/container_folders.h"

#include <dirent.h>
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

#define RULE  "cluster.folders.aside"
#define ASIDE "aside"

/* A folder that was put aside is POOL.CONTAINER.SECONDS.NUMBER; a folder that was found in it has
 * its pool and container 0. */
#define NAME_MAX_ASIDE 96

#define POOL_DIGITS 16 /* the name of a pool's folder */

void cluster_container_folders_path(uint64_t pool, uint32_t container,
                                    char to[CLUSTER_CONTAINER_FOLDERS_PATH])
{
    snprintf(to, CLUSTER_CONTAINER_FOLDERS_PATH, "%016" PRIx64 "/%08" PRIx32, pool, container);
}

struct place {
    char pool[17], container[9];
};

static struct place place_of(uint64_t pool, uint32_t container)
{
    struct place place;

    snprintf(place.pool, sizeof place.pool, "%016" PRIx64, pool);
    snprintf(place.container, sizeof place.container, "%08" PRIx32, container);
    return place;
}

/* Opens a folder in `pools`, made if it is not there. Where its name is known to be durable, and it
 * is there, nothing is synced. */
static int open_durable(const struct cluster_files_folder *pools, const char *name, bool known,
                        struct cluster_files_folder *out)
{
    if (known) {
        int r = cluster_files_open_folder(pools->files, pools, name, false, out);

        if (r != -ENOENT)
            return r;
        rapahub_clear_error();
    }
    return cluster_files_open_folder(pools->files, pools, name, true, out);
}

int cluster_container_folders_make(struct cluster_container_folders *folders, uint64_t pool,
                                   uint32_t container)
{
    struct place place = place_of(pool, container);
    struct cluster_files_folder of_pool = {0}, made = {0};
    int r = open_durable(folders->pools, place.pool, folders->pool == pool, &of_pool);

    folders->pool = r == 0 ? pool : 0;
    if (r == 0)
        r = cluster_files_open_folder(of_pool.files, &of_pool, place.container, true, &made);
    cluster_files_close_folder(&made);
    cluster_files_close_folder(&of_pool);
    return r;
}

/* The new place is durable before the old one is gone from the disk for sure. */
static int move_aside(const struct cluster_files_folder *of_pool,
                      const struct cluster_files_folder *aside, const struct place *place,
                      uint64_t wall_s)
{
    char name[NAME_MAX_ASIDE];
    int r;

    snprintf(name, sizeof name, "%s.%s.%" PRIu64 ".%016" PRIx64, place->pool, place->container,
             wall_s, hub_random_nonce());
    if (renameat(of_pool->fd, place->container, aside->fd, name) < 0)
        return errno == ENOENT
                   ? 0
                   : cluster_files_fail(of_pool, place->container, "put it aside", -errno);
    r = aside->files->sync_folder(aside->files, aside->fd);
    if (r == 0)
        r = of_pool->files->sync_folder(of_pool->files, of_pool->fd);
    return r < 0 ? cluster_files_fail(of_pool, place->container, "put it aside", r) : 0;
}

/* r[impl cluster.folders.aside] */
int cluster_container_folders_put_aside(struct cluster_container_folders *folders, uint64_t pool,
                                        uint32_t container, uint64_t wall_s)
{
    const struct cluster_files_folder *pools = folders->pools;
    struct place place = place_of(pool, container);
    struct cluster_files_folder of_pool = {0}, aside = {0};
    int r;

    if (faccessat(pools->fd, place.pool, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return 0;
    r = cluster_files_open_folder(pools->files, pools, place.pool, false, &of_pool);
    if (r == 0)
        r = open_durable(pools, ASIDE, folders->aside, &aside);
    folders->aside = aside.path != NULL;
    if (r == 0)
        r = move_aside(&of_pool, &aside, &place, wall_s);
    cluster_files_close_folder(&aside);
    cluster_files_close_folder(&of_pool);
    return r;
}

/* ---- folders that were put aside are removed ---- */

struct sweep {
    int aside; /* the folder of all of them */
    uint64_t wall_s;
    size_t left; /* names that may still be removed */
    bool more;   /* a name came, or was not met: the folder is to be read again */
};

/* Returns the text after so many digits and a '.', or NULL if it does not begin so. */
static const char *skip(const char *text, size_t digits)
{
    return text && strspn(text, "0123456789abcdef") == digits && text[digits] == '.'
               ? text + digits + 1
               : NULL;
}

/* When a folder was put aside, from its name; UINT64_MAX: never, it is no such name. */
static uint64_t time_of(const char *name)
{
    const char *at = skip(skip(name, 16), 8);
    uint64_t seconds;
    char *end;

    if (!at || strspn(at, "0123456789") == 0)
        return UINT64_MAX;
    errno = 0;
    seconds = strtoull(at, &end, 10);
    if (errno != 0 || *end != '.' || strspn(end + 1, "0123456789abcdef") != 16 || end[17] != 0)
        return UINT64_MAX;
    return seconds;
}

static bool is_due(const struct sweep *sweep, const char *name)
{
    uint64_t at = time_of(name);

    return at != UINT64_MAX && at <= sweep->wall_s &&
           sweep->wall_s - at >= CLUSTER_CONTAINER_FOLDERS_KEPT_S;
}

/* Opens a folder that a guest made, whose mode may keep its owner out. Its name may be a link by
 * now; that is not followed. */
static int open_folder(int parent, const char *name)
{
    OWN(hub_fd) int place = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char path[32];
    int fd;

    if (place < 0)
        return -errno;
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    if (chmod(path, 0700) < 0)
        return -errno;
    fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* A folder in a folder becomes one of those that were put aside, so that no depth is too great. */
static int move_up(struct sweep *sweep, int folder, const char *name)
{
    char to[NAME_MAX_ASIDE];
    int fd = open_folder(folder, name);

    if (fd < 0)
        return fd;
    close(fd);
    snprintf(to, sizeof to, "%016x.%08x.%" PRIu64 ".%016" PRIx64, 0, 0,
             sweep->wall_s - CLUSTER_CONTAINER_FOLDERS_KEPT_S, hub_random_nonce());
    sweep->more = true;
    return renameat(folder, name, sweep->aside, to) < 0 ? -errno : 0;
}

static int remove_name(struct sweep *sweep, int folder, const char *name)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 ? 0 : move_up(sweep, folder, name);
}

static bool is_name(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Calls `each` for the names of a folder, whose descriptor it closes, until there is no name left,
 * or none may be removed, or one fails. */
static int for_each(struct sweep *sweep, int fd,
                    int (*each)(struct sweep *sweep, int folder, const char *name))
{
    DIR *stream = fdopendir(fd);
    const struct dirent *found;
    int r = 0;

    if (!stream) {
        r = -errno;
        close(fd);
        return r;
    }
    while (r == 0 && sweep->left > 0 && (found = readdir(stream)))
        if (is_name(found->d_name))
            r = each(sweep, fd, found->d_name);
    closedir(stream);
    return r;
}

static int remove_inner(struct sweep *sweep, int folder, const char *name)
{
    sweep->left--;
    return remove_name(sweep, folder, name);
}

/* A name that came while the folder was read keeps it; where something was removed it is read again
 * at once. */
static int remove_folder(struct sweep *sweep, int folder, const char *name, bool some)
{
    sweep->left--;
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    sweep->more |= some;
    return errno == ENOTEMPTY || errno == EEXIST ? 0 : -errno;
}

static int remove_outer(struct sweep *sweep, int folder, const char *name)
{
    size_t left = sweep->left;
    int fd, r;

    if (!is_due(sweep, name))
        return 0;
    fd = open_folder(folder, name);
    if (fd == -ENOTDIR || fd == -ELOOP) {
        sweep->left--;
        return unlinkat(folder, name, 0) < 0 ? -errno : 0;
    }
    r = fd < 0 ? fd : for_each(sweep, fd, remove_inner);
    if (r < 0 || sweep->left == 0)
        return r;
    return remove_folder(sweep, folder, name, sweep->left < left);
}

/* The folder of a pool is empty when all its containers were removed. A container that begins makes
 * it again. */
static int remove_pool(struct sweep *sweep, int folder, const char *name)
{
    if (strspn(name, "0123456789abcdef") != POOL_DIGITS || name[POOL_DIGITS] != 0)
        return 0;
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0) {
        sweep->left--;
        return 0;
    }
    return errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT || errno == ENOTDIR ? 0
                                                                                        : -errno;
}

static int for_each_in(struct sweep *sweep, int folder,
                       int (*each)(struct sweep *sweep, int folder, const char *name))
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : for_each(sweep, fd, each);
}

int cluster_container_folders_sweep(const struct cluster_files_folder *pools, uint64_t wall_s,
                                    size_t most)
{
    struct sweep sweep = {.wall_s = wall_s, .left = most};
    int r;

    sweep.aside = openat(pools->fd, ASIDE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (sweep.aside < 0)
        return errno == ENOENT ? 0 : cluster_files_fail(pools, ASIDE, "open it", -errno);
    r = for_each_in(&sweep, sweep.aside, remove_outer);
    if (r == 0)
        r = for_each_in(&sweep, pools->fd, remove_pool);
    close(sweep.aside);
    if (r < 0)
        return rapahub_fail(r, RULE,
                            "%s/" ASIDE ": cannot remove a folder of a container: %s: "
                            "remove it by hand",
                            pools->path, strerrordesc_np(-r));
    return sweep.left == 0 || sweep.more;
}
