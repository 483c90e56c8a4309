/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/folder_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/log_map.h"
#include "cluster/node/boot/store_check.h"
#include "cluster/node/boot/stray_files.h"
#include "cluster/node/disk/data_folder.h"
#include "cluster/node/disk/folder_lock.h"
#include "cluster/node/disk/guest_records.h"
#include "cluster/node/disk/reading_files.h"
#include "cluster/node/identity/own_identity.h"
#include "cluster/store/blobs.h"
#include "cluster/store/copy_file.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define TEXT_MAX 512
#define WAIT_NS  (30 * HUB_SECOND)

struct checking {
    const struct cluster_folder_check_options *options;
    cluster_folder_check_found *found;
    void *user;
    struct cluster_reading_files reading;
    struct cluster_data_folder folder;
    struct cluster_log_map map;
    int findings;
    int failure;            /* it could not look */
    uint64_t copies, blobs; /* that are as they shall be */
};

/* A file in a folder; "": the folder. */
struct place {
    const struct cluster_files_folder *folder;
    const char *name;
};

__attribute__((format(printf, 4, 5))) static void say(struct checking *checking,
                                                      enum cluster_folder_check_grade grade,
                                                      struct place at, const char *format, ...)
{
    char place[TEXT_MAX], text[TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(place, sizeof place, "%s%s%s", at.folder->path, at.name[0] ? "/" : "", at.name);
    checking->findings += grade != CLUSTER_FOLDER_CHECK_FINE;
    checking->found(checking->user, grade, place, text);
}

/* Tells of the last failure. Its text begins with the path of a file of the folder where it is
 * about one: then that is the place. */
static void say_wrong(struct checking *checking, const struct cluster_files_folder *folder,
                      const char *name)
{
    const char *text = rapahub_last_error()->text, *root = checking->folder.root.path;
    size_t size = strlen(root);
    const char *after = strncmp(text, root, size) == 0 ? strstr(text + size, ": ") : NULL;
    char place[TEXT_MAX];

    if (after && after - text < TEXT_MAX && (text[size] == '/' || text[size] == ':')) {
        snprintf(place, sizeof place, "%.*s", (int)(after - text), text);
        checking->findings++;
        checking->found(checking->user, CLUSTER_FOLDER_CHECK_WRONG, place, after + 2);
        return;
    }
    say(checking, CLUSTER_FOLDER_CHECK_WRONG, (struct place){folder, name}, "%s", text);
}

/* ---- identity and guests ---- */

/* Says whether the rest can be looked at. */
static bool check_identity(struct checking *checking)
{
    struct cluster_data_folder *folder = &checking->folder;
    int r = cluster_data_folder_load(folder);

    if (r == 0) {
        say(checking, CLUSTER_FOLDER_CHECK_FINE, (struct place){&folder->root, ""},
            "node %" PRIu32 ", life %" PRIu32, folder->node, folder->boot);
        return true;
    }
    if (checking->reading.change == CLUSTER_READING_FILES_MAKES)
        say(checking, CLUSTER_FOLDER_CHECK_MENDED,
            (struct place){&folder->root, checking->reading.name},
            "it is missing: the folder was set up in part, the next start finishes it");
    else
        say_wrong(checking, &folder->root, "");
    return false;
}

static void check_guests(struct checking *checking)
{
    struct cluster_guest_records records;
    struct cluster_machine machine;
    int r = cluster_machine_read(&machine);

    cluster_guest_records_init(&records, &checking->folder.root, machine.boot);
    if (r == 0)
        r = cluster_guest_records_read(&records);
    if (r < 0)
        say_wrong(checking, &checking->folder.root, "guests");
    else
        say(checking, CLUSTER_FOLDER_CHECK_FINE, (struct place){&checking->folder.root, "guests"},
            "%zu guests of this boot of the machine", records.count);
}

/* ---- certificates ---- */

/* A node with the authority renews what has expired when it starts. */
static void say_dates(struct checking *checking, const struct cluster_identity_files *files,
                      const struct cluster_own_identity *own)
{
    const struct place at = {&files->tls, CLUSTER_DATA_FOLDER_OWN};
    uint64_t now_s = hub_clock_wall() / HUB_SECOND;

    if (cluster_certificate_check_dates(own->certificate, now_s) == 0)
        say(checking, CLUSTER_FOLDER_CHECK_FINE, at, "certificate of node %" PRIu32 "%s",
            own->name.node, own->ca.key ? ", and the authority" : "");
    else if (own->ca.key && now_s > own->until_s)
        say(checking, CLUSTER_FOLDER_CHECK_MENDED, at, "%s: the next start renews it",
            rapahub_last_error()->text);
    else
        say(checking, CLUSTER_FOLDER_CHECK_WRONG, at, "%s", rapahub_last_error()->text);
}

static void check_certificates(struct checking *checking)
{
    const struct cluster_own_identity_owner owner = {checking->folder.store.uuid,
                                                     checking->folder.node};
    struct cluster_identity_files files;
    struct cluster_own_identity own;
    int r = cluster_identity_files_open(&checking->folder.root, false, &files);

    if (r == 0)
        r = cluster_own_identity_load(&files, &owner, &own);
    if (r < 0)
        say_wrong(checking, &checking->folder.root, CLUSTER_DATA_FOLDER_TLS);
    else if (r == 0)
        say_dates(checking, &files, &own);
    else if (files.ca.path)
        say(checking, CLUSTER_FOLDER_CHECK_WRONG, (struct place){&files.ca, ""},
            "an authority was set up in part: rapahub node init %s finishes that",
            checking->folder.root.path);
    if (r == 0)
        cluster_own_identity_fini(&own);
    cluster_identity_files_close(&files);
}

/* ---- the log of the map ---- */

#define MOVED \
    "it is damaged: the next start puts the log aside, and reads the map from the metastore"

static void say_mended(struct checking *checking, const struct cluster_files_folder *folder)
{
    static const char *const texts[] = {
        [CLUSTER_READING_FILES_NONE] = "",
        [CLUSTER_READING_FILES_MAKES] = "it is missing: the next start makes it",
        [CLUSTER_READING_FILES_CUTS] = "its end had not become durable: the next start cuts it off",
        [CLUSTER_READING_FILES_MOVES] = MOVED,
        [CLUSTER_READING_FILES_REMOVES] = "it was not finished: the next start removes it",
    };

    say(checking, CLUSTER_FOLDER_CHECK_MENDED, (struct place){folder, checking->reading.name}, "%s",
        texts[checking->reading.change]);
}

static void check_log(struct checking *checking)
{
    struct cluster_segments log = {.folder = checking->folder.wal, .node = checking->folder.node};
    int r;

    memcpy(log.uuid, checking->folder.uuid, sizeof log.uuid);
    cluster_reading_files_clear(&checking->reading);
    r = cluster_log_map_read(&checking->map, &log);
    if (r == 0) {
        say(checking, CLUSTER_FOLDER_CHECK_FINE, (struct place){&log.folder, ""},
            "the map at revision %" PRIu64 ", %zu entries", cluster_ids_own(checking->map.revision),
            checking->map.count);
        return;
    }
    if (checking->reading.change != CLUSTER_READING_FILES_NONE)
        say_mended(checking, &log.folder);
    else
        say_wrong(checking, &log.folder, "");
    checking->map.count = 0; /* a part of it is not compared */
    checking->map.revision = 0;
}

/* ---- the metastore ---- */

static bool has_blob(const struct cluster_files_folder *blobs, const char *name)
{
    const struct cluster_files *files = blobs->files;
    const char folder[] = {name[0], name[1], 0};
    int all = files->open_folder(files, blobs->fd, "sha256");
    int part = all >= 0 ? files->open_folder(files, all, folder) : -1;
    bool has = part >= 0 && faccessat(part, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

    if (part >= 0)
        files->close(files, part);
    if (all >= 0)
        files->close(files, all);
    return has;
}

/* Without it a pool that has the module cannot begin a container. */
static void check_module(void *user, const struct cluster_record_module *record)
{
    struct checking *checking = user;
    const uint8_t *digest = record->digest.data;
    char name[2 * CLUSTER_DIGEST_SIZE + 1];

    for (size_t i = 0; i < CLUSTER_DIGEST_SIZE; i++)
        snprintf(name + 2 * i, 3, "%02x", digest[i]);
    if (!has_blob(&checking->folder.blobs, name))
        say(checking, CLUSTER_FOLDER_CHECK_WRONG, (struct place){&checking->folder.blobs, name},
            "module %.*s:%.*s is not there: push it again", (int)record->name.size,
            record->name.data, (int)record->version.size, record->version.data);
}

static void check_store(struct checking *checking)
{
    const struct cluster_store_check_options options = {
        .folder = &checking->folder,
        .map = &checking->map,
        .scratch = checking->options->scratch,
        .ends = checking->options->ends,
        .wait_ns = checking->options->wait_ns > 0 ? checking->options->wait_ns : WAIT_NS,
        .module = check_module,
        .user = checking};
    struct cluster_store_check counts;
    int r;

    if (checking->folder.place.joined) {
        say(checking, CLUSTER_FOLDER_CHECK_FINE,
            (struct place){&checking->folder.root, CLUSTER_STORE_PLACE_SEAT},
            "the metastore is on another node: %s", checking->folder.place.url);
        return;
    }
    if (checking->folder.place.apart) {
        say(checking, CLUSTER_FOLDER_CHECK_FINE,
            (struct place){&checking->folder.root, CLUSTER_STORE_PLACE_URL},
            "the metastore is %s, and was not looked at", checking->folder.place.url);
        return;
    }
    r = cluster_store_check_run(&options, &counts);
    if (r < 0 && counts.not_looked)
        checking->failure = r;
    else if (r < 0)
        say_wrong(checking, &checking->folder.root, CLUSTER_STORE_PLACE_META);
    else if (r == 1)
        say(checking, CLUSTER_FOLDER_CHECK_MENDED,
            (struct place){&checking->folder.root, CLUSTER_STORE_PLACE_META},
            "it is missing: the next start makes it");
    else
        say(checking, CLUSTER_FOLDER_CHECK_FINE,
            (struct place){&checking->folder.root, CLUSTER_STORE_PLACE_META},
            "revision %" PRIu64 ", %" PRIu64 " records", cluster_ids_own(counts.revision),
            counts.records);
}

/* ---- copies ---- */

static void check_copy(void *user, uint64_t pool, uint32_t container)
{
    struct checking *checking = user;
    struct cluster_copy_file file;
    int r;

    cluster_reading_files_clear(&checking->reading);
    r = cluster_copy_file_open(&file, &checking->folder.copies, pool, container);
    if (r == 0) {
        cluster_copy_file_close(&file);
        checking->copies++;
    } else if (checking->reading.change == CLUSTER_READING_FILES_CUTS) {
        say(checking, CLUSTER_FOLDER_CHECK_MENDED,
            (struct place){&checking->folder.copies, file.name},
            "its last copy had not become durable: the next start cuts it off");
    } else if (checking->reading.change == CLUSTER_READING_FILES_MOVES) {
        say(checking, CLUSTER_FOLDER_CHECK_WRONG,
            (struct place){&checking->folder.copies, file.name},
            "it is damaged: put a backup of it in its place, or the container begins without its "
            "state");
    } else {
        say_wrong(checking, &checking->folder.copies, file.name);
    }
}

static void check_copies(struct checking *checking)
{
    if (cluster_copy_file_list(&checking->folder.copies, check_copy, checking) < 0)
        say_wrong(checking, &checking->folder.copies, "");
    else
        say(checking, CLUSTER_FOLDER_CHECK_FINE, (struct place){&checking->folder.copies, ""},
            "copies of %" PRIu64 " containers", checking->copies);
}

/* ---- modules ---- */

static bool take_digest(const char *name, uint8_t to[CLUSTER_DIGEST_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    if (strspn(name, digits) != 2 * (size_t)CLUSTER_DIGEST_SIZE ||
        name[2 * (size_t)CLUSTER_DIGEST_SIZE] != 0)
        return false;
    for (size_t i = 0; i < CLUSTER_DIGEST_SIZE; i++)
        to[i] = (uint8_t)(((size_t)(strchr(digits, name[2 * i]) - digits) << 4) |
                          (size_t)(strchr(digits, name[2 * i + 1]) - digits));
    return true;
}

static int check_bytes(const struct cluster_files_folder *folder, const char *name,
                       uint8_t to[CLUSTER_DIGEST_SIZE])
{
    const struct cluster_files *files = folder->files;
    int fd = files->open(files, folder->fd, name, 0, 0), r;
    int64_t size;

    if (fd < 0)
        return cluster_files_fail(folder, name, "open it", fd);
    size = files->size(files, fd);
    r = size < 0 ? (int)size : cluster_digest_of_file(files, fd, 0, (uint64_t)size, to);
    files->close(files, fd);
    return r < 0 ? cluster_files_fail(folder, name, "read it", r) : 0;
}

/* A folder of modules that is listed. */
struct listing {
    struct checking *checking;
    const struct cluster_files_folder *folder;
};

static void check_blob(void *user, const char *name)
{
    const struct listing *listing = user;
    const struct cluster_files_folder *folder = listing->folder;
    struct checking *checking = listing->checking;
    uint8_t wanted[CLUSTER_DIGEST_SIZE], bytes[CLUSTER_DIGEST_SIZE];

    if (!take_digest(name, wanted))
        return;
    if (check_bytes(folder, name, bytes) < 0)
        say_wrong(checking, folder, name);
    else if (memcmp(wanted, bytes, sizeof bytes) != 0)
        say(checking, CLUSTER_FOLDER_CHECK_WRONG, (struct place){folder, name},
            "it has other bytes than its name says: push the module again");
    else
        checking->blobs++;
}

static void list(struct checking *checking, const struct cluster_files_folder *folder,
                 cluster_files_visit *visit)
{
    struct listing listing = {checking, folder};
    int r = folder->files->list(folder->files, folder->fd, visit, &listing);

    if (r < 0)
        say(checking, CLUSTER_FOLDER_CHECK_WRONG, (struct place){folder, ""},
            "it cannot be listed: %s", strerrordesc_np(-r));
}

static void check_part(void *user, const char *name)
{
    const struct listing *listing = user;
    struct cluster_files_folder folder;

    if (strspn(name, "0123456789abcdef") != 2 || name[2] != 0)
        return;
    if (cluster_files_open_folder(listing->folder->files, listing->folder, name, false, &folder) <
        0) {
        say_wrong(listing->checking, listing->folder, name);
        return;
    }
    list(listing->checking, &folder, check_blob);
    cluster_files_close_folder(&folder);
}

static void check_blobs(struct checking *checking)
{
    struct cluster_blobs blobs;

    cluster_reading_files_clear(&checking->reading);
    if (cluster_blobs_open(&blobs, &checking->folder.blobs) < 0) {
        if (checking->reading.change != CLUSTER_READING_FILES_NONE)
            say_mended(checking, &checking->folder.blobs);
        else
            say_wrong(checking, &checking->folder.blobs, "");
        return;
    }
    list(checking, &blobs.folder, check_part);
    say(checking, CLUSTER_FOLDER_CHECK_FINE, (struct place){&checking->folder.blobs, ""},
        "%" PRIu64 " modules", checking->blobs);
    cluster_blobs_close(&blobs);
}

/* ---- names ---- */

static void found_stray(void *user, const struct cluster_files_folder *folder, const char *name)
{
    say(user, CLUSTER_FOLDER_CHECK_STRAY, (struct place){folder, name},
        "no node has made it, and none reads it: take it away");
}

static void check_names(struct checking *checking)
{
    if (cluster_stray_files_find(&checking->folder, found_stray, checking) < 0)
        say_wrong(checking, &checking->folder.root, "");
}

/* ---- all of it ---- */

static int check_all(struct checking *checking)
{
    if (check_identity(checking)) {
        check_guests(checking);
        check_certificates(checking);
        check_log(checking);
        check_store(checking);
        check_copies(checking);
        check_blobs(checking);
        check_names(checking);
    }
    return checking->failure < 0 ? checking->failure : checking->findings;
}

int cluster_folder_check_run(const struct cluster_folder_check_options *options,
                             cluster_folder_check_found *found, void *user)
{
    struct checking checking = {.options = options, .found = found, .user = user};
    OWN(hub_fd) int lock = -1;
    int r;

    cluster_reading_files_init(&checking.reading);
    checking.folder.lock = -1;
    r = cluster_files_open_folder(&checking.reading.files, NULL, options->data, false,
                                  &checking.folder.root);
    if (r < 0)
        return r;
    lock = cluster_folder_lock_look(checking.folder.root.fd, options->data);
    r = lock == -ENOENT || lock >= 0 ? 0 : lock;
    if (r == 0)
        r = check_all(&checking);
    cluster_log_map_release(&checking.map);
    cluster_data_folder_close(&checking.folder);
    return r;
}
