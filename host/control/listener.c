/* SPDX-License-Identifier: Apache-2.0 */
/* listener: the test for a listener and the bind are one step under a lock on the folder, so two
 * hosts that start at once cannot both have a name. */
#include "host/control/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/closer.h"
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

static int lock_folder(const char *path, int *out)
{
    const char *slash = strrchr(path, '/');
    char folder[sizeof((struct sockaddr_un *)0)->sun_path] = ".";
    OWN(hub_fd) int fd = -1;
    int r;

    if (slash)
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot open the folder '%s'", folder);
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

int host_listener_open(const char *path, int *out)
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
    if (r < 0)
        return r;
    /* The file gets the mode of the descriptor, so it is not open to other users even for a moment.
     */
    if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return rapahub_fail(-errno, "", "cannot make the socket '%s'", path);
    if (listen(fd, BACKLOG) < 0) {
        r = rapahub_fail(-errno, "", "cannot listen at '%s'", path);
        unlink(path);
        return r;
    }
    *out = TAKE(fd);
    return 0;
}

static int check_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return rapahub_fail(-errno, "", "cannot ask who the other side is");
    if (peer.uid != geteuid())
        return rapahub_fail(RAPAHUB_EACCES, "", "the other side is user %u, not %u",
                            (unsigned)peer.uid, (unsigned)geteuid());
    return 0;
}

int host_listener_accept(int listener, struct hub_closer *closer, int *out)
{
    static const int yes = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
        return 0;
    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot accept a client");
    if (check_user(fd) < 0) {
        hub_closer_give_end(closer, &fd);
        return 0;
    }
    /* Urgent bytes stay in line: a read would skip one, and close what came with it. */
    (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof yes);
    *out = fd;
    return 1;
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
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        r = errno == ECONNREFUSED ? RAPAHUB_ENOENT : -errno;
        return rapahub_fail(r, "", "no host listens at '%s'", path);
    }
    r = check_user(fd);
    if (r == 0)
        *out = TAKE(fd);
    return r;
}
