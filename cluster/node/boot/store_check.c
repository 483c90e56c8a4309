/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/boot_store.h"
#include "cluster/node/boot/store_keys.h"
#include "hub/base/own.h"

#define META   CLUSTER_STORE_PLACE_META
#define WINDOW ((size_t)64 << 10)

#define TEXT_MAX 1024

/* ---- a copy ---- */

struct scratch {
    char path[256];
    int fd;
};

static int make_scratch(const char *parent, struct scratch *scratch)
{
    snprintf(scratch->path, sizeof scratch->path, "%s/rapahub-fsck.XXXXXX", parent);
    scratch->fd =
        mkdtemp(scratch->path) ? open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (scratch->fd < 0)
        return rapahub_fail(-errno, "", "%s: cannot make a folder there: %s", parent,
                            strerrordesc_np(errno));
    return 0;
}

static void remove_scratch(struct scratch *scratch)
{
    static const char *const names[] = {META, META "-wal", META "-shm", META "-journal"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlinkat(scratch->fd, names[i], 0);
    close(scratch->fd);
    rmdir(scratch->path);
}

static int copy_bytes(int from, int to)
{
    OWN(hub_memory) char *window = malloc(WINDOW);
    ssize_t n = window ? 1 : -1;

    while (n > 0) {
        n = read(from, window, WINDOW);
        if (n > 0 && write(to, window, (size_t)n) != n)
            return -ENOSPC; /* a short write of a file says so, too */
    }
    return n < 0 ? -errno : 0;
}

static int fail_scratch(const struct scratch *scratch, int code)
{
    return rapahub_fail(code, "", "%s: cannot copy the metastore there: %s: make space",
                        scratch->path, strerrordesc_np(-code));
}

/* Returns 0, -ENOENT where there is no such file, or a failure; `not_looked`: it is not the
 * file's. */
static int copy_file(const struct cluster_files_folder *root, const struct scratch *scratch,
                     const char *name, bool *not_looked)
{
    OWN(hub_fd) int from = openat(root->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    OWN(hub_fd) int to = -1;
    struct stat found;
    int r;

    if (from < 0 && errno == ENOENT)
        return -ENOENT;
    if (from < 0 || fstat(from, &found) < 0)
        return cluster_files_fail(root, name, "open it", -errno);
    if (!S_ISREG(found.st_mode))
        return cluster_files_fail(root, name, "open it", -EINVAL);
    to = openat(scratch->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    r = to < 0 ? -errno : copy_bytes(from, to);
    *not_looked = to < 0 || cluster_files_is_full(r);
    if (*not_looked)
        return fail_scratch(scratch, r);
    return r < 0 ? cluster_files_fail(root, name, "read it", r) : 0;
}

/* ---- the copy is read ---- */

struct reading {
    const struct cluster_store_check_options *options;
    struct cluster_store_check *out;
};

/* The log has no session, destination and module of an entry. */
static bool differs(const struct cluster_delta_change *logged, const struct cluster_entry *entry)
{
    return !logged || logged->entry.state != entry->state || logged->entry.owner != entry->owner ||
           logged->entry.epoch != entry->epoch || logged->entry.lineage != entry->lineage;
}

static int take(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    const struct reading *reading = user;
    const struct cluster_log_map *map = reading->options->map;

    reading->out->records++;
    if (key->kind == CLUSTER_KEY_MODULE)
        reading->options->module(reading->options->user, &record->module);
    if (key->kind == CLUSTER_KEY_LOG)
        reading->out->last = pair->mod_rev;
    if (key->kind != CLUSTER_KEY_ENTRY || map->revision == 0 ||
        map->revision != reading->out->last ||
        !differs(cluster_log_map_find(map, key->pool, key->container), &record->entry))
        return 0;
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.fsck",
                        "container %" PRIu32 " of pool %016" PRIx64 " is not what the log of the "
                        "map says of it at the same revision",
                        key->container, key->pool);
}

static int read_all(const struct cluster_store_wait *wait, struct reading *reading)
{
    static const enum cluster_keys_kind kinds[] = {
        CLUSTER_KEY_NODE,  CLUSTER_KEY_SESSION, CLUSTER_KEY_POOL,      CLUSTER_KEY_NAME,
        CLUSTER_KEY_ENTRY, CLUSTER_KEY_HOLD,    CLUSTER_KEY_OPERATION, CLUSTER_KEY_MODULE};
    const struct cluster_key log = {.kind = CLUSTER_KEY_LOG};
    int r = cluster_store_keys_get(wait, &log, reading->out->revision, take, reading);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && r == 0; i++)
        r = cluster_store_keys_all(wait, kinds[i], reading->out->revision, take, reading);
    return r;
}

static int check_open(const struct cluster_store_check_options *options,
                      const struct cluster_store_wait *wait, struct cluster_store_check *out)
{
    struct reading reading = {options, out};
    uint64_t seen = options->folder->store.revision;
    uint8_t uuid[CLUSTER_DATA_FOLDER_UUID];
    int r;

    if (options->map->revision > seen)
        seen = options->map->revision;
    r = cluster_boot_store_check_age(wait, seen, &out->revision);
    if (r == 0 && out->revision > 0) /* a new one has no records yet */
        r = cluster_boot_store_set_up(wait, options->folder, "node", out->revision, uuid);
    return r == 0 && out->revision > 0 ? read_all(wait, &reading) : r;
}

static int check_copy(const struct cluster_store_check_options *options,
                      const struct scratch *scratch, struct cluster_store_check *out)
{
    const struct cluster_metastore_options how = {.create = false};
    struct cluster_store_wait wait = {.wait_ns = options->wait_ns,
                                      .url = options->folder->root.path};
    char url[320];
    int r;

    snprintf(url, sizeof url, "sqlite:%s/" META, scratch->path);
    r = cluster_metastore_open(options->ends, url, &how, &wait.store);
    if (r < 0)
        return r;
    r = cluster_marker_open(wait.store, cluster_txn_client(options->folder->node, UINT32_MAX),
                            &wait.marker);
    if (r == 0)
        r = check_open(options, &wait, out);
    cluster_metastore_close(wait.store);
    cluster_marker_close(wait.marker);
    return r;
}

/* Messages of the copy are about the folder's own file. */
static int fail_here(const struct scratch *scratch, const char *root, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    const char *at = strstr(last->text, scratch->path);
    char text[TEXT_MAX];

    if (last->code != code || !at)
        return code;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - last->text), last->text, root,
             at + strlen(scratch->path));
    return rapahub_fail(code, last->rule, "%s", text);
}

int cluster_store_check_run(const struct cluster_store_check_options *options,
                            struct cluster_store_check *out)
{
    const struct cluster_files_folder *root = &options->folder->root;
    struct scratch scratch;
    int r = make_scratch(options->scratch, &scratch);

    *out = (struct cluster_store_check){.not_looked = r < 0};
    if (r < 0)
        return r;
    r = copy_file(root, &scratch, META, &out->not_looked);
    if (r == 0) {
        r = copy_file(root, &scratch, META "-wal", &out->not_looked);
        if (r == 0 || r == -ENOENT)
            r = fail_here(&scratch, root->path, check_copy(options, &scratch, out));
    } else if (r == -ENOENT && options->folder->store.revision == 0) {
        r = 1;
    } else if (r == -ENOENT) {
        r = rapahub_fail(RAPAHUB_ENOENT, "cluster.boot.store",
                         "it is missing: put a backup of it in its place");
    }
    remove_scratch(&scratch);
    return r;
}
