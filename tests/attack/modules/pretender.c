/* SPDX-License-Identifier: Apache-2.0 */
/* pretender: looks as if a debugger looked at it, by its name or by a child that traces it; and
 * then never starts, or stands still, or does not end a call. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define MOST 1000 /* s, of a call */

/* Names of its thread: of at most 15 bytes. */
static void pretend(unsigned turn)
{
    static const char *const names[] = {"TracerPid:1", "TracerPid:\t7", "\nTracerPid:\t1",
                                        "TracerPid: 42", "\nTracerPid:9\n"};

    (void)prctl(PR_SET_NAME, names[turn % (sizeof names / sizeof *names)]);
}

/* The child lives as long as its group. */
static void trace_by_child(void)
{
    pid_t pid;

    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid = fork();
    if (pid == 0 && ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) != 0)
        _exit(1);
    while (pid == 0)
        pause_ms(1000);
    pause_ms(50); /* it is traced from here on */
}

#if PRETENDER_STARTS == 0
__attribute__((constructor)) static void never_start(void)
{
    if (PRETENDER_TRACED)
        trace_by_child();
    for (unsigned turn = 0;; turn++) {
        if (!PRETENDER_TRACED)
            pretend(turn);
        pause_ms(1);
    }
}
#endif

static int pretender_stop(void *self)
{
    (void)self;
    if (PRETENDER_TRACED)
        trace_by_child();
    else
        pretend(0);
    if (!PRETENDER_TRACED)
        (void)raise(SIGSTOP); /* a traced process would not stop, except for its tracer */
    for (int i = 0; i < MOST; i++)
        pause_ms(1000);
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(stop, pretender_stop, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "pretender", .version = "1.0", .methods = methods);
