/* SPDX-License-Identifier: Apache-2.0 */
/* archive_node: stores files, compressed, in a pool of a node, and reads them back, while guests,
 * the daemon, and the daemon with its warden are killed. The node keeps each answer of `kv` before
 * it tells it, so nothing that was stored may be missing. A counter adds one for each piece: at the
 * end it has one for each answer, and none twice. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/client.h>

#include "archive_node_kills.h"
#include "archive_run.h"

#define NODE_NAME   "archive"
#define STOP_MS     20000
#define PATH_SIZE   4096
#define KILLS_TOTAL 48u /* a quarter for each kind */

extern char **environ;

struct archive_node {
    struct archive_node_kills kills;
    struct rapahub_client *client;
    const struct archive_run *run;
    int64_t doubled;                            /* that the counter has too much; < 0: too little */
    char folder[PATH_SIZE], address[PATH_SIZE]; /* that of its socket */
};

static int call(void *to, const struct rapahub_call *asked, void *result)
{
    return rapahub_client_call(to, asked, result);
}

static int complain(const char *what, int r)
{
    fprintf(stderr, "error: %s: %s\n  code %s\nhint: %s\n", what, rapahub_last_error()->text,
            rapahub_error_name(r), rapahub_error_hint(r));
    return r;
}

/* ---- the programs of the node ---- */

static pid_t begin_program(const char *const *words)
{
    pid_t pid;
    int error = posix_spawnp(&pid, words[0], NULL, NULL, (char *const *)(uintptr_t)words, environ);

    if (error == 0)
        return pid;
    fprintf(stderr, "error: cannot start %s: %s\n", words[0], strerror(error));
    return -1;
}

/* Begins `rapahubd`: its first process is the warden. */
static pid_t begin_node(void *self)
{
    struct archive_node *node = self;
    char data[PATH_SIZE + 8], run[PATH_SIZE + 8];
    const char *const words[] = {RAPAHUBD, "--data", data, "--run", run, "--name", NODE_NAME, NULL};

    (void)snprintf(data, sizeof data, "%s/data", node->folder);
    (void)snprintf(run, sizeof run, "%s/run", node->folder);
    return begin_program(words);
}

static int write_pools(const char *path, const char *chimods)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return -1;
    fprintf(file,
            "pools:\n"
            "  - pool_name: kv\n"
            "    module: %s/kv.so\n"
            "    durability: acked\n"
            "    params: dir={folder}/kv\n"
            "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n"
            "  - pool_name: codec\n"
            "    module: %s/codec.so\n"
            "    durability: none\n"
            "    repeat: all\n"
            "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n"
            "  - pool_name: tally\n"
            "    module: " COUNTER "\n"
            "    durability: acked\n"
            "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n",
            chimods, chimods);
    return fclose(file);
}

static int apply_pools(struct archive_node *node, const char *chimods)
{
    char path[PATH_SIZE + 16];
    const char *const words[] = {RAPAHUB, "apply", "--node", node->address, "-f", path, NULL};
    int status = -1;
    pid_t pid;

    (void)snprintf(path, sizeof path, "%s/pools.yaml", node->folder);
    if (write_pools(path, chimods) != 0) {
        fprintf(stderr, "error: cannot write %s: %s\n", path, strerror(errno));
        return -1;
    }
    pid = begin_program(words);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* ---- the run ---- */

static int connect_client(struct archive_node *node, struct archive_run *run)
{
    const char *const nodes[] = {node->address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};
    int r;

    r = rapahub_client_open(&options, &node->client);
    if (r < 0)
        return complain("the node does not answer", r);
    run->way = (struct archive_way){call, node->client};
    return 0;
}

static int find_pools(struct archive_node *node, struct archive_run *run)
{
    int r = rapahub_client_pool(node->client, "kv", &run->kv.pool);

    if (r == 0)
        r = rapahub_client_pool(node->client, "codec", &run->codec.pool);
    if (r == 0)
        r = rapahub_client_pool(node->client, "tally", &run->tally.pool);
    return r < 0 ? complain("a pool is missing", r) : 0;
}

static int start(void *self, struct archive_run *run, const struct archive_options *options,
                 const char *folder)
{
    struct archive_node *node = self;
    char path[PATH_SIZE + 8];

    (void)snprintf(node->folder, sizeof node->folder, "%s", folder);
    (void)snprintf(node->address, sizeof node->address, "unix:%.3900s/run/" NODE_NAME ".node",
                   folder);
    (void)snprintf(path, sizeof path, "%s/run", folder);
    if (mkdir(path, 0700) < 0) {
        fprintf(stderr, "error: cannot make %s: %s\n", path, strerror(errno));
        return -1;
    }
    node->run = run;
    node->kills.answered_ns = &run->answered_ns;
    node->kills.warden = begin_node(node);
    if (node->kills.warden < 0)
        return -1;
    if (connect_client(node, run) < 0 || apply_pools(node, options->chimods) < 0)
        return -1;
    return find_pools(node, run);
}

/* Compares the counter with the answers that it gave. */
static void check_tally(struct archive_node *node)
{
    static const int64_t nothing = 0;
    const struct rapahub_call add = {.target = node->run->tally,
                                     .method = "add",
                                     .types = RAPAHUB_TYPES(i64, i64),
                                     .arguments = (const void *const[]){&nothing, NULL}};
    int64_t counted = (int64_t)atomic_load(&node->run->counted), sum = 0;
    int r = rapahub_client_call(node->client, &add, &sum);

    node->doubled = r == 0 ? sum - counted : -counted;
    if (r < 0)
        (void)complain("cannot read the counter", r);
    printf("counted         %" PRId64 "\n", counted);
    printf("doubled         %" PRId64 "\n", node->doubled);
}

static void print(void *self)
{
    struct archive_node *node = self;

    check_tally(node);
    archive_node_kills_print(&node->kills);
}

static const char *verdict(void *self)
{
    struct archive_node *node = self;

    if (node->doubled != 0)
        return "the counter does not have each answer once";
    return archive_node_kills_verdict(&node->kills);
}

/* The node ends in order; a node that does not is killed. */
static void stop(void *self)
{
    struct archive_node *node = self;
    pid_t warden = node->kills.warden;
    int status = 0, waited = 0;

    rapahub_client_close(node->client);
    if (warden <= 0)
        return;
    (void)kill(warden, SIGTERM);
    while (waitpid(warden, &status, WNOHANG) == 0 && waited++ < STOP_MS)
        (void)poll(NULL, 0, 1);
    if (waited > STOP_MS) {
        fprintf(stderr, "warning: the node did not stop in %d ms\n", STOP_MS);
        (void)kill(warden, SIGKILL);
        (void)waitpid(warden, &status, 0);
    }
}

int main(int argc, char **argv)
{
    static struct archive_node node;
    const struct archive_plugins plugins = {
        &node, start, print, verdict, stop, &archive_node_kills_victims, KILLS_TOTAL};

    node.kills.begin = begin_node;
    node.kills.node = &node;
    return archive_run_main(argc, argv, &plugins);
}
