/* SPDX-License-Identifier: Apache-2.0 */
/* runtime: the folder where the control sockets of this user's hosts are, and who is there. */
#ifndef CLI_RUNTIME_H
#define CLI_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "host/control/client.h"

struct cli;

#define CLI_RUNTIME_PATH 4096
#define CLI_RUNTIME_NAME 64

/* Finds the folder: $XDG_RUNTIME_DIR/rapahub, else /dev/shm/rapahub-UID, else, if that is another
 * user's, /run/user/UID/rapahub or /tmp/rapahub-UID; made with mode 0700 if `make`. -EACCES:
 * another user could write to it. */
int cli_runtime_folder(bool make, char to[CLI_RUNTIME_PATH]);

/* The path of a new host's socket, in a folder that is made. */
int cli_runtime_socket(const char *host, char to[CLI_RUNTIME_PATH]);

/* Gets each guest of a host that answers, or the host alone (guest NULL) where it has none. Not 0:
 * look no further. */
typedef int cli_runtime_visit(void *user, const char *host, const struct control_guest *guest);

/* Visits all hosts of this user; a host that does not respond within 2 s is named on standard
 * error. */
int cli_runtime_each(struct cli *cli, cli_runtime_visit *visit, void *user);

/* Whom a name means. */
struct cli_runtime_place {
    char host[CLI_RUNTIME_NAME];
    char guest[CLI_RUNTIME_NAME]; /* "": the host itself */
    unsigned guests;              /* that host's */
    bool is_supervisor;           /* no guest, but one that has some */
};

/* Connects cli->client to the host that runs a guest of that name, or is called so; HOST/GUEST says
 * both, HOST/ the host. -ENOENT with exit status 4 says who runs; -EEXIST where several are meant.
 */
int cli_runtime_find(struct cli *cli, const char *name, struct cli_runtime_place *out);

/* The same where a supervisor of a tree may be meant, too; before a host of that name, where
 * `before_host` says so. */
int cli_runtime_find_node(struct cli *cli, const char *name, bool before_host,
                          struct cli_runtime_place *out);

/* Asks cli->client and reads the answer to its end; `item` may be NULL. */
typedef int cli_runtime_item(void *user, enum host_frame_kind kind,
                             const union host_frame_record *record);
int cli_runtime_ask(struct cli *cli, enum host_frame_kind request, const void *record,
                    cli_runtime_item *item, void *user);

#endif
