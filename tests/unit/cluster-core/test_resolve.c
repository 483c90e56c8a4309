/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/calls/resolve.h"
#include "cluster/wire/frame.h"
#include "tests/unit/cluster-core/pool_records.h"

#define POOL       UINT64_C(0x0000010000000000)
#define CONTAINERS 5
#define HERE       1
#define THERE      2

static struct pool_records records;
static const uint64_t methods[] = {7, 80};

struct stage {
    struct cluster_pools *pools;
    struct cluster_address_map *map;
    struct cluster_local_containers *locals;
    struct cluster_resolve resolve;
};

static struct stage open_stage(void)
{
    const struct pool_records_pool kv = {
        .name = "kv", .containers = CONTAINERS, .methods = methods, .methods_count = 2};
    struct stage stage;

    assert_int_equal(cluster_pools_create(2, 1, &stage.pools), 0);
    assert_int_equal(cluster_address_map_create(CONTAINERS, 1, &stage.map), 0);
    assert_int_equal(cluster_local_containers_create(CONTAINERS, 1, &stage.locals), 0);
    assert_int_equal(cluster_pools_put(stage.pools, POOL, 1, pool_records_of(&kv, &records)), 0);
    stage.resolve = (struct cluster_resolve){stage.pools, stage.map, stage.locals, HERE, NULL};
    return stage;
}

static void close_stage(struct stage *stage)
{
    cluster_local_containers_release(&stage->locals);
    cluster_address_map_release(&stage->map);
    cluster_pools_release(&stage->pools);
}

static void own(struct stage *stage, uint32_t container, uint32_t node)
{
    struct cluster_address *address = cluster_address_map_add(stage->map, POOL, container);

    assert_non_null(address);
    address->entry.owner = node;
}

static void serve(struct stage *stage, uint32_t container)
{
    assert_int_equal(cluster_local_containers_begin(stage->locals, POOL, container,
                                                    cluster_ids_token(0, 1, 0),
                                                    cluster_ids_lineage(1, 0)),
                     0);
    cluster_local_containers_move(stage->locals, POOL, container, CLUSTER_LOCAL_SERVING);
}

static int members(const struct stage *stage, struct cluster_resolve_query query,
                   struct cluster_resolve_members *out)
{
    return cluster_resolve_members(&stage->resolve, POOL, &query, out);
}

/* r[verify cluster.resolve.query] */
static void each_mode_means_its_containers(void **state)
{
    const struct {
        struct cluster_resolve_query query;
        struct cluster_resolve_members members;
    } cases[] = {
        {{CLUSTER_MODE_DIRECT, 0, 4, 0}, {4, 1, 0}},
        {{CLUSTER_MODE_HASH, UINT64_MAX, 0, 0}, {UINT64_MAX % CONTAINERS, 1, 0}},
        {{CLUSTER_MODE_RANGE, 0, 1, 3}, {1, 3, 0}},
        {{CLUSTER_MODE_RANGE, 0, 0, CONTAINERS}, {0, CONTAINERS, 0}},
        {{CLUSTER_MODE_BROADCAST, 0, 0, 0}, {0, CONTAINERS, 0}},
        {{CLUSTER_MODE_LOCAL, 0, 0, 0}, {3, 1, HERE}},
        {{CLUSTER_MODE_PHYSICAL, HERE, 0, 0}, {3, 1, HERE}},
        {{CLUSTER_MODE_PHYSICAL, THERE, 0, 0}, {2, 1, THERE}},
    };
    struct stage stage = open_stage();

    (void)state;
    serve(&stage, 3);
    own(&stage, 2, THERE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cluster_resolve_members out;

        assert_int_equal(members(&stage, cases[i].query, &out), 0);
        assert_int_equal(out.first, cases[i].members.first);
        assert_int_equal(out.count, cases[i].members.count);
        assert_int_equal(out.pinned, cases[i].members.pinned);
    }
    close_stage(&stage);
}

/* r[verify cluster.resolve.query] */
static void a_query_for_nothing_is_refused(void **state)
{
    const struct {
        struct cluster_resolve_query query;
        int status;
    } cases[] = {
        {{CLUSTER_MODE_DIRECT, 0, CONTAINERS, 0}, RAPAHUB_EINVAL},
        {{CLUSTER_MODE_DIRECT, 0, UINT32_MAX, 0}, RAPAHUB_EINVAL},
        {{CLUSTER_MODE_RANGE, 0, 0, 0}, RAPAHUB_EINVAL},
        {{CLUSTER_MODE_RANGE, 0, 4, 2}, RAPAHUB_EINVAL},
        {{CLUSTER_MODE_RANGE, 0, 1, UINT32_MAX}, RAPAHUB_EINVAL},
        {{CLUSTER_MODE_LOCAL, 0, 0, 0}, RAPAHUB_ENOTLOCAL},
        {{CLUSTER_MODE_PHYSICAL, HERE, 0, 0}, RAPAHUB_ENOTLOCAL},
        {{CLUSTER_MODE_PHYSICAL, THERE, 0, 0}, RAPAHUB_ENOTLOCAL},
        {{CLUSTER_MODE_PHYSICAL, 0, 0, 0}, RAPAHUB_ENOTLOCAL},
        {{CLUSTER_MODE_PHYSICAL, UINT64_MAX, 0, 0}, RAPAHUB_ENOTLOCAL},
        {{CLUSTER_MODE_DYNAMIC, 0, 0, 0}, RAPAHUB_ENOTSUP},
        {{CLUSTER_MODES, 0, 0, 0}, RAPAHUB_ENOTSUP},
    };
    struct stage stage = open_stage();
    struct cluster_resolve_members out;
    const struct cluster_resolve_query all = {.mode = CLUSTER_MODE_BROADCAST};

    (void)state;
    own(&stage, 2, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(members(&stage, cases[i].query, &out), cases[i].status);
    assert_int_equal(cluster_resolve_members(&stage.resolve, POOL + 1, &all, &out),
                     RAPAHUB_ENOPOOL);
    close_stage(&stage);
}

/* r[verify cluster.resolve.method] */
static void a_method_that_the_module_lacks_is_refused(void **state)
{
    struct stage stage = open_stage();
    struct cluster_pools_method method;

    (void)state;
    assert_int_equal(cluster_resolve_method(&stage.resolve, POOL, 80, &method), 0);
    assert_int_equal(method.id, 80);
    assert_int_equal(cluster_resolve_method(&stage.resolve, POOL, 81, &method), RAPAHUB_ENOMETHOD);
    assert_int_equal(cluster_resolve_method(&stage.resolve, POOL + 1, 80, &method),
                     RAPAHUB_ENOPOOL);
    close_stage(&stage);
}

static struct cluster_resolve_target target(const struct stage *stage, uint32_t container)
{
    struct cluster_resolve_target out;

    assert_int_equal(cluster_resolve_target(&stage->resolve, POOL, container, 0, &out), 0);
    return out;
}

/* r[verify cluster.resolve.twice] */
static void a_call_is_looked_for_here_then_in_the_map(void **state)
{
    struct stage stage = open_stage();

    (void)state;
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_NOWHERE);
    own(&stage, 0, 0);
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_NOWHERE);
    own(&stage, 0, THERE);
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_SEND);
    assert_int_equal(target(&stage, 0).node, THERE);
    own(&stage, 0, HERE);
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_WAIT);
    serve(&stage, 0);
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_RUN);
    assert_int_equal(target(&stage, 0).lineage, cluster_ids_lineage(1, 0));
    own(&stage, 0, THERE);
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_RUN);
    cluster_local_containers_move(stage.locals, POOL, 0, CLUSTER_LOCAL_HELD);
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_WAIT);
    cluster_local_containers_move(stage.locals, POOL, 0, CLUSTER_LOCAL_DOWN);
    assert_int_equal(target(&stage, 0).way, CLUSTER_WAY_WAIT);
    close_stage(&stage);
}

/* r[verify cluster.resolve.hops] */
static void a_call_is_handed_on_three_times_at_most(void **state)
{
    struct stage stage = open_stage();
    struct cluster_resolve_target out;

    (void)state;
    own(&stage, 0, THERE);
    own(&stage, 1, HERE);
    for (uint32_t hops = 0; hops < CLUSTER_FRAME_TTL; hops++)
        assert_int_equal(cluster_resolve_target(&stage.resolve, POOL, 0, hops, &out), 0);
    assert_int_equal(CLUSTER_FRAME_TTL, 3);
    assert_int_equal(cluster_resolve_target(&stage.resolve, POOL, 0, 3, &out), RAPAHUB_EHOPS);
    assert_int_equal(cluster_resolve_target(&stage.resolve, POOL, 0, UINT32_MAX, &out),
                     RAPAHUB_EHOPS);
    assert_int_equal(cluster_resolve_target(&stage.resolve, POOL, 1, 3, &out), 0);
    close_stage(&stage);
}

/* r[verify cluster.resolve.nowhere] */
static void a_container_that_will_not_begin_is_refused(void **state)
{
    struct stage stage = open_stage();
    struct cluster_resolve_target out;

    (void)state;
    own(&stage, 0, 0);
    serve(&stage, 1);
    ((struct cluster_address *)(uintptr_t)cluster_address_map_find(stage.map, POOL, 0))
        ->entry.state = CLUSTER_ENTRY_QUARANTINED;
    assert_int_equal(cluster_resolve_target(&stage.resolve, POOL, 0, 0, &out), RAPAHUB_EGIVENUP);
    assert_int_equal(target(&stage, 1).way, CLUSTER_WAY_RUN);
    assert_int_equal(cluster_resolve_target(&stage.resolve, POOL + 1, 1, 0, &out), RAPAHUB_ENOPOOL);
    cluster_pools_set_state(stage.pools, POOL, 2, CLUSTER_POOL_DESTROYING);
    for (uint32_t c = 0; c < 2; c++)
        assert_int_equal(cluster_resolve_target(&stage.resolve, POOL, c, 0, &out), RAPAHUB_ENOPOOL);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mode_means_its_containers),
        cmocka_unit_test(a_query_for_nothing_is_refused),
        cmocka_unit_test(a_method_that_the_module_lacks_is_refused),
        cmocka_unit_test(a_call_is_looked_for_here_then_in_the_map),
        cmocka_unit_test(a_call_is_handed_on_three_times_at_most),
        cmocka_unit_test(a_container_that_will_not_begin_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
