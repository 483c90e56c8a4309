/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/stray_files.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/boot/store_restore.h"
#include "cluster/store/digest.h"
#include "cluster/store/segments.h"

#define DIGITS           "0123456789abcdef"
#define POOL_DIGITS      16
#define CONTAINER_DIGITS 8
#define DIGEST_DIGITS    (2 * (size_t)CLUSTER_DIGEST_SIZE)

/* ---- names that a node gives ---- */

static bool is_hex(const char *name, size_t digits, const char *rest)
{
    return strspn(name, DIGITS) == digits && strcmp(name + digits, rest) == 0;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_in_root(const char *name)
{
    static const char *const names[] = {
        "lock", "node.id",        "node.boot",   "node.store",  "guests",          "meta.db",
        "wal",  "copies",         "blobs",       "pools",       "restart",         "ca",
        "tls",  "lost+found",     "meta.db-wal", "meta.db-shm", "meta.db-journal", "node.seat",
        "etcd", "node.metastore", "backups"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return begins(name, CLUSTER_STORE_RESTORE_ASIDE);
}

static bool is_of_authority(const char *name)
{
    return strcmp(name, "ca.key") == 0 || strcmp(name, "ca.pem") == 0;
}

static bool is_of_node(const char *name)
{
    return strcmp(name, "node.key") == 0 || strcmp(name, CLUSTER_DATA_FOLDER_OWN) == 0 ||
           strcmp(name, "ca.pem") == 0;
}

static bool is_in_log(const char *name)
{
    static const char segment[] = "domain_table.";

    return strcmp(name, CLUSTER_SEGMENTS_SNAPSHOT) == 0 ||
           (begins(name, segment) && is_hex(name + sizeof segment - 1, 16, ".bin"));
}

static bool is_copy(const char *name)
{
    return strspn(name, DIGITS) == POOL_DIGITS && name[POOL_DIGITS] == '.' &&
           is_hex(name + POOL_DIGITS + 1, CONTAINER_DIGITS, ".copy");
}

static bool is_folder_of_blobs(const char *name)
{
    return strcmp(name, "sha256") == 0;
}

static bool is_part_of_blobs(const char *name)
{
    return is_hex(name, 2, "") || begins(name, "push.");
}

static bool is_blob(const char *name)
{
    return is_hex(name, DIGEST_DIGITS, "");
}

static bool is_folder_of_pool(const char *name)
{
    return is_hex(name, POOL_DIGITS, "") || strcmp(name, "aside") == 0;
}

static bool is_folder_of_container(const char *name)
{
    return is_hex(name, CONTAINER_DIGITS, "");
}

/* ---- folders are listed ---- */

typedef bool is_ours(const char *name);

struct listing {
    const struct cluster_files_folder *folder;
    is_ours *is_ours, *is_ours_below; /* `is_ours_below`: in each of its folders; NULL: they are not
                                         listed */
    cluster_stray_files_found *found;
    void *user;
    int failure;
};

static int list(struct listing *listing);

/* A file that is written gets its name when it is whole, and a damaged one is kept by another. */
static bool is_known(const struct listing *listing, const char *name)
{
    char whole[CLUSTER_FILES_NAME_MAX];
    size_t size = strlen(name);

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    if (size > 4 && (strcmp(name + size - 4, ".new") == 0 || strcmp(name + size - 4, ".bad") == 0))
        size -= 4;
    if (size >= sizeof whole)
        return false;
    snprintf(whole, sizeof whole, "%.*s", (int)size, name);
    return listing->is_ours(whole);
}

static void look_below(struct listing *listing, const char *name)
{
    struct cluster_files_folder folder;
    struct listing below = {.folder = &folder,
                            .is_ours = listing->is_ours_below,
                            .found = listing->found,
                            .user = listing->user};

    if (cluster_files_open_folder(listing->folder->files, listing->folder, name, false, &folder) <
        0) {
        rapahub_clear_error();
        listing->found(listing->user, listing->folder, name); /* it is no folder */
        return;
    }
    listing->failure = list(&below);
    cluster_files_close_folder(&folder);
}

static void look_at_name(void *user, const char *name)
{
    struct listing *listing = user;

    if (!is_known(listing, name))
        listing->found(listing->user, listing->folder, name);
    else if (listing->is_ours_below && strspn(name, DIGITS) == strlen(name) &&
             listing->failure == 0)
        look_below(listing, name);
}

static int list(struct listing *listing)
{
    const struct cluster_files_folder *folder = listing->folder;
    int r = folder->files->list(folder->files, folder->fd, look_at_name, listing);

    return r < 0 ? cluster_files_fail(folder, "", "list it", r) : listing->failure;
}

/* A folder that comes only with the first thing in it; `how` says which names are ours. */
static int list_if_there(const struct cluster_files_folder *parent, const char *name,
                         const struct listing *how)
{
    struct cluster_files_folder folder;
    struct listing listing = *how;
    int r;

    if (cluster_files_open_folder(parent->files, parent, name, false, &folder) < 0) {
        rapahub_clear_error();
        return 0;
    }
    listing.folder = &folder;
    r = list(&listing);
    cluster_files_close_folder(&folder);
    return r;
}

int cluster_stray_files_find(const struct cluster_data_folder *folder,
                             cluster_stray_files_found *found, void *user)
{
    struct listing listings[] = {
        {&folder->root, is_in_root, NULL, found, user, 0},
        {&folder->wal, is_in_log, NULL, found, user, 0},
        {&folder->copies, is_copy, NULL, found, user, 0},
        {&folder->blobs, is_folder_of_blobs, NULL, found, user, 0},
        {&folder->pools, is_folder_of_pool, is_folder_of_container, found, user, 0}};
    const struct listing blobs = {NULL, is_part_of_blobs, is_blob, found, user, 0};
    const struct listing authority = {NULL, is_of_authority, NULL, found, user, 0};
    const struct listing node = {NULL, is_of_node, NULL, found, user, 0};
    int r = 0;

    for (size_t i = 0; i < sizeof listings / sizeof *listings && r == 0; i++)
        r = list(&listings[i]);
    if (r == 0)
        r = list_if_there(&folder->blobs, "sha256", &blobs);
    if (r == 0)
        r = list_if_there(&folder->root, CLUSTER_DATA_FOLDER_CA, &authority);
    return r == 0 ? list_if_there(&folder->root, CLUSTER_DATA_FOLDER_TLS, &node) : r;
}
