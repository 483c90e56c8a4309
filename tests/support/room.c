/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/room.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/support/testing.h"

#define FOLDER "/dev/shm"
#define FILLER FOLDER "/test-room-filler"

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return done;
}

/* A user who is not root may mount in a user namespace of its own, where it keeps its number. */
static bool leave(void)
{
    char users[64], groups[64];

    snprintf(users, sizeof users, "%u %u 1", getuid(), getuid());
    snprintf(groups, sizeof groups, "%u %u 1", getgid(), getgid());
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups);
}

bool room_enter(unsigned mib)
{
    static bool left, may = true;
    char size[64];

    if (!left) {
        left = true;
        may = leave() && mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
    }
    snprintf(size, sizeof size, "mode=1777,size=%um", mib);
    may = may && mount("tmpfs", FOLDER, "tmpfs", MS_NOSUID | MS_NODEV, size) == 0;
    return may;
}

void room_fill(uint64_t rest)
{
    struct statvfs place;
    uint64_t left;
    int fd;

    assert_int_equal(statvfs(FOLDER, &place), 0);
    left = (uint64_t)place.f_bavail * place.f_frsize;
    if (left <= rest)
        return;
    fd = open(FILLER, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, (off_t)(left - rest)), 0);
    close(fd);
}

void room_clear(void)
{
    unlink(FILLER);
}
