/* SPDX-License-Identifier: Apache-2.0 */
/* shared_stage: a node in this process with a pool of three containers, its clients by shared
 * memory, and threads that call by one of them. */
#ifndef TESTS_CLUSTER_SHARED_STAGE_H
#define TESTS_CLUSTER_SHARED_STAGE_H

#include <rapahub/client.h>

#include "tests/cluster/living.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define CALC       MODULE("calc")
#define THREADS    4u
#define ROUNDS     300u
#define PLACES     LIVING_PLACES

struct stage {
    struct living on;
    struct rapahub_container_id target;
    char address[128];
};

/* ---- a node with a pool ---- */

UNUSED static void apply_calc(struct stage *stage)
{
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec = {.name = rapahub_string_of("store"),
                                     .module = rapahub_string_of("calc"),
                                     .version = rapahub_string_of("0.1.0"),
                                     .digest = {digest, CLUSTER_DIGEST_SIZE},
                                     .containers = 3,
                                     .durability = CLUSTER_DURABILITY_NONE,
                                     .repeat_all = true};
    uint64_t operation = 0;

    assert_done(living_push(&stage->on, CALC, digest));
    assert_done(living_apply(&stage->on, &spec, &operation));
    assert_done(living_wait(&stage->on, operation));
    stage->target.pool = living_pool(&stage->on, "store");
}

UNUSED static int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    living_begin(&stage->on);
    snprintf(stage->address, sizeof stage->address, "unix:%s/node.node", stage->on.run);
    apply_calc(stage);
    *state = stage;
    return 0;
}

UNUSED static int tear_down(void **state)
{
    struct stage *stage = *state;

    living_end(&stage->on);
    free(stage);
    return 0;
}

/* ---- clients ---- */

UNUSED static int try_open(const struct stage *stage, enum rapahub_client_transport transport,
                           struct rapahub_client **out)
{
    const char *const nodes[] = {stage->address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes, .transport = transport};

    return rapahub_client_open(&options, out);
}

UNUSED static struct rapahub_client *open_client(const struct stage *stage,
                                                 enum rapahub_client_transport transport)
{
    struct rapahub_client *client;

    assert_done(try_open(stage, transport, &client));
    return client;
}

UNUSED static int add(struct rapahub_client *client, struct rapahub_container_id target,
                      const struct rapahub_query *query, int64_t number)
{
    const int64_t one = 1;
    const void *const arguments[] = {&number, &one, NULL};
    const struct rapahub_call call = {
        .target = target, .method = "add(i64, i64) -> i64", .arguments = arguments, .query = query};
    int64_t sum = 0;
    int r = rapahub_client_call(client, &call, &sum);

    return r == 0 && sum != number + 1 ? -EDOM : r;
}

UNUSED static int echo(struct rapahub_client *client, struct rapahub_container_id target,
                       size_t size)
{
    char *bytes = malloc(size + 1);
    const struct rapahub_bytes given = {bytes, size};
    const void *const arguments[] = {&given, NULL};
    const struct rapahub_call call = {
        .target = target, .method = "echo(bytes) -> bytes", .arguments = arguments};
    struct rapahub_bytes got = {NULL, 0};
    int r;

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 7);
    r = rapahub_client_call(client, &call, &got);
    if (r == 0 && (got.size != size || (size > 0 && memcmp(got.data, bytes, size) != 0)))
        r = -EDOM;
    free(bytes);
    return r;
}

UNUSED static uint64_t figure(struct stage *stage, const char *name)
{
    char *list = living_list(&stage->on, "status() -> string", NULL), *at;
    uint64_t value = 0;

    assert_non_null(list);
    at = strstr(list, name);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(name), "\":%" SCNu64, &value), 1);
    free(list);
    return value;
}

UNUSED static void await_figure(struct stage *stage, const char *name, uint64_t value)
{
    for (int ms = 0; ms < 10000 && figure(stage, name) != value; ms += 10)
        pause_ms(10);
    assert_int_equal(figure(stage, name), value);
}

UNUSED static void await_transport(const struct rapahub_client *client,
                                   enum rapahub_client_transport transport)
{
    for (int ms = 0; ms < 10000 && rapahub_client_current_transport(client) != transport; ms++)
        pause_ms(1);
    assert_int_equal(rapahub_client_current_transport(client), transport);
}

struct caller {
    pthread_t thread;
    struct rapahub_client *client;
    struct rapahub_container_id target;
    atomic_bool *ends; /* NULL: after ROUNDS */
    unsigned calls;
    int failure;
};

UNUSED static void *call_on(void *user)
{
    struct caller *caller = user;
    unsigned i = 0;

    for (; caller->failure == 0 && (caller->ends ? !*caller->ends : i < ROUNDS); i++)
        caller->failure = i % 3 ? add(caller->client, caller->target, NULL, i)
                                : echo(caller->client, caller->target, i % 2000);
    if (caller->failure < 0)
        print_error("%s\n", rapahub_last_error()->text);
    caller->calls = i;
    return NULL;
}

UNUSED static void begin_callers(struct caller callers[THREADS], const struct stage *stage,
                                 struct rapahub_client *client, atomic_bool *ends)
{
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.client = client, .target = stage->target, .ends = ends};
        callers[i].target.container = i % 3;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_on, &callers[i]), 0);
    }
}

UNUSED static void end_callers(struct caller callers[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].failure, 0);
        assert_true(callers[i].calls > 0);
    }
}

#endif
