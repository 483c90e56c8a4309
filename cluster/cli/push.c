/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/push.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/cli/cluster_commands.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/text/json.h"
#include "host/config/units.h"
#include "hub/base/own.h"

#define PART ((size_t)256 << 10)

/* A file on its way. */
struct sending {
    const struct cluster_node_client *node;
    const char *path;
    int fd;
    uint64_t size;
    char digest[2 * CLUSTER_POOL_SPEC_DIGEST + 1];
};

static void print_digest(const uint8_t digest[CLUSTER_POOL_SPEC_DIGEST],
                         char to[2 * CLUSTER_POOL_SPEC_DIGEST + 1])
{
    for (unsigned i = 0; i < CLUSTER_POOL_SPEC_DIGEST; i++)
        snprintf(to + 2 * i, 3, "%02x", digest[i]);
}

static int send_part(const struct sending *sending, uint64_t offset, struct rapahub_bytes part,
                     bool *done)
{
    struct rapahub_string digest = rapahub_string_of(sending->digest);

    return cluster_node_client_ask(sending->node, CLUSTER_ASK_PUSH,
                                   (const void *[]){&digest, &offset, &sending->size, &part, NULL},
                                   done);
}

/* A node that has the file says so at its first part. */
static int send_parts(const struct sending *sending)
{
    OWN(hub_memory) char *part = malloc(PART);
    uint64_t offset = 0;
    bool done = false;

    if (!part)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a part of a module");
    while (offset < sending->size && !done) {
        ssize_t n = pread(sending->fd, part, PART, (off_t)offset);
        int r;

        if (n < 0)
            return rapahub_fail(-errno, "", "cannot read '%s'", sending->path);
        if (n == 0)
            break;
        r = send_part(sending, offset, (struct rapahub_bytes){part, (size_t)n}, &done);
        if (r < 0)
            return r;
        offset += (uint64_t)n;
    }
    return done ? 0
                : rapahub_fail(RAPAHUB_ESTALE, "", "'%s' has changed while it was sent",
                               sending->path);
}

int cluster_push_file(const struct cluster_node_client *node, const char *path,
                      const uint8_t digest[CLUSTER_POOL_SPEC_DIGEST])
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct sending sending = {.node = node, .path = path, .fd = fd};
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return rapahub_fail(-errno, "", "cannot read '%s'", path);
    sending.size = (uint64_t)status.st_size;
    print_digest(digest, sending.digest);
    return send_parts(&sending);
}

/* ---- the command ---- */

static int tell(struct cli *cli, const struct cluster_pool_module *module)
{
    char digest[2 * CLUSTER_POOL_SPEC_DIGEST + 1];

    print_digest(module->digest, digest);
    if (cli_json_wanted(cli))
        return cli_json_print(stdout, cli->command->schema,
                              MEMBER("name", (const char *)module->name),
                              MEMBER("version", (const char *)module->version),
                              MEMBER("sha256", (const char *)digest));
    printf("%s:%s\n", module->name, module->version);
    return 0;
}

int cluster_push(struct cli *cli)
{
    const char *path = cli->arguments.operands[0];
    struct cluster_pool_module module = {.name = ""};
    struct cluster_node_client node = {.cli = cli};
    int r = cluster_pool_module_read(path, &module);

    if (r == 0)
        r = cluster_node_client_open(cli, &node);
    if (r == 0)
        r = cluster_push_file(&node, path, module.digest);
    if (r == 0)
        r = tell(cli, &module);
    cluster_pool_module_fini(&module);
    /* Reported first: what follows may replace the diagnosis. */
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}
