/* SPDX-License-Identifier: Apache-2.0 */
/* client_stage: a fake node on a thread, a client of it, and calls that echo. */
#ifndef TESTS_UNIT_CLUSTER_CLIENT_CLIENT_STAGE_H
#define TESTS_UNIT_CLUSTER_CLIENT_CLIENT_STAGE_H

#include <rapahub/client.h>

#include "tests/support/pause.h"
#include "tests/support/testing.h"
#include "tests/unit/cluster-client/fake_node.h"

#define STAGE      __attribute__((unused)) static
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SOON_MS    30000

struct stage {
    char folder[64], path[96], address[104];
    const char *nodes[2];
    struct fake_node node;
    bool runs;
    struct rapahub_client *client;
};

STAGE struct rapahub_client *open_client(struct stage *stage, uint64_t retry_ns)
{
    const struct rapahub_client_options options = {.nodes = stage->nodes,
                                                   .wait_ns = 20 * HUB_SECOND,
                                                   .retry_ns = retry_ns,
                                                   .call_timeout_ns = 100 * HUB_SECOND};
    struct rapahub_client *client = NULL;

    assert_int_equal(rapahub_client_open(&options, &client), 0);
    return client;
}

STAGE void start_node(struct stage *stage, uint64_t session)
{
    fake_start(&stage->node, stage->path, session);
    stage->runs = true;
}

STAGE void stop_node(struct stage *stage)
{
    fake_stop(&stage->node);
    stage->runs = false;
}

STAGE int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    snprintf(stage->folder, sizeof stage->folder, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->path, sizeof stage->path, "%s/node.node", stage->folder);
    snprintf(stage->address, sizeof stage->address, "unix:%s", stage->path);
    stage->nodes[0] = stage->address;
    start_node(stage, 50);
    stage->client = open_client(stage, 60 * HUB_SECOND);
    *state = stage;
    return 0;
}

STAGE int tear_down(void **state)
{
    struct stage *stage = *state;

    rapahub_client_close(stage->client);
    if (stage->runs)
        fake_stop(&stage->node);
    rmdir(stage->folder);
    free(stage);
    return 0;
}

STAGE struct rapahub_call call_of(const char *method, const struct rapahub_bytes *argument,
                                  const void *arguments[2])
{
    arguments[0] = argument;
    arguments[1] = NULL;
    return (struct rapahub_call){
        .target = FAKE_TARGET, .method = method, .arguments = argument ? arguments : NULL};
}

STAGE int call_bytes(struct rapahub_client *client, const char *method, const void *bytes,
                     size_t size, struct rapahub_bytes *result)
{
    const struct rapahub_bytes argument = {bytes, size};
    const void *arguments[2];
    const struct rapahub_call call = call_of(method, &argument, arguments);

    return rapahub_client_call(client, &call, result);
}

/* The end of an asynchronous call. */
struct ending {
    struct hub_a32 times;
    int status;
    char bytes[64], text[128];
    size_t size;
};

STAGE void on_done(void *user, int status, const void *result)
{
    struct ending *ending = user;
    const struct rapahub_bytes *bytes = result;

    ending->status = status;
    if (status < 0) {
        snprintf(ending->text, sizeof ending->text, "%s", rapahub_last_error()->text);
    } else if (bytes) {
        ending->size = bytes->size;
        memcpy(ending->bytes, bytes->data, bytes->size < 64 ? bytes->size : 64);
    }
    hub_add(&ending->times, 1);
}

STAGE int begin(struct rapahub_client *client, const char *method, uint64_t timeout_ns,
                struct ending *ending, struct rapahub_request_id *out)
{
    const struct rapahub_bytes argument = {"abc", 3};
    const void *arguments[2];
    struct rapahub_call call = call_of(method, strstr(method, "()") ? NULL : &argument, arguments);

    call.timeout_ns = timeout_ns;
    return rapahub_client_call_async(client, &call, on_done, ending, out);
}

STAGE bool ends(struct ending *ending, unsigned within_ms)
{
    for (unsigned i = 0; i < within_ms && hub_observe(&ending->times) == 0; i++)
        pause_ms(1);
    return hub_observe(&ending->times) == 1;
}

STAGE void wait_begun(struct stage *stage, uint32_t begun)
{
    for (unsigned i = 0; i < SOON_MS && hub_observe(&stage->node.begun) < begun; i++)
        pause_ms(1);
    assert_int_equal(hub_observe(&stage->node.begun), begun);
}

STAGE void cancel_and_wait(struct stage *stage, struct rapahub_request_id id, struct ending *ending)
{
    rapahub_client_cancel(stage->client, id);
    assert_true(ends(ending, SOON_MS));
}

STAGE void node_has(struct stage *stage, uint32_t calls)
{
    for (unsigned i = 0; i < SOON_MS && hub_observe(&stage->node.calls) != calls; i++)
        pause_ms(1);
    assert_int_equal(hub_observe(&stage->node.calls), calls);
}

#endif
