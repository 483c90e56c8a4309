/* SPDX-License-Identifier: Apache-2.0 */
/* joined_stage: two nodes of one cluster as real processes: the seat, and a node that has joined.
 */
#ifndef TESTS_CLUSTER_JOINED_STAGE_H
#define TESTS_CLUSTER_JOINED_STAGE_H

#include <signal.h>

#include "tests/cluster/join_stage.h"

struct joined {
    struct join_stage *stage;
    struct node_process second;
    char data[NODE_PROCESS_PATH + 16];
    char option[96], address[64]; /* of the second, which listens */
};

/* ---- what the nodes say ---- */

/* Says whether the command has printed the text. */
NETWORK bool joined_says(const struct node_process *node, const char *const words[],
                         const char *text)
{
    struct process_result result;
    bool found = node_process_rapahub(node, words, &result) == 0 && strstr(result.out, text);

    process_result_fini(&result);
    return found;
}

/* Asks until the answer has the text. */
NETWORK void joined_await(const struct node_process *node, const char *const words[],
                          const char *text)
{
    bool found = false;

    for (unsigned i = 0; i < 600 && !found; i++) {
        found = joined_says(node, words, text);
        if (!found)
            pause_ms(50);
    }
    if (!found)
        fail_msg("'%s %s' has not come to say '%s'", words[0], words[1], text);
}
#define AWAIT(node, text, ...) \
    joined_await((node), (const char *const[]){__VA_ARGS__, NULL}, (text))

NETWORK uint32_t joined_boot_of(const struct node_process *node)
{
    static const char *const words[] = {"node", "status", NULL};
    struct process_result result;
    unsigned boot = 0;
    const char *at;

    assert_int_equal(node_process_rapahub(node, words, &result), 0);
    at = strstr(result.out, "\nboot ");
    if (at)
        boot = (unsigned)strtoul(at + 6, NULL, 10);
    process_result_fini(&result);
    return boot;
}

/* A command to a node that fails: its status, and what it must say. */
NETWORK void joined_refuses(const struct node_process *node, const char *const words[], int status,
                            const char *text)
{
    struct process_result result;

    assert_int_equal(node_process_rapahub(node, words, &result), status);
    if (!strstr(result.err, text))
        fail_msg("no '%s' in: %s", text, result.err);
    process_result_fini(&result);
}

/* ---- the stage ---- */

NETWORK int joined_begin(void **state)
{
    struct joined *joined = calloc(1, sizeof *joined);
    struct join_words words = {.name = "second"};
    void *stage = NULL;

    assert_non_null(joined);
    assert_int_equal(join_begin(&stage), 0);
    joined->stage = stage;
    node_process_open(&joined->second);
    snprintf(joined->data, sizeof joined->data, "%s/data", joined->second.folder);
    words.data = joined->data;
    snprintf(joined->address, sizeof joined->address, "127.0.0.1:%u", network_free_port());
    snprintf(joined->option, sizeof joined->option, "--listen=%s", joined->address);
    joined->second.option = joined->option;
    if (join_type(joined->stage, &words) != 0)
        fail_msg("join: %s", joined->stage->result.err);
    node_process_begin(&joined->second);
    join_await(&joined->second);
    *state = joined;
    return 0;
}

NETWORK int joined_end(void **state)
{
    struct joined *joined = *state;
    void *stage = joined->stage;

    node_process_close(&joined->second);
    join_end(&stage);
    free(joined);
    return 0;
}

NETWORK void joined_kill(const struct node_process *node)
{
    pid_t daemon = node_process_daemon(node);

    assert_true(daemon > 0);
    assert_int_equal(kill(daemon, SIGKILL), 0);
}

/* ---- calls ---- */

/* Adds 1 to the total of a container, and returns it. */
NETWORK long joined_add(const struct node_process *node, const char *target)
{
    const char *const words[] = {"call", target, "1", "--timeout", "20s", NULL};
    struct process_result result;
    long total;

    if (node_process_rapahub(node, words, &result) != 0)
        fail_msg("call %s: %s", target, result.err);
    total = strtol(result.out, NULL, 10);
    process_result_fini(&result);
    return total;
}

#endif
