/* SPDX-License-Identifier: Apache-2.0 */
#include "host/socket/folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

/* The possible folders of sockets. A host that was started without the variable must be found, too.
 * If another user has made the folder in /dev/shm before, the next one is used. The last one is for
 * hosts whose sockets are open to a group. */
enum place { PLACE_SESSION, PLACE_SHARED, PLACE_USER, PLACE_TEMPORARY, PLACE_SYSTEM, PLACES };

static bool folder_of(enum place place, char to[HOST_FOLDERS_PATH])
{
    const char *session = getenv("XDG_RUNTIME_DIR");

    if (place == PLACE_SHARED)
        snprintf(to, HOST_FOLDERS_PATH, "/dev/shm/rapahub-%u", (unsigned)geteuid());
    else if (place == PLACE_USER)
        snprintf(to, HOST_FOLDERS_PATH, "/run/user/%u/rapahub", (unsigned)geteuid());
    else if (place == PLACE_TEMPORARY)
        snprintf(to, HOST_FOLDERS_PATH, "/tmp/rapahub-%u", (unsigned)geteuid());
    else if (place == PLACE_SYSTEM)
        snprintf(to, HOST_FOLDERS_PATH, HOST_FOLDERS_SYSTEM);
    else if (session && session[0] == '/' && access(session, W_OK) == 0)
        snprintf(to, HOST_FOLDERS_PATH, "%.4000s/rapahub", session);
    else
        return false;
    return true;
}

static int look_at_folder(const char *path, struct stat *out)
{
    if (lstat(path, out) < 0)
        return rapahub_fail(-errno, "", "no folder '%s'", path);
    return S_ISDIR(out->st_mode) ? 0 : rapahub_fail(RAPAHUB_EACCES, "", "'%s' is no folder", path);
}

static int check_folder(const char *path)
{
    struct stat status;
    int r = look_at_folder(path, &status);

    if (r < 0)
        return r;
    if (status.st_uid != geteuid())
        return rapahub_fail(RAPAHUB_EACCES, "",
                            "'%s' belongs to user %u; name a folder of yours in XDG_RUNTIME_DIR",
                            path, (unsigned)status.st_uid);
    if ((status.st_mode & 077) != 0)
        return rapahub_fail(RAPAHUB_EACCES, "", "'%s' is open to others: chmod 700 it", path);
    return 0;
}

/* Root makes it for the user whose hosts are in it: only its owner may add one. */
static int check_system_folder(const char *path)
{
    struct stat status;
    int r = look_at_folder(path, &status);

    if (r == 0 && (status.st_mode & 022) != 0)
        r = rapahub_fail(RAPAHUB_EACCES, "", "'%s' is open to others: chmod 755 it", path);
    return r;
}

/* For a new host, whose user must own the folder: another owner could replace its socket. */
static int use_system_folder(const char *path)
{
    struct stat status;
    int r;

    if (mkdir(path, 0755) == 0)
        (void)chmod(path, 0755); /* the umask may have taken some of it */
    r = check_system_folder(path);
    if (r == 0)
        r = look_at_folder(path, &status);
    if (r == 0 && status.st_uid != geteuid())
        r = rapahub_fail(RAPAHUB_EACCES, "", "'%s' belongs to user %u", path,
                         (unsigned)status.st_uid);
    return r;
}

static int use_folder(bool make, const char *path)
{
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return rapahub_fail(-errno, "", "cannot make the folder '%s'", path);
    return check_folder(path);
}

/* Uses the first folder that belongs to this user alone, or can be made so. If there is none, the
 * error is that of the first one. r[impl exp.runtime.folder] */
int host_folders_of_user(bool make, char to[HOST_FOLDERS_PATH])
{
    enum place first = folder_of(PLACE_SESSION, to) ? PLACE_SESSION : PLACE_SHARED;

    for (int place = (int)first; place < PLACE_SYSTEM; place++)
        if (folder_of((enum place)place, to) && use_folder(make, to) == 0)
            return 0;
    folder_of(first, to);
    return use_folder(make, to);
}

/* r[impl sec.control.host] */
int host_folders_for_socket(bool for_group, char to[HOST_FOLDERS_PATH])
{
    if (!for_group)
        return host_folders_of_user(true, to);
    folder_of(PLACE_SYSTEM, to);
    return use_system_folder(to);
}

/* Two places are often one folder: the session's is /run/user/UID where systemd starts sessions. */
static bool is_new(const char *folder, struct stat *seen, size_t count)
{
    if (lstat(folder, &seen[count]) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (seen[i].st_dev == seen[count].st_dev && seen[i].st_ino == seen[count].st_ino)
            return false;
    return true;
}

static bool may_look_into(enum place place, const char *folder)
{
    return (place == PLACE_SYSTEM ? check_system_folder(folder) : check_folder(folder)) == 0;
}

int host_folders_each(host_folders_visit *visit, void *user)
{
    struct stat seen[PLACES];
    size_t count = 0;
    int r = 0;

    for (int place = 0; place < PLACES && r == 0; place++) {
        char folder[HOST_FOLDERS_PATH];

        if (folder_of((enum place)place, folder) && may_look_into((enum place)place, folder) &&
            is_new(folder, seen, count)) {
            count++;
            r = visit(user, folder);
        }
    }
    return r;
}
