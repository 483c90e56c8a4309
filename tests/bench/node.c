/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/node.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "tests/bench/place.h"
#include "tests/bench/stage.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/process_child.h"

#define END_MS     20000
#define APPLIED_NS UINT64_C(60000000000)

extern char **environ;

int node_failed(const char *what, int code)
{
    return stage_failed(what, code);
}

int node_open(struct node *node, struct trial *out)
{
    *node =
        (struct node){.data = TEST_PREFIX "/bench/node-XXXXXX", .run = "/tmp/rapahub-bench-XXXXXX"};
    if (access(TEST_PREFIX "/bin/rapahubd", X_OK) < 0)
        return stage_not_here(out, "built without the cluster");
    if (!mkdtemp(node->data) || !mkdtemp(node->run))
        return stage_not_here(out, "no folder for a node");
    snprintf(node->address, sizeof node->address, "unix:%s/node.node", node->run);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_folder(const char *path)
{
    if (*path && strcmp(path + strlen(path) - 6, "XXXXXX") != 0)
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void node_close(struct node *node)
{
    (void)node_end(node);
    remove_folder(node->data);
    remove_folder(node->run);
}

static int start(struct node *node, int cpu)
{
    char program[] = TEST_PREFIX "/bin/rapahubd", by_data[] = "--data", by_run[] = "--run",
         level[] = "--log-level=error", again[] = "--warden-reset-after=1ms";
    char *const words[] = {program,   by_data, node->data, by_run,
                           node->run, level,   again,      node->listen[0] ? node->listen : NULL,
                           NULL};
    posix_spawn_file_actions_t actions;
    int r;

    /* A node that is left by a crash of this program holds no pipe that somebody reads. */
    posix_spawn_file_actions_init(&actions);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    (void)place_pin(0, cpu);
    r = posix_spawn(&node->warden, words[0], &actions, NULL, words, environ);
    place_end();
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int connect_client(struct node *node, bool shared)
{
    const char *const nodes[] = {node->address, NULL};
    const struct rapahub_client_options options = {
#ifdef BENCH_HAS_TRANSPORT
        .transport = shared ? RAPAHUB_CLIENT_SHARED_MEMORY : RAPAHUB_CLIENT_SOCKET,
#endif
        .tls = node->tls[0] ? node->tls : NULL,
        .nodes = nodes};

    (void)shared;
    return rapahub_client_open(&options, &node->client);
}

int node_begin(struct node *node, int cpu)
{
    int r = start(node, cpu);

    if (r == 0)
        r = connect_client(node, false);
    return r < 0 ? node_failed("node", r) : 0;
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

    r = fd >= 0 && bind(fd, (void *)&address, size) == 0 &&
                getsockname(fd, (void *)&address, &size) == 0
            ? ntohs(address.sin_port)
            : -errno;
    close(fd);
    return r;
}

/* The folder is set up by a first start: the certificates are for its cluster. */
int node_listen(struct node *node)
{
    const char *const words[] = {PROCESS_LIBEXEC("make_identity"), node->data, node->tls, NULL};
    struct process_result result;
    int r = node_begin(node, -1), port = free_port();

    if (r == 0)
        r = node_end(node);
    snprintf(node->tls, sizeof node->tls, "%s/tls", node->run);
    if (r == 0)
        r = port < 0 ? port : process_run_argv(words, &result);
    if (r < 0)
        return node_failed("certificates", r);
    r = result.status == 0 ? 0 : node_failed("certificates", -EIO);
    process_result_fini(&result);
    snprintf(node->listen, sizeof node->listen, "--listen=127.0.0.1:%d", port);
    snprintf(node->address, sizeof node->address, "127.0.0.1:%d", port);
    return r;
}

int node_transport(struct node *node, bool shared, struct trial *out)
{
    int r = RAPAHUB_ENOTSUP;

    rapahub_client_close(node->client);
    node->client = NULL;
#ifndef BENCH_HAS_TRANSPORT
    if (!shared)
#endif
        r = connect_client(node, shared);
    if (r == RAPAHUB_ENOTSUP)
        return stage_not_here(out, "clients have no shared memory");
    return r < 0 ? node_failed("client", r) : 0;
}

int node_end(struct node *node)
{
    int status = 0, ms = 0;

    rapahub_client_close(node->client);
    node->client = NULL;
    if (node->warden <= 0)
        return 0;
    kill(node->warden, SIGTERM);
    while (waitpid(node->warden, &status, WNOHANG) == 0 && ms++ < END_MS)
        pause_ms(1);
    if (ms > END_MS) {
        kill(node->warden, SIGKILL);
        waitpid(node->warden, &status, 0);
    }
    node->warden = 0;
    return status == 0 ? 0 : node_failed("a node has not ended in order", -EIO);
}

int node_apply(const struct node *node, const char *pools)
{
    char path[NODE_PATH + 16];
    char local[96];
    const char *const words[] = {PROCESS_RAPAHUB, "apply", "-f", path, "--node", local, NULL};
    const struct process_options how = {.argv = words, .within_ns = APPLIED_NS};
    struct process_result result;
    FILE *file;
    int r;

    snprintf(path, sizeof path, "%s/pools.yaml", node->run);
    snprintf(local, sizeof local, "unix:%s/node.node", node->run);
    file = fopen(path, "we");
    if (!file)
        return node_failed(path, -errno);
    fputs(pools, file);
    fclose(file);
    r = process_run(&how, &result);
    if (r < 0)
        return node_failed("apply", r);
    if (result.status != 0)
        fprintf(stderr, "apply: %.300s%.300s\n", result.out, result.err);
    r = result.status == 0 ? 0 : -EIO;
    process_result_fini(&result);
    (void)unlink(path);
    return r;
}

pid_t node_daemon(const struct node *node)
{
    return process_child(node->warden, 0);
}

pid_t node_guest(const struct node *node, unsigned index)
{
    return process_child(node_daemon(node), index);
}

int node_find(const struct node *node, const char *pool, struct rapahub_container_id *out)
{
    int r = rapahub_client_pool(node->client, pool, &out->pool);

    out->container = 0;
    return r < 0 ? node_failed(pool, r) : 0;
}
