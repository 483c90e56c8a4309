/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/node_operations.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/value.h>

#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define COUNTER      TEST_PREFIX "/bin/counter.so"
#define SLEEPER      TEST_PREFIX "/" TEST_LIBDIR "/rapahub/echo.so"
#define MODULE(name) TEST_PREFIX "/tests/modules/" name ".so"
#define SUPERVISED   "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n"
#define ADD          "add(i64) -> i64"
#define ANSWER       "answer(u64) -> u64"
#define COUNT        "count(u64) -> u32"

#define FIRST 5 /* what tally#1 has in the kept folder */
#define MORE  7 /* what the operation adds */
#define LATE  3 /* what a pool with checkpoints gets before the node ends */

#define HISTORY 15 /* times that a pool was made and removed */

static const char pools[] = "pools:\n"
                            "  - pool_name: tally\n"
                            "    module: " COUNTER "\n"
                            "    durability: acked\n"
                            "    containers: 2\n" SUPERVISED "  - pool_name: slow\n"
                            "    module: " COUNTER "\n"
                            "    durability: checkpoint\n" SUPERVISED;

static const char shy[] = "pools:\n"
                          "  - pool_name: shy\n"
                          "    module: " MODULE("shy") "\n"
                                                       "    durability: none\n"
                                                       "    params: %s\n" SUPERVISED;

static const char fresh[] = "pools:\n"
                            "  - pool_name: fresh\n"
                            "    module: " MODULE("ledger") "\n"
                                                            "    durability: acked\n"
                                                            "    containers: 2\n" SUPERVISED;

/* It sleeps while the node does something by itself. */
static const char sleeper[] = "pools:\n"
                              "  - pool_name: sleeper\n"
                              "    module: " SLEEPER "\n"
                              "    durability: none\n"
                              "    repeat: all\n" SUPERVISED;

static char fresh_path[NODE_PROCESS_PATH];
static uint64_t revision; /* up to which history is to be forgotten */

/* ---- what is so ---- */

static const char *wrong_number(struct node_stage *stage, const char *what, uint64_t number)
{
    snprintf(stage->text, sizeof stage->text, "%s: %" PRIu64, what, number);
    return stage->text;
}

static const char *total_is(struct node_stage *stage, const char *pool, uint32_t container,
                            uint64_t least, uint64_t most)
{
    uint64_t total = 0;
    const char *wrong =
        node_stage_call(stage, &(struct node_stage_call){pool, ADD, container, 0}, &total);

    if (!wrong && total < least)
        wrong = wrong_number(stage, "an answered call is lost", total);
    if (!wrong && total != least && total != most)
        wrong = wrong_number(stage, "a call ran twice", total);
    return wrong;
}

/* The calls of the other pools are as they were. */
static const char *nothing_else(struct node_stage *stage)
{
    const char *wrong = total_is(stage, "tally", 0, 0, 0);

    return wrong ? wrong : total_is(stage, "slow", 0, 0, 0);
}

static const char *check_calls(struct node_stage *stage, unsigned times, bool maybe)
{
    uint64_t least = FIRST + (uint64_t)times * MORE;
    const char *wrong = total_is(stage, "tally", 1, least, maybe ? least + MORE : least);

    return wrong ? wrong : nothing_else(stage);
}

static const char *check_start(struct node_stage *stage, unsigned times, bool maybe)
{
    (void)times;
    (void)maybe;
    return node_stage_has_pool(stage, "tally") ? "a new node has a pool" : NULL;
}

/* A node that ended in order made a last copy; its restart makes the folder anew in any case. */
static const char *check_stop(struct node_stage *stage, unsigned times, bool maybe)
{
    const char *wrong = total_is(stage, "tally", 1, FIRST, FIRST);

    (void)maybe;
    if (!wrong && times > 0)
        wrong = total_is(stage, "slow", 0, LATE, LATE);
    return wrong ? wrong : total_is(stage, "slow", 0, 0, LATE);
}

static const char *check_apply(struct node_stage *stage, unsigned times, bool maybe)
{
    bool there = node_stage_has_pool(stage, "fresh");
    uint64_t count = 0;
    const char *wrong = total_is(stage, "tally", 1, FIRST, FIRST);

    if (!there && times > 0)
        return "a pool is lost that was told as made";
    (void)maybe;
    for (uint32_t i = 0; there && !wrong && i < 2; i++)
        wrong = node_stage_call(stage, &(struct node_stage_call){"fresh", COUNT, i, 1}, &count);
    return wrong ? wrong : nothing_else(stage);
}

static const char *check_delete(struct node_stage *stage, unsigned times, bool maybe)
{
    bool there = node_stage_has_pool(stage, "tally");

    (void)maybe;
    if (there && times > 0)
        return "a pool is back that was told as deleted";
    return there ? total_is(stage, "tally", 1, FIRST, FIRST) : NULL;
}

static bool has_module(struct node_stage *stage, const char *name)
{
    char modules[NODE_STAGE_DOCUMENT], word[64];

    snprintf(word, sizeof word, "\"name\":\"%s\"", name);
    return !node_stage_ask(stage, "modules() -> string", NULL, modules) && strstr(modules, word);
}

static const char *check_push(struct node_stage *stage, unsigned times, bool maybe)
{
    (void)maybe;
    if (times > 0 && !has_module(stage, "ledger"))
        return "a module is lost that was told as pushed";
    return has_module(stage, "counter") ? nothing_else(stage) : "another module is lost";
}

static const char *check_remove(struct node_stage *stage, unsigned times, bool maybe)
{
    (void)maybe;
    if (times > 0 && has_module(stage, "ledger"))
        return "a module is back that was told as removed";
    return has_module(stage, "counter") ? nothing_else(stage) : "another module is lost";
}

static const char *check_release(struct node_stage *stage, unsigned times, bool maybe)
{
    const struct rapahub_string name = rapahub_string_of("shy");
    char pool[NODE_STAGE_DOCUMENT];
    uint64_t answer = 0;
    const char *wrong =
        node_stage_ask(stage, "pool(string) -> string", (const void *const[]){&name, NULL}, pool);

    (void)maybe;
    if (wrong)
        return wrong;
    if (strstr(pool, "\"QUARANTINED\""))
        return times > 0 ? "a container is in quarantine that was told as released" : NULL;
    return node_stage_call(stage, &(struct node_stage_call){"shy", ANSWER, 0, 1}, &answer);
}

/* A number of the node's status; 0: it is not there. */
static const char *ask_status(struct node_stage *stage, const char *name, uint64_t *number)
{
    char status[NODE_STAGE_DOCUMENT], word[64];
    const char *wrong = node_stage_ask(stage, "status() -> string", NULL, status), *at;

    snprintf(word, sizeof word, "\"%s\":\"", name);
    at = wrong ? NULL : strstr(status, word);
    *number = at ? strtoull(at + strlen(word), NULL, 10) : 0;
    return wrong;
}

/* It goes on in the next daemon, and leaves the map as it was. */
static const char *check_compaction(struct node_stage *stage, unsigned times, bool maybe)
{
    uint64_t deadline_ns = hub_clock_after(20 * HUB_SECOND), compacted = 0;
    const char *wrong = total_is(stage, "tally", 1, FIRST, FIRST);

    (void)times;
    (void)maybe;
    while (!wrong && compacted < revision && hub_clock_left(deadline_ns) > 0)
        wrong = ask_status(stage, "compacted", &compacted);
    if (!wrong && compacted < revision)
        wrong = wrong_number(stage, "history is not forgotten", compacted);
    if (!wrong && node_stage_has_pool(stage, "fresh"))
        wrong = "a pool is back that was told as deleted";
    return wrong ? wrong : nothing_else(stage);
}

/* ---- what comes before ---- */

/* The last revisions become old while the command runs. */
static const char *make_revisions(struct node_stage *stage)
{
    if (node_stage_type(stage, (const char *const[]){"apply", "-f", fresh_path, NULL}) != 0 ||
        node_stage_type(stage, (const char *const[]){"delete", "fresh", NULL}) != 0)
        return node_stage_said(stage);
    return ask_status(stage, "revision", &revision);
}

static const char *call_once(struct node_stage *stage)
{
    uint64_t total = 0;

    return node_stage_call(stage, &(struct node_stage_call){"tally", ADD, 1, 0}, &total);
}

static const char *call_slow(struct node_stage *stage)
{
    uint64_t total = 0;

    return node_stage_call(stage, &(struct node_stage_call){"slow", ADD, 0, LATE}, &total);
}

static void kill_guest(struct node_stage *stage)
{
    assert_true(node_process_kill_guest(&stage->node, 0));
}

static void kill_daemon(struct node_stage *stage)
{
    assert_true(node_process_kill_daemon(&stage->node));
}

/* ---- the operations ---- */

#define ADD_MORE                         \
    {                                    \
        "call", "tally#1.add", "7", NULL \
    }

const struct node_operation node_operations[] = {
    {.name = "apply", .words = {"apply", "-f", fresh_path, NULL}, .check = check_apply},
    {.name = "delete", .words = {"delete", "tally", NULL}, .check = check_delete},
    {.name = "push", .words = {"module", "push", MODULE("ledger"), NULL}, .check = check_push},
    {.name = "module removal",
     .folder = NODE_OPERATIONS_MODULE,
     .words = {"module", "rm", "ledger:1.0", NULL},
     .check = check_remove,
     .repeated = "the node has no such module"},
    {.name = "copy of a whole state", .words = ADD_MORE, .check = check_calls},
    {.name = "copy of changes", .words = ADD_MORE, .prepare = call_once, .check = check_calls},
    {.name = "restart of a guest", .words = ADD_MORE, .strike = kill_guest, .check = check_calls},
    {.name = "restart of the daemon",
     .words = ADD_MORE,
     .strike = kill_daemon,
     .check = check_calls,
     .warden = true,
     .daemon_dies = true},
    {.name = "release",
     .folder = NODE_OPERATIONS_QUARANTINED,
     .words = {"release", "shy#0", NULL},
     .check = check_release},
    {.name = "compaction",
     .folder = NODE_OPERATIONS_HISTORY,
     .words = {"call", "sleeper.sleep_ns", "1200000000", NULL},
     .keep = "1s",
     .prepare = make_revisions,
     .check = check_compaction},
    {.name = "first start",
     .folder = NODE_OPERATIONS_NOTHING,
     .way = NODE_OPERATIONS_STARTS,
     .words = {"node", "status", NULL},
     .check = check_start,
     .warden = true},
    {.name = "start",
     .way = NODE_OPERATIONS_STARTS,
     .words = ADD_MORE,
     .check = check_calls,
     .warden = true},
    {.name = "stop",
     .way = NODE_OPERATIONS_STOPS,
     .prepare = call_slow,
     .check = check_stop,
     .warden = true},
};

const unsigned node_operations_count = sizeof node_operations / sizeof *node_operations;

/* ---- the folders ---- */

static void write_file(const struct node_stage *stage, const char *name, const char *text,
                       char path[NODE_PROCESS_PATH])
{
    FILE *file;

    node_stage_path(stage, name, path);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void type(struct node_stage *stage, const char *const *words)
{
    if (node_stage_type(stage, words) != 0)
        fail_msg("%s %s: %s", words[0], words[1], node_stage_said(stage));
}

static void keep(struct node_stage *stage, enum node_operations_folder folder)
{
    const char *wrong = node_stage_end(stage);

    if (wrong)
        fail_msg("%s", wrong);
    node_stage_keep(stage, (unsigned)folder);
}

static void make_pools(struct node_stage *stage)
{
    char path[NODE_PROCESS_PATH];
    uint64_t total = 0;

    node_stage_begin(stage);
    write_file(stage, "pools.yaml", pools, path);
    type(stage, (const char *const[]){"apply", "-f", path, NULL});
    assert_null(node_stage_call(stage, &(struct node_stage_call){"tally", ADD, 1, FIRST}, &total));
    keep(stage, NODE_OPERATIONS_POOLS);
    node_stage_begin(stage);
    type(stage, (const char *const[]){"module", "push", MODULE("ledger"), NULL});
    keep(stage, NODE_OPERATIONS_MODULE);
}

static bool is_quarantined(struct node_stage *stage)
{
    const struct rapahub_string name = rapahub_string_of("shy");
    uint64_t until_ns = hub_clock_after(2 * HUB_SECOND);
    char pool[NODE_STAGE_DOCUMENT] = "";

    while (!strstr(pool, "\"QUARANTINED\"") && hub_clock_left(until_ns) > 0)
        assert_null(node_stage_ask(stage, "pool(string) -> string",
                                   (const void *const[]){&name, NULL}, pool));
    return strstr(pool, "\"QUARANTINED\"") != NULL;
}

/* A guest that is killed may be the one that has looked at the module, and is about to end. */
static void quarantine(struct node_stage *stage)
{
    for (unsigned i = 0; i == 0 || !is_quarantined(stage); i++) {
        assert_true(i < 30);
        (void)node_process_kill_guest(&stage->node, 0);
    }
}

static void make_quarantine(struct node_stage *stage)
{
    char path[NODE_PROCESS_PATH], flag[NODE_PROCESS_PATH], text[2048];

    node_stage_path(stage, "flag", flag);
    snprintf(text, sizeof text, shy, flag);
    write_file(stage, "shy.yaml", text, path);
    node_stage_restore(stage, UINT32_MAX);
    node_stage_begin(stage);
    type(stage, (const char *const[]){"apply", "-f", path, NULL});
    write_file(stage, "flag", "", flag);
    quarantine(stage);
    keep(stage, NODE_OPERATIONS_QUARANTINED);
    assert_int_equal(unlink(flag), 0);
}

static void make_history(struct node_stage *stage)
{
    char path[NODE_PROCESS_PATH];

    write_file(stage, "sleeper.yaml", sleeper, path);
    node_stage_restore(stage, NODE_OPERATIONS_POOLS);
    node_stage_begin(stage);
    type(stage, (const char *const[]){"apply", "-f", path, NULL});
    for (unsigned i = 0; i < HISTORY; i++)
        assert_null(make_revisions(stage));
    keep(stage, NODE_OPERATIONS_HISTORY);
}

void node_operations_begin(struct node_stage *stage)
{
    write_file(stage, "fresh.yaml", fresh, fresh_path);
    node_stage_restore(stage, UINT32_MAX);
    make_pools(stage);
    make_quarantine(stage);
    make_history(stage);
}
