/* SPDX-License-Identifier: Apache-2.0 */
/* last_words: one line on standard error when a signal ends the guest: which, where, in what. For
 * the program rapahub-guest; a library sets no handler. The same when the serving thread ends by
 * itself, which is the end of the guest.
 *
 *     last words: signal SIGSEGV at 0x0 in calc.so+0x1234, method calc.add, request 17 */
#ifndef GUEST_SDK_LAST_WORDS_H
#define GUEST_SDK_LAST_WORDS_H

/* SEGV, BUS, ILL, FPE, ABRT, on a stack of their own; then the signal does what it does. */
void guest_last_words_install(void);

/* The thread that served `guest`, a struct guest, has ended or is about to, in a method: says so,
 * and ends the process with RAPAHUB_GUEST_THREAD. NULL: its stack is not as it was in the method.
 */
void guest_last_words_of_thread(void *guest);

#endif
