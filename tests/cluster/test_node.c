/* SPDX-License-Identifier: Apache-2.0 */
/* A node from its first start on: a pool is applied, called, outlives its guest and the node, and
 * is deleted. */
#include "hub/base/clock.h"
#include "tests/cluster/living.h"

static struct cluster_pool_spec kv_spec(const uint8_t digest[CLUSTER_DIGEST_SIZE],
                                        uint32_t containers)
{
    return (struct cluster_pool_spec){.name = rapahub_string_of("store"),
                                      .module = rapahub_string_of("kv"),
                                      .version = rapahub_string_of("1.0.0"),
                                      .digest = {digest, CLUSTER_DIGEST_SIZE},
                                      .containers = containers,
                                      .durability = CLUSTER_DURABILITY_NONE,
                                      .repeat_all = true,
                                      .params = rapahub_string_of("dir={folder}")};
}

static void apply_kv(struct living *on, uint32_t containers)
{
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec;
    uint64_t operation = 0;

    assert_done(living_push(on, KV, digest));
    spec = kv_spec(digest, containers);
    assert_done(living_apply(on, &spec, &operation));
    assert_true(operation != 0);
    assert_done(living_wait(on, operation));
}

static int put(struct living *on, struct rapahub_container_id target,
               const struct rapahub_query *query, const char *key, const char *value)
{
    const struct rapahub_string k = rapahub_string_of(key);
    const struct rapahub_bytes v = {value, strlen(value)};
    const struct rapahub_call call = {.target = target,
                                      .method = "put(string, bytes)",
                                      .arguments = (const void *const[]){&k, &v, NULL},
                                      .query = query,
                                      .timeout_ns = 20 * SECOND};

    return rapahub_host_call(on->host, &call, NULL);
}

static int count(struct living *on, struct rapahub_container_id target,
                 const struct rapahub_query *query, uint64_t *out)
{
    const struct rapahub_call call = {
        .target = target, .method = "count() -> u64", .query = query, .timeout_ns = 20 * SECOND};

    return rapahub_host_call(on->host, &call, out);
}

/* ---- one pool ---- */

/* r[verify cluster.node.removed] */
static void a_pool_is_applied_called_and_deleted(void **state)
{
    struct living on;
    struct rapahub_container_id target = {.container = 0};
    uint64_t number = 0;

    (void)state;
    living_begin(&on);
    apply_kv(&on, 1);
    target.pool = living_pool(&on, "store");
    assert_done(put(&on, target, NULL, "a", "1"));
    assert_done(count(&on, target, NULL, &number));
    assert_int_equal(number, 1);
    assert_int_equal(on.came, 1);
    assert_done(living_delete(&on, "store"));
    assert_int_equal(on.left, 1);
    assert_true(count(&on, target, NULL, &number) < 0);
    living_end(&on);
}

struct ends {
    unsigned count, failed;
    uint64_t sum;
};

static void on_each(void *user, struct rapahub_container_id from, int status, const void *result)
{
    struct ends *ends = user;

    (void)from;
    ends->count++;
    ends->failed += status < 0;
    if (status == 0)
        ends->sum += *(const uint64_t *)result;
}

/* r[verify cluster.node.calls] */
static void a_query_of_each_mode_reaches_its_containers(void **state)
{
    struct living on;
    struct rapahub_container_id target = {.container = 2};
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT};
    struct ends ends = {0};
    uint64_t number = 0;

    (void)state;
    living_begin(&on);
    apply_kv(&on, 4);
    target.pool = living_pool(&on, "store");
    assert_done(put(&on, target, &query, "a", "1"));
    assert_done(put(&on, target, NULL, "b", "2"));
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_HASH, .number = 4096 * 5 + 2};
    assert_done(count(&on, target, &query, &number));
    assert_int_equal(number, 2);
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_LOCAL};
    assert_done(count(&on, target, &query, &number));
    assert_int_equal(number, 0); /* the least that serves: container 0 */
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_PHYSICAL, .number = 1};
    assert_done(count(&on, target, &query, &number));
    assert_int_equal(number, 0);
    query = (struct rapahub_query){
        .mode = RAPAHUB_QUERY_RANGE, .offset = 1, .count = 2, .each = on_each, .user = &ends};
    assert_done(count(&on, target, &query, &number));
    assert_true(ends.count == 2 && ends.sum == 2 && ends.failed == 0);
    ends = (struct ends){0};
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_BROADCAST, .each = on_each, .user = &ends};
    assert_done(count(&on, target, &query, &number));
    assert_true(ends.count == 4 && ends.sum == 2 && ends.failed == 0);
    living_end(&on);
}

static void a_query_for_nothing_is_refused(void **state)
{
    struct living on;
    struct rapahub_container_id target = {.container = 0};
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_PHYSICAL, .number = 2};
    const struct rapahub_call unknown = {.target = {.pool = {256, 0}},
                                         .method = "no_such_method() -> u64",
                                         .query = &query,
                                         .timeout_ns = SECOND};
    uint64_t number = 0;

    (void)state;
    living_begin(&on);
    apply_kv(&on, 1);
    target.pool = living_pool(&on, "store");
    assert_int_equal(count(&on, target, &query, &number), RAPAHUB_ENOTLOCAL);
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_RANGE, .offset = 0, .count = 2};
    assert_int_equal(count(&on, target, &query, &number), RAPAHUB_EINVAL);
    query = (struct rapahub_query){.mode = RAPAHUB_QUERY_LOCAL};
    assert_int_equal(rapahub_host_call(on.host, &unknown, &number), RAPAHUB_ENOMETHOD);
    target.pool.major = 4711;
    assert_int_equal(count(&on, target, &query, &number), RAPAHUB_ENOPOOL);
    living_end(&on);
}

/* ---- deaths ---- */

/* r[verify cluster.node.begins] */
static void a_guest_that_was_killed_comes_back_and_the_next_call_is_answered(void **state)
{
    struct living on;
    struct rapahub_container_id target = {.container = 0};
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_LOCAL};
    uint64_t number = 0;

    (void)state;
    living_begin(&on);
    apply_kv(&on, 3);
    target.pool = living_pool(&on, "store");
    assert_done(put(&on, target, NULL, "a", "1"));
    for (unsigned round = 0; round < 3; round++) {
        living_kill(&on);
        assert_done(count(&on, target, round == 1 ? NULL : &query, &number));
        assert_int_equal(number, 1); /* kv has its files in its folder */
    }
    living_end(&on);
}

/* r[verify cluster.node.begins] */
static void a_node_that_is_opened_again_has_its_pools(void **state)
{
    struct living on;
    struct rapahub_container_id target = {.container = 0};
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT};
    uint64_t number = 0;

    (void)state;
    living_begin(&on);
    apply_kv(&on, 3);
    target.pool = living_pool(&on, "store");
    assert_done(put(&on, target, NULL, "a", "1"));
    for (unsigned round = 0; round < 4; round++) {
        living_stop(&on, round % 2 == 1);
        living_start(&on);
        assert_done(count(&on, target, &query, &number));
        assert_int_equal(number, 1);
    }
    assert_done(living_delete(&on, "store"));
    living_stop(&on, true);
    living_start(&on);
    assert_true(count(&on, target, &query, &number) < 0);
    living_end(&on);
}

/* A program without a thread for its host. r[verify cluster.node.turns] */
static void the_owner_of_the_host_calls_by_itself(void **state)
{
    struct living on;
    struct rapahub_container_id target = {.container = 2};
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_HASH, .number = 2};
    uint64_t number = 0;

    (void)state;
    living_begin(&on);
    apply_kv(&on, 3);
    target.pool = living_pool(&on, "store");
    living_stop(&on, true);
    atomic_store(&on.came, 0);
    assert_done(living_open(&on));
    while (atomic_load(&on.came) < 3)
        assert_done(living_turn(&on));
    assert_done(put(&on, target, NULL, "a", "1"));
    assert_done(count(&on, target, &query, &number));
    assert_int_equal(number, 1);
    rapahub_node_close(on.node);
    rapahub_host_destroy(on.host);
    living_start(&on);
    living_end(&on);
}

/* ---- begins that fail ---- */

static struct cluster_pool_spec store_of(const uint8_t digest[CLUSTER_DIGEST_SIZE],
                                         const char *module, const char *version)
{
    return (struct cluster_pool_spec){.name = rapahub_string_of("store"),
                                      .module = rapahub_string_of(module),
                                      .version = rapahub_string_of(version),
                                      .digest = {digest, CLUSTER_DIGEST_SIZE},
                                      .containers = 1,
                                      .durability = CLUSTER_DURABILITY_NONE,
                                      .repeat_all = true};
}

static int apply_and_wait(struct living *on, const struct cluster_pool_spec *spec)
{
    uint64_t operation = 0;
    int r = living_apply(on, spec, &operation);

    return r == 0 ? living_wait(on, operation) : r;
}

/* r[verify cluster.node.removed] */
static void nothing_stays_of_a_pool_whose_containers_do_not_begin(void **state)
{
    static const char *const bad[] = {"fail", "die", "hang"};
    static const char *const causes[] = {"does not want", "SIGKILL", ""};
    /* a container that hangs is found out by its guest's supervisor */
    const struct cluster_pool_option stall = {.key = rapahub_string_of("stall"),
                                              .number = SECOND / 4};
    struct living on;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec;

    (void)state;
    living_begin(&on);
    assert_done(living_push(&on, MODULE("stubborn"), digest));
    spec = store_of(digest, "stubborn", "1.0.0");
    spec.options = (struct cluster_list){.of = &stall, .count = 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spec.params = rapahub_string_of(bad[i]);
        assert_true(apply_and_wait(&on, &spec) < 0);
        assert_non_null(strstr(rapahub_last_error()->text, causes[i]));
    }
    spec.params = rapahub_string_of("well");
    assert_done(apply_and_wait(&on, &spec));
    living_end(&on);
}

static bool has(struct living *on, const char *word)
{
    const struct rapahub_string name = rapahub_string_of("store");
    char *list = living_list(on, "pool(string) -> string", (const void *const[]){&name, NULL});
    bool found = list && strstr(list, word);

    free(list);
    return found;
}

/* In a node that turns only when its descriptors say so. */
static void release_at_once(struct living *on)
{
    const struct rapahub_string name = rapahub_string_of("store");
    const uint32_t first = 0;
    uint64_t operation = 0, begun_ns = hub_clock_now();

    atomic_store(&on->waits, true);
    assert_done(living_ask(on, "release(string, u32) -> u64",
                           (const void *const[]){&name, &first, NULL}, &operation));
    assert_done(living_wait(on, operation));
    atomic_store(&on->waits, false);
    assert_true(hub_clock_now() - begun_ns < 4 * SECOND);
}

/* r[verify cluster.resolve.nowhere] */
static void leave_is_refused_at_once(struct living *on)
{
    const int32_t status = 0;
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT};
    const struct rapahub_call call = {.target = {.pool = living_pool(on, "store")},
                                      .method = "leave(i32)",
                                      .arguments = (const void *const[]){&status, NULL},
                                      .query = &query,
                                      .timeout_ns = 60 * SECOND};
    uint64_t begun_ns = hub_clock_now();

    assert_int_equal(rapahub_host_call(on->host, &call, NULL), RAPAHUB_EGIVENUP);
    assert_non_null(strstr(rapahub_last_error()->text, "`rapahub release store#0`"));
    assert_true(hub_clock_now() - begun_ns < 30 * SECOND);
}

/* The first call waits while the begins fail. r[verify cluster.node.begins]
 * r[verify cluster.node.turns] */
static void a_container_that_never_restarts_is_quarantined_until_it_is_released(void **state)
{
    struct living on;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec;

    (void)state;
    living_begin(&on);
    assert_done(living_push(&on, MODULE("fickle"), digest));
    spec = store_of(digest, "fickle", "1.0.0");
    assert_done(apply_and_wait(&on, &spec));
    living_kill(&on);
    leave_is_refused_at_once(&on);
    assert_true(has(&on, "QUARANTINED"));
    leave_is_refused_at_once(&on);
    living_stop(&on, true); /* the next node has no guest for it */
    living_start(&on);
    release_at_once(&on);
    assert_true(has(&on, "\"ACTIVE\"") && has(&on, "SERVING"));
    assert_done(living_delete(&on, "store"));
    living_end(&on);
}

/* ---- streams ---- */

struct draining {
    struct living *on;
    struct rapahub_container_id target;
    struct rapahub_source *from;
    uint64_t count;
    int r;
};

static void *drain(void *user)
{
    struct draining *draining = user;
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT};
    const struct rapahub_call call = {.target = draining->target,
                                      .method = "drain(source) -> u64",
                                      .arguments = (const void *const[]){&draining->from, NULL},
                                      .query = &query,
                                      .timeout_ns = 20 * SECOND};

    draining->r = rapahub_host_call(draining->on->host, &call, &draining->count);
    return NULL;
}

/* r[verify cluster.node.streams] */
static void a_stream_is_given_to_one_run_only(void **state)
{
    static const uint8_t zeros[1];
    struct living on;
    struct draining draining = {.on = &on};
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec;
    struct rapahub_sink *sink;
    pthread_t thread;

    (void)state;
    living_begin(&on);
    assert_done(living_push(&on, MODULE("flow"), digest));
    spec = store_of(digest, "flow", "1");
    assert_done(apply_and_wait(&on, &spec));
    draining.target.pool = living_pool(&on, "store");
    assert_done(rapahub_source_of_memory(zeros, sizeof zeros, &draining.from));
    drain(&draining);
    assert_done(draining.r);
    assert_int_equal(draining.count, 1);
    rapahub_source_destroy(draining.from);
    assert_done(rapahub_stream_pair(&sink, &draining.from));
    assert_int_equal(pthread_create(&thread, NULL, drain, &draining), 0);
    assert_done(rapahub_sink_write(sink, zeros, sizeof zeros));
    pause_ms(100); /* the method waits for more */
    living_kill(&on);
    pthread_join(thread, NULL);
    assert_int_equal(draining.r, RAPAHUB_EMAYBE);
    rapahub_sink_destroy(sink);
    rapahub_source_destroy(draining.from);
    living_end(&on);
}

/* ---- rights ---- */

/* r[verify cluster.node.roles] */
static void a_guest_asks_its_node_nothing(void **state)
{
    struct living on;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec;
    struct rapahub_call call = {.method = "ask() -> i32", .timeout_ns = 20 * SECOND};
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_LOCAL};
    int32_t code = 0;

    (void)state;
    living_begin(&on);
    assert_done(living_push(&on, MODULE("stubborn"), digest));
    spec = store_of(digest, "stubborn", "1.0.0");
    assert_done(apply_and_wait(&on, &spec));
    call.target.pool = living_pool(&on, "store");
    assert_done(rapahub_host_call(on.host, &call, &code));
    assert_int_equal(code, RAPAHUB_EACCES);
    call.query = &query; /* the call has a uid then, and all that is asked to answer it */
    assert_done(rapahub_host_call(on.host, &call, &code));
    assert_int_equal(code, RAPAHUB_EACCES);
    living_end(&on);
}

/* ---- wrong input ---- */

/* r[verify cluster.node.modules] */
static void a_pool_without_its_module_is_refused(void **state)
{
    struct living on;
    uint8_t digest[CLUSTER_DIGEST_SIZE] = {1};
    struct cluster_pool_spec spec = kv_spec(digest, 1);
    uint64_t operation;

    (void)state;
    living_begin(&on);
    assert_int_equal(living_apply(&on, &spec, &operation), RAPAHUB_ENOENT);
    assert_done(living_push(&on, KV, digest));
    digest[0] ^= 1;
    assert_int_equal(living_apply(&on, &spec, &operation), RAPAHUB_EDIFFERS);
    digest[0] ^= 1;
    spec.params = rapahub_string_of("nothing that kv knows");
    assert_int_equal(apply_and_wait(&on, &spec), RAPAHUB_EAPPLICATION);
    assert_non_null(strstr(rapahub_last_error()->text, "dir=FOLDER"));
    spec.params = rapahub_string_of("dir={folder}");
    assert_done(apply_and_wait(&on, &spec)); /* nothing of the other one is left */
    living_end(&on);
}

/* r[verify cluster.node.modules] */
static void a_file_that_is_no_chimod_is_not_taken(void **state)
{
    struct living on;
    uint8_t digest[CLUSTER_DIGEST_SIZE];

    (void)state;
    living_begin(&on);
    assert_true(living_push(&on, "/proc/self/exe", digest) < 0);
    assert_true(living_push(&on, MODULE("wrong_abi"), digest) < 0);
    assert_true(living_push(&on, MODULE("constructor_crash"), digest) < 0);
    assert_true(living_push(&on, MODULE("constructor_loop"), digest) < 0);
    assert_done(living_push(&on, KV, digest));
    living_end(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_applied_called_and_deleted),
        cmocka_unit_test(a_query_of_each_mode_reaches_its_containers),
        cmocka_unit_test(a_query_for_nothing_is_refused),
        cmocka_unit_test(a_guest_that_was_killed_comes_back_and_the_next_call_is_answered),
        cmocka_unit_test(a_node_that_is_opened_again_has_its_pools),
        cmocka_unit_test(the_owner_of_the_host_calls_by_itself),
        cmocka_unit_test(nothing_stays_of_a_pool_whose_containers_do_not_begin),
        cmocka_unit_test(a_container_that_never_restarts_is_quarantined_until_it_is_released),
        cmocka_unit_test(a_stream_is_given_to_one_run_only),
        cmocka_unit_test(a_guest_asks_its_node_nothing),
        cmocka_unit_test(a_pool_without_its_module_is_refused),
        cmocka_unit_test(a_file_that_is_no_chimod_is_not_taken)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
