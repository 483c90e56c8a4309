/* SPDX-License-Identifier: Apache-2.0 */
/* folders: where the sockets of hosts and of nodes are. */
#ifndef HOST_SOCKET_FOLDERS_H
#define HOST_SOCKET_FOLDERS_H

#include <stdbool.h>

#define HOST_FOLDERS_PATH 4096

/* The folder of sockets that are open to a group. Each user looks into it, too. */
#define HOST_FOLDERS_SYSTEM "/run/rapahub"

/* Finds the folder of this user, and makes it with mode 0700 if `make`: $XDG_RUNTIME_DIR/rapahub,
 * else /dev/shm/rapahub-UID, else, if that is another user's, /run/user/UID/rapahub or
 * /tmp/rapahub-UID. -EACCES: another user can write to it. */
int host_folders_of_user(bool make, char to[HOST_FOLDERS_PATH]);

/* Returns the folder for a new socket, and makes it: that of the user, or the one above for a
 * socket that is open to a group. -EACCES: it is another user's. */
int host_folders_for_socket(bool for_group, char to[HOST_FOLDERS_PATH]);

/* Visits all folders that can be trusted, those of this user first. A result other than 0 ends the
 * search, and is its result. */
typedef int host_folders_visit(void *user, const char *folder);
int host_folders_each(host_folders_visit *visit, void *user);

#endif
