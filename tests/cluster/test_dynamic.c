/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that go where the callback `route` of a container says: every mode, every caller, and what
 * a callback can do wrong. */
#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/living.h"
#include "tests/cluster/modules/sorter.h"

#define CONTAINERS 4

static struct living node;
static struct rapahub_pool_id sorter, plain;

static void apply(const char *name, const char *module, const char *path, const char *params)
{
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec = {.name = rapahub_string_of(name),
                                     .module = rapahub_string_of(module),
                                     .version = rapahub_string_of("1.0.0"),
                                     .digest = {digest, CLUSTER_DIGEST_SIZE},
                                     .containers = CONTAINERS,
                                     .durability = CLUSTER_DURABILITY_NONE,
                                     .repeat_all = true,
                                     .params = rapahub_string_of(params)};
    uint64_t operation = 0;

    assert_done(living_push(&node, path, digest));
    assert_done(living_apply(&node, &spec, &operation));
    assert_done(living_wait(&node, operation));
}

static int open_stage(void **state)
{
    (void)state;
    living_begin(&node);
    apply("sorter", "sorter", MODULE("sorter"), node.root);
    apply("plain", "chained", MODULE("chained"), "");
    apply("spread", "spread", TEST_PREFIX "/bin/spread.so", "");
    sorter = living_pool(&node, "sorter");
    plain = living_pool(&node, "plain");
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    living_end(&node);
    return 0;
}

static struct rapahub_call call_of(const struct rapahub_query *query, uint64_t timeout_ns)
{
    return (struct rapahub_call){.target = {sorter, 0},
                                 .method = "where() -> u32",
                                 .query = query,
                                 .timeout_ns = timeout_ns};
}

static int where(uint64_t number, uint64_t timeout_ns, uint32_t *container)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DYNAMIC, .number = number};
    const struct rapahub_call call = call_of(&query, timeout_ns);

    return rapahub_host_call(node.host, &call, container);
}

static void goes_to(uint64_t number, uint32_t expected)
{
    uint32_t container = UINT32_MAX;

    assert_done(where(number, 20 * SECOND, &container));
    assert_int_equal(container, expected);
}

/* ---- answers ---- */

/* r[verify cluster.dynamic.ask] */
static void a_call_goes_where_a_container_says(void **state)
{
    uint32_t container = UINT32_MAX;

    (void)state;
    for (uint32_t i = 0; i < CONTAINERS; i++)
        goes_to(i, i);
    goes_to(SORTER_LAST, CONTAINERS - 1);
    assert_done(where(SORTER_LOCAL, 20 * SECOND, &container));
    assert_true(container < CONTAINERS);
    assert_done(where(SORTER_PHYSICAL, 20 * SECOND, &container));
    assert_true(container < CONTAINERS);
    assert_done(where(SORTER_HASH, 20 * SECOND, &container));
    assert_true(container < CONTAINERS);
}

struct ends {
    unsigned count, mask, failed;
};

static void note_end(void *user, struct rapahub_container_id from, int status, const void *result)
{
    struct ends *ends = user;

    ends->count++;
    ends->mask |= 1u << from.container;
    ends->failed += status < 0 || *(const uint32_t *)result != from.container;
}

/* r[verify cluster.dynamic.ask] */
static void a_container_may_name_several(void **state)
{
    struct ends ends = {0};
    struct rapahub_query query = {
        .mode = RAPAHUB_QUERY_DYNAMIC, .number = SORTER_RANGE, .each = note_end, .user = &ends};
    const struct rapahub_call call = call_of(&query, 20 * SECOND);
    uint32_t container;

    (void)state;
    assert_done(rapahub_host_call(node.host, &call, &container));
    assert_int_equal(ends.count, 2);
    assert_int_equal(ends.mask, 6);
    query.number = SORTER_BROADCAST;
    assert_done(rapahub_host_call(node.host, &call, &container));
    assert_int_equal(ends.count, 2 + CONTAINERS);
    assert_int_equal(ends.failed, 0);
}

struct late {
    atomic_int status; /* 1: not ended */
};

static void note_late(void *user, int status, const void *result)
{
    (void)result;
    atomic_store(&((struct late *)user)->status, status);
}

static void wait_for_file(const char *path)
{
    while (access(path, F_OK) != 0)
        pause_ms(1);
}

/* All containers of the pool are in one guest, whose method waits for another one.
 * r[verify hub.steps.meanwhile] */
static void a_container_is_asked_while_a_method_waits_in_a_call(void **state)
{
    char path[64];
    const uint32_t major = plain.major;
    const struct rapahub_call asks_pid = {
        .target = {plain, 0}, .method = "pid() -> i32", .timeout_ns = 20 * SECOND};
    struct rapahub_string text;
    const struct rapahub_call stalls = {.target = {sorter, 0},
                                        .method = "stall(u32, string)",
                                        .arguments = (const void *const[]){&major, &text, NULL},
                                        .timeout_ns = 30 * SECOND};
    struct late late = {1};
    uint32_t container;
    int32_t pid = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/stalls", node.root);
    text = rapahub_string_of(path);
    assert_done(rapahub_host_call(node.host, &asks_pid, &pid));
    assert_done(rapahub_host_call_async(node.host, &stalls, note_late, &late, NULL));
    wait_for_file(path);
    assert_int_equal(where(CONTAINERS, 15 * SECOND, &container), RAPAHUB_EINVAL);
    assert_int_equal(atomic_load(&late.status), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (atomic_load(&late.status) == 1)
        pause_ms(1);
}

/* r[verify cluster.dynamic.default] */
static void a_chimod_without_the_callback_takes_the_call_itself(void **state)
{
    const uint64_t number = 1;
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DYNAMIC, .number = 99};
    const struct rapahub_call call = {.target = {plain, 0},
                                      .method = "enter(u64)",
                                      .arguments = (const void *const[]){&number, NULL},
                                      .query = &query,
                                      .timeout_ns = 20 * SECOND};

    (void)state;
    assert_done(rapahub_host_call(node.host, &call, NULL));
}

/* r[verify cluster.dynamic.ask] */
static void a_client_calls_so(void **state)
{
    struct ends ends = {0};
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_DYNAMIC, .number = 3};
    struct rapahub_call call = call_of(&query, 20 * SECOND);
    char socket[128];
    const char *const nodes[] = {socket, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};
    struct rapahub_client *client;
    uint32_t container = UINT32_MAX;

    (void)state;
    snprintf(socket, sizeof socket, "unix:%s/node.node", node.run);
    assert_done(rapahub_client_open(&options, &client));
    assert_done(rapahub_client_call(client, &call, &container));
    assert_int_equal(container, 3);
    query = (struct rapahub_query){
        .mode = RAPAHUB_QUERY_DYNAMIC, .number = SORTER_RANGE, .each = note_end, .user = &ends};
    assert_done(rapahub_client_call(client, &call, &container));
    assert_int_equal(ends.mask, 6);
    assert_int_equal(ends.failed, 0);
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_DYNAMIC, .number = SORTER_DYNAMIC};
    assert_int_equal(rapahub_client_call(client, &call, &container), RAPAHUB_EINVAL);
    rapahub_client_close(client);
}

static uint64_t work(uint64_t number)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DYNAMIC, .number = number};
    const uint64_t amount = 1;
    const struct rapahub_call call = {.target = {living_pool(&node, "spread"), 0},
                                      .method = "work(u64) -> u64",
                                      .arguments = (const void *const[]){&amount, NULL},
                                      .query = &query,
                                      .timeout_ns = 20 * SECOND};
    uint64_t done = 0;

    assert_done(rapahub_host_call(node.host, &call, &done));
    return done;
}

/* r[verify cluster.dynamic.ask] */
static void the_example_spreads_calls_over_its_containers(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 2; round++)
        for (uint64_t i = 0; i < CONTAINERS; i++)
            assert_int_equal(work(0), round); /* one after the other */
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(work(7), 2 + i); /* always the same */
}

/* ---- what goes wrong ---- */

static void is_refused(uint64_t number, int status, const char *text)
{
    uint32_t container;

    assert_int_equal(where(number, 20 * SECOND, &container), status);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("'%s' does not say '%s'", rapahub_last_error()->text, text);
    goes_to(2, 2);
}

/* r[verify cluster.dynamic.answer] r[verify hub.route.asked] */
static void an_answer_that_means_no_container_ends_the_call(void **state)
{
    (void)state;
    is_refused(SORTER_DYNAMIC, RAPAHUB_EINVAL, "answers Dynamic");
    is_refused(CONTAINERS, RAPAHUB_EINVAL, "pool sorter has 4");
    is_refused(9999, RAPAHUB_EINVAL, "the callback `route` of container");
    is_refused(SORTER_WRONG, RAPAHUB_EPROTOCOL, "a mode that no query has");
    is_refused(SORTER_FAILS, RAPAHUB_EAPPLICATION, "nobody may go there");
}

/* r[verify cluster.dynamic.ask] */
static void another_container_is_asked_when_a_guest_dies(void **state)
{
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "%s/died", node.root);
    assert_int_not_equal(access(path, F_OK), 0);
    is_refused(SORTER_DIES, RAPAHUB_EINVAL, "pool sorter has 4"); /* it answers with the number */
    assert_int_equal(access(path, F_OK), 0);
}

/* r[verify cluster.dynamic.ask] */
static void a_callback_that_hangs_ends_the_call_at_its_deadline(void **state)
{
    uint32_t container;

    (void)state;
    assert_int_equal(where(SORTER_HANGS, SECOND / 4, &container), RAPAHUB_ETIMEDOUT);
    goes_to(1, 1);
}

/* It does not run when the container has answered after all.
 * r[verify cluster.dynamic.ask] */
static void a_call_is_cancelled_while_a_container_is_asked(void **state)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DYNAMIC, .number = SORTER_HANGS};
    struct rapahub_call call = call_of(&query, 20 * SECOND);
    struct late late = {1};
    struct rapahub_request_id request;
    char hung[64], marked[64];

    (void)state;
    snprintf(hung, sizeof hung, "%s/hung", node.root);
    snprintf(marked, sizeof marked, "%s/marked", node.root);
    (void)unlink(hung);
    call.method = "mark()";
    assert_done(rapahub_host_call_async(node.host, &call, note_late, &late, &request));
    wait_for_file(hung);
    rapahub_host_cancel(node.host, request);
    while (atomic_load(&late.status) == 1)
        pause_ms(1);
    assert_int_equal(atomic_load(&late.status), RAPAHUB_ECANCELED);
    goes_to(1, 1);
    goes_to(1, 1);
    assert_int_equal(access(marked, F_OK), -1);
    late.status = 1; /* it would have left its file, if it had not been cancelled */
    assert_done(rapahub_host_call_async(node.host, &call, note_late, &late, &request));
    while (atomic_load(&late.status) == 1)
        pause_ms(1);
    assert_int_equal(atomic_load(&late.status), 0);
    assert_int_equal(access(marked, F_OK), 0);
}

/* r[verify cluster.dynamic.ask] */
static void a_pool_that_is_not_there_is_refused(void **state)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DYNAMIC};
    struct rapahub_call call = call_of(&query, 20 * SECOND);
    uint32_t container;

    (void)state;
    call.target.pool = (struct rapahub_pool_id){300, 1};
    assert_int_equal(rapahub_host_call(node.host, &call, &container), RAPAHUB_ENOPOOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_goes_where_a_container_says),
        cmocka_unit_test(a_container_may_name_several),
        cmocka_unit_test(a_container_is_asked_while_a_method_waits_in_a_call),
        cmocka_unit_test(a_chimod_without_the_callback_takes_the_call_itself),
        cmocka_unit_test(a_client_calls_so),
        cmocka_unit_test(the_example_spreads_calls_over_its_containers),
        cmocka_unit_test(an_answer_that_means_no_container_ends_the_call),
        cmocka_unit_test(another_container_is_asked_when_a_guest_dies),
        cmocka_unit_test(a_callback_that_hangs_ends_the_call_at_its_deadline),
        cmocka_unit_test(a_call_is_cancelled_while_a_container_is_asked),
        cmocka_unit_test(a_pool_that_is_not_there_is_refused)};

    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
