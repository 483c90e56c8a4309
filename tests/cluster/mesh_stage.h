/* SPDX-License-Identifier: Apache-2.0 */
/* mesh_stage: three nodes of one cluster as real processes: the seat, and two that have joined. */
#ifndef TESTS_CLUSTER_MESH_STAGE_H
#define TESTS_CLUSTER_MESH_STAGE_H

#include "tests/cluster/joined_stage.h"

struct mesh {
    struct joined *joined; /* with nodes 1 and 2 */
    struct node_process third;
    char data[NODE_PROCESS_PATH + 16];
    char option[96];
};

/* Says what the link from a node to another one is, as it tells. */
NETWORK bool mesh_has_link(const struct node_process *node, unsigned to, const char *link)
{
    static const char *const words[] = {"get", "nodes", "--json", NULL};
    struct process_result result;
    char key[32], value[32];
    const char *at = NULL, *end;
    bool found;

    snprintf(key, sizeof key, "\"number\":%u,", to);
    snprintf(value, sizeof value, "\"link\":\"%s\"", link);
    if (node_process_rapahub(node, words, &result) == 0)
        at = strstr(result.out, key);
    end = at ? strchr(at, '}') : NULL;
    at = at ? strstr(at, value) : NULL;
    found = at && end && at < end;
    process_result_fini(&result);
    return found;
}

NETWORK void mesh_await_link(const struct node_process *node, unsigned to, const char *link)
{
    for (unsigned i = 0; i < 1200; i++) {
        if (mesh_has_link(node, to, link))
            return;
        pause_ms(50);
    }
    fail_msg("the link to node %u has not come to be %s", to, link);
}

NETWORK void mesh_push(const struct node_process *node, const char *file)
{
    const char *const words[] = {"module", "push", file, NULL};
    struct process_result result;

    if (node_process_rapahub(node, words, &result) != 0)
        fail_msg("module push: %s", result.err);
    process_result_fini(&result);
}

NETWORK int mesh_begin(void **state)
{
    struct mesh *mesh = calloc(1, sizeof *mesh);
    struct join_words words = {.name = "third"};
    void *joined = NULL;

    assert_non_null(mesh);
    assert_int_equal(joined_begin(&joined), 0);
    mesh->joined = joined;
    join_make_token(mesh->joined->stage, "1");
    node_process_open(&mesh->third);
    snprintf(mesh->data, sizeof mesh->data, "%s/data", mesh->third.folder);
    words.data = mesh->data;
    snprintf(mesh->option, sizeof mesh->option, "--listen=127.0.0.3:%u", network_free_port());
    mesh->third.option = mesh->option;
    if (join_type(mesh->joined->stage, &words) != 0)
        fail_msg("join: %s", mesh->joined->stage->result.err);
    node_process_begin(&mesh->third);
    join_await(&mesh->third);
    *state = mesh;
    return 0;
}

NETWORK int mesh_end(void **state)
{
    struct mesh *mesh = *state;
    void *joined = mesh->joined;

    node_process_close(&mesh->third);
    joined_end(&joined);
    free(mesh);
    return 0;
}

#endif
