/* SPDX-License-Identifier: Apache-2.0 */
/* hinter: does what looks like its death, or hides it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define DOORBELL 4 /* the number under which a guest gets it */

static int hinter_pid(void *self, int32_t *pid)
{
    (void)self;
    *pid = (int32_t)getpid();
    return 0;
}

/* Until it is killed. A test that fails leaves it for a minute. */
static void stand_by(void)
{
    pause_ms(60000);
    _exit(0);
}

static int hinter_fork(void *self, int32_t *pid)
{
    pid_t child = fork();

    (void)self;
    if (child == 0)
        stand_by();
    *pid = (int32_t)child;
    return child < 0 ? RAPAHUB_ENOMEM : 0;
}

/* It lives on, and its host hears of a hang-up. */
static int hinter_hang_up(void *self)
{
    (void)self;
    (void)shutdown(DOORBELL, SHUT_RDWR);
    return 0;
}

/* The thread that serves is gone, the process is not. */
static int hinter_end_thread(void *self)
{
    (void)self;
    pthread_exit(NULL);
}

static int hinter_crash(void *self)
{
    (void)self;
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(pid, hinter_pid, i32, void),
    RAPAHUB_METHOD(fork, hinter_fork, i32, void),
    RAPAHUB_METHOD(hang_up, hinter_hang_up, void, void),
    RAPAHUB_METHOD(end_thread, hinter_end_thread, void, void),
    RAPAHUB_METHOD(crash, hinter_crash, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "hinter", .version = "1.0.0", .methods = methods);
