/* SPDX-License-Identifier: Apache-2.0 */
/* last_words: writes one line to standard error when a signal ends the guest: the signal, its
 * address and the running method. For the program rapahub-guest; a library installs no handler. The
 * same line is written when the serving thread ends by itself, which is the end of the guest.
 *
 *     last words: signal SIGSEGV at 0x0 in calc.so+0x1234, method calc.add, request 17
 */
#ifndef GUEST_SDK_LAST_WORDS_H
#define GUEST_SDK_LAST_WORDS_H

/* Installs handlers for SEGV, BUS, ILL, FPE and ABRT, on a stack of their own. After the line the
 * signal takes its effect. */
void guest_last_words_install(void);

/* Reports that the thread which served `guest`, a struct guest, has ended or is about to end in a
 * method, and ends the process with RAPAHUB_GUEST_THREAD. NULL: the stack is no longer as it was in
 * the method. */
void guest_last_words_of_thread(void *guest);

#endif
