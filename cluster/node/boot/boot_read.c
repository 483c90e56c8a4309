/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot_read.h"

#include <inttypes.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/boot_lead.h"
#include "cluster/node/boot/boot_modules.h"
#include "cluster/node/boot/store_keys.h"
#include "cluster/store/snapshot.h"

#define TOPIC "node"

struct telling {
    struct cluster_boot *boot;
    const struct cluster_boot_read_visitor *visitor;
    void *user;
    struct cluster_snapshot *snapshot; /* NULL: the log needs none */
    struct cluster_boot_modules modules;
};

/* ---- records ---- */

static int add_to_snapshot(const struct telling *telling, const struct cluster_key *key,
                           const struct cluster_entry *entry)
{
    const struct cluster_delta_change change = {
        .pool = key->pool, .container = key->container, .entry = *entry};

    return telling->snapshot ? cluster_snapshot_add(telling->snapshot, &change) : 0;
}

static int tell_module(struct telling *telling, const struct cluster_key *key, uint64_t revision,
                       const struct cluster_record_module *module)
{
    int r = cluster_boot_modules_add(&telling->modules, module->digest.data);

    return r < 0 || !telling->visitor
               ? r
               : telling->visitor->module(telling->user, key, revision, module);
}

static int tell_visitor(const struct telling *telling, const struct cluster_key *key,
                        uint64_t revision, const struct cluster_record *record)
{
    const struct cluster_boot_read_visitor *visitor = telling->visitor;

    if (!visitor)
        return 0;
    if (key->kind == CLUSTER_KEY_POOL)
        return visitor->pool(telling->user, key->pool, revision, &record->pool);
    if (key->kind == CLUSTER_KEY_ENTRY)
        return visitor->entry(telling->user, key, revision, &record->entry);
    return visitor->operation(telling->user, key, revision, &record->operation);
}

static int tell(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    struct telling *telling = user;
    int r;

    switch (key->kind) {
    case CLUSTER_KEY_ENTRY:
        r = add_to_snapshot(telling, key, &record->entry);
        return r < 0 ? r : tell_visitor(telling, key, pair->mod_rev, record);
    case CLUSTER_KEY_POOL:
    case CLUSTER_KEY_OPERATION:
    case CLUSTER_KEY_RECOVERY:
        return tell_visitor(telling, key, pair->mod_rev, record);
    case CLUSTER_KEY_MODULE:
        return tell_module(telling, key, pair->mod_rev, &record->module);
    case CLUSTER_KEY_LOG:
        telling->boot->last = pair->mod_rev;
        return 0;
    default:
        return 0;
    }
}

static int read_kind(struct telling *telling, enum cluster_keys_kind kind)
{
    const struct cluster_boot *boot = telling->boot;
    const struct cluster_store_wait wait = {.store = boot->store,
                                            .marker = boot->marker,
                                            .wait_ns = boot->wait_ns,
                                            .url = boot->folder.place.url};
    const struct cluster_key log = {.kind = CLUSTER_KEY_LOG};

    if (kind == CLUSTER_KEY_LOG)
        return cluster_store_keys_get(&wait, &log, boot->revision, tell, telling);
    return cluster_store_keys_all(&wait, kind, boot->revision, tell, telling);
}

/* ---- the log of the map ---- */

/* A metastore of a later generation was restored, and the log is of what was before.
 * r[impl cluster.boot.log] */
static int look_at_log(struct cluster_boot *boot)
{
    uint64_t revision = boot->map.revision;

    if (revision <= boot->last)
        return 0;
    if (cluster_ids_generation(revision) == boot->generation)
        return rapahub_fail(RAPAHUB_ESTOREOLD, "cluster.store.old",
                            "%s: its last change of the map is revision %" PRIu64
                            ", and the log of this node has %" PRIu64 ": put the newer one back",
                            boot->folder.place.url, cluster_ids_own(boot->last),
                            cluster_ids_own(revision));
    return cluster_segments_put_aside(&boot->log, "the metastore was restored");
}

static void set_log_options(struct cluster_boot *boot, bool fresh)
{
    boot->wal = (struct cluster_wal_options){.log = &boot->log,
                                             .revision = boot->last,
                                             .sequence = boot->map.replay.sequence,
                                             .segments = fresh ? 0 : boot->map.replay.segments};
}

static int read_entries(struct telling *telling)
{
    int r = telling->visitor ? telling->visitor->reading(telling->user, telling->boot->revision,
                                                         telling->boot->last)
                             : 0;

    return r < 0 ? r : read_kind(telling, CLUSTER_KEY_ENTRY);
}

/* Reads the entries, and writes them into a snapshot at the last delta. */
static int read_into_snapshot(struct telling *telling)
{
    struct cluster_boot *boot = telling->boot;
    struct cluster_snapshot snapshot;
    int r = cluster_snapshot_begin(&snapshot, &boot->log, boot->last);

    if (r < 0)
        return r;
    telling->snapshot = &snapshot;
    r = read_entries(telling);
    telling->snapshot = NULL;
    if (r < 0) {
        cluster_snapshot_abandon(&snapshot);
        return r;
    }
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the log of the map begins anew, at revision %" PRIu64,
                boot->last);
    return cluster_snapshot_commit(&snapshot);
}

static int read_map(struct telling *telling)
{
    struct cluster_boot *boot = telling->boot;
    bool fresh;
    int r = read_kind(telling, CLUSTER_KEY_LOG);

    if (r == 0)
        r = look_at_log(boot);
    if (r < 0)
        return r;
    fresh = boot->map.revision != boot->last && boot->last != 0;
    r = fresh ? read_into_snapshot(telling) : read_entries(telling);
    if (r == 0)
        set_log_options(boot, fresh);
    return r;
}

static int read_modules(struct telling *telling)
{
    int r = read_kind(telling, CLUSTER_KEY_MODULE);

    if (r == 0)
        cluster_boot_modules_remove_others(&telling->modules, &telling->boot->folder.blobs);
    cluster_boot_modules_fini(&telling->modules);
    return r;
}

/* r[impl cluster.boot.read] */
int cluster_boot_read_all(struct cluster_boot *boot,
                          const struct cluster_boot_read_visitor *visitor, void *user)
{
    struct telling telling = {.boot = boot, .visitor = visitor, .user = user};
    const struct cluster_store_wait wait = {.store = boot->store,
                                            .marker = boot->marker,
                                            .wait_ns = boot->wait_ns,
                                            .url = boot->folder.place.url};
    int r = cluster_store_wait_sync(&wait, &boot->revision);

    boot->last = 0;
    if (r == 0)
        r = cluster_boot_lead_read(&wait, boot->revision, &boot->lead);
    if (r == 0)
        r = read_kind(&telling, CLUSTER_KEY_POOL);
    if (r == 0)
        r = read_map(&telling);
    if (r == 0)
        r = read_kind(&telling, CLUSTER_KEY_OPERATION);
    return r == 0 ? read_modules(&telling) : r;
}
