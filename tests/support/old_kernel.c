/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/old_kernel.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool old;

void old_kernel_pretend(bool is_old)
{
    old = is_old;
}

int old_kernel_setsockopt(int fd, int level, int name, const void *value,
                          socklen_t size) __asm__("setsockopt")
    __attribute__((visibility("default")));

/* Replaces the C library's setsockopt, for shared libraries too. */
int old_kernel_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    if (old && level == SOL_SOCKET && name == OLD_KERNEL_PASSRIGHTS) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}
