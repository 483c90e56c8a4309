/* SPDX-License-Identifier: Apache-2.0 */
/* remote: a guest of a running host, through cli->client. */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include <stdbool.h>

#include "host/cli/target/answer.h"
#include "host/cli/target/methods.h"
#include "host/cli/target/stream_files.h"
#include "host/control/client.h"

struct cli;

#define CLI_REMOTE_FILE    4096
#define CLI_REMOTE_VERSION 64

/* A guest as its host lists it. */
struct cli_remote_guest {
    const char *name;
    bool found;
    char file[CLI_REMOTE_FILE], version[CLI_REMOTE_VERSION]; /* "" for a guest without a module */
};
int cli_remote_guest(struct cli *cli, const char *name, struct cli_remote_guest *out);

int cli_remote_methods(struct cli *cli, const char *guest, struct cli_texts *to);

/* Calls and waits. The first Ctrl-C on `interrupt` cancels, with a second one it gives up. */
int cli_remote_call(struct cli *cli, const struct control_call *call,
                    const struct cli_stream_files *files, int interrupt, struct cli_answer *out);

#endif
