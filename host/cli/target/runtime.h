/* SPDX-License-Identifier: Apache-2.0 */
/* runtime: the hosts that this user may reach, and their guests. */
#ifndef CLI_RUNTIME_H
#define CLI_RUNTIME_H

#include <stdbool.h>

#include "host/cli/target/sockets.h"
#include "host/control/client.h"

struct cli;

#define CLI_RUNTIME_NAME CLI_SOCKETS_NAME

/* Called for each guest of a host that responds, or with `guest` NULL for a host without guests. A
 * result other than 0 ends the search. */
typedef int cli_runtime_visit(void *user, const char *host, const struct control_guest *guest);

/* Visits all hosts of this user, and those that are open to a group; a host that does not respond
 * within 2 s is named on standard error. */
int cli_runtime_each(struct cli *cli, cli_runtime_visit *visit, void *user);

/* The host, guest or supervisor that a name means. */
struct cli_runtime_place {
    char host[CLI_RUNTIME_NAME];
    char guest[CLI_RUNTIME_NAME]; /* "": the host itself */
    unsigned guests;              /* number of guests of the host */
    bool is_supervisor;           /* the name is a supervisor's */
};

/* Visits all hosts that have guests, with cli->client connected to each; a host that does not
 * respond is named. A result other than 0 ends it, and is the result. */
typedef int cli_runtime_visit_host(void *user, const struct cli_runtime_place *place);
int cli_runtime_each_host(struct cli *cli, cli_runtime_visit_host *visit, void *user);

/* Guests and hosts; also supervisors of trees; these preferred to a host of the same name. */
enum cli_runtime_sought { CLI_RUNTIME_GUESTS, CLI_RUNTIME_NODES, CLI_RUNTIME_NODES_FIRST };

/* Connects cli->client to the host that has a guest of this name, or has the name itself.
 * HOST/GUEST names both, HOST/ the host. -ENOENT, with exit status 4, lists the guests that run;
 * -EEXIST: the name means several. The name is the subject of the next error. */
int cli_runtime_find(struct cli *cli, const char *name, enum cli_runtime_sought sought,
                     struct cli_runtime_place *out);

/* Sends a request through cli->client and reads the answer to its end; `item` may be NULL. */
typedef int cli_runtime_item(void *user, enum host_frame_kind kind,
                             const union host_frame_record *record);
int cli_runtime_ask(struct cli *cli, enum host_frame_kind request, const void *record,
                    cli_runtime_item *item, void *user);

#endif
