/* SPDX-License-Identifier: Apache-2.0 */
/* sockets: the control sockets of hosts, in their folders. */
#ifndef CLI_SOCKETS_H
#define CLI_SOCKETS_H

#include "host/socket/folders.h"

#define CLI_SOCKETS_PATH HOST_FOLDERS_PATH
#define CLI_SOCKETS_NAME 64 /* space for the name of a host */

/* Returns the path of a new host's socket, and makes the folder: that of the user, or the one above
 * for a host that is open to a group. -EACCES: it is another user's. */
int cli_sockets_new(const char *host, bool for_group, char to[CLI_SOCKETS_PATH]);

/* Visits the sockets in all folders that can be trusted, those of this user first. A result other
 * than 0 ends the search, and is its result. */
typedef int cli_sockets_visit(void *user, const char *host, const char *path);
int cli_sockets_each(cli_sockets_visit *visit, void *user);

#endif
