/* SPDX-License-Identifier: Apache-2.0 */
/* session: a host with one guest for the length of one command. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <rapahub/host.h>

#include "host/cli/target/answer.h"
#include "host/cli/target/methods.h"

struct cli;

struct cli_session {
    struct cli *cli;
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    struct rapahub_container_id container;
    char name[64], version[64];
    int32_t pid;
    char *held; /* the last line it printed while it starts; NULL: none, or it serves */
    bool opening;
};

struct cli_session_options {
    const char *file;
    const char *const *plain; /* signatures of a plain library, ended by NULL; NULL: none */
    const char *params;       /* handed to init; NULL: none */
    uint64_t timeout_ns;      /* a call's */
    struct rapahub_host_options limits; /* only its limits are used */
};

/* Loads the module in a process of its own and makes its container, 0 of pool {1, 0}. The output of
 * the module goes to standard error. A failure of init leaves the session open, without the
 * container, so that name and version are still known. */
int cli_session_open(struct cli *cli, const struct cli_session_options *options,
                     struct cli_session *out);
void cli_session_close(struct cli_session *session);

int cli_session_methods(struct cli_session *session, struct cli_texts *to);

/* Calls and waits. The first Ctrl-C on `interrupt` cancels, a second one kills the guest. */
int cli_session_call(struct cli_session *session, const struct rapahub_call *call, int interrupt,
                     struct cli_answer *out);

#endif
