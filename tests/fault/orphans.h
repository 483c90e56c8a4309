/* SPDX-License-Identifier: Apache-2.0 */
/* orphans: the remains of a host that was killed: its guests, which become children of this
 * process, and its files, which the next host that starts removes. */
#ifndef TESTS_FAULT_ORPHANS_H
#define TESTS_FAULT_ORPHANS_H

#include <stdbool.h>
#include <sys/types.h>

#include "hub/base/clock.h"

/* How long a guest may outlive its host. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ORPHANS_GONE (5 * HUB_SECOND)
#else
#define ORPHANS_GONE HUB_SECOND
#endif

/* From now on the orphans of what this process starts are its own children. */
bool orphans_adopt(void);

/* For process_until: takes who has ended, lets go whom this process traced; true where no child is
 * left. `user` is not looked at. */
bool orphans_nobody_left(void *user);

/* Names them on stderr. */
void orphans_show(void);

/* Files of the segments of host `pid`. */
unsigned orphans_files_of(pid_t pid);

/* A host starts and ends: 0, or why it could not. */
int orphans_start_another_host(void);

#endif
