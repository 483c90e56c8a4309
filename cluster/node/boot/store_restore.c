/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/store_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/boot_store.h"
#include "cluster/node/boot/store_keys.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define RULE      "cluster.store.restore"
#define META      CLUSTER_STORE_PLACE_META
#define FRESH     META ".restored" /* the copy, until it has the name */
#define WINDOW    ((size_t)1 << 20)
#define WAIT_NS   (30 * HUB_SECOND)
#define ASIDE_MAX 999
#define NUMBERS   UINT64_C(65536) /* that may have been given since the backup was made */
#define NODES_MAX ((uint64_t)UINT32_MAX)

struct restoring {
    const struct cluster_store_restore *how;
    struct cluster_data_folder folder;
    struct cluster_store_restored *out;
};

static const char *root_of(const struct restoring *restoring)
{
    return restoring->folder.root.path;
}

static int fail_at(const struct restoring *restoring, const char *name, const char *what)
{
    return rapahub_fail(-errno, RULE, "%s/%s: cannot %s: %s", root_of(restoring), name, what,
                        strerrordesc_np(errno));
}

/* ---- the folder ---- */

/* A folder of something else is not made one of a node. */
static int look_for_node(const struct cluster_store_restore *how)
{
    OWN(hub_fd) int folder = open(how->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return rapahub_fail(-errno, RULE, "%s: %s", how->data, strerrordesc_np(errno));
    if (faccessat(folder, "node.id", F_OK, 0) < 0)
        return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                            "%s: no folder of a node: name that of the node whose metastore it was",
                            how->data);
    return 0;
}

static int open_folder(struct restoring *restoring)
{
    const struct cluster_data_folder_options options = {.path = restoring->how->data,
                                                        .lock_fd = -1};
    const struct cluster_store_place *place = &restoring->folder.place;
    int r = look_for_node(restoring->how);

    if (r == 0)
        r = cluster_data_folder_open(&restoring->folder, &options);
    if (r == 0 && place->joined)
        r = rapahub_fail(RAPAHUB_ECONFIG, RULE,
                         "%s: this node has joined a cluster: restore the metastore on the node "
                         "that has it, %s",
                         restoring->how->data, strchr(place->url, ':') + 1);
    else if (r == 0 && place->apart)
        r = rapahub_fail(RAPAHUB_ECONFIG, RULE,
                         "%s: the metastore is at %s: etcdctl snapshot restore is its way",
                         restoring->how->data, place->url);
    return r;
}

/* ---- the copy ---- */

static int copy_bytes(const struct restoring *restoring, int from, int to)
{
    ssize_t n = 1;

    while (n > 0)
        n = sendfile(to, from, NULL, WINDOW);
    return n < 0 || fsync(to) < 0 ? fail_at(restoring, FRESH, "write it") : 0;
}

static int copy(const struct restoring *restoring)
{
    OWN(hub_fd) int from = open(restoring->how->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    OWN(hub_fd) int to = -1;
    int root = restoring->folder.root.fd;
    struct stat found;

    if (from < 0 || fstat(from, &found) < 0)
        return rapahub_fail(-errno, RULE, "%s: %s", restoring->how->file, strerrordesc_np(errno));
    if (!S_ISREG(found.st_mode))
        return rapahub_fail(RAPAHUB_EFORMAT, RULE, "%s: not a file", restoring->how->file);
    unlinkat(root, FRESH, 0);
    unlinkat(root, FRESH "-wal", 0);
    unlinkat(root, FRESH "-shm", 0);
    to = openat(root, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return to < 0 ? fail_at(restoring, FRESH, "make it") : copy_bytes(restoring, from, to);
}

/* Messages about the copy name the backup. */
static int fail_there(const struct restoring *restoring, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    const char *at = strstr(last->text, FRESH ": ");
    const char *damaged = strstr(last->text, FRESH " is ");
    const char *after = at ? at + strlen(FRESH) : damaged ? damaged + strlen(FRESH) : NULL;
    char text[1024];

    if (!after)
        return code;
    (void)snprintf(text, sizeof text, "%s%s", restoring->how->file, after);
    return rapahub_fail(code, RULE, "%s", text);
}

/* ---- the records of the copy ---- */

struct counter {
    uint64_t next, mod_rev;
};

static int take_counter(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                        const struct cluster_record *record)
{
    (void)key;
    *(struct counter *)user = (struct counter){record->counter.next, pair->mod_rev};
    return 0;
}

static int raise_counter(const struct cluster_store_wait *wait, const struct cluster_key *key)
{
    struct counter counter = {0};
    struct cluster_record record;
    struct cluster_store_keys_put put;
    int r = cluster_store_keys_get(wait, key, 0, take_counter, &counter), status;
    uint64_t rev;

    if (r == 0 && counter.mod_rev == 0)
        r = rapahub_fail(RAPAHUB_EFORMAT, RULE, FRESH ": it has no record of the next number");
    if (r == 0 && counter.next > NODES_MAX - NUMBERS)
        r = rapahub_fail(RAPAHUB_EOVERFLOW, RULE, FRESH ": no numbers are left");
    if (r < 0)
        return r;
    record.counter.next = counter.next + NUMBERS;
    r = cluster_store_keys_build(key, &record, &put);
    if (r < 0)
        return r;
    r = cluster_store_wait_txn(
        wait,
        &(struct cluster_txn){
            .compares = &(struct cluster_compare){.kind = CLUSTER_MOD_EQ,
                                                  .key = put.key_bytes,
                                                  .rev = counter.mod_rev},
            .compares_count = 1,
            .then = &(struct cluster_write){CLUSTER_PUT, put.key_bytes, put.value_bytes},
            .then_count = 1},
        &status, &rev);
    return r == 0 && status != CLUSTER_TXN_OK
               ? rapahub_fail(RAPAHUB_EIO, RULE, FRESH ": it changes under this command")
               : r;
}

/* Two nodes, or two pools, with one number would take each other's certificates and states for
 * their own. */
static int raise_counters(const struct cluster_store_wait *wait)
{
    int r = raise_counter(wait, &(struct cluster_key){.kind = CLUSTER_KEY_NEXT_NODE});

    return r == 0 ? raise_counter(wait, &(struct cluster_key){.kind = CLUSTER_KEY_NEXT_POOL}) : r;
}

/* A folder that has lost all but its identity takes any backup of its node. */
static int check_records(const struct restoring *restoring, const struct cluster_store_wait *wait)
{
    const struct cluster_data_folder *folder = &restoring->folder;
    uint8_t uuid[CLUSTER_DATA_FOLDER_UUID];
    uint64_t rev;
    int r = cluster_boot_store_check_age(wait, 0, &rev);

    if (r == 0)
        r = cluster_boot_store_set_up(wait, folder, "node", rev, uuid);
    if (r == 0 && folder->store.revision != 0 && memcmp(uuid, folder->store.uuid, sizeof uuid) != 0)
        r = rapahub_fail(RAPAHUB_EFORMAT, RULE, FRESH ": the backup of another cluster");
    return r;
}

static int look_into(const struct restoring *restoring, const char *url)
{
    const struct cluster_metastore_options how = {.create = false};
    struct cluster_store_wait wait = {
        .wait_ns = restoring->how->wait_ns > 0 ? restoring->how->wait_ns : WAIT_NS, .url = FRESH};
    int r = cluster_metastore_open(restoring->how->ends, url, &how, &wait.store);

    if (r < 0)
        return r;
    r = cluster_marker_open(wait.store,
                            cluster_txn_client(restoring->folder.node, restoring->folder.boot),
                            &wait.marker);
    if (r == 0)
        r = check_records(restoring, &wait);
    if (r == 0)
        r = raise_counters(&wait);
    cluster_metastore_close(wait.store);
    cluster_marker_close(wait.marker);
    return r;
}

static uint32_t least_of(const struct restoring *restoring)
{
    uint64_t seen = restoring->folder.store.revision;
    uint32_t above = seen == 0 ? 0 : cluster_ids_generation(seen) + 1;

    return above > restoring->how->least ? above : restoring->how->least;
}

/* The command counts as a life of the node, for it writes into the metastore as one. */
static int prepare(struct restoring *restoring)
{
    char url[PATH_MAX + 32];
    int r = copy(restoring);

    (void)snprintf(url, sizeof url, "sqlite:%s/" FRESH, root_of(restoring));
    if (r == 0)
        r = cluster_data_folder_count_boot(&restoring->folder);
    if (r == 0)
        r = cluster_metastore_restore(restoring->how->ends, url, least_of(restoring),
                                      &restoring->out->generation);
    if (r == 0)
        r = look_into(restoring, url);
    if (r == 0 && faccessat(restoring->folder.root.fd, FRESH "-wal", F_OK, 0) == 0)
        r = rapahub_fail(RAPAHUB_EIO, RULE, FRESH ": it could not be written as a whole");
    return r < 0 ? fail_there(restoring, r) : 0;
}

/* ---- it takes the place ---- */

static int rename_there(const struct restoring *restoring, const char *from, const char *to)
{
    int root = restoring->folder.root.fd;

    if (renameat(root, from, root, to) == 0 || errno == ENOENT)
        return 0;
    return fail_at(restoring, from, "rename it");
}

/* Its write-ahead log goes with it, and first: the name must never have that of another file. */
static int put_aside(const struct restoring *restoring)
{
    char *aside = restoring->out->aside, wal[CLUSTER_STORE_RESTORE_NAME + 8];
    int root = restoring->folder.root.fd, n = 1, r;

    if (faccessat(root, META, F_OK, 0) < 0 && errno == ENOENT) {
        unlinkat(root, META "-wal", 0);
        return 0;
    }
    do
        (void)snprintf(aside, CLUSTER_STORE_RESTORE_NAME, CLUSTER_STORE_RESTORE_ASIDE "%d", n);
    while (faccessat(root, aside, F_OK, 0) == 0 && ++n <= ASIDE_MAX);
    if (n > ASIDE_MAX)
        return rapahub_fail(RAPAHUB_EEXIST, RULE,
                            "%s: it has %d metastores that were replaced: remove some",
                            root_of(restoring), ASIDE_MAX);
    (void)snprintf(wal, sizeof wal, "%s-wal", aside);
    r = rename_there(restoring, META "-wal", wal);
    unlinkat(root, META "-shm", 0);
    return r == 0 ? rename_there(restoring, META, aside) : r;
}

static int replace(const struct restoring *restoring)
{
    int root = restoring->folder.root.fd;
    int r = put_aside(restoring);

    if (r == 0 && fsync(root) < 0)
        r = fail_at(restoring, ".", "sync the folder");
    if (r == 0 && renameat(root, FRESH, root, META) < 0)
        r = fail_at(restoring, FRESH, "rename it");
    if (r == 0 && fsync(root) < 0)
        r = fail_at(restoring, ".", "sync the folder");
    return r;
}

/* r[impl cluster.store.restore] */
int cluster_store_restore_run(const struct cluster_store_restore *restore,
                              struct cluster_store_restored *out)
{
    struct restoring restoring = {.how = restore, .out = out};
    int r;

    *out = (struct cluster_store_restored){0};
    restoring.folder.lock = -1;
    r = open_folder(&restoring);
    if (r == 0)
        r = prepare(&restoring);
    if (r == 0)
        r = replace(&restoring);
    if (restoring.folder.root.path)
        unlinkat(restoring.folder.root.fd, FRESH, 0);
    cluster_data_folder_close(&restoring.folder);
    return r;
}
