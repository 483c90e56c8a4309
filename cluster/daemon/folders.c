/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define LOCK        "lock"
#define SYSTEM_DATA "/var/lib/rapahub"
#define SYSTEM_RUN  "/run/rapahub"
#define SUFFIX      ".sock" /* its length is that of ".node", too */

static bool is_there(const char *text)
{
    return text && text[0] == '/';
}

static int print(char to[DAEMON_FOLDERS_PATH], const char *folder, const char *below)
{
    if (snprintf(to, DAEMON_FOLDERS_PATH, "%s%s", folder, below) < DAEMON_FOLDERS_PATH)
        return 0;
    return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.100s...' is too long for a path", folder);
}

/* r[impl cluster.daemon.folders] */
int daemon_folders_data(const struct daemon_folders_user *user, char to[DAEMON_FOLDERS_PATH])
{
    if (user->uid == 0)
        return print(to, SYSTEM_DATA, "");
    if (is_there(user->state_home))
        return print(to, user->state_home, "/rapahub");
    if (is_there(user->home))
        return print(to, user->home, "/.local/state/rapahub");
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "neither XDG_STATE_HOME nor HOME is set; name a folder with --data");
}

int daemon_folders_run(const struct daemon_folders_user *user, bool for_group,
                       char to[DAEMON_FOLDERS_PATH])
{
    char shared[64];

    if (user->uid == 0 || for_group)
        return print(to, SYSTEM_RUN, "");
    if (is_there(user->runtime))
        return print(to, user->runtime, "/rapahub");
    snprintf(shared, sizeof shared, "/dev/shm/rapahub-%u", (unsigned)user->uid);
    return print(to, shared, "");
}

void daemon_folders_make_state(const struct daemon_folders_user *user)
{
    char path[DAEMON_FOLDERS_PATH];

    if (user->uid == 0)
        return;
    if (is_there(user->state_home)) {
        (void)mkdir(user->state_home, 0700);
    } else if (is_there(user->home)) {
        if (print(path, user->home, "/.local") == 0)
            (void)mkdir(path, 0700);
        if (print(path, user->home, "/.local/state") == 0)
            (void)mkdir(path, 0700);
    }
}

/* ---- checks ---- */

static int make(const char *path, mode_t mode, const char *option)
{
    if (mkdir(path, mode) == 0)
        return chmod(path, mode) == 0 /* the umask may have taken some of it */
                   ? 0
                   : rapahub_fail(-errno, "", "cannot open '%s' to others", path);
    if (errno == EEXIST)
        return 0;
    if (errno == ENOENT)
        return rapahub_fail(RAPAHUB_ENOENT, "",
                            "cannot make '%s': the folder above is not there; make it, or name "
                            "another with %s",
                            path, option);
    return rapahub_fail(-errno, "", "cannot make '%s': %s; name another folder with %s", path,
                        strerrordesc_np(errno), option);
}

static int check_owner(int fd, const char *path, const char *option)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return rapahub_fail(-errno, "", "cannot look at '%s'", path);
    if (status.st_uid != geteuid())
        return rapahub_fail(RAPAHUB_EACCES, "",
                            "'%s' belongs to user %u, and this is user %u; name a folder of this "
                            "user with %s",
                            path, (unsigned)status.st_uid, (unsigned)geteuid(), option);
    if ((status.st_mode & 022) != 0)
        return rapahub_fail(RAPAHUB_EACCES, "", "others may write to '%s': chmod go-w it", path);
    return 0;
}

static int open_folder(const char *path, const char *option, int *out)
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot open the folder '%s': %s", path,
                            strerrordesc_np(errno));
    r = check_owner(fd, path, option);
    if (r == 0)
        *out = TAKE(fd);
    return r;
}

int daemon_folders_check_run(const char *path, const char *name)
{
    const size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    size_t size = strlen(path) + strlen(name) + strlen("/" SUFFIX);

    if (size <= most)
        return 0;
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "'%s/%s" SUFFIX "' has %zu bytes, and the path of a socket at most %zu; "
                        "name a shorter folder with --run",
                        path, name, size, most);
}

int daemon_folders_make_run(const char *path, bool for_group)
{
    OWN(hub_fd) int fd = -1;
    int r = make(path, for_group ? 0755 : 0700, "--run");

    return r == 0 ? open_folder(path, "--run", &fd) : r;
}

/* A socket without a listener refuses, and so does a file that is none. Any other error proves
 * nothing. */
static bool is_left(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    OWN(hub_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat status;

    if (fd < 0 || lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode) ||
        snprintf(at.sun_path, sizeof at.sun_path, "%s", path) >= (int)sizeof at.sun_path)
        return false;
    return connect(fd, (const struct sockaddr *)&at, sizeof at) < 0 && errno == ECONNREFUSED;
}

/* A host locks the folder while it opens a socket there (control.h). Then the sockets stay: they do
 * no harm. */
void daemon_folders_clean_run(const char *path, const char *name)
{
    static const char *const suffixes[] = {SUFFIX, ".node"};
    OWN(hub_fd) int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) < 0)
        return;
    for (unsigned i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char file[DAEMON_FOLDERS_PATH];
        int size = snprintf(file, sizeof file, "%s/%s%s", path, name, suffixes[i]);

        if (size < DAEMON_FOLDERS_PATH && is_left(file))
            (void)unlink(file);
    }
}

/* ---- the lock ---- */

/* A file system of its own has such a folder. */
static bool is_stranger(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "lost+found") != 0;
}

static bool is_empty(int folder)
{
    OWN(hub_fd) int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;
    bool empty = list != NULL;

    if (!list)
        return false;
    (void)TAKE(again);
    while (empty && (entry = readdir(list)))
        empty = !is_stranger(entry->d_name);
    closedir(list);
    return empty;
}

static int open_existing(int folder)
{
    return openat(folder, LOCK, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

/* A folder with files, and without the lock, is not a daemon's; but another daemon may have made it
 * one between the two looks. */
static int open_lock(int folder, const char *path, int *out)
{
    bool empty;

    *out = open_existing(folder);
    if (*out >= 0 || errno != ENOENT)
        goto done;
    empty = is_empty(folder);
    *out = empty ? openat(folder, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : open_existing(folder);
    if (*out < 0 && errno == ENOENT)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "'%s' is not empty, and is no folder of rapahubd; name another with "
                            "--data",
                            path);
done:
    return *out >= 0 ? 0
                     : rapahub_fail(-errno, "", "cannot open '%s/" LOCK "': %s", path,
                                    strerrordesc_np(errno));
}

/* Says whether the descriptor is of the file that the folder has by this name. */
static bool is_of(int folder, int fd)
{
    struct stat named, opened;

    return fstatat(folder, LOCK, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

static int check_lock_file(int fd, const char *path)
{
    struct stat status;

    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())
        return 0;
    return rapahub_fail(RAPAHUB_EACCES, "", "'%s/" LOCK "' is no file of this user; take it away",
                        path);
}

/* The number is for people; another process may have written anything. */
static int refuse_taken(int fd, const char *path)
{
    char text[16] = "";
    long pid = pread(fd, text, sizeof text - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;

    if (pid > 0)
        return rapahub_fail(RAPAHUB_EBUSY, "",
                            "process %ld has the folder '%s' already: stop that one, or name "
                            "another folder with --data",
                            pid, path);
    return rapahub_fail(RAPAHUB_EBUSY, "",
                        "another process has the folder '%s' already: stop that one, or name "
                        "another folder with --data",
                        path);
}

static void write_pid(int fd)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%d\n", (int)getpid());

    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)size, 0) != size)
        (void)!ftruncate(fd, 0);
}

/* A file that was replaced between the open and the lock guards nothing. */
static int lock(int folder, int fd, const char *path)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? refuse_taken(fd, path)
                                    : rapahub_fail(-errno, "", "cannot lock '%s/" LOCK "': %s",
                                                   path, strerrordesc_np(errno));
    if (!is_of(folder, fd))
        return refuse_taken(fd, path);
    write_pid(fd);
    return 0;
}

/* r[impl cluster.warden.lock] */
int daemon_folders_lock(const char *path, int *out)
{
    OWN(hub_fd) int folder = -1;
    OWN(hub_fd) int fd = -1;
    int r = make(path, 0700, "--data");

    if (r == 0)
        r = open_folder(path, "--data", &folder);
    if (r == 0)
        r = open_lock(folder, path, &fd);
    if (r == 0)
        r = check_lock_file(fd, path);
    if (r == 0)
        r = lock(folder, fd, path);
    if (r == 0)
        *out = TAKE(fd);
    return r;
}
