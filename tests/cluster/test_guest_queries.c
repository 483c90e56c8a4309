/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin in one pool of a node calls containers of another pool by a query, as a program does. */
#include <rapahub/call.h>
#include <rapahub/error.h>

#include "tests/cluster/living.h"

static void apply(struct living *on, const char *name, const char *path, uint32_t containers)
{
    const bool is_kv = containers > 1;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    const struct cluster_pool_spec spec = {.name = rapahub_string_of(name),
                                           .module = rapahub_string_of(is_kv ? "kv" : "chained"),
                                           .version = rapahub_string_of("1.0.0"),
                                           .digest = {digest, CLUSTER_DIGEST_SIZE},
                                           .containers = containers,
                                           .durability = CLUSTER_DURABILITY_NONE,
                                           .params =
                                               rapahub_string_of(is_kv ? "dir={folder}" : "")};
    uint64_t operation = 0;

    assert_done(living_push(on, path, digest));
    assert_done(living_apply(on, &spec, &operation));
    assert_done(living_wait(on, operation));
}

static void put(struct living *on, struct rapahub_container_id target, const char *key)
{
    const struct rapahub_string k = rapahub_string_of(key);
    const struct rapahub_bytes v = {"1", 1};
    const struct rapahub_call call = {.target = target,
                                      .method = "put(string, bytes)",
                                      .arguments = (const void *const[]){&k, &v, NULL},
                                      .timeout_ns = 20 * SECOND};

    assert_done(rapahub_host_call(on->host, &call, NULL));
}

/* Has the plugin ask how many keys there are; a container of the pool has as many as its number. */
static int ask(struct living *on, struct rapahub_pool_id pool, uint8_t mode, uint64_t number,
               uint32_t offset)
{
    const struct rapahub_container_id asker = {living_pool(on, "asker"), 0};
    uint64_t of = (uint64_t)pool.major << 32 | pool.minor, way = (uint64_t)mode << 32 | offset;
    const void *const arguments[] = {&of, &way, &number, NULL};
    const struct rapahub_call call = {.target = asker,
                                      .method = "ask(u64, u64, u64) -> u32",
                                      .arguments = arguments,
                                      .timeout_ns = 20 * SECOND};
    uint32_t keys = 0;
    int r = rapahub_host_call(on->host, &call, &keys);

    return r < 0 ? r : (int)keys;
}

static void begin(struct living *on, struct rapahub_pool_id *out)
{
    static const char *const keys[] = {"a", "b", "c"};
    struct rapahub_container_id target;

    living_begin(on);
    apply(on, "store", KV, 4);
    apply(on, "asker", MODULE("chained"), 1);
    target.pool = *out = living_pool(on, "store");
    for (target.container = 0; target.container < 4; target.container++)
        for (unsigned i = 0; i < target.container; i++)
            put(on, target, keys[i]);
}

/* r[verify hub.call.query] r[verify cluster.resolve.query] */
static void a_query_of_a_plugin_reaches_its_container(void **state)
{
    struct living on;
    struct rapahub_pool_id store;

    (void)state;
    begin(&on, &store);
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_DIRECT, 0, 3), 3);
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_HASH, 4096 * 5 + 2, 0), 2);
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_LOCAL, 0, 0), 0);
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_PHYSICAL, 1, 0), 0);
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_RANGE, 0, 1), 1);
    assert_true(ask(&on, store, RAPAHUB_QUERY_BROADCAST, 0, 0) >= 0);  /* that of the last one */
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_DYNAMIC, 0, 0), 0); /* local, by default */
    living_end(&on);
}

/* What no program may ask, a plugin may not either, and the node goes on. */
static void a_query_of_a_plugin_for_nothing_is_refused(void **state)
{
    struct living on;
    struct rapahub_pool_id store, none, node = {UINT32_MAX, 16};

    (void)state;
    begin(&on, &store);
    none = (struct rapahub_pool_id){store.major + 99, 0};
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_PHYSICAL, 2, 0), RAPAHUB_EAPPLICATION);
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_RANGE, 0, 4), RAPAHUB_EAPPLICATION);
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_DYNAMIC + 1, 0, 0), RAPAHUB_EAPPLICATION);
    assert_int_equal(ask(&on, none, RAPAHUB_QUERY_LOCAL, 0, 0), RAPAHUB_EAPPLICATION);
    assert_true(ask(&on, node, RAPAHUB_QUERY_LOCAL, 0, 0) < 0); /* that is for people */
    assert_int_equal(ask(&on, store, RAPAHUB_QUERY_HASH, 3, 0), 3);
    living_end(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_of_a_plugin_reaches_its_container),
        cmocka_unit_test(a_query_of_a_plugin_for_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
