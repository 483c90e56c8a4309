/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/base/own.h"

static int status_of(int error)
{
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return CLUSTER_TXN_NO_SPACE;
    if (error == EEXIST)
        return CLUSTER_TXN_CONFLICT;
    return error == EACCES || error == EROFS || error == ENOENT || error == ENOTDIR
               ? CLUSTER_TXN_DENIED
               : CLUSTER_TXN_NOT_APPLIED;
}

static int copy(struct cluster_database *database, const char *path)
{
    struct cluster_statements *statements = &database->statements;
    sqlite3_stmt *statement = cluster_statements_take(statements, CLUSTER_STATEMENT_BACKUP);
    int rc;

    if (!statement)
        return CLUSTER_TXN_NOT_APPLIED;
    sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
    rc = cluster_statements_run(statements, CLUSTER_STATEMENT_BACKUP) & 0xff;
    if (rc == SQLITE_OK)
        return CLUSTER_TXN_OK;
    if (rc == SQLITE_FULL)
        return CLUSTER_TXN_NO_SPACE;
    return rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY ? CLUSTER_TXN_DENIED
                                                          : CLUSTER_TXN_NOT_APPLIED;
}

static int sync_path(const char *path, int flags)
{
    OWN(hub_fd) int fd = open(path, flags | O_CLOEXEC);

    return fd >= 0 && fsync(fd) == 0 ? CLUSTER_TXN_OK : status_of(errno);
}

static int sync_folder(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash)
        return sync_path(".", O_RDONLY | O_DIRECTORY);
    slash[slash == path] = 0;
    return sync_path(path, O_RDONLY | O_DIRECTORY);
}

/* The name has no file before that is whole, and a file that is there stays. */
int cluster_backup_write(struct cluster_database *database, const char *path)
{
    size_t size = strlen(path) + sizeof ".new";
    OWN(hub_memory) char *fresh = malloc(size);
    int status;

    if (!fresh)
        return CLUSTER_TXN_NOT_APPLIED;
    snprintf(fresh, size, "%s.new", path);
    unlink(fresh);
    status = copy(database, fresh);
    if (status == CLUSTER_TXN_OK && chmod(fresh, 0600) != 0) /* it has digests of secrets */
        status = status_of(errno);
    if (status == CLUSTER_TXN_OK)
        status = sync_path(fresh, O_RDWR);
    if (status == CLUSTER_TXN_OK && link(fresh, path) != 0)
        status = status_of(errno);
    unlink(fresh);
    return status == CLUSTER_TXN_OK ? sync_folder(fresh) : status;
}
