/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "tests/unit/cluster-client/client_stage.h"

static void a_call_has_its_result(void **state)
{
    struct stage *stage = *state;
    struct rapahub_bytes result = {NULL, 0};

    assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", "hello", 5, &result), 0);
    assert_int_equal(result.size, 5);
    assert_memory_equal(result.data, "hello", 5);
    assert_int_equal((uintptr_t)result.data % RAPAHUB_BYTES_ALIGN, 0);
    assert_int_equal(call_bytes(stage->client, "late(bytes) -> bytes", "", 0, &result), 0);
    assert_int_equal(result.size, 0);
    assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
}

static void types_may_be_given_beside_the_name(void **state)
{
    struct stage *stage = *state;
    const struct rapahub_bytes argument = {"abc", 3};
    const void *const arguments[] = {&argument, NULL};
    static const struct rapahub_type *const types[] = {&rapahub_type_bytes, &rapahub_type_bytes,
                                                       NULL};
    struct rapahub_call call = {
        .target = FAKE_TARGET, .method = "echo", .types = types, .arguments = arguments};
    struct rapahub_bytes result;

    assert_int_equal(rapahub_client_call(stage->client, &call, &result), 0);
    assert_int_equal(result.size, 3);
    call.types = NULL;
    assert_int_equal(rapahub_client_call(stage->client, &call, &result), RAPAHUB_EINVAL);
}

static void large_calls_get_through(void **state)
{
    struct stage *stage = *state;
    const size_t size = 9u << 20; /* more than the credit */
    uint8_t *large = malloc(size);
    struct rapahub_bytes result;

    for (size_t i = 0; i < size; i++)
        large[i] = (uint8_t)(i * 7 + i / 300);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            call_bytes(stage->client, "echo(bytes) -> bytes", large, size - i, &result), 0);
        assert_int_equal(result.size, size - i);
        assert_memory_equal(result.data, large, size - i);
    }
    assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", large, size, NULL), 0);
    free(large);
}

static void what_is_too_large_is_refused(void **state)
{
    struct stage *stage = *state;
    const size_t size = (64u << 20) + 1;
    uint8_t *large = calloc(1, size);

    assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", large, size, NULL),
                     RAPAHUB_EMSGSIZE);
    free(large);
}

static void failures_come_with_their_text(void **state)
{
    struct stage *stage = *state;
    struct rapahub_call call = {.target = FAKE_TARGET, .method = "fail()"};

    assert_int_equal(rapahub_client_call(stage->client, &call, NULL), RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_last_error()->application, 42);
    assert_string_equal(rapahub_last_error()->text, "no luck");
    call.method = "other()";
    assert_int_equal(rapahub_client_call(stage->client, &call, NULL), RAPAHUB_ENOMETHOD);
    assert_string_equal(rapahub_last_error()->text, "the fake has no such method");
    call.target.pool.minor = 8;
    assert_int_equal(rapahub_client_call(stage->client, &call, NULL), RAPAHUB_ENOPOOL);
}

static int refused(struct stage *stage, struct rapahub_call call)
{
    uint32_t before = hub_observe(&stage->node.begun);
    int r = rapahub_client_call(stage->client, &call, NULL);

    assert_int_equal(hub_observe(&stage->node.begun), before);
    return r;
}

static void bad_calls_are_refused_before_they_are_sent(void **state)
{
    struct stage *stage = *state;
    struct rapahub_loan loan = {.data = NULL};
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_RANGE, .offset = 1};
    struct rapahub_call call = {.target = FAKE_TARGET, .method = "fail()"};

    call.target.container = 4096;
    assert_int_equal(refused(stage, call), RAPAHUB_EINVAL);
    call.target = (struct rapahub_container_id){{5, 0}, 0};
    assert_int_equal(refused(stage, call), RAPAHUB_EINVAL);
    call.target = FAKE_TARGET;
    call.method = "echo(bytes) -> bytes";
    assert_int_equal(refused(stage, call), RAPAHUB_EARGUMENTS);
    call.method = "read(source) -> void";
    call.arguments = (const void *const[]){&(struct rapahub_source *){NULL}, NULL};
    assert_int_equal(refused(stage, call), RAPAHUB_EARGUMENTS);
    call.arguments = NULL;
    call.method = "a(b";
    assert_int_equal(refused(stage, call), RAPAHUB_EINVAL);
    call.method = NULL;
    assert_int_equal(refused(stage, call), RAPAHUB_EINVAL);
    call.method = "fail()";
    call.loan = &loan;
    assert_int_equal(refused(stage, call), RAPAHUB_ENOTLOCAL);
    call.loan = NULL;
    call.query = &query;
    assert_int_equal(refused(stage, call), RAPAHUB_EINVAL);
    query = (struct rapahub_query){.mode = (enum rapahub_query_mode)7};
    assert_int_equal(refused(stage, call), RAPAHUB_EINVAL);
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_PHYSICAL};
    assert_int_equal(refused(stage, call), RAPAHUB_EINVAL);
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_DIRECT};
    assert_int_equal(rapahub_client_call(stage->client, &call, NULL), RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_client_call_async(stage->client, &call, NULL, NULL, NULL),
                     RAPAHUB_EINVAL);
}

static void a_pool_is_found_by_its_name(void **state)
{
    struct stage *stage = *state;
    struct rapahub_pool_id pool = {0, 0};

    assert_int_equal(rapahub_client_pool(stage->client, "kv", &pool), 0);
    assert_int_equal(pool.major, 300);
    assert_int_equal(pool.minor, 7);
    assert_int_equal(rapahub_client_pool(stage->client, "kw", &pool), RAPAHUB_ENOPOOL);
    assert_string_equal(rapahub_last_error()->text, "there is no such pool; did you mean 'kv'?");
}

static void asynchronous_calls_end_by_their_callback(void **state)
{
    struct stage *stage = *state;
    static struct ending endings[5000];
    struct rapahub_request_id last = {0}, id;

    memset(endings, 0, sizeof endings);
    for (unsigned i = 0; i < 5000; i++) {
        const char *method = i % 3 ? "echo(bytes) -> bytes" : "late(bytes) -> bytes";

        assert_int_equal(begin(stage->client, method, 0, &endings[i], &id), 0);
        assert_true(id.number > last.number);
        last = id;
    }
    for (unsigned i = 0; i < 5000; i++) {
        assert_true(ends(&endings[i], SOON_MS));
        assert_int_equal(endings[i].status, 0);
        assert_int_equal(endings[i].size, 3);
        assert_memory_equal(endings[i].bytes, "abc", 3);
    }
    assert_int_equal(hub_observe(&stage->node.begun), 5000);
}

/* What a node keeps is let go when the client has it, though an older call is open. */
static void ends_are_acknowledged(void **state)
{
    struct stage *stage = *state;
    struct ending never = {.size = 0};
    struct rapahub_request_id id;

    assert_int_equal(begin(stage->client, "never(bytes) -> bytes", 0, &never, &id), 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
    assert_int_equal(hub_observe64(&stage->node.done_below), id.number);
    node_has(stage, 1);
    cancel_and_wait(stage, id, &never);
    node_has(stage, 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
    assert_true(hub_observe64(&stage->node.done_below) > id.number + 300);
    node_has(stage, 0);
}

/* ---- open ---- */

static void a_node_that_comes_in_time_is_waited_for(void **state)
{
    struct stage *stage = *state;
    const struct rapahub_client_options options = {.nodes = stage->nodes,
                                                   .wait_ns = 40 * HUB_MILLISECOND};
    struct rapahub_client *client = NULL;

    stop_node(stage);
    assert_int_equal(rapahub_client_open(&options, &client), RAPAHUB_ENETTIMEOUT);
    assert_null(client);
    assert_non_null(strstr(rapahub_last_error()->text, "no host listens at"));
    start_node(stage, 60);
    client = open_client(stage, 0);
    rapahub_client_close(client);
}

static void options_that_are_none_are_refused(void **state)
{
    struct stage *stage = *state;
    const char *const wrong[][2] = {{"tcp:x", NULL}, {"unix:", NULL}, {NULL}};
    struct rapahub_client_options options = {.retry_ns = UINT64_C(601) * HUB_SECOND};
    struct rapahub_client *client = NULL;
    char long_path[200] = "unix:";
    const char *const long_paths[] = {long_path, NULL};

    (void)stage;
    assert_int_equal(rapahub_client_open(&options, &client), RAPAHUB_EINVAL);
    options.retry_ns = 0;
    for (unsigned i = 0; i < 3; i++) {
        options.nodes = wrong[i];
        assert_int_equal(rapahub_client_open(&options, &client), RAPAHUB_EINVAL);
    }
    memset(long_path + 5, 'x', 150);
    options.nodes = long_paths;
    assert_int_equal(rapahub_client_open(&options, &client), RAPAHUB_EINVAL);
    assert_null(client);
}

/* r[verify cluster.client.places] */
static void the_node_of_this_user_is_found(void **state)
{
    struct stage *stage = *state;
    const struct rapahub_client_options options = {.wait_ns = 2 * HUB_SECOND};
    struct rapahub_client *client = NULL;
    char folder[100], path[120];
    struct fake_node node;

    snprintf(folder, sizeof folder, "%s/rapahub", stage->folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/node.node", folder);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", stage->folder, 1), 0);
    fake_start(&node, path, 70);
    assert_int_equal(rapahub_client_open(&options, &client), 0);
    assert_int_equal(call_bytes(client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
    assert_int_equal(hub_observe(&node.begun), 1);
    rapahub_client_close(client);
    fake_stop(&node);
    rmdir(folder);
    unsetenv("XDG_RUNTIME_DIR");
}

/* r[verify cluster.client.again] */
static void the_next_node_takes_over(void **state)
{
    struct stage *stage = *state;
    char address[120];
    const char *const nodes[] = {"unix:/nowhere/x.node", stage->address, address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes, .wait_ns = 2 * HUB_SECOND};
    struct rapahub_client *client = NULL;
    struct fake_node other;

    snprintf(address, sizeof address, "unix:%s/b.node", stage->folder);
    fake_start(&other, address + 5, 90);
    assert_int_equal(rapahub_client_open(&options, &client), 0);
    assert_int_equal(call_bytes(client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
    assert_int_equal(hub_observe(&stage->node.begun), 1);
    stop_node(stage);
    assert_int_equal(call_bytes(client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
    assert_int_equal(hub_observe(&other.begun), 1);
    rapahub_client_close(client);
    fake_stop(&other);
}

/* ---- many threads ---- */

struct worker {
    struct stage *stage;
    pthread_t thread;
    unsigned number, wrong;
};

static void *work(void *user)
{
    struct worker *worker = user;

    for (unsigned i = 0; i < 300; i++) {
        char text[32];
        int size = snprintf(text, sizeof text, "%u/%u", worker->number, i);
        struct rapahub_bytes result;
        int r =
            call_bytes(worker->stage->client, "echo(bytes) -> bytes", text, (size_t)size, &result);

        worker->wrong +=
            r != 0 || result.size != (size_t)size || memcmp(result.data, text, result.size) != 0;
    }
    return NULL;
}

static void threads_get_each_its_own_answers(void **state)
{
    struct stage *stage = *state;
    struct worker workers[8];

    for (unsigned i = 0; i < 8; i++) {
        workers[i] = (struct worker){.stage = stage, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_has_its_result),
        TEST(types_may_be_given_beside_the_name),
        TEST(large_calls_get_through),
        TEST(what_is_too_large_is_refused),
        TEST(failures_come_with_their_text),
        TEST(bad_calls_are_refused_before_they_are_sent),
        TEST(a_pool_is_found_by_its_name),
        TEST(asynchronous_calls_end_by_their_callback),
        TEST(ends_are_acknowledged),
        TEST(a_node_that_comes_in_time_is_waited_for),
        TEST(options_that_are_none_are_refused),
        TEST(the_node_of_this_user_is_found),
        TEST(the_next_node_takes_over),
        TEST(threads_get_each_its_own_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
