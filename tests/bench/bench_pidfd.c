/* SPDX-License-Identifier: Apache-2.0 */
/* bench_pidfd: preloaded into a host under valgrind, which knows no pidfds: makes a descriptor that
 * never becomes readable instead. Good for a run in which no process dies. */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

typedef long real_syscall(long number, long a, long b, long c, long d, long e, long f);

/* Named as the C library's own for the linker only. */
__attribute__((visibility("default"))) long bench_pidfd_syscall(long number,
                                                                ...) __asm__("syscall");

long bench_pidfd_syscall(long number, ...)
{
    static real_syscall *real;
    long given[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        given[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_pidfd_open)
        return eventfd(0, EFD_CLOEXEC);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
