/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/map/map_watch.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/keys.h"
#include "cluster/wire/delta.h"
#include "hub/base/clock.h"

static const char from[] = "/c/", past[] = "/c0";

/* The changes of one revision: at most as many pools as a transaction has writes. */
struct revision {
    struct hub_list link;
    struct cluster_map_watch *watch;
    uint64_t number;
    bool durable;
    uint8_t *delta; /* NULL: it has none */
    size_t delta_size;
    size_t count;
    struct pool {
        uint64_t pool;
        uint8_t *value; /* NULL: its record is gone */
        size_t size;
    } pools[];
};

static void free_revision(struct revision *revision)
{
    for (size_t i = 0; i < revision->count; i++)
        free(revision->pools[i].value);
    free(revision->delta);
    hub_list_remove(&revision->link);
    free(revision);
}

static void lose(struct cluster_map_watch *watch, const char *why)
{
    watch->lost = true;
    rapahub_log(RAPAHUB_LOG_ERROR, "node", "the node does not follow its metastore any more: %s",
                why);
}

/* ---- told ---- */

static void tell(struct cluster_map_watch *watch, const struct cluster_event *event)
{
    if (cluster_event_queue_add(watch->events, event) < 0)
        lose(watch, rapahub_last_error()->text);
}

static void tell_pools(struct cluster_map_watch *watch, const struct revision *revision, bool gone)
{
    for (size_t i = 0; i < revision->count; i++) {
        const struct pool *pool = &revision->pools[i];

        if (!pool->value == gone)
            tell(watch, &(struct cluster_event){
                            .kind = CLUSTER_EVENT_POOL,
                            .pool = pool->pool,
                            .revision = revision->number,
                            .body = {.bytes = {pool->value, pool->size}, .size = pool->size}});
    }
}

static void tell_due(struct cluster_map_watch *watch)
{
    while (!hub_list_empty(&watch->all)) {
        struct revision *revision = HUB_LIST_ITEM(watch->all.next, struct revision, link);

        if (!revision->durable)
            return;
        tell_pools(watch, revision, false);
        if (revision->delta)
            tell(watch,
                 &(struct cluster_event){.kind = CLUSTER_EVENT_DELTA,
                                         .revision = revision->number,
                                         .body = {.bytes = {revision->delta, revision->delta_size},
                                                  .size = revision->delta_size}});
        tell_pools(watch, revision, true);
        free_revision(revision);
    }
}

/* ---- made durable ---- */

static void on_durable(void *user, struct cluster_disk_result *result)
{
    struct revision *revision = user;
    struct cluster_map_watch *watch = revision->watch;

    if (result->status < 0) {
        lose(watch, result->text);
        return;
    }
    watch->wants_snapshot = watch->wants_snapshot || result->wants_snapshot;
    revision->durable = true;
    tell_due(watch);
}

static int append(struct cluster_map_watch *watch, struct revision *revision)
{
    const struct rapahub_bytes bytes = {revision->delta, revision->delta_size};
    struct cluster_delta_change changes[CLUSTER_DELTA_CHANGES_MAX];
    struct cluster_wal_record record = {.revision = revision->number, .wall_ns = hub_clock_wall()};
    struct cluster_delta delta;
    int status = cluster_delta_read(bytes, &delta);

    if (status < 0)
        return status;
    while (record.count < CLUSTER_DELTA_CHANGES_MAX &&
           cluster_delta_next(&delta.changes, &changes[record.count]))
        record.count++;
    record.previous = delta.previous;
    if (record.previous != watch->logged)
        return rapahub_fail(RAPAHUB_EFORMAT, "", "a delta does not follow the one before");
    watch->logged = revision->number;
    return cluster_store_thread_append(watch->disk, &record, changes, on_durable, revision);
}

/* ---- noted ---- */

static void note(struct cluster_map_watch *watch);

/* A note that failed is made up for by the next one. */
static void on_noted(void *user, struct cluster_disk_result *result)
{
    struct cluster_map_watch *watch = user;
    bool more = watch->seen > watch->noting;

    watch->noting = 0;
    if (result->status < 0)
        rapahub_log(RAPAHUB_LOG_WARN, "node", "the revision of the metastore is not noted: %s",
                    result->text);
    else if (more)
        note(watch);
}

/* Notes the last of those that come together. r[impl cluster.store.old] */
static void note(struct cluster_map_watch *watch)
{
    if (watch->noting > 0)
        return;
    watch->noting = watch->seen;
    if (cluster_store_thread_seen(watch->disk, watch->seen, on_noted, watch) < 0) {
        rapahub_clear_error(); /* the next one is noted */
        watch->noting = 0;
    }
}

/* ---- heard ---- */

/* The holders of a container are told at once: no delta says anything of them. */
static void tell_holders(struct cluster_map_watch *watch, const struct cluster_key *key,
                         const struct cluster_change *change)
{
    struct cluster_event event = {.kind = CLUSTER_EVENT_HOLDERS,
                                  .pool = key->pool,
                                  .container = key->container,
                                  .revision = change->pair.mod_rev};

    if (!change->deleted)
        event.body = (struct cluster_payload_body){.bytes = change->pair.value,
                                                   .size = change->pair.value.size};
    tell(watch, &event);
}

static uint8_t *copy(struct rapahub_bytes bytes)
{
    uint8_t *to = malloc(bytes.size + 1);

    if (to && bytes.size > 0)
        memcpy(to, bytes.data, bytes.size);
    return to;
}

static int take_change(struct revision *revision, const struct cluster_change *change)
{
    struct cluster_key key;
    struct pool *pool = &revision->pools[revision->count];

    if (cluster_keys_parse(change->pair.key, &key) < 0) {
        rapahub_clear_error(); /* a key of a later release */
        return 0;
    }
    if (key.kind == CLUSTER_KEY_POOL) {
        *pool = (struct pool){.pool = key.pool, .size = change->pair.value.size};
        revision->count++;
        pool->value = change->deleted ? NULL : copy(change->pair.value);
        return change->deleted || pool->value ? 0 : RAPAHUB_ENOMEM;
    }
    if (cluster_map_nodes_is_of_node(key.kind))
        return cluster_map_nodes_take(revision->watch->nodes, &key, &change->pair, change->deleted);
    if (key.kind == CLUSTER_KEY_HOLD)
        tell_holders(revision->watch, &key, change);
    if (key.kind == CLUSTER_KEY_REVOKED && !change->deleted)
        revision->watch->hooks->revoked(revision->watch->user, key.text);
    if (key.kind == CLUSTER_KEY_LEAD && !change->deleted)
        revision->watch->hooks->lead(revision->watch->user, &change->pair);
    if (key.kind != CLUSTER_KEY_LOG || change->deleted)
        return 0;
    revision->delta = copy(change->pair.value);
    revision->delta_size = change->pair.value.size;
    return revision->delta ? 0 : RAPAHUB_ENOMEM;
}

/* A session that is put again and again is not worth a write to the disk each time: the next change
 * of anything else is noted. */
static bool is_renewal(const struct cluster_change *changes, size_t count)
{
    struct cluster_key key;

    if (count != 1 || changes[0].deleted || changes[0].pair.version < 2)
        return false;
    if (cluster_keys_parse(changes[0].pair.key, &key) < 0) {
        rapahub_clear_error();
        return false;
    }
    return key.kind == CLUSTER_KEY_SESSION;
}

static int take_revision(struct cluster_map_watch *watch, uint64_t rev,
                         const struct cluster_change *changes, size_t count)
{
    struct revision *revision = calloc(1, sizeof *revision + count * sizeof revision->pools[0]);
    int status = 0;

    if (!revision)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a change of the map");
    revision->watch = watch;
    revision->number = rev;
    hub_list_append(&watch->all, &revision->link);
    for (size_t i = 0; status == 0 && i < count; i++)
        status = take_change(revision, &changes[i]);
    if (status == 0 && revision->delta)
        return append(watch, revision);
    revision->durable = true;
    if (status == 0) {
        watch->seen = rev;
        tell_due(watch);
    }
    if (status == 0 && !is_renewal(changes, count))
        note(watch);
    return status;
}

static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    struct cluster_map_watch *watch = user;

    if (status == CLUSTER_TXN_CLOSED)
        return;
    if (status != CLUSTER_TXN_OK)
        lose(watch, cluster_txn_status_name((uint32_t)status));
    else if (!watch->lost && count > 0 && take_revision(watch, rev, changes, count) < 0)
        lose(watch, rapahub_last_error()->text);
}

void cluster_map_watch_init(struct cluster_map_watch *watch, struct cluster_metastore *store,
                            struct cluster_store_thread *disk, struct cluster_event_queue *events)
{
    *watch = (struct cluster_map_watch){.store = store, .disk = disk, .events = events};
    hub_list_init(&watch->all);
}

int cluster_map_watch_begin(struct cluster_map_watch *watch, uint64_t revision, uint64_t last)
{
    const struct cluster_span span = {
        .from = {from, sizeof from - 1}, .to = {past, sizeof past - 1}, .rev = revision};

    watch->logged = last;
    return cluster_metastore_watch(watch->store, &span, on_change, watch, &watch->watch);
}

void cluster_map_watch_end(struct cluster_map_watch *watch)
{
    if (watch->watch != 0)
        cluster_metastore_unwatch(watch->store, watch->watch);
    watch->watch = 0;
    while (watch->all.next && !hub_list_empty(&watch->all))
        free_revision(HUB_LIST_ITEM(watch->all.next, struct revision, link));
}
