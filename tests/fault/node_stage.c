/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/node_stage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "tests/fault/node_folder.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define SETTLE (20 * HUB_SECOND)
#define ASK    (10 * HUB_SECOND)
#define NODE_POOL                  \
    {                              \
        .pool = { UINT32_MAX, 16 } \
    }

/* ---- the folder ---- */

void node_stage_path(const struct node_stage *stage, const char *name, char to[NODE_PROCESS_PATH])
{
    snprintf(to, NODE_PROCESS_PATH, "%.400s/%s", stage->node.folder, name);
}

void node_stage_open(struct node_stage *stage)
{
    char path[NODE_PROCESS_PATH];

    memset(stage, 0, sizeof *stage);
    snprintf(stage->node.folder, sizeof stage->node.folder, "/dev/shm/sweep.XXXXXX");
    assert_non_null(mkdtemp(stage->node.folder));
    node_stage_path(stage, "run/node.node", path);
    snprintf(stage->node.address, sizeof stage->node.address, "unix:%.480s", path);
    assert_int_equal(setenv("RAPAHUB_WAIT_SERVER", "20", 1), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

/* Another child than the command. Orphans come to this process. */
static bool has_others(const struct node_stage *stage)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    bool found = false;
    int child;

    while (file && !found && fscanf(file, "%d", &child) == 1)
        found = child != stage->command.pid;
    if (file)
        fclose(file);
    return found;
}

static void note_end(struct syscall_trace_child *child, pid_t pid, int status)
{
    if (child->pid != pid)
        return;
    child->ended = true;
    child->status = status;
}

bool node_stage_await_orphans(struct node_stage *stage)
{
    uint64_t deadline_ns = hub_clock_after(SETTLE);
    int status;
    pid_t pid;

    while (has_others(stage) && hub_clock_left(deadline_ns) > 0) {
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            note_end(&stage->warden, pid, status);
            note_end(&stage->command, pid, status);
        }
        pause_ns(HUB_MILLISECOND / 2);
    }
    return !has_others(stage);
}

static void kill_child(const struct syscall_trace_child *child)
{
    if (child->pid > 0 && !child->ended)
        kill(child->pid, SIGKILL);
}

/* No guest outlives its daemon, nor a daemon its warden. */
static void kill_all(struct node_stage *stage)
{
    kill_child(&stage->command);
    kill_child(&stage->warden);
    if (stage->command.pid > 0)
        assert_true(syscall_trace_await(&stage->command));
    stage->command = (struct syscall_trace_child){0};
    assert_true(node_stage_await_orphans(stage));
    stage->warden = (struct syscall_trace_child){0};
    stage->node.warden = 0;
}

void node_stage_close(struct node_stage *stage)
{
    kill_all(stage);
    node_folder_remove(stage->node.folder);
}

void node_stage_keep(struct node_stage *stage, unsigned number)
{
    char name[32], from[NODE_PROCESS_PATH], to[NODE_PROCESS_PATH];

    snprintf(name, sizeof name, "kept.%u", number);
    node_stage_path(stage, "data", from);
    node_stage_path(stage, name, to);
    node_folder_copy(from, to);
}

/* The folder itself stays, for a node knows its own. */
void node_stage_restore(struct node_stage *stage, unsigned number)
{
    char name[32], from[NODE_PROCESS_PATH], to[NODE_PROCESS_PATH], path[NODE_PROCESS_PATH];

    kill_all(stage);
    snprintf(name, sizeof name, "kept.%u", number);
    node_stage_path(stage, name, from);
    node_stage_path(stage, "data", to);
    node_stage_path(stage, "said", path);
    (void)unlink(path);
    node_folder_clear(to);
    if (number == UINT32_MAX)
        (void)rmdir(to);
    else
        node_folder_copy(from, to);
    node_stage_path(stage, "run", path);
    node_folder_clear(path);
    (void)mkdir(path, 0700);
}

/* ---- processes ---- */

void node_stage_prepare(struct node_stage *stage, int *gate)
{
    char data[NODE_PROCESS_PATH], run[NODE_PROCESS_PATH], said[NODE_PROCESS_PATH];
    char program[] = TEST_PREFIX "/bin/rapahubd", by_data[] = "--data", by_run[] = "--run";
    char keep[64] = "";
    char *const words[] = {program, by_data, data, by_run, run, stage->keep ? keep : NULL, NULL};

    node_stage_path(stage, "data", data);
    node_stage_path(stage, "run", run);
    node_stage_path(stage, "log", said);
    snprintf(keep, sizeof keep, "--metastore-keep=%s", stage->keep ? stage->keep : "");
    stage->warden = (struct syscall_trace_child){.pid = syscall_trace_spawn(words, said, gate)};
    assert_true(stage->warden.pid > 0);
    stage->node.warden = stage->warden.pid;
}

void node_stage_prepare_command(struct node_stage *stage, const char *const *words, int *gate)
{
    const char *all[NODE_STAGE_WORDS + 4] = {PROCESS_RAPAHUB};
    char said[NODE_PROCESS_PATH];
    unsigned count = 1;

    for (; words[count - 1]; count++)
        all[count] = words[count - 1];
    all[count++] = "--node";
    all[count] = stage->node.address;
    node_stage_path(stage, "said", said);
    stage->command = (struct syscall_trace_child){
        .pid = syscall_trace_spawn((char *const *)(uintptr_t)all, said, gate)};
    assert_true(stage->command.pid > 0);
}

void node_stage_begin(struct node_stage *stage)
{
    int gate;

    if (stage->warden.pid > 0 && !stage->warden.ended)
        return;
    node_stage_prepare(stage, &gate);
    syscall_trace_release(gate);
}

int node_stage_type(struct node_stage *stage, const char *const *words)
{
    int gate;

    node_stage_prepare_command(stage, words, &gate);
    syscall_trace_release(gate);
    assert_true(syscall_trace_await(&stage->command));
    return WIFEXITED(stage->command.status) ? WEXITSTATUS(stage->command.status) : -1;
}

const char *node_stage_said(struct node_stage *stage)
{
    char path[NODE_PROCESS_PATH];
    size_t size = 0;
    FILE *file;

    node_stage_path(stage, "said", path);
    file = fopen(path, "re");
    if (file) {
        size = fread(stage->text, 1, sizeof stage->text - 1, file);
        fclose(file);
    }
    stage->text[size] = 0;
    return stage->text;
}

const char *node_stage_end(struct node_stage *stage)
{
    char path[NODE_PROCESS_PATH], pools[NODE_STAGE_DOCUMENT], modules[NODE_STAGE_DOCUMENT];
    const char *wrong = node_stage_ask(stage, "pools() -> string", NULL, pools);

    if (!wrong)
        wrong = node_stage_ask(stage, "modules() -> string", NULL, modules);
    if (!wrong && kill(stage->warden.pid, SIGTERM) != 0)
        wrong = "there is no warden";
    if (!wrong && !syscall_trace_await(&stage->warden))
        wrong = "the node does not end";
    if (!wrong && has_others(stage))
        wrong = "a process outlives the warden";
    node_stage_path(stage, "run", path);
    if (!wrong && !node_folder_is_empty(path))
        wrong = "a socket is left";
    node_stage_path(stage, "data", path);
    return wrong ? wrong : node_folder_check(path, stage->node.folder, pools, modules);
}

/* ---- what it says ---- */

static int open_client(const struct node_stage *stage, struct rapahub_client **out)
{
    const char *const nodes[] = {stage->node.address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes, .wait_ns = SETTLE};

    return rapahub_client_open(&options, out);
}

static const char *failure(struct node_stage *stage, const char *what)
{
    snprintf(stage->text, sizeof stage->text, "%s: %s", what, rapahub_last_error()->text);
    return stage->text;
}

static int ask(struct rapahub_client *client, const char *method, const void *const *arguments,
               char to[NODE_STAGE_DOCUMENT])
{
    const struct rapahub_call call = {
        .target = NODE_POOL, .method = method, .arguments = arguments, .timeout_ns = ASK};
    struct rapahub_string text = {NULL, 0};
    int r = rapahub_client_call(client, &call, &text);

    snprintf(to, NODE_STAGE_DOCUMENT, "%.*s", r == 0 ? (int)text.size : 0, text.data);
    return r;
}

const char *node_stage_ask(struct node_stage *stage, const char *method,
                           const void *const *arguments, char to[NODE_STAGE_DOCUMENT])
{
    struct rapahub_client *client;
    int r = open_client(stage, &client);

    if (r < 0)
        return failure(stage, "the node does not serve");
    r = ask(client, method, arguments, to);
    rapahub_client_close(client);
    return r < 0 ? failure(stage, method) : NULL;
}

bool node_stage_has_pool(struct node_stage *stage, const char *name)
{
    char pools[NODE_STAGE_DOCUMENT], word[128];

    snprintf(word, sizeof word, "\"name\":\"%s\"", name);
    return !node_stage_ask(stage, "pools() -> string", NULL, pools) && strstr(pools, word);
}

const char *node_stage_call(struct node_stage *stage, const struct node_stage_call *asked,
                            uint64_t *result)
{
    struct rapahub_call call = {.target = {.container = asked->container},
                                .method = asked->method,
                                .arguments = (const void *const[]){&asked->number, NULL},
                                .timeout_ns = ASK};
    struct rapahub_client *client;
    int r = open_client(stage, &client);

    if (r < 0)
        return failure(stage, "the node does not serve");
    *result = 0;
    r = rapahub_client_pool(client, asked->pool, &call.target.pool);
    if (r == 0)
        r = rapahub_client_call(client, &call, result);
    rapahub_client_close(client);
    return r < 0 ? failure(stage, asked->method) : NULL;
}

/* ---- it settles ---- */

static bool operations_have_ended(const char *document)
{
    for (const char *at = document; (at = strstr(at, "\"state\":\"")); at++)
        if (strncmp(at + 9, "DONE", 4) != 0 && strncmp(at + 9, "ABORTED", 7) != 0)
            return false;
    return true;
}

/* A pool, from its document: as many of its containers serve, or are in quarantine, as it has. */
static bool is_whole(const char *pool)
{
    const char *at = strstr(pool, "\"containers\":"), *of = strstr(pool, "\"of\":[");
    unsigned long containers = at ? strtoul(at + 13, NULL, 10) : 0, found = 0;

    if (!at || !of || !strstr(pool, "\"state\":\"ACTIVE\""))
        return false;
    for (at = of; (at = strstr(at, "\"here\":\"SERVING\"")); at++)
        found++;
    for (at = of; (at = strstr(at, "\"state\":\"QUARANTINED\"")); at++)
        found++;
    return found == containers;
}

static bool pools_are_whole(struct rapahub_client *client, const char *pools)
{
    char pool[NODE_STAGE_DOCUMENT];

    for (const char *at = pools; (at = strstr(at, "\"name\":\"")); at++) {
        const struct rapahub_string name = {at + 8, strcspn(at + 8, "\"")};

        if (ask(client, "pool(string) -> string", (const void *const[]){&name, NULL}, pool) < 0 ||
            !is_whole(pool))
            return false;
    }
    return true;
}

const char *node_stage_settle(struct node_stage *stage)
{
    char operations[NODE_STAGE_DOCUMENT], pools[NODE_STAGE_DOCUMENT];
    uint64_t deadline_ns = hub_clock_after(SETTLE);
    struct rapahub_client *client;
    int r = open_client(stage, &client);
    bool whole = false;

    if (r < 0)
        return failure(stage, "the next daemon does not serve");
    while (r == 0 && !whole && hub_clock_left(deadline_ns) > 0) {
        r = ask(client, "operations() -> string", NULL, operations);
        if (r == 0)
            r = ask(client, "pools() -> string", NULL, pools);
        whole = r == 0 && operations_have_ended(operations) && pools_are_whole(client, pools);
        if (!whole)
            pause_ms(1);
    }
    rapahub_client_close(client);
    if (r < 0)
        return failure(stage, "the next daemon does not answer");
    if (!whole)
        snprintf(stage->text, sizeof stage->text, "half: %.900s %.900s", operations, pools);
    return whole ? NULL : stage->text;
}
