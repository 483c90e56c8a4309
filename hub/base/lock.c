/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/lock.h"

#include <errno.h>
#include <fcntl.h>

static struct flock range(short type, uint64_t start, uint64_t size)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)start, .l_len = (off_t)size};
}

int hub_lock_try(int fd, uint64_t start, uint64_t size)
{
    struct flock lock = range(F_WRLCK, start, size);

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EACCES ? -EAGAIN : -errno;
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
