/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/lock.h"

#include <errno.h>
#include <fcntl.h>

#define PEERS 256 /* peer ids, including 0, the host's */

static struct flock range(short type, uint64_t start, uint64_t size)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)start, .l_len = (off_t)size};
}

static int acquire(int fd, short type, uint64_t start, uint64_t size)
{
    struct flock lock = range(type, start, size);

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EACCES ? -EAGAIN : -errno;
}

int hub_lock_try(int fd, uint64_t start, uint64_t size)
{
    return acquire(fd, F_WRLCK, start, size);
}

int hub_lock_share(int fd, uint64_t start, uint64_t size)
{
    return acquire(fd, F_RDLCK, start, size);
}

int hub_lock_drop(int fd, uint64_t start, uint64_t size)
{
    struct flock lock = range(F_UNLCK, start, size);

    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

int hub_lock_free(int fd, uint64_t start, uint64_t size)
{
    struct flock lock = range(F_WRLCK, start, size);

    if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
        return -errno;
    return lock.l_type == F_UNLCK;
}

static uint64_t range_of(uint32_t peer)
{
    return HUB_LOCK_HOST + peer * HUB_LOCK_SPAN;
}

/* Adjacent locks of one holder are merged, so a host's lock may begin before the range. */
static int why_taken(int fd, uint32_t peer)
{
    struct flock lock = range(F_WRLCK, range_of(peer), HUB_LOCK_SPAN);

    if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
        (uint64_t)lock.l_start == HUB_LOCK_HOST)
        return -EACCES;
    return -EAGAIN;
}

int hub_lock_acquire_peer(int fd, uint32_t peer, pid_t pid)
{
    int r = hub_lock_try(fd, range_of(peer), 1 + (uint64_t)pid);

    return r == -EAGAIN ? why_taken(fd, peer) : r;
}

int hub_lock_drop_peer(int fd, uint32_t peer)
{
    return hub_lock_drop(fd, range_of(peer), HUB_LOCK_SPAN);
}

int hub_lock_test_peer(int fd, uint32_t peer, pid_t *pid)
{
    struct flock lock = range(F_WRLCK, range_of(peer), HUB_LOCK_SPAN);

    if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
        return -errno;
    /* a length that is no process number names none, and would wrap */
    *pid = lock.l_type == F_UNLCK || lock.l_len < 1 || lock.l_len > INT32_MAX
               ? 0
               : (pid_t)(lock.l_len - 1);
    return lock.l_type == F_UNLCK ? 0 : 1;
}

int hub_lock_seize_peer(int fd, uint32_t peer)
{
    return hub_lock_try(fd, range_of(peer), HUB_LOCK_SPAN);
}

int hub_lock_refuse_peers(int fd)
{
    return hub_lock_try(fd, HUB_LOCK_HOST, PEERS * HUB_LOCK_SPAN);
}
