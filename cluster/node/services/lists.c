/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/ops/ops.h"
#include "cluster/node/services/document.h"
#include "cluster/wire/operation.h"

#define NODES_TEXT (12 * (CLUSTER_RECORD_HOLDERS_MAX + 1))

static const struct cluster_dispatch *parts_of(const struct cluster_lists *lists)
{
    return cluster_core_parts(lists->core);
}

static void add_pool_id(struct json_t *object, const char *key, uint64_t pool)
{
    struct rapahub_pool_id id = cluster_ids_pool_of(pool);
    char text[32];

    snprintf(text, sizeof text, "%u.%u", id.major, id.minor);
    cluster_document_text(object, key, rapahub_string_of(text));
}

/* ---- the node ---- */

static void add_node(const struct cluster_lists *lists, struct json_t *object)
{
    cluster_document_count(object, "number", lists->node);
    cluster_document_text(object, "name", rapahub_string_of(lists->name));
    cluster_document_text(object, "state", rapahub_string_of("ACTIVE"));
    cluster_document_number(object, "session", lists->session);
    cluster_document_count(object, "boot", lists->boot);
    cluster_document_count(object, "leader",
                           lists->leader->node != 0 ? lists->leader->node : lists->node);
    if (lists->leader->term != 0)
        cluster_document_number(object, "term", lists->leader->term);
}

static uint32_t count_pools(const struct cluster_dispatch *parts)
{
    const struct cluster_pools_pool *pool = cluster_pools_after(parts->pools, 0);
    uint32_t count = 0;

    for (; pool; pool = cluster_pools_after(parts->pools, pool->place))
        count++;
    return count;
}

static uint32_t count_serving(const struct cluster_dispatch *parts, uint64_t pool)
{
    const struct cluster_local_container *local;
    uint32_t place = 0, count = 0;

    while ((local = cluster_local_containers_after(parts->locals, &place)))
        if (local->state == CLUSTER_LOCAL_SERVING && (pool == 0 || local->pool == pool))
            count++;
    return count;
}

static void add_digest(struct json_t *object, const char *key,
                       const uint8_t bytes[CLUSTER_RECORD_DIGEST])
{
    char text[2 * CLUSTER_RECORD_DIGEST + 1];

    for (size_t i = 0; i < CLUSTER_RECORD_DIGEST; i++)
        snprintf(&text[2 * i], 3, "%02x", bytes[i]);
    cluster_document_text(object, key, rapahub_string_of(text));
}

/* A node of one machine needs none: that is no fault. */
static void add_identity(const struct cluster_node_identity *identity, struct json_t *object)
{
    const struct cluster_own_identity *own = cluster_node_identity_own(identity);
    char uri[CLUSTER_URI_SIZE_MAX], serial[CLUSTER_CERTIFICATE_SERIAL_TEXT];
    uint8_t digest[CLUSTER_RECORD_DIGEST];

    if (!own) {
        if (rapahub_last_error()->code != RAPAHUB_ESTATE)
            cluster_document_text(object, "identity_fault",
                                  rapahub_string_of(rapahub_last_error()->text));
        rapahub_clear_error();
        return;
    }
    if (cluster_uri_print(&own->name, uri) > 0)
        cluster_document_text(object, "identity", rapahub_string_of(uri));
    cluster_certificate_serial_text(own->serial.bytes, own->serial.size, serial);
    cluster_document_text(object, "certificate", rapahub_string_of(serial));
    cluster_document_time(object, "certificate_expires", own->until_s);
    if (cluster_certificate_digest(own->anchors[0], digest) == 0)
        add_digest(object, "ca_hash", digest);
    cluster_document_text(object, "authority",
                          rapahub_string_of(own->ca.key ? "here" : "elsewhere"));
}

/* Each rule that was broken is a member with its name. */
static void add_broken(const struct cluster_rule_counts *broken, struct json_t *object)
{
    for (uint32_t i = 0; i < broken->count; i++)
        cluster_document_count(object, broken->all[i].rule, broken->all[i].times);
}

static void add_clients(const struct cluster_client_counts *clients, struct json_t *object)
{
    char addresses[CLUSTER_CLIENT_COUNTS_ADDRESSES * CLUSTER_CLIENT_COUNTS_TEXT] = "";
    size_t size = 0;

    for (uint32_t i = 0; i < clients->addresses_count; i++)
        size += (size_t)snprintf(addresses + size, sizeof addresses - size, "%s%s",
                                 i > 0 ? "," : "", clients->addresses[i]);
    cluster_document_text(object, "listens", rapahub_string_of(addresses));
    cluster_document_count(object, "clients", clients->connections);
    cluster_document_count(object, "network_clients", clients->remote);
    cluster_document_count(object, "refused_clients", clients->refused);
    cluster_document_count(object, "shared_memory_clients", clients->shared);
    cluster_document_count(object, "shared_memory_refused", clients->unshared);
    add_broken(&clients->broken, object);
}

static void add_peers(const struct cluster_peer_links *links, struct json_t *object)
{
    const struct cluster_peer_links_counts *peers = cluster_peer_links_counts(links);

    cluster_document_count(object, "linked_nodes", peers->links);
    cluster_document_count(object, "refused_nodes", peers->refused);
    add_broken(&peers->broken, object);
}

/* r[impl cluster.detect.counted] */
static void add_detector(const struct cluster_detector *detector, struct json_t *object)
{
    const struct cluster_detector_figures figures = cluster_detector_figures(detector);
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"local_health", figures.swim.health},
                  {"probes", figures.swim.probes},
                  {"probes_failed", figures.swim.failed},
                  {"refutations", figures.swim.refuted},
                  {"stalls", figures.swim.stalls},
                  {"datagrams_sent", figures.sent},
                  {"datagrams_unsent", figures.unsent},
                  {"datagrams_taken", figures.keys.opened},
                  {"datagrams_malformed", figures.keys.malformed + figures.swim.malformed},
                  {"datagrams_of_strangers", figures.strangers},
                  {"datagrams_unknown_key", figures.keys.unknown_key},
                  {"datagrams_forged", figures.keys.forged},
                  {"datagrams_replayed", figures.keys.replayed},
                  {"datagrams_earlier", figures.keys.earlier + figures.swim.earlier},
                  {"datagrams_dropped", figures.dropped}};

    cluster_document_text(object, "detection",
                          rapahub_string_of(figures.profile ? figures.profile : "off"));
    for (size_t i = 0; figures.profile && i < sizeof counts / sizeof *counts; i++)
        cluster_document_count(object, counts[i].key, counts[i].count);
}

/* Before `compacted` the metastore tells no history any more. */
static void add_revisions(const struct cluster_lists *lists, struct json_t *object)
{
    struct cluster_metastore_stats stats;

    cluster_document_text(object, "metastore", rapahub_string_of(lists->metastore));
    cluster_document_number(object, "revision", parts_of(lists)->catch_up.revision);
    if (cluster_metastore_stats(lists->store, &stats) == 0)
        cluster_document_number(object, "compacted", stats.compacted);
    else
        rapahub_clear_error();
}

char *cluster_lists_status(const struct cluster_lists *lists)
{
    const struct cluster_dispatch *parts = parts_of(lists);
    struct cluster_document document;

    cluster_document_begin(&document, "rapahub.node.status/1");
    add_node(lists, document.root);
    add_revisions(lists, document.root);
    cluster_document_count(document.root, "pools", count_pools(parts));
    cluster_document_count(document.root, "containers",
                           cluster_local_containers_count(parts->locals));
    cluster_document_count(document.root, "serving", count_serving(parts, 0));
    cluster_document_count(document.root, "calls", cluster_send_figures(parts->send).calls);
    if (lists->clients)
        add_clients(lists->clients, document.root);
    add_peers(lists->peers, document.root);
    add_detector(lists->detector, document.root);
    add_identity(lists->identity, document.root);
    return cluster_document_end(&document);
}

/* ---- pools ---- */

/* Containers that have fewer holders than their pool says. */
static uint32_t count_short(const struct cluster_dispatch *parts,
                            const struct cluster_pools_pool *pool)
{
    uint32_t count = 0;

    for (uint32_t c = 0; c < pool->containers; c++) {
        const struct cluster_holders_row *row = cluster_holders_find(parts->holders, pool->pool, c);

        count += (row ? row->count : 1) < pool->copies;
    }
    return count;
}

static void add_pool(const struct cluster_lists *lists, const struct cluster_pools_pool *pool,
                     struct json_t *object)
{
    const struct cluster_pool_records_pool *whole =
        cluster_pool_records_find(lists->pools, pool->pool);

    cluster_document_text(object, "name", rapahub_string_of(pool->name));
    add_pool_id(object, "id", pool->pool);
    cluster_document_text(object, "state",
                          rapahub_string_of(hub_states_name(&cluster_pool_states, pool->state)));
    cluster_document_text(
        object, "durability",
        rapahub_string_of(cluster_pool_spec_durabilities[pool->durability % CLUSTER_DURABILITIES]));
    cluster_document_count(object, "containers", pool->containers);
    cluster_document_count(object, "serving", count_serving(parts_of(lists), pool->pool));
    if (!whole)
        return;
    cluster_document_text(object, "module", whole->spec.module);
    cluster_document_text(object, "version", whole->spec.version);
    cluster_document_text(object, "guests",
                          rapahub_string_of(whole->spec.own_guests ? "own" : "shared"));
    if (pool->copies > 1) {
        cluster_document_count(object, "copies", pool->copies);
        cluster_document_count(object, "min_copies", pool->min_copies);
        cluster_document_count(object, "short", count_short(parts_of(lists), pool));
    }
}

char *cluster_lists_pools(const struct cluster_lists *lists)
{
    const struct cluster_pools *pools = parts_of(lists)->pools;
    const struct cluster_pools_pool *pool = cluster_pools_after(pools, 0);
    struct cluster_document document;
    struct json_t *list;

    cluster_document_begin(&document, "rapahub.node.pools/1");
    list = cluster_document_list(document.root, "pools");
    for (; pool; pool = cluster_pools_after(pools, pool->place))
        add_pool(lists, pool, cluster_document_item(list));
    return cluster_document_end(&document);
}

/* The holders that have not said that they keep the copy which is under way. */
static void add_waited_for(const struct cluster_lists *lists, const struct cluster_holders_row *row,
                           struct json_t *object)
{
    char text[NODES_TEXT] = "";
    size_t size = 0;
    bool has;

    for (uint32_t i = 0; i <= row->count; i++) {
        uint32_t node = i < row->count ? row->nodes[i] : row->joining;

        if (node != 0 &&
            cluster_copy_shipments_has(lists->copies->shipments, row->pool, row->container, node,
                                       &has) &&
            !has)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%" PRIu32,
                                     size > 0 ? "," : "", node);
    }
    if (size > 0)
        cluster_document_text(object, "waits_for", rapahub_string_of(text));
}

/* Its owner knows how far they are. r[impl cluster.hold.shown] */
static void add_holders(const struct cluster_lists *lists, const struct cluster_address *address,
                        struct json_t *object)
{
    const struct cluster_dispatch *parts = parts_of(lists);
    const struct cluster_holders_row *row =
        cluster_holders_find(parts->holders, address->pool, address->container);
    struct cluster_copy_owner_figures figures;
    char text[NODES_TEXT] = "";
    size_t size = 0;

    for (uint32_t i = 0; row && i < row->count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%" PRIu32, i > 0 ? "," : "",
                                 row->nodes[i]);
    if (row)
        cluster_document_text(object, "holders", rapahub_string_of(text));
    if (row && row->joining != 0)
        cluster_document_count(object, "joining", row->joining);
    if (cluster_copy_owner_figures(parts->copies, address->pool, address->container, &figures)) {
        cluster_document_number(object, "copy", figures.seq);
        cluster_document_number(object, "kept", figures.durable_seq);
    }
    if (row)
        add_waited_for(lists, row, object);
}

static void add_container(const struct cluster_lists *lists, const struct cluster_address *address,
                          struct json_t *object)
{
    const struct cluster_dispatch *parts = parts_of(lists);
    const struct cluster_local_container *local =
        cluster_local_containers_find(parts->locals, address->pool, address->container);
    const struct cluster_life *life =
        cluster_lives_find(cluster_ops_lives(parts->ops), address->pool, address->container);

    cluster_document_count(object, "container", address->container);
    cluster_document_text(
        object, "state",
        rapahub_string_of(hub_states_name(&cluster_entry_states, address->entry.state)));
    cluster_document_count(object, "owner", address->entry.owner);
    cluster_document_number(object, "epoch", address->entry.epoch);
    cluster_document_number(object, "lineage", address->entry.lineage);
    if (local) {
        cluster_document_text(
            object, "here",
            rapahub_string_of(hub_states_name(&cluster_local_states, local->state)));
        cluster_document_number(object, "token", local->token);
    }
    add_holders(lists, address, object);
    if (life && life->failures > 0) {
        cluster_document_count(object, "failures", life->failures);
        cluster_document_status(object, "status", life->status);
        cluster_document_text(object, "cause", rapahub_string_of(life->text));
    }
}

static const struct cluster_pools_pool *find_pool(const struct cluster_lists *lists,
                                                  struct rapahub_string name)
{
    const struct cluster_pools_pool *pool = cluster_pools_named(parts_of(lists)->pools, name);

    if (!pool)
        rapahub_fail(RAPAHUB_ENOPOOL, "cluster.resolve.query", "there is no pool '%.*s'",
                     (int)(name.size < 64 ? name.size : 64), name.data);
    return pool;
}

int cluster_lists_pool_id(const struct cluster_lists *lists, struct rapahub_string name,
                          uint64_t *out)
{
    const struct cluster_pools_pool *pool = find_pool(lists, name);

    if (!pool)
        return RAPAHUB_ENOPOOL;
    *out = pool->pool;
    return 0;
}

char *cluster_lists_pool(const struct cluster_lists *lists, struct rapahub_string name)
{
    const struct cluster_dispatch *parts = parts_of(lists);
    const struct cluster_pools_pool *pool = find_pool(lists, name);
    struct cluster_document document;
    struct json_t *list;

    if (!pool)
        return NULL;
    cluster_document_begin(&document, "rapahub.node.pool/1");
    add_pool(lists, pool, document.root);
    list = cluster_document_list(document.root, "of");
    for (uint32_t c = 0; c < pool->containers; c++) {
        const struct cluster_address *address = cluster_address_map_find(parts->map, pool->pool, c);

        if (address)
            add_container(lists, address, cluster_document_item(list));
    }
    return cluster_document_end(&document);
}

bool cluster_lists_uses_module(const struct cluster_lists *lists, struct rapahub_string name,
                               struct rapahub_string version)
{
    const struct cluster_pools *pools = parts_of(lists)->pools;
    const struct cluster_pools_pool *pool = cluster_pools_after(pools, 0);

    for (; pool; pool = cluster_pools_after(pools, pool->place)) {
        const struct cluster_pool_records_pool *whole =
            cluster_pool_records_find(lists->pools, pool->pool);

        if (whole && whole->spec.module.size == name.size &&
            memcmp(whole->spec.module.data, name.data, name.size) == 0 &&
            whole->spec.version.size == version.size &&
            memcmp(whole->spec.version.data, version.data, version.size) == 0)
            return true;
    }
    return false;
}

/* ---- operations ---- */

static void add_operation(const struct cluster_operations_row *row, struct json_t *object)
{
    static const char *const kinds[CLUSTER_OPERATION_KINDS] = {
        [CLUSTER_OPERATION_CREATE] = "create",
        [CLUSTER_OPERATION_DELETE] = "delete",
        [CLUSTER_OPERATION_RELEASE] = "release"};

    cluster_document_number(object, "number", row->number);
    cluster_document_text(
        object, "kind",
        rapahub_string_of(row->kind < CLUSTER_OPERATION_KINDS ? kinds[row->kind] : "?"));
    cluster_document_text(
        object, "state", rapahub_string_of(hub_states_name(&cluster_operation_states, row->state)));
    cluster_document_text(object, "pool", rapahub_string_of(row->name));
    add_pool_id(object, "id", row->pool);
    if (row->kind == CLUSTER_OPERATION_RELEASE)
        cluster_document_count(object, "container", row->container);
    cluster_document_status(object, "result", row->result);
    cluster_document_text(object, "cause", rapahub_string_of(row->text));
}

char *cluster_lists_operations(const struct cluster_lists *lists)
{
    const struct cluster_operations *operations = cluster_ops_operations(parts_of(lists)->ops);
    struct cluster_document document;
    struct json_t *list;
    uint32_t place = 0;

    cluster_document_begin(&document, "rapahub.node.operations/1");
    list = cluster_document_list(document.root, "operations");
    while ((place = cluster_operations_after(operations, place)) != 0)
        add_operation(cluster_operations_at(operations, place), cluster_document_item(list));
    return cluster_document_end(&document);
}

char *cluster_lists_operation(const struct cluster_lists *lists, uint64_t number)
{
    const struct cluster_operations *operations = cluster_ops_operations(parts_of(lists)->ops);
    uint32_t place = cluster_operations_find(operations, number);
    struct cluster_document document;

    if (place == 0) {
        rapahub_fail(RAPAHUB_ENOENT, "", "there is no operation %llu", (unsigned long long)number);
        return NULL;
    }
    cluster_document_begin(&document, "rapahub.node.operation/1");
    add_operation(cluster_operations_at(operations, place), document.root);
    return cluster_document_end(&document);
}

/* ---- modules ---- */

static void add_module(const struct cluster_record_module *module, struct json_t *object)
{
    struct cluster_list methods = module->methods;
    struct cluster_record_method method;
    struct json_t *list;

    cluster_document_text(object, "name", module->name);
    cluster_document_text(object, "version", module->version);
    cluster_document_text(object, "machine", module->machine);
    add_digest(object, "sha256", module->digest.data);
    cluster_document_count(object, "size", module->size);
    list = cluster_document_list(object, "methods");
    while (cluster_record_next_method(&methods, &method))
        cluster_document_text(cluster_document_item(list), "signature", method.signature);
}

char *cluster_lists_modules(const struct cluster_pair *pairs, size_t count)
{
    struct cluster_document document;
    struct json_t *list;

    cluster_document_begin(&document, "rapahub.node.modules/1");
    list = cluster_document_list(document.root, "modules");
    for (size_t i = 0; i < count; i++) {
        struct cluster_record record;

        if (cluster_record_read(CLUSTER_KEY_MODULE, pairs[i].value, &record) == 0)
            add_module(&record.module, cluster_document_item(list));
        else
            rapahub_clear_error(); /* presence of a module on a node */
    }
    return cluster_document_end(&document);
}
