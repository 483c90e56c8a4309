/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/data_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "cluster/node/disk/folder_lock.h"
#include "cluster/node/disk/note_file.h"
#include "hub/base/own.h"
#include "hub/base/random.h"

#define TOPIC "node"
#define RULE  "cluster.folder.setup"

#define NODE_ID    "node.id"
#define NODE_BOOT  "node.boot"
#define NODE_STORE "node.store"
#define FOLDERS    6

static const char *const folder_names[FOLDERS] = {"wal",   "copies",  "blobs",
                                                  "pools", "restart", "backups"};

/* ---- names in the folder ---- */

/* Names that may be there before `node.id` is, and those that come only after it. */
static const char *const first_names[] = {CLUSTER_FOLDER_LOCK_NAME,
                                          NODE_ID,
                                          "node.id.new",
                                          CLUSTER_DATA_FOLDER_ETCD,
                                          "lost+found",
                                          ".",
                                          "..",
                                          NULL};

/* Names that a join leaves that was not finished. */
static const char *const joining_names[] = {NODE_BOOT,
                                            NODE_BOOT ".new",
                                            NODE_STORE,
                                            NODE_STORE ".new",
                                            CLUSTER_STORE_PLACE_SEAT,
                                            CLUSTER_STORE_PLACE_SEAT ".new",
                                            CLUSTER_STORE_PLACE_URL,
                                            CLUSTER_STORE_PLACE_URL_NEW,
                                            CLUSTER_DATA_FOLDER_TLS,
                                            CLUSTER_DATA_FOLDER_CA,
                                            NULL};
static const char *const later_names[] = {CLUSTER_STORE_PLACE_META,
                                          "guests",
                                          "wal",
                                          "copies",
                                          "pools",
                                          "restart",
                                          "backups",
                                          "blobs",
                                          NULL};

struct listing {
    bool named;   /* it has node.id */
    bool joining; /* it has something of a join */
    char later[CLUSTER_FILES_NAME_MAX], other[CLUSTER_FILES_NAME_MAX];
};

static bool is_among(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void look_at_name(void *user, const char *name)
{
    struct listing *listing = user;

    listing->named |= strcmp(name, NODE_ID) == 0;
    if (is_among(joining_names, name))
        listing->joining = true;
    else if (is_among(later_names, name))
        snprintf(listing->later, sizeof listing->later, "%s", name);
    else if (!is_among(first_names, name))
        snprintf(listing->other, sizeof listing->other, "%s", name);
}

static int refuse_named(const struct cluster_files_folder *root)
{
    return rapahub_fail(RAPAHUB_EEXIST, "cluster.join.folder",
                        "%s: the folder of a node already: name an empty folder", root->path);
}

static int refuse_joining(const struct cluster_files_folder *root)
{
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.join.folder",
                        "%s: a join was not finished, or " NODE_ID " is lost: rapahub node join "
                        "again, with a new token, or put a backup of it in its place",
                        root->path);
}

/* Says whether the folder has a node's identity, or is empty but for the beginning of one: 1 or 0.
 * Any other folder is refused. */
static int look_at_names(const struct cluster_files_folder *root, bool joins)
{
    struct listing listing = {0};
    int r = root->files->list(root->files, root->fd, look_at_name, &listing);

    if (r < 0)
        return rapahub_fail(r, RULE, "%s: cannot list the folder: %s", root->path,
                            strerrordesc_np(-r));
    if (listing.named)
        return joins ? refuse_named(root) : 1;
    if (listing.other[0] != 0)
        return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                            "%s: not a data folder of a node, and not empty: it has '%s': name an "
                            "empty folder",
                            root->path, listing.other);
    if (listing.later[0] != 0)
        return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                            "%s/" NODE_ID ": it is missing, and '%s' is there: put a backup of it "
                            "in its place",
                            root->path, listing.later);
    return listing.joining && !joins ? refuse_joining(root) : 0;
}

/* ---- files that say what the folder is ---- */

static void make_uuid(uint8_t to[CLUSTER_DATA_FOLDER_UUID])
{
    uint64_t halves[2] = {hub_random_nonce(), hub_random_nonce()};

    memcpy(to, halves, sizeof halves);
}

static int write_id(struct cluster_data_folder *folder)
{
    struct cluster_note_file note = {.numbers = {CLUSTER_DATA_FOLDER_FIRST}, .count = 1};

    make_uuid(note.uuid);
    return cluster_note_file_write(&folder->root, NODE_ID, &note);
}

static int damaged(const struct cluster_data_folder *folder, const char *name, const char *why)
{
    return rapahub_fail(RAPAHUB_EFORMAT, RULE, "%s/%s: %s: put a backup of it in its place",
                        folder->root.path, name, why);
}

static int read_id(struct cluster_data_folder *folder)
{
    struct cluster_note_file note = {.count = 1};
    int r = cluster_note_file_read(&folder->root, NODE_ID, &note);

    if (r < 0)
        return r == -ENOENT ? damaged(folder, NODE_ID, "it is missing") : r;
    if (note.numbers[0] == 0 || note.numbers[0] > UINT32_MAX)
        return damaged(folder, NODE_ID, "it has no number of a node");
    folder->node = (uint32_t)note.numbers[0];
    memcpy(folder->uuid, note.uuid, sizeof folder->uuid);
    return 0;
}

/* A folder that was never started has no such file, and none of its store. */
static int read_boot(struct cluster_data_folder *folder)
{
    struct cluster_note_file note = {.count = 1};
    int r = cluster_note_file_read(&folder->root, NODE_BOOT, &note);

    if (r == -ENOENT && folder->store.revision == 0)
        return 0;
    if (r < 0)
        return r == -ENOENT ? damaged(folder, NODE_BOOT, "it is missing") : r;
    if (memcmp(note.uuid, folder->uuid, sizeof note.uuid) != 0)
        return damaged(folder, NODE_BOOT, "it is another node's");
    if (note.numbers[0] == 0 || note.numbers[0] > UINT32_MAX)
        return damaged(folder, NODE_BOOT, "it has no number of a life");
    folder->boot = (uint32_t)note.numbers[0];
    return 0;
}

static int read_store(struct cluster_data_folder *folder)
{
    struct cluster_note_file note = {.count = 1};
    int r = cluster_note_file_read(&folder->root, NODE_STORE, &note);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    if (!cluster_ids_is_revision(note.numbers[0]))
        return damaged(folder, NODE_STORE, "it has no revision");
    folder->store.revision = note.numbers[0];
    memcpy(folder->store.uuid, note.uuid, sizeof note.uuid);
    return 0;
}

static int open_folders(struct cluster_data_folder *folder)
{
    struct cluster_files_folder *const to[FOLDERS] = {&folder->wal,     &folder->copies,
                                                      &folder->blobs,   &folder->pools,
                                                      &folder->restart, &folder->backups};
    int r = 0;

    for (int i = 0; i < FOLDERS && r == 0; i++)
        r = cluster_files_open_folder(folder->root.files, &folder->root, folder_names[i], true,
                                      to[i]);
    return r;
}

int cluster_data_folder_load(struct cluster_data_folder *folder)
{
    int r = look_at_names(&folder->root, false);

    if (r == 0)
        r = write_id(folder);
    if (r >= 0)
        r = read_id(folder);
    if (r == 0)
        r = cluster_store_place_read(&folder->root, &folder->place);
    if (r == 0)
        r = read_store(folder);
    if (r == 0)
        r = read_boot(folder);
    return r == 0 ? open_folders(folder) : r;
}

int cluster_data_folder_count_boot(struct cluster_data_folder *folder)
{
    struct cluster_note_file note = {.numbers = {(uint64_t)folder->boot + 1}, .count = 1};
    int r;

    if (folder->boot == UINT32_MAX)
        return rapahub_fail(RAPAHUB_EOVERFLOW, RULE,
                            "%s/" NODE_BOOT ": no number is left for another life: set up a new "
                            "folder",
                            folder->root.path);
    memcpy(note.uuid, folder->uuid, sizeof note.uuid);
    r = cluster_note_file_write(&folder->root, NODE_BOOT, &note);
    if (r == 0)
        folder->boot++;
    return r;
}

int cluster_data_folder_write_store(const struct cluster_data_folder *folder,
                                    const struct cluster_data_folder_store *store)
{
    struct cluster_note_file note = {.numbers = {store->revision}, .count = 1};

    memcpy(note.uuid, store->uuid, sizeof note.uuid);
    return cluster_note_file_write(&folder->root, NODE_STORE, &note);
}

int cluster_data_folder_note_store(struct cluster_data_folder *folder,
                                   const struct cluster_data_folder_store *store)
{
    int r = cluster_data_folder_write_store(folder, store);

    if (r == 0)
        folder->store = *store;
    return r;
}

/* The number of the node is last: without it nothing of the rest counts.
 * r[impl cluster.join.folder] */
int cluster_data_folder_join(struct cluster_data_folder *folder,
                             const struct cluster_data_folder_joined *joined)
{
    struct cluster_note_file note = {.numbers = {joined->node}, .count = 1};
    int r;

    memcpy(folder->uuid, joined->uuid, sizeof folder->uuid);
    memcpy(note.uuid, joined->uuid, sizeof note.uuid);
    r = cluster_store_place_join(&folder->root, joined->place);
    if (r == 0)
        r = cluster_data_folder_write_store(folder, &folder->store);
    folder->boot = 0;
    if (r == 0)
        r = cluster_data_folder_count_boot(folder);
    if (r == 0)
        r = cluster_note_file_write(&folder->root, NODE_ID, &note);
    return r == 0 ? open_folders(folder) : r;
}

/* ---- the folder ---- */

static int make_folder(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return rapahub_fail(-errno, RULE, "%s: cannot make the folder: %s: make it, or name another",
                        path, strerrordesc_np(errno));
}

/* Others may have been let in by hand, or by a umask, and copies of states are secrets. */
static int look_at_owner(struct cluster_data_folder *folder)
{
    const char *path = folder->root.path;
    struct stat found;

    if (fstat(folder->root.fd, &found) < 0)
        return rapahub_fail(-errno, RULE, "%s: %s", path, strerrordesc_np(errno));
    if (found.st_uid != geteuid())
        return rapahub_fail(RAPAHUB_EACCES, RULE,
                            "%s: the folder of user %u: run as that user, or name another folder",
                            path, (unsigned)found.st_uid);
    folder->device = found.st_dev;
    folder->inode = found.st_ino;
    return (found.st_mode & 077) != 0;
}

static int keep_others_out(const struct cluster_data_folder *folder)
{
    if (fchmod(folder->root.fd, 0700) < 0)
        return rapahub_fail(-errno, RULE, "%s: cannot keep other users out: %s: make it mode 0700",
                            folder->root.path, strerrordesc_np(errno));
    return 0;
}

static int open_all(struct cluster_data_folder *folder,
                    const struct cluster_data_folder_options *options)
{
    bool joins = options->joins;
    int open_to_others = look_at_owner(folder), r;

    if (open_to_others < 0)
        return open_to_others;
    r = look_at_names(&folder->root,
                      joins); /* nothing is written into a folder of something else */
    if (r < 0)
        return r;
    folder->lock = cluster_folder_lock_take(folder->root.fd, folder->root.path, options->lock_fd);
    if (folder->lock < 0)
        return folder->lock;
    r = open_to_others ? keep_others_out(folder) : 0;
    if (r == 0 && joins) /* another one may have joined with it before it was locked */
        return look_at_names(&folder->root, joins);
    if (r == 0)
        r = cluster_data_folder_load(folder);
    return r == 0 && options->metastore
               ? cluster_store_place_change(&folder->root, options->metastore,
                                            folder->store.revision == 0, &folder->place)
               : r;
}

/* r[impl cluster.folder.setup] */
int cluster_data_folder_open(struct cluster_data_folder *folder,
                             const struct cluster_data_folder_options *options)
{
    const struct cluster_files *files = options->files ? options->files : &cluster_files_system;
    int r = make_folder(options->path);

    *folder = (struct cluster_data_folder){.lock = -1};
    if (r == 0)
        r = cluster_files_open_folder(files, NULL, options->path, false, &folder->root);
    if (r == 0)
        r = open_all(folder, options);
    if (r < 0)
        cluster_data_folder_close(folder);
    return r;
}

void cluster_data_folder_close(struct cluster_data_folder *folder)
{
    cluster_files_close_folder(&folder->restart);
    cluster_files_close_folder(&folder->pools);
    cluster_files_close_folder(&folder->backups);
    cluster_files_close_folder(&folder->blobs);
    cluster_files_close_folder(&folder->copies);
    cluster_files_close_folder(&folder->wal);
    if (folder->root.path)
        hub_fd_release(&folder->lock);
    cluster_files_close_folder(&folder->root);
    cluster_store_place_release(&folder->place);
    *folder = (struct cluster_data_folder){.lock = -1};
}
