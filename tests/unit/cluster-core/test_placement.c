/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/placement.h"
#include "tests/unit/cluster-core/ops_stage.h"

#define POOL  (UINT64_C(256) << 32)
#define NODES 5
#define MANY  1000

static const struct cluster_limits limits = {
    .pools = 4, .entries = 5000, .containers = 800, .peers = NODES};
static struct cluster_context context;
static struct ops_stage stage; /* of its records alone */
static struct rapahub_bytes written;

struct wish {
    uint32_t containers;
    bool spread;
    uint32_t only[2], not_on[1];
    uint32_t only_count, not_on_count;
};

/* Writes such a spec, and reads it. */
static struct cluster_pool_spec spec_of(const struct wish *wish)
{
    struct cluster_pool_spec spec = {.name = {"kv", 2},
                                     .module = {"counter", 7},
                                     .version = {"1.0", 3},
                                     .digest = {POOL_RECORDS_DIGEST, 32},
                                     .containers = wish->containers,
                                     .spread_zones = wish->spread,
                                     .nodes = {.of = wish->only, .count = wish->only_count},
                                     .not_on = {.of = wish->not_on, .count = wish->not_on_count}};
    struct hub_writer writer;

    hub_writer_init(&writer, stage.records.spec, sizeof stage.records.spec);
    assert_int_equal(cluster_pool_spec_put(&writer, &spec), 0);
    written = (struct rapahub_bytes){stage.records.spec, writer.size};
    assert_int_equal(cluster_pool_spec_read(written, &spec), 0);
    return spec;
}

static void put_node(uint32_t node, uint32_t capacity, const char *zone)
{
    const struct cluster_record_node record = {
        .state = CLUSTER_NODE_ACTIVE, .capacity = capacity, .zone = {zone, strlen(zone)}};

    assert_int_equal(cluster_nodes_put(context.nodes, node, 100 + node, &record), 0);
}

static void open_context(void)
{
    context = (struct cluster_context){
        .limits = &limits, .node = 1, .lead = 1, .session = {.revision = 101}};
    assert_int_equal(cluster_pools_create(limits.pools, 1, &context.pools), 0);
    assert_int_equal(cluster_address_map_create(limits.entries, 1, &context.map), 0);
    assert_int_equal(cluster_nodes_create(1, limits.peers, &context.nodes), 0);
}

static void close_context(void)
{
    cluster_nodes_release(&context.nodes);
    cluster_address_map_release(&context.map);
    cluster_pools_release(&context.pools);
}

/* Places the containers of such a pool. `nodes` gets the node of each, `counts` how many each has.
 */
static void place(const struct wish *wish, uint32_t *nodes, uint32_t counts[NODES + 1])
{
    const struct pool_records_pool module = {.name = "kv", .containers = wish->containers};
    const struct cluster_pool_spec spec = spec_of(wish);
    struct cluster_placement placement;
    struct cluster_record_pool record = {.state = CLUSTER_POOL_CREATING,
                                         .digest = {POOL_RECORDS_DIGEST, 32}};

    assert_int_equal(cluster_placement_check(&context, &spec, &record.containers), 0);
    record.spec = written;
    record.slots_count = cluster_pool_new_slots(record.containers).count;
    record.manifest = pool_records_manifest(&module, &stage.records);
    assert_int_equal(cluster_pools_put(context.pools, POOL, 0, &record), 0);
    memset(counts, 0, (NODES + 1) * sizeof *counts);
    cluster_placement_begin(&context, cluster_pools_find(context.pools, POOL), &placement);
    for (uint32_t c = 0; c < record.containers; c++) {
        nodes[c] = cluster_placement_next(&context, &placement, c);
        assert_in_range(nodes[c], 1, NODES);
        counts[nodes[c]]++;
    }
    cluster_pools_remove(context.pools, POOL);
}

/* r[verify cluster.placement.hash] r[verify cluster.placement.bound] */
static void nodes_get_containers_by_their_capacity(void **state)
{
    static uint32_t nodes[MANY];
    uint32_t counts[NODES + 1];

    (void)state;
    open_context();
    put_node(1, 1, "");
    put_node(2, 2, "");
    put_node(3, 2, "");
    put_node(4, 5, "");
    place(&(struct wish){.containers = MANY}, nodes, counts);
    assert_in_range(counts[1], 80, 110);
    assert_in_range(counts[2], 160, 220);
    assert_in_range(counts[3], 160, 220);
    assert_in_range(counts[4], 450, 550);
    close_context();
}

/* r[verify cluster.placement.hash] */
static void another_node_takes_its_part_and_the_rest_stays(void **state)
{
    static uint32_t before[MANY], after[MANY];
    uint32_t counts[NODES + 1], moved = 0;

    (void)state;
    open_context();
    for (uint32_t node = 1; node < NODES; node++)
        put_node(node, 1, "");
    place(&(struct wish){.containers = MANY}, before, counts);
    put_node(NODES, 1, "");
    place(&(struct wish){.containers = MANY}, after, counts);
    for (uint32_t c = 0; c < MANY; c++)
        moved += after[c] != before[c] && after[c] != NODES;
    assert_in_range(counts[NODES], 150, 220);
    assert_in_range(moved, 0, MANY / 20);
    close_context();
}

/* r[verify cluster.placement.bound] */
static void a_node_that_has_more_than_its_part_is_passed_over(void **state)
{
    const struct cluster_entry entry = {.state = CLUSTER_ENTRY_ACTIVE, .owner = 1, .session = 101};
    static uint32_t nodes[100];
    uint32_t counts[NODES + 1];

    (void)state;
    open_context();
    put_node(1, 1, "");
    put_node(2, 1, "");
    for (uint32_t c = 0; c < 100; c++)
        cluster_address_map_add(context.map, POOL + 1, c)->entry = entry;
    place(&(struct wish){.containers = 60}, nodes, counts);
    assert_int_equal(counts[1], 0);
    assert_int_equal(counts[2], 60);
    close_context();
}

/* r[verify cluster.placement.zones] */
static void zones_get_equal_parts_where_that_is_asked_for(void **state)
{
    static uint32_t nodes[60];
    uint32_t counts[NODES + 1];

    (void)state;
    open_context();
    put_node(1, 1, "east");
    put_node(2, 1, "east");
    put_node(3, 1, "west");
    place(&(struct wish){.containers = 3, .spread = true}, nodes, counts);
    assert_in_range(counts[1] + counts[2], 1, 2);
    assert_in_range(counts[3], 1, 2);
    place(&(struct wish){.containers = 2, .spread = true}, nodes, counts);
    assert_int_equal(counts[3], 1);
    close_context();
}

/* r[verify cluster.create.placement] */
static void only_active_nodes_that_the_pool_allows_get_any(void **state)
{
    const struct cluster_record_node draining = {.state = CLUSTER_NODE_DRAINING};
    const struct cluster_record_node active = {.state = CLUSTER_NODE_ACTIVE};
    const struct wish wishes[] = {{.containers = 20},
                                  {.containers = 20, .only = {2, 4}, .only_count = 2},
                                  {.containers = 20, .not_on = {1}, .not_on_count = 1}};
    struct cluster_pool_spec none;
    static uint32_t nodes[20];
    uint32_t counts[NODES + 1], containers;

    (void)state;
    open_context();
    put_node(2, 1, "");
    assert_int_equal(cluster_nodes_put(context.nodes, 3, 103, &draining), 0);
    assert_int_equal(cluster_nodes_put(context.nodes, 4, 0, &active), 0); /* it does not run */
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        place(&wishes[i], nodes, counts);
        assert_int_equal(counts[3] + counts[4], 0);
        assert_int_equal(counts[1] == 0, i > 0);
    }
    none = spec_of(&(struct wish){.containers = 1, .only = {3, 4}, .only_count = 2});
    assert_int_equal(cluster_placement_check(&context, &none, &containers), RAPAHUB_EINVAL);
    close_context();
}

/* r[verify cluster.placement.named] */
static void a_node_without_a_capacity_is_to_be_named(void **state)
{
    const struct cluster_record_node own = {.state = CLUSTER_NODE_ACTIVE};
    static uint32_t nodes[20];
    uint32_t counts[NODES + 1];

    (void)state;
    open_context();
    assert_int_equal(cluster_nodes_put(context.nodes, 1, 101, &own), 0);
    put_node(2, 0, "");
    place(&(struct wish){.containers = 20}, nodes, counts);
    assert_int_equal(counts[1], 20);
    place(&(struct wish){.containers = 20, .only = {1, 2}, .only_count = 2}, nodes, counts);
    assert_in_range(counts[2], 1, 19);
    put_node(2, 1, "");
    place(&(struct wish){.containers = 20}, nodes, counts);
    assert_in_range(counts[2], 1, 19);
    close_context();
}

/* r[verify cluster.placement.each] */
static void each_node_gets_one_where_that_is_asked_for(void **state)
{
    static uint32_t nodes[NODES];
    uint32_t counts[NODES + 1];

    (void)state;
    open_context();
    put_node(2, 9, "");
    put_node(4, 1, "");
    place(&(struct wish){.containers = 0}, nodes, counts);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 1);
    assert_int_equal(counts[4], 1);
    close_context();
}

/* r[verify cluster.map.bounds] */
static void there_must_be_space_on_the_nodes_that_may(void **state)
{
    struct cluster_pool_spec spec = spec_of(&(struct wish){.containers = 1600});
    uint32_t containers;

    (void)state;
    open_context();
    put_node(2, 1, "");
    assert_int_equal(cluster_placement_check(&context, &spec, &containers), 0);
    assert_int_equal(containers, 1600);
    spec = spec_of(&(struct wish){.containers = 1601});
    assert_int_equal(cluster_placement_check(&context, &spec, &containers), RAPAHUB_EFULL);
    close_context();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_get_containers_by_their_capacity),
        cmocka_unit_test(another_node_takes_its_part_and_the_rest_stays),
        cmocka_unit_test(a_node_that_has_more_than_its_part_is_passed_over),
        cmocka_unit_test(zones_get_equal_parts_where_that_is_asked_for),
        cmocka_unit_test(only_active_nodes_that_the_pool_allows_get_any),
        cmocka_unit_test(a_node_without_a_capacity_is_to_be_named),
        cmocka_unit_test(each_node_gets_one_where_that_is_asked_for),
        cmocka_unit_test(there_must_be_space_on_the_nodes_that_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
