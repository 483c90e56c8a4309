/* SPDX-License-Identifier: Apache-2.0 */
/* guest: for a program that is a guest with a main of its own. `rapahub-guest` is one. */
#ifndef RAPAHUB_GUEST_H
#define RAPAHUB_GUEST_H

#include <rapahub/chimod.h>

RAPAHUB_BEGIN_DECLS

/* Exit statuses of a guest. */
enum rapahub_guest_exit {
    RAPAHUB_GUEST_DONE = 0,      /* after a goodbye */
    RAPAHUB_GUEST_USAGE = 64,    /* the ticket is missing or malformed; nothing was touched */
    RAPAHUB_GUEST_FAILED = 70,   /* it could not start: the reason is on standard error */
    RAPAHUB_GUEST_ORPHAN = 75,   /* its host died */
    RAPAHUB_GUEST_PROTOCOL = 76, /* the host broke a rule */
    RAPAHUB_GUEST_THREAD = 77    /* a method ended the thread that serves, by pthread_exit */
};

/* Attaches with the ticket in the program's arguments, serves `chimod` until the host says goodbye
 * or dies, and returns the exit status. The calling thread is the serving thread: where a method
 * ends it the process ends, at once, with RAPAHUB_GUEST_THREAD (rule supervise.thread). With
 * `chimod` NULL the module is loaded as the ticket says.
 *
 * Without --peer-id and --doorbell-fd there is no ticket, and no host started this program: it
 * attaches to the segment at --hub-path=PATH, whose host must have the option `anonymous`; with
 * `chimod` NULL the first argument that is no option is the module's file. */
RAPAHUB_API int rapahub_guest_run(int argc, char **argv, const struct rapahub_chimod *chimod);

/* Asks the guest that the calling thread serves to go: it finishes and answers what it has, tells
 * the host that it leaves and why (`reason`, a constant, or NULL), and rapahub_guest_run returns
 * RAPAHUB_GUEST_DONE. From a method, or from a signal handler. */
RAPAHUB_API void rapahub_guest_leave(const char *reason);

/* For a program that a host starts with a ticket, as its first step: from now on the process ends
 * when the process that started it does, with RAPAHUB_GUEST_ORPHAN or by SIGKILL, also where a
 * method is stuck, blocks all signals, or is stopped. The end of the *thread* that started it
 * changes nothing. One thread is added, or none where the host has set a signal for its end itself,
 * as a rapahub host does. 0; -EAGAIN where there can be no thread. Rule supervise.orphan. */
RAPAHUB_API int rapahub_guest_end_with_host(void);

/* For a program: handlers for SEGV, BUS, ILL, FPE and ABRT that write one line to standard error,
 * what signal, where, in which method, and let the signal do what it does. */
RAPAHUB_API void rapahub_guest_last_words(void);

RAPAHUB_END_DECLS

#endif
