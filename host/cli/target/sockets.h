/* SPDX-License-Identifier: Apache-2.0 */
/* sockets: the folders in which hosts have their control sockets, and these. */
#ifndef CLI_SOCKETS_H
#define CLI_SOCKETS_H

#include <stdbool.h>

#define CLI_SOCKETS_PATH 4096
#define CLI_SOCKETS_NAME 64 /* space for the name of a host */

/* The folder of the hosts that are open to a group. Each user looks for hosts in it, too. */
#define CLI_SOCKETS_SYSTEM "/run/rapahub"

/* Finds the folder of this user, and makes it with mode 0700 if `make`: $XDG_RUNTIME_DIR/rapahub,
 * else /dev/shm/rapahub-UID, else, if that is another user's, /run/user/UID/rapahub or
 * /tmp/rapahub-UID. -EACCES: another user can write to it. */
int cli_sockets_folder(bool make, char to[CLI_SOCKETS_PATH]);

/* Returns the path of a new host's socket, and makes the folder: that of the user, or the one above
 * for a host that is open to a group. -EACCES: it is another user's. */
int cli_sockets_new(const char *host, bool for_group, char to[CLI_SOCKETS_PATH]);

/* Visits the sockets in all folders that can be trusted, those of this user first. A result other
 * than 0 ends the search, and is its result. */
typedef int cli_sockets_visit(void *user, const char *host, const char *path);
int cli_sockets_each(cli_sockets_visit *visit, void *user);

#endif
