/* SPDX-License-Identifier: Apache-2.0 */
/* calc: methods that answer, and methods that do what no method should. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));

static int calc_add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = (int64_t)((uint64_t)a + (uint64_t)b);
    return 0;
}

static int calc_divide(void *self, int64_t a, int64_t b, int64_t *quotient)
{
    (void)self;
    if (b == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "division by zero");
    *quotient = a / b;
    return 0;
}

static int calc_mirror(void *self, struct point p, struct point *out)
{
    (void)self;
    *out = (struct point){p.y, p.x};
    return 0;
}

/* Says whether the bytes lie in memory that this process shares with its host. */
static int calc_shown(void *self, struct rapahub_bytes data, bool *shown)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    (void)self;
    *shown = false;
    while (maps && fgets(line, sizeof line, maps)) {
        uintptr_t first, end, at = (uintptr_t)data.data;

        if (sscanf(line, "%lx-%lx", &first, &end) == 2 && at >= first && at < end)
            *shown = strstr(line, "rapahub") != NULL;
    }
    if (maps)
        fclose(maps);
    return maps ? 0 : RAPAHUB_EINVAL;
}

/* The first byte says how long the string before it is. */
static int calc_behind(void *self, struct rapahub_string before, struct rapahub_bytes in,
                       struct rapahub_bytes *out)
{
    (void)self;
    *out = in;
    return in.size > 0 && *(const uint8_t *)in.data == before.size ? 0 : RAPAHUB_EINVAL;
}

static int calc_echo(void *self, struct rapahub_bytes data, struct rapahub_bytes *out)
{
    void *copy = rapahub_chimod_alloc(data.size);

    (void)self;
    if (!copy)
        return RAPAHUB_ENOMEM;
    if (data.size > 0)
        memcpy(copy, data.data, data.size);
    *out = (struct rapahub_bytes){copy, data.size};
    return 0;
}

static int calc_pid(void *self, int32_t *pid)
{
    (void)self;
    *pid = (int32_t)getpid();
    return 0;
}

/* Whether it has a controlling terminal. */
static int calc_terminal(void *self, bool *there)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    (void)self;
    *there = fd >= 0;
    if (fd >= 0)
        close(fd);
    return 0;
}

/* Waits until the time is over, or its caller has given up. */
static int calc_nap(void *self, uint32_t ms)
{
    (void)self;
    for (uint32_t i = 0; i < ms && !rapahub_chimod_cancelled(); i++)
        pause_ms(1);
    return rapahub_chimod_cancelled() ? RAPAHUB_ECANCELED : 0;
}

/* The same, but without checking: like a C function that knows nothing of calls. */
static int calc_hold(void *self, uint32_t ms)
{
    (void)self;
    pause_ms((int)ms);
    return 0;
}

/* The same, and no SIGTERM ends it. */
static int calc_deaf(void *self, uint32_t ms)
{
    uint32_t left = ms;

    (void)self;
    signal(SIGTERM, SIG_IGN);
    for (; left > 0; left--)
        pause_ms(1);
    return 0;
}

static int calc_crash(void *self)
{
    (void)self;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

static int calc_end_thread(void *self)
{
    (void)self;
    pthread_exit(NULL);
}

/* The same, without anything of the C library. */
static int calc_end_task(void *self)
{
    (void)self;
    return (int)syscall(SYS_exit, 0);
}

/* Where nothing is, by an instruction of this very file. */
static int calc_fault(void *self)
{
    static volatile int *volatile nowhere = (volatile int *)16;

    (void)self;
    *nowhere = 1;
    return 0;
}

static int calc_leave(void *self, int32_t status)
{
    (void)self;
    _exit(status);
}

static int calc_spin(void *self)
{
    (void)self;
    for (volatile int on = 1; on;)
        continue;
    return 0;
}

static int calc_print(void *self, struct rapahub_string text)
{
    (void)self;
    fwrite(text.data, 1, text.size, stdout);
    fflush(stdout);
    return 0;
}

static int calc_flood(void *self, uint32_t mib, bool lines)
{
    static char data[4096];

    (void)self;
    memset(data, 'z', sizeof data);
    for (size_t i = 1; lines && i < sizeof data; i += 2)
        data[i] = '\n';
    for (uint64_t i = 0; i < (uint64_t)mib << 8; i++)
        if (write(STDOUT_FILENO, data, sizeof data) != (ssize_t)sizeof data)
            return RAPAHUB_EIO;
    return 0;
}

static int calc_variable(void *self, struct rapahub_string name, bool *there)
{
    extern char **environ;

    (void)self;
    *there = false;
    for (char **at = environ; *at; at++)
        if (!strncmp(*at, name.data, name.size) && (*at)[name.size] == '=')
            *there = true;
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, calc_add, i64, i64, i64),
    RAPAHUB_METHOD(divide, calc_divide, i64, i64, i64),
    RAPAHUB_METHOD(mirror, calc_mirror, point, point),
    RAPAHUB_METHOD(echo, calc_echo, bytes, bytes),
    RAPAHUB_METHOD(behind, calc_behind, bytes, string, bytes),
    RAPAHUB_METHOD(shown, calc_shown, bool, bytes),
    RAPAHUB_METHOD(pid, calc_pid, i32, void),
    RAPAHUB_METHOD(terminal, calc_terminal, bool, void),
    RAPAHUB_METHOD(nap, calc_nap, void, u32),
    RAPAHUB_METHOD(hold, calc_hold, void, u32),
    RAPAHUB_METHOD(deaf, calc_deaf, void, u32),
    RAPAHUB_METHOD(end_thread, calc_end_thread, void, void),
    RAPAHUB_METHOD(end_task, calc_end_task, void, void),
    RAPAHUB_METHOD(crash, calc_crash, void, void),
    RAPAHUB_METHOD(fault, calc_fault, void, void),
    RAPAHUB_METHOD(leave, calc_leave, void, i32),
    RAPAHUB_METHOD(spin, calc_spin, void, void),
    RAPAHUB_METHOD(print, calc_print, void, string),
    RAPAHUB_METHOD(flood, calc_flood, void, u32, bool),
    RAPAHUB_METHOD(variable, calc_variable, bool, string),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "calc", .version = "0.1.0", .methods = methods);
