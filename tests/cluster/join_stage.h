/* SPDX-License-Identifier: Apache-2.0 */
/* join_stage: the first node of a cluster, which listens at a port of this machine, and the words
 * by which another one joins it. */
#ifndef TESTS_CLUSTER_JOIN_STAGE_H
#define TESTS_CLUSTER_JOIN_STAGE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cluster/network_stage.h"

#define JOIN_WORDS_MAX 20
#define JOIN_TOKEN     64
#define JOIN_HASH      65

struct join_stage {
    struct node_process first; /* its address is that of its Unix socket */
    char option[64], address[64];
    char token[JOIN_TOKEN], hash[JOIN_HASH];
    char data[NODE_PROCESS_PATH + 16]; /* of a node that joins */
    struct process_result result;      /* of the last command */
};

NETWORK void join_says(const struct join_stage *stage, const char *text)
{
    if (!strstr(stage->result.err, text) && !strstr(stage->result.out, text))
        fail_msg("no '%s' in: %s%s", text, stage->result.out, stage->result.err);
}

/* A command without --node. */
NETWORK int join_run(struct join_stage *stage, const char *const argv[])
{
    const struct process_options options = {.argv = argv, .within_ns = UINT64_C(60000000000)};

    process_result_fini(&stage->result);
    assert_int_equal(process_run(&options, &stage->result), 0);
    return stage->result.status;
}

/* A command to the first node. */
NETWORK int join_ask(struct join_stage *stage, const char *const words[])
{
    process_result_fini(&stage->result);
    return node_process_rapahub(&stage->first, words, &stage->result);
}
#define JOIN_ASK(stage, ...) join_ask((stage), (const char *const[]){__VA_ARGS__, NULL})

/* Makes a token for so many nodes. */
NETWORK void join_make_token(struct join_stage *stage, const char *uses)
{
    assert_int_equal(JOIN_ASK(stage, "token", "create", "--uses", uses), 0);
    assert_int_equal(sscanf(stage->result.out, "%63s", stage->token), 1);
}

/* Types `rapahub node join`; each of the words may be another one than that of the stage. */
struct join_words {
    const char *address, *token, *hash, *data, *name;
};
NETWORK int join_type(struct join_stage *stage, const struct join_words *words)
{
    const char *argv[] = {PROCESS_RAPAHUB,
                          "node",
                          "join",
                          words->address ? words->address : stage->address,
                          "--token",
                          words->token ? words->token : stage->token,
                          "--ca-hash",
                          words->hash ? words->hash : stage->hash,
                          "--data",
                          words->data ? words->data : stage->data,
                          words->name ? "--name" : NULL,
                          words->name,
                          NULL};

    return join_run(stage, argv);
}

NETWORK void join_await(const struct node_process *node)
{
    static const char *const words[] = {"node", "status", NULL};
    struct process_result result;
    int status = -1;

    for (int ms = 0; ms < 30000 && status != 0; ms += 10) {
        status = node_process_rapahub(node, words, &result);
        process_result_fini(&result);
        if (status != 0)
            pause_ms(10);
    }
    assert_int_equal(status, 0);
}

static const char *join_metastore; /* URL of the first node's; NULL: in its folder */

NETWORK int join_begin(void **state)
{
    struct join_stage *stage = calloc(1, sizeof *stage);
    char data[NODE_PROCESS_PATH + 8];
    uint16_t port = network_free_port();

    assert_non_null(stage);
    node_process_open(&stage->first);
    snprintf(data, sizeof data, "%s/data", stage->first.folder);
    snprintf(stage->data, sizeof stage->data, "%s/joins", stage->first.folder);
    assert_int_equal(join_run(stage, (const char *const[]){PROCESS_RAPAHUB, "node", "init", data,
                                                           join_metastore ? "--metastore" : NULL,
                                                           join_metastore, NULL}),
                     0);
    assert_non_null(strstr(stage->result.out, "ca_hash  "));
    assert_int_equal(sscanf(strstr(stage->result.out, "ca_hash  "), "ca_hash %64s", stage->hash),
                     1);
    snprintf(stage->address, sizeof stage->address, "127.0.0.1:%u", port);
    snprintf(stage->option, sizeof stage->option, "--listen=127.0.0.1:%u", port);
    stage->first.option = stage->option;
    node_process_begin(&stage->first);
    join_await(&stage->first);
    join_make_token(stage, "1");
    *state = stage;
    return 0;
}

NETWORK int join_end(void **state)
{
    struct join_stage *stage = *state;

    process_result_fini(&stage->result);
    node_process_close(&stage->first);
    free(stage);
    return 0;
}

#endif
