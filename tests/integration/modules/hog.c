/* SPDX-License-Identifier: Apache-2.0 */
/* hog: uses all it gets of the machine, and keeps it until its caller has given up. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define MOST 1000000
#define STEP ((size_t)1 << 20)

static void keep(void)
{
    while (!rapahub_chimod_cancelled())
        pause_ms(1);
}

/* It goes with its group. */
static void stand_by(void)
{
    for (;;)
        pause_ms(-1);
}

/* Each of them forks, too, until none may. */
static int hog_bomb(void *self)
{
    (void)self;
    for (int failed = 0; failed < 100 && !rapahub_chimod_cancelled();) {
        pid_t child = fork();

        if (child == 0 && fork() >= 0)
            stand_by();
        if (child == 0)
            _exit(0);
        failed += child < 0;
    }
    keep();
    return 0;
}

static int hog_memory(void *self)
{
    (void)self;
    for (int i = 0; i < MOST; i++) {
        void *data = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (data == MAP_FAILED)
            break;
        memset(data, 1, STEP);
    }
    keep();
    return 0;
}

static int hog_descriptors(void *self)
{
    (void)self;
    for (int i = 0; i < MOST && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0; i++)
        continue;
    keep();
    return 0;
}

/* Some hundred times as much as is told of it; a CPU of its own no such limit can deny it. */
static int hog_log(void *self)
{
    (void)self;
    while (!rapahub_chimod_cancelled()) {
        for (int i = 0; i < 50; i++)
            printf("%080d\n", i);
        fflush(stdout);
        pause_ms(1);
    }
    return 0;
}

/* In a session of its own: no signal to its group reaches it. */
static int hog_leave(void *self, int32_t *pid)
{
    pid_t child = fork();

    (void)self;
    if (child == 0) {
        setsid();
        stand_by();
    }
    *pid = (int32_t)child;
    return child < 0 ? RAPAHUB_ENOMEM : 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(bomb, hog_bomb, void, void),
    RAPAHUB_METHOD(memory, hog_memory, void, void),
    RAPAHUB_METHOD(descriptors, hog_descriptors, void, void),
    RAPAHUB_METHOD(leave, hog_leave, i32, void),
    RAPAHUB_METHOD(log, hog_log, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "hog", .version = "1.0.0", .methods = methods);
