/* SPDX-License-Identifier: Apache-2.0 */
/* process: the other processes of this program: the warden, which it becomes, and the daemon, which
 * the warden starts. Both run the very file that runs now, also after that was replaced on disk.
 * The process has a single thread. */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

#include <sys/types.h>

#define DAEMON_PROCESS_FDS  3
#define DAEMON_PROCESS_PATH 4096

/* Names this process, as `ps` and `pidof` show it. */
void daemon_process_name(const char *name);

/* Gives 0, 1 and 2 to /dev/null where they are closed, and closes all others. */
void daemon_process_clean(void);

/* Replaces this process. Returns only if that fails. */
int daemon_process_become(char *const *arguments);

/* Starts a process with the descriptors of the list, by the same numbers, and 0 to 2. The signals
 * that ask for its end are blocked until it takes them, and no others. It has a process group of
 * its own, so that the keys of a terminal reach it by its parent alone. *pidfd is CLOEXEC. */
int daemon_process_start(char *const *arguments, const int fds[DAEMON_PROCESS_FDS], pid_t *pid,
                         int *pidfd);

/* Makes a copy of this process, which runs the function, ends with status 0 or 1 as that returns,
 * and is killed when this process ends. *pidfd is CLOEXEC. */
int daemon_process_copy(int (*run)(void *user), void *user, pid_t *pid, int *pidfd);

/* Starts the program `rapahub` that is beside this one. Both its outputs go to `output`; no signal
 * is blocked, and it has a process group of its own. *pidfd is CLOEXEC. RAPAHUB_ENOENT: it is not
 * there. Any process; threads other than the caller's are not in the new one. */
int daemon_process_command(char *const *arguments, int output, pid_t *pid, int *pidfd);

/* The program of guests: $RAPAHUB_GUEST, unless this program is set-uid; else the installed one. */
int daemon_process_guest(char to[DAEMON_PROCESS_PATH]);

#endif
