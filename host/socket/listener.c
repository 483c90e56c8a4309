/* SPDX-License-Identifier: Apache-2.0 */
/* listener: the test for a listener and the bind are one step under a lock on the folder, so two
 * hosts that start at once cannot both have a name. */
#include "host/socket/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"

#define BACKLOG   16
#define LOCK_MOST (2 * HUB_SECOND)      /* another host holds the lock for some system calls */
#define LOCK_LOOK (5 * HUB_MILLISECOND) /* between two tries */

static int address_of(const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is too long for a socket; at most %zu bytes",
                            path, sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, strlen(path) + 1);
    return 0;
}

static int new_socket(int *out)
{
    *out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *out < 0 ? rapahub_fail(-errno, "", "cannot make a socket") : 0;
}

/* Locks the folder; hosts that start at the same moment wait for each other. The wait is bounded,
 * so a host that is stopped while it holds the lock does not block the others for ever. */
static int lock_in_turn(int fd, const char *folder)
{
    uint64_t deadline = hub_clock_after(LOCK_MOST);

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return rapahub_fail(-errno, "", "cannot lock the folder '%s'", folder);
        if (hub_clock_left(deadline) == 0)
            return rapahub_fail(RAPAHUB_EAGAIN, "",
                                "another host that starts has had '%s' locked for 2 s", folder);
        hub_clock_pause(LOCK_LOOK); /* the kernel wakes only waits without a time limit */
    }
    return 0;
}

#define FOLDER_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

static void folder_of(const char *path, char to[FOLDER_SIZE])
{
    const char *slash = strrchr(path, '/');

    if (slash)
        snprintf(to, FOLDER_SIZE, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    else
        snprintf(to, FOLDER_SIZE, ".");
}

static int lock_folder(const char *path, int *out)
{
    char folder[FOLDER_SIZE];
    OWN(hub_fd) int fd = -1;
    int r;

    folder_of(path, folder);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot open the folder '%s': %s", folder, strerror(errno));
    r = lock_in_turn(fd, folder);
    if (r == 0)
        *out = TAKE(fd);
    return r;
}

/* Returns 1 if there is a listener. A full queue of clients proves one, too. */
static int somebody_listens(const struct sockaddr_un *address)
{
    OWN(hub_fd) int fd = -1;
    int r = new_socket(&fd);

    if (r < 0)
        return r;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return 1;
    return errno != ECONNREFUSED && errno != ENOENT;
}

static int clear_place(const struct sockaddr_un *address)
{
    int r = somebody_listens(address);

    if (r < 0)
        return r;
    if (r > 0)
        return rapahub_fail(RAPAHUB_EEXIST, "", "a host listens at '%s' already",
                            address->sun_path);
    if (unlink(address->sun_path) < 0 && errno != ENOENT)
        return rapahub_fail(-errno, "", "cannot remove the stale '%s'", address->sun_path);
    return 0;
}

/* The file gets the mode of the descriptor, so it is not open to other users even for a moment. */
static int make_file(int fd, const struct sockaddr_un *address)
{
    if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return rapahub_fail(-errno, "", "cannot make the socket '%s'", address->sun_path);
    return 0;
}

/* Call it before the socket listens: no client can connect until then. */
static int give_to(gid_t group, const char *path)
{
    if (lchown(path, (uid_t)-1, group) < 0)
        return rapahub_fail(-errno, "", "cannot give '%s' to group %u%s", path, (unsigned)group,
                            errno == EPERM ? ", in which you are not" : "");
    return chmod(path, 0660) < 0
               ? rapahub_fail(-errno, "", "cannot open '%s' to group %u", path, (unsigned)group)
               : 0;
}

int host_listener_open(const char *path, const gid_t *group, int *out)
{
    OWN(hub_fd) int folder = -1, fd = -1;
    struct sockaddr_un address;
    int r = address_of(path, &address);

    if (r == 0)
        r = lock_folder(path, &folder);
    if (r == 0)
        r = clear_place(&address);
    if (r == 0)
        r = new_socket(&fd);
    if (r == 0)
        r = make_file(fd, &address);
    if (r < 0)
        return r;
    r = group ? give_to(*group, path) : 0;
    if (r == 0 && listen(fd, BACKLOG) < 0)
        r = rapahub_fail(-errno, "", "cannot listen at '%s'", path);
    if (r == 0)
        *out = TAKE(fd);
    else
        unlink(path);
    return r;
}

int host_listener_accept(int listener, int *out)
{
    static const int yes = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
        return 0;
    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot accept a client");
    /* Urgent bytes stay in line: a read would skip one, and close what came with it. */
    (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof yes);
    *out = fd;
    return 1;
}

/* ---- the client's side ---- */

/* The owner of a folder in which no other user may write has made the socket in it. */
static bool owns_folder(uid_t user, const char *path)
{
    char folder[FOLDER_SIZE];
    struct stat status;

    folder_of(path, folder);
    return stat(folder, &status) == 0 && status.st_uid == user && (status.st_mode & 022) == 0;
}

/* r[impl sec.control.host] */
static int check_listener(int fd, const char *path)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return rapahub_fail(-errno, "", "cannot ask who the other side is");
    if (peer.uid != geteuid() && peer.uid != 0 && !owns_folder(peer.uid, path))
        return rapahub_fail(RAPAHUB_EACCES, "", "the other side is user %u, not %u",
                            (unsigned)peer.uid, (unsigned)geteuid());
    return 0;
}

static int refuse_connect(const char *path)
{
    if (errno == EACCES)
        return rapahub_fail(RAPAHUB_EACCES, "",
                            "'%s' is for its user, for root, and for its group if it has one",
                            path);
    return rapahub_fail(errno == ECONNREFUSED ? RAPAHUB_ENOENT : -errno, "",
                        "no host listens at '%s'", path);
}

int host_listener_connect(const char *path, int *out)
{
    OWN(hub_fd) int fd = -1;
    struct sockaddr_un address;
    int r = address_of(path, &address);

    if (r == 0)
        r = new_socket(&fd);
    if (r < 0)
        return r;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return refuse_connect(path);
    r = check_listener(fd, path);
    if (r == 0)
        *out = TAKE(fd);
    return r;
}
