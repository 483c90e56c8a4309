/* SPDX-License-Identifier: Apache-2.0 */
/* thread: threads of the library, on which no signal of the program is ever handled. */
#ifndef HUB_BASE_THREAD_H
#define HUB_BASE_THREAD_H

#include <pthread.h>

/* Starts run(user) with all signals blocked. Returns 0, or -errno of pthread_create, without a
 * diagnosis. */
int hub_thread_start(pthread_t *thread, void *(*run)(void *user), void *user);

#endif
