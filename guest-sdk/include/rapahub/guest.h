/* SPDX-License-Identifier: Apache-2.0 */
/* guest: the interface of a program that is a guest with a main of its own, such as
 * `rapahub-guest`. */
#ifndef RAPAHUB_GUEST_H
#define RAPAHUB_GUEST_H

#include <rapahub/chimod.h>

RAPAHUB_BEGIN_DECLS

/* Exit statuses of a guest. */
enum rapahub_guest_exit {
    RAPAHUB_GUEST_DONE = 0,      /* after a goodbye */
    RAPAHUB_GUEST_USAGE = 64,    /* the ticket is missing or malformed; nothing was touched */
    RAPAHUB_GUEST_FAILED = 70,   /* it could not start; the reason is on standard error */
    RAPAHUB_GUEST_ORPHAN = 75,   /* its host died */
    RAPAHUB_GUEST_PROTOCOL = 76, /* the host broke a rule */
    RAPAHUB_GUEST_THREAD = 77    /* a method ended the serving thread by pthread_exit */
};

/* Attaches with the ticket in the program's arguments, serves `chimod` until the host says goodbye
 * or dies, and returns the exit status. The calling thread becomes the serving thread. If a method
 * ends that thread, the process exits at once with RAPAHUB_GUEST_THREAD (rule supervise.thread). If
 * `chimod` is NULL, the module is loaded as the ticket says.
 *
 * Without --peer-id and --doorbell-fd there is no ticket, and no host started this program. It then
 * attaches to the segment at --hub-path=PATH, whose host must have the option `anonymous`. If
 * `chimod` is NULL, the first argument that is no option is the module's file.
 */
RAPAHUB_API int rapahub_guest_run(int argc, char **argv, const struct rapahub_chimod *chimod);

/* Makes the guest of the calling thread leave. The guest completes and answers the calls it has,
 * tells the host that it leaves and why (`reason`, a constant, or NULL), and rapahub_guest_run
 * returns RAPAHUB_GUEST_DONE. Call it from a method or from a signal handler. */
RAPAHUB_API void rapahub_guest_leave(const char *reason);

/* Makes the process end when the process that started it ends. A program that a host starts with a
 * ticket calls it as its first step. The end comes with RAPAHUB_GUEST_ORPHAN or by SIGKILL, even if
 * a method hangs, blocks all signals, or is stopped. The end of the *thread* that started this
 * process changes nothing. The function adds one thread, or none if the host has already set a
 * parent-death signal, as a rapahub host does. Returns 0, or -EAGAIN if no thread can be made. Rule
 * supervise.orphan. */
RAPAHUB_API int rapahub_guest_end_with_host(void);

/* Installs handlers for SEGV, BUS, ILL, FPE and ABRT. They write one line to standard error with
 * the signal, its address and the running method, and then let the signal take its effect. For
 * programs. */
RAPAHUB_API void rapahub_guest_last_words(void);

RAPAHUB_END_DECLS

#endif
