/* SPDX-License-Identifier: Apache-2.0 */
/* folders: the folder of what a node keeps, with its lock, and that of its sockets. */
#ifndef DAEMON_FOLDERS_H
#define DAEMON_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DAEMON_FOLDERS_PATH 4096

/* The user that asks. Empty texts count as not there. */
struct daemon_folders_user {
    uid_t uid;
    const char *home, *state_home, *runtime; /* HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR */
};

/* The default folders. RAPAHUB_ECONFIG: nothing says where; name one. `for_group`: others are to
 * reach the sockets. */
int daemon_folders_data(const struct daemon_folders_user *user, char to[DAEMON_FOLDERS_PATH]);
int daemon_folders_run(const struct daemon_folders_user *user, bool for_group,
                       char to[DAEMON_FOLDERS_PATH]);

/* Makes the folders above the default data folder of a user. A folder that cannot be made is missed
 * later.
 */
void daemon_folders_make_state(const struct daemon_folders_user *user);

/* RAPAHUB_ECONFIG: the path of a socket in this folder would be too long. */
int daemon_folders_check_run(const char *path, const char *name);

/* Makes the folder of the sockets if its parent is there. -EACCES: another user's, or others may
 * write to it. */
int daemon_folders_make_run(const char *path, bool for_group);

/* Removes the sockets of this name that have no listener: a daemon that was killed left them. */
void daemon_folders_clean_run(const char *path, const char *name);

/* Locks a data folder (flock) for this process, and for those that get the descriptor; makes the
 * folder if its parent is there. -EBUSY: another process has it; -EACCES: another user's, or others
 * may write to it; RAPAHUB_ECONFIG: it has files, and none that a daemon made; then nothing is
 * written. */
int daemon_folders_lock(const char *path, int *out);

#endif
