/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/cli.h"

/* Hosts that were found, each once. */
struct hosts {
    unsigned count, room;
    char (*names)[CLI_RUNTIME_NAME + 1]; /* "HOST/" */
};

static int note_host(void *user, const char *host, const struct control_guest *guest)
{
    struct hosts *hosts = user;
    size_t size = strlen(host);
    void *names;

    if (!guest || (hosts->count > 0 && strncmp(hosts->names[hosts->count - 1], host, size) == 0 &&
                   hosts->names[hosts->count - 1][size] == '/'))
        return 0;
    if (hosts->count == hosts->room) {
        hosts->room = hosts->room ? 2 * hosts->room : 16;
        names = realloc(hosts->names, hosts->room * sizeof *hosts->names);
        if (!names)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a list of hosts");
        hosts->names = names;
    }
    snprintf(hosts->names[hosts->count++], sizeof *hosts->names, "%.*s/", CLI_RUNTIME_NAME - 1,
             host);
    return 0;
}

int cli_hosts_each(struct cli *cli, cli_hosts_visit *visit, void *user)
{
    struct hosts hosts = {.count = 0};
    int r = cli_runtime_each(cli, note_host, &hosts);

    for (unsigned i = 0; r == 0 && i < hosts.count; i++) {
        struct cli_runtime_place place;

        r = cli_runtime_find(cli, hosts.names[i], &place);
        if (r == 0)
            r = visit(user, &place);
        else if (r == RAPAHUB_ENOENT)
            r = cli->exit_status = 0;
    }
    free(hosts.names);
    return r;
}
