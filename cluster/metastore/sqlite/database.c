/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/own.h"

#define FRAMES_MAX 1000 /* more in the write-ahead log are moved: 4 MiB */

/* Everything that makes a commit durable and what is read sure. The lock is taken before the log is
 * first read, so that SQLite keeps the log's index in memory of its own. */
#define BEFORE_READING                                              \
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF;" \
    "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
#define BEFORE_WRITING                                                                \
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;" \
    "PRAGMA wal_autocheckpoint = 0;"

/* The fifth word of a line of /proc/locks: "1: POSIX ADVISORY WRITE PID DEVICE:INODE ...". */
static long pid_of(const char *line)
{
    for (unsigned i = 0; i < 4; i++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return strtol(line, NULL, 10);
}

/* The process that has locked a file, from /proc/locks; 0: not known. To open the file would do
 * harm: its closing would drop the locks that this process has. */
static long locker_of(const char *path)
{
    char line[256], wanted[64];
    struct stat stat_of;
    FILE *locks = fopen("/proc/locks", "re");
    long found = 0;

    if (locks && stat(path, &stat_of) == 0) {
        snprintf(wanted, sizeof wanted, "%02x:%02x:%" PRIu64 " ", major(stat_of.st_dev),
                 minor(stat_of.st_dev), (uint64_t)stat_of.st_ino);
        while (found == 0 && fgets(line, sizeof line, locks))
            if (strstr(line, wanted))
                found = pid_of(line);
    }
    if (locks)
        fclose(locks);
    return found;
}

static int fail_locked(const char *path)
{
    long pid = locker_of(path);

    if (pid == getpid())
        return rapahub_fail(RAPAHUB_EAGAIN, "",
                            "%s is open in this process already: close it there", path);
    if (pid > 0)
        return rapahub_fail(RAPAHUB_EAGAIN, "",
                            "%s is locked by process %ld: stop that one, or name another folder",
                            path, pid);
    return rapahub_fail(RAPAHUB_EAGAIN, "",
                        "%s is locked by another process: stop that one, or name another folder",
                        path);
}

static int fail_system(const char *path, const char *what, int error)
{
    return rapahub_fail(-error, "",
                        "%s %s: %s: make it writable for this user, or name another folder", what,
                        path, strerrordesc_np(error));
}

int cluster_database_fail(const struct cluster_database *database, int rc)
{
    const char *path = database->path, *why = sqlite3_errstr(rc);
    int error = database->statements.db ? sqlite3_system_errno(database->statements.db) : 0;

    switch (rc & 0xff) {
    case SQLITE_BUSY:
        return fail_locked(path);
    case SQLITE_NOMEM:
        return rapahub_fail(RAPAHUB_ENOMEM, "", "%s: out of memory", path);
    case SQLITE_FULL:
        return rapahub_fail(RAPAHUB_ENOSPC, "", "%s: no space left on its disk: free some there",
                            path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return rapahub_fail(RAPAHUB_EIO, "", "%s is damaged (%s): put a backup of it in its place",
                            path, why);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return fail_system(path, "cannot write", error ? error : EACCES);
    default:
        return rapahub_fail(RAPAHUB_EIO, "",
                            "%s: %s%s%s: look at its disk, then start again; if it is damaged, put "
                            "a backup in its place",
                            path, why, error ? ": " : "", error ? strerrordesc_np(error) : "");
    }
}

/* The folder of a path, to be freed; NULL without memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int look_at_folder(const char *path)
{
    OWN(hub_memory) char *folder = folder_of(path);

    if (!folder)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "%s: out of memory", path);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        return fail_system(folder, "cannot write to the folder", errno);
    return 0;
}

/* The file's name shall outlive a crash as what is committed to it does. */
static int create_file(const char *path)
{
    OWN(hub_memory) char *folder = folder_of(path);
    OWN(hub_fd) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    OWN(hub_fd) int folder_fd = -1;

    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0)
        return errno == ENOSPC
                   ? rapahub_fail(RAPAHUB_ENOSPC, "",
                                  "%s: no space left on its disk: free some there", path)
                   : fail_system(path, "cannot make", errno);
    folder_fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder_fd < 0 || fsync(folder_fd) != 0)
        return fail_system(path, "cannot sync the folder of", errno);
    return 0;
}

static int look_at_file(const char *path, bool create)
{
    struct stat stat_of;

    if (stat(path, &stat_of) != 0) {
        if (errno != ENOENT)
            return fail_system(path, "cannot look at", errno);
        if (!create)
            return rapahub_fail(RAPAHUB_ENOENT, "",
                                "%s is missing: put a backup of it in its place, or name the "
                                "folder that has it",
                                path);
        return create_file(path);
    }
    if (!S_ISREG(stat_of.st_mode))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "%s is no file: name another folder", path);
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0)
        return fail_system(path, "cannot write", errno);
    return 0;
}

/* Runs a statement that gives one number. */
static int number_of(struct cluster_database *database, const char *text, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(database->statements.db, text, -1, &statement, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int set_up(struct cluster_database *database)
{
    int rc = sqlite3_exec(database->statements.db, CLUSTER_SCHEMA_SETUP, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : cluster_database_fail(database, rc);
}

/* Says whether the file is one of ours; an empty one is, after it was set up. */
static int identify(struct cluster_database *database, bool create)
{
    int64_t application, version, tables;
    int rc = number_of(database, "PRAGMA application_id", &application);

    if (rc == SQLITE_OK)
        rc = number_of(database, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK)
        rc = number_of(database, "SELECT count(*) FROM sqlite_schema", &tables);
    if (rc != SQLITE_OK)
        return cluster_database_fail(database, rc);
    if (application == 0 && version == 0 && tables == 0) {
        if (create)
            return 1;
        return rapahub_fail(RAPAHUB_EIO, "", "%s is empty: put a backup of it in its place",
                            database->path);
    }
    if (application != CLUSTER_SCHEMA_APPLICATION)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "%s is a database of another program (application_id 0x%08x): name "
                            "another folder",
                            database->path, (unsigned)application);
    if (version > CLUSTER_SCHEMA_VERSION)
        return rapahub_fail(RAPAHUB_ENOTSUP, "",
                            "%s is of a newer release (format %" PRId64 ", this one knows %d): "
                            "install that release",
                            database->path, version, CLUSTER_SCHEMA_VERSION);
    return 0;
}

static int check_pages(struct cluster_database *database)
{
    sqlite3_stmt *statement = NULL;
    const char *text;
    int rc =
        sqlite3_prepare_v2(database->statements.db, "PRAGMA quick_check(1)", -1, &statement, NULL);
    int r = 0;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (rc != SQLITE_ROW)
        r = cluster_database_fail(database, rc);
    else if (!text || strcmp(text, "ok") != 0)
        r = rapahub_fail(RAPAHUB_EIO, "", "%s is damaged (%s): put a backup of it in its place",
                         database->path, text ? text : "?");
    sqlite3_finalize(statement);
    return r;
}

static int read_meta(struct cluster_database *database, const char *name, uint64_t *out)
{
    sqlite3_stmt *statement =
        cluster_statements_take(&database->statements, CLUSTER_STATEMENT_META);
    int rc;

    if (!statement)
        return sqlite3_extended_errcode(database->statements.db);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    rc = sqlite3_step(statement);
    if (rc == SQLITE_DONE || (rc == SQLITE_ROW && sqlite3_column_int64(statement, 0) < 0))
        rc = SQLITE_CORRUPT;
    if (rc == SQLITE_ROW)
        *out = (uint64_t)sqlite3_column_int64(statement, 0);
    cluster_statements_end(&database->statements, CLUSTER_STATEMENT_META);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int read_numbers(struct cluster_database *database)
{
    int64_t last = 0;
    int rc = read_meta(database, "rev", &database->revision);

    if (rc == SQLITE_OK)
        rc = read_meta(database, "compacted", &database->compacted);
    if (rc == SQLITE_OK)
        rc = read_meta(database, "generation", &database->generation);
    if (rc == SQLITE_OK)
        rc = number_of(database, "SELECT ifnull(max(rev), 0) FROM kv", &last);
    if (rc == SQLITE_OK &&
        ((uint64_t)last > database->revision || database->compacted > database->revision ||
         database->generation > CLUSTER_GENERATION_MAX))
        rc = SQLITE_CORRUPT;
    return rc == SQLITE_OK ? 0 : cluster_database_fail(database, rc);
}

static int note_frames(void *user, sqlite3 *db, const char *name, int frames)
{
    struct cluster_database *database = user;

    (void)db;
    (void)name;
    database->frames = frames;
    return SQLITE_OK;
}

static int begin(struct cluster_database *database, bool create)
{
    sqlite3 *db = database->statements.db;
    bool empty;
    int r, rc = sqlite3_exec(db, BEFORE_READING, NULL, NULL, NULL);

    if (rc != SQLITE_OK)
        return cluster_database_fail(database, rc);
    r = identify(database, create);
    if (r < 0)
        return r;
    empty = r == 1;
    rc = sqlite3_exec(db, BEFORE_WRITING, NULL, NULL, NULL);
    sqlite3_wal_hook(db, note_frames, database);
    if (rc != SQLITE_OK)
        return cluster_database_fail(database, rc);
    r = empty ? set_up(database) : check_pages(database);
    return r != 0 ? r : read_numbers(database);
}

/* r[impl cluster.store.file] */
int cluster_database_open(const char *path, bool create, struct cluster_database *out)
{
    int rc, r = look_at_folder(path);

    *out = (struct cluster_database){0};
    if (r == 0)
        r = look_at_file(path, create);
    if (r != 0)
        return r;
    out->path = strdup(path);
    if (!out->path)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "%s: out of memory", path);
    rc = sqlite3_open_v2(path, &out->statements.db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    r = rc == SQLITE_OK ? begin(out, create) : cluster_database_fail(out, rc);
    if (r != 0)
        cluster_database_close(out);
    return r;
}

void cluster_database_close(struct cluster_database *database)
{
    cluster_statements_fini(&database->statements);
    free(database->path);
    *database = (struct cluster_database){0};
}

void cluster_database_abandon(struct cluster_database *database)
{
    sqlite3_db_config(database->statements.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int cluster_database_find(struct cluster_database *database, struct rapahub_bytes key, uint64_t rev,
                          struct cluster_pair *out)
{
    sqlite3_stmt *statement =
        cluster_statements_take(&database->statements, CLUSTER_STATEMENT_FIND);
    int rc;

    *out = (struct cluster_pair){.key = key};
    if (!statement)
        return sqlite3_extended_errcode(database->statements.db);
    cluster_statements_bind(statement, 1, key);
    sqlite3_bind_int64(statement, 2, (int64_t)(rev > INT64_MAX ? INT64_MAX : rev));
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW && sqlite3_column_int(statement, 1) == 0) {
        out->mod_rev = (uint64_t)sqlite3_column_int64(statement, 0);
        out->create_rev = (uint64_t)sqlite3_column_int64(statement, 2);
        out->version = (uint64_t)sqlite3_column_int64(statement, 3);
        out->value = cluster_statements_column(statement, 4);
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

void cluster_database_found(struct cluster_database *database)
{
    cluster_statements_end(&database->statements, CLUSTER_STATEMENT_FIND);
}

int cluster_database_set(struct cluster_database *database, const char *name, uint64_t number)
{
    sqlite3_stmt *statement =
        cluster_statements_take(&database->statements, CLUSTER_STATEMENT_SET_META);

    if (!statement)
        return sqlite3_extended_errcode(database->statements.db);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (int64_t)number);
    return cluster_statements_run(&database->statements, CLUSTER_STATEMENT_SET_META);
}

/* SQLite's own automatic one would not tell of a sync that failed. */
int cluster_database_checkpoint(struct cluster_database *database)
{
    int rc, left = 0, moved = 0;

    if (database->frames < FRAMES_MAX)
        return SQLITE_OK;
    rc = sqlite3_wal_checkpoint_v2(database->statements.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &left,
                                   &moved);
    database->frames = 0; /* until the next commit says how many there are */
    return (rc & 0xff) == SQLITE_FULL ? SQLITE_OK : rc;
}
