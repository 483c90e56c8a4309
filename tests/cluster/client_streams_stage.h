/* SPDX-License-Identifier: Apache-2.0 */
/* client_streams_stage: a node with a pool of the chimod codec, and calls that give it streams. */
#ifndef TESTS_CLUSTER_CLIENT_STREAMS_STAGE_H
#define TESTS_CLUSTER_CLIENT_STREAMS_STAGE_H

#include <stdlib.h>

#include <rapahub/client.h>
#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/cluster/network_stage.h"
#include "tests/support/testing.h"

#define STAGE   __attribute__((unused)) static
#define SECOND  UINT64_C(1000000000)
#define PIECE   ((size_t)64 << 10)
#define BOUNDED ((size_t)16 << 20) /* bytes between the two ends, at most */
#if defined(__SANITIZE_THREAD__)   /* which takes minutes for as much as others take */
#define SIZE ((size_t)24 << 20)
#else
#define SIZE ((size_t)64 << 20)
#endif

static const char pools[] =
    "pools:\n"
    "  - pool_name: pack\n"
    "    module: " TEST_CODEC "\n"
    "    durability: none\n"
    "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n"
    "  - pool_name: pour\n"
    "    module: " TEST_MODULES "/places.so\n"
    "    durability: none\n";

STAGE struct network network;
STAGE uint8_t *plain; /* SIZE bytes that do not get smaller */

/* A client, and the pool. */
struct stage {
    struct rapahub_client *client;
    struct rapahub_container_id target;
};

STAGE void open_stage(struct stage *stage, const char *address)
{
    const char *const nodes[] = {address, NULL};
    const struct rapahub_client_options options = {
        .nodes = nodes, .tls = network.ana, .wait_ns = 30 * SECOND, .call_timeout_ns = 60 * SECOND};

    *stage = (struct stage){.client = NULL};
    assert_int_equal(rapahub_client_open(&options, &stage->client), 0);
    assert_int_equal(rapahub_client_pool(stage->client, "pack", &stage->target.pool), 0);
}

STAGE int call(const struct stage *stage, const char *method, struct rapahub_source *from,
               struct rapahub_sink *to, uint64_t timeout_ns)
{
    const struct rapahub_call call = {.target = stage->target,
                                      .method = method,
                                      .arguments = (const void *const[]){&from, &to, NULL},
                                      .timeout_ns = timeout_ns};
    uint64_t written;

    return rapahub_client_call(stage->client, &call, &written);
}

#define COMPRESS   "compress(source, sink) -> u64"
#define DECOMPRESS "decompress(source, sink) -> u64"

STAGE void works(const struct stage *stage, size_t size)
{
    struct rapahub_source *from, *packed_from;
    struct rapahub_sink *packed, *back;
    size_t packed_size, back_size;
    const void *data;

    assert_int_equal(rapahub_source_of_memory(plain, size, &from), 0);
    assert_int_equal(rapahub_sink_of_memory(2 * size + 1024, &packed), 0);
    assert_int_equal(call(stage, COMPRESS, from, packed, 0), 0);
    data = rapahub_sink_data(packed, &packed_size);
    assert_true(packed_size > 0);
    assert_int_equal(rapahub_source_of_memory(data, packed_size, &packed_from), 0);
    assert_int_equal(rapahub_sink_of_memory(size, &back), 0);
    assert_int_equal(call(stage, DECOMPRESS, packed_from, back, 0), 0);
    data = rapahub_sink_data(back, &back_size);
    assert_int_equal(back_size, size);
    assert_true(size == 0 || memcmp(data, plain, size) == 0);
    rapahub_source_destroy(from);
    rapahub_source_destroy(packed_from);
    rapahub_sink_destroy(packed);
    rapahub_sink_destroy(back);
}

STAGE int set_up(void **state)
{
    struct hub_random random;

    (void)state;
    plain = malloc(SIZE);
    assert_non_null(plain);
    hub_random_init(&random, 1);
    for (size_t i = 0; i + 8 <= SIZE; i += 8) {
        uint64_t word = hub_random_next(&random);

        memcpy(plain + i, &word, sizeof word);
    }
    network_open(&network);
    node_process_apply(&network.node, pools);
    return 0;
}

STAGE int tear_down(void **state)
{
    (void)state;
    network_close(&network);
    free(plain);
    return 0;
}

#endif
