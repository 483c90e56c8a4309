/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/node_disk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool is_in(const char *path, const char *folder)
{
    size_t size = strlen(folder);

    return strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == 0);
}

/* The call's argument is a descriptor of a file in the folder. */
static bool is_file(const struct syscall_trace_call *call, unsigned argument, const char *folder)
{
    char path[64], target[PATH_MAX];
    ssize_t size;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)call->process,
             (int)call->arguments[argument]);
    size = readlink(path, target, sizeof target - 1);
    target[size > 0 ? size : 0] = 0;
    return is_in(target, folder);
}

/* A path of the process, up to the end of its page. */
static void read_path(const struct syscall_trace_call *call, unsigned argument, char to[PATH_MAX])
{
    uint64_t address = call->arguments[argument];
    struct iovec here = {to, 4096 - address % 4096};
    struct iovec there = {(void *)(uintptr_t)address, here.iov_len};
    ssize_t size;

    if (here.iov_len >= PATH_MAX)
        here.iov_len = there.iov_len = PATH_MAX - 1;
    size = process_vm_readv(call->process, &here, 1, &there, 1, 0);
    to[size > 0 ? size : 0] = 0;
}

/* Arguments `argument` and the next are a folder and a name. */
static bool is_name(const struct syscall_trace_call *call, unsigned argument, const char *folder)
{
    char path[PATH_MAX];

    read_path(call, argument + 1, path);
    if (path[0] == '/')
        return is_in(path, folder);
    return (int)call->arguments[argument] != AT_FDCWD && is_file(call, argument, folder);
}

#if defined(__x86_64__)
static bool is_old_name(const struct syscall_trace_call *call, const char *folder)
{
    char path[PATH_MAX];

    read_path(call, 0, path);
    return is_in(path, folder);
}
#endif

bool node_disk_is_change(void *user, const struct syscall_trace_call *call)
{
    const char *folder = user;

    switch (call->number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_fallocate:
        return is_file(call, 0, folder);
    case SYS_openat:
    case SYS_mkdirat:
    case SYS_unlinkat:
    case SYS_renameat2:
    case SYS_renameat:
        return is_name(call, 0, folder);
#if defined(__x86_64__)
    case SYS_open:
    case SYS_mkdir:
    case SYS_unlink:
    case SYS_rename:
        return is_old_name(call, folder);
#endif
    default:
        return false;
    }
}
