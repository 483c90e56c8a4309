/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/store/boot_stage.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/sqlite/sqlite.h"
#include "cluster/node/boot/store_keys.h"
#include "cluster/wire/delta.h"
#include "hub/base/clock.h"

#define POOL ((uint64_t)CLUSTER_POOL_MAJOR_LEAST << 32)

static const struct cluster_metastore_end *const ends[] = {&cluster_sqlite_end, NULL};

struct cluster_boot_options boot_stage_options(const struct folder_stage *stage)
{
    return (struct cluster_boot_options){
        .data = stage->path, .ends = ends, .lock_fd = -1, .wait_ns = 20 * HUB_SECOND};
}

int boot_stage_run(const struct folder_stage *stage, struct cluster_boot *boot)
{
    const struct cluster_boot_options options = boot_stage_options(stage);

    return cluster_boot_run(&options, boot);
}

/* ---- what is told ---- */

static int note(struct boot_told *told)
{
    return ++told->calls == told->fail_at ? -ECANCELED : 0;
}

static int take_pool(void *user, uint64_t pool, uint64_t revision,
                     const struct cluster_record_pool *record)
{
    struct boot_told *told = user;

    told->disordered |=
        told->readings > 0 || pool != POOL || revision == 0 || record->containers == 0;
    told->pools++;
    return note(told);
}

static int take_reading(void *user, uint64_t revision, uint64_t last)
{
    struct boot_told *told = user;

    told->disordered |= told->entries > 0;
    told->readings++;
    told->revision = revision;
    told->last = last;
    return note(told);
}

static int take_entry(void *user, const struct cluster_key *key, uint64_t revision,
                      const struct cluster_entry *entry)
{
    struct boot_told *told = user;

    told->disordered |= told->readings == 0 || told->operations > 0 || entry->owner != 1;
    if (key->container < BOOT_STAGE_ENTRIES_MAX)
        told->entry_revisions[key->container] = revision;
    told->entries++;
    return note(told);
}

static int take_operation(void *user, const struct cluster_key *key, uint64_t revision,
                          const struct cluster_record_operation *record)
{
    struct boot_told *told = user;

    told->disordered |= told->modules > 0 || record->kind == 0 || revision == 0 ||
                        (key->kind == CLUSTER_KEY_OPERATION && key->number != 7);
    told->operations++;
    return note(told);
}

static int take_module(void *user, const struct cluster_key *key, uint64_t revision,
                       const struct cluster_record_module *record)
{
    struct boot_told *told = user;

    told->disordered |= revision == 0 || key->text.size != record->name.size;
    told->modules++;
    return note(told);
}

const struct cluster_boot_read_visitor boot_stage_visitor = {
    .pool = take_pool,
    .reading = take_reading,
    .entry = take_entry,
    .operation = take_operation,
    .module = take_module,
};

/* ---- writes ---- */

static uint64_t run(struct cluster_boot *boot, const struct cluster_write *writes, unsigned count)
{
    const struct cluster_store_wait wait = {.store = boot->store,
                                            .marker = boot->marker,
                                            .wait_ns = boot->wait_ns,
                                            .url = boot->folder.place.url};
    uint64_t rev = 0;
    int status;

    if (cluster_store_wait_txn(&wait, &(struct cluster_txn){.then = writes, .then_count = count},
                               &status, &rev) != 0)
        return 0;
    return rev;
}

uint64_t boot_stage_put_raw(struct cluster_boot *boot, const struct cluster_write *write)
{
    return run(boot, write, 1);
}

uint64_t boot_stage_write(struct cluster_boot *boot, const struct boot_stage_put *puts,
                          unsigned count)
{
    struct cluster_store_keys_put built[8];
    struct cluster_write writes[8];

    for (unsigned i = 0; i < count; i++) {
        if (cluster_store_keys_build(&puts[i].key, &puts[i].record, &built[i]) < 0)
            return 0;
        writes[i] = (struct cluster_write){CLUSTER_PUT, built[i].key_bytes, built[i].value_bytes};
    }
    return run(boot, writes, count);
}

uint64_t boot_stage_map(struct cluster_boot *boot, uint32_t container, uint64_t previous)
{
    const struct cluster_delta_change change = {.pool = POOL,
                                                .container = container,
                                                .entry = {.state = CLUSTER_ENTRY_STARTING,
                                                          .owner = 1,
                                                          .session = boot->session,
                                                          .epoch = 1,
                                                          .lineage = cluster_ids_lineage(1, 0)}};
    const struct cluster_delta delta = {.previous = previous,
                                        .changes = {.of = &change, .count = 1}};
    const struct cluster_key entry_key = {
        .kind = CLUSTER_KEY_ENTRY, .pool = POOL, .container = container};
    const struct cluster_key log_key = {.kind = CLUSTER_KEY_LOG};
    const struct cluster_record record = {.entry = change.entry};
    struct cluster_store_keys_put entry, log;
    struct hub_writer writer;
    struct cluster_write writes[2];

    hub_writer_init(&writer, log.value, sizeof log.value);
    if (cluster_store_keys_build(&entry_key, &record, &entry) < 0 ||
        cluster_store_keys_build(&log_key, NULL, &log) < 0 ||
        cluster_delta_put(&writer, &delta) < 0)
        return 0;
    log.value_bytes = (struct rapahub_bytes){log.value, writer.size};
    writes[0] = (struct cluster_write){CLUSTER_PUT, entry.key_bytes, entry.value_bytes};
    writes[1] = (struct cluster_write){CLUSTER_PUT, log.key_bytes, log.value_bytes};
    return run(boot, writes, 2);
}

uint64_t boot_stage_fill(struct cluster_boot *boot)
{
    static const uint8_t digest[CLUSTER_RECORD_DIGEST] = {
        /* of the text "module" */
        0x12, 0x09, 0x70, 0xd8, 0x12, 0x83, 0x6f, 0x19, 0x88, 0x86, 0x25,
        0x58, 0x7a, 0x46, 0x06, 0xa5, 0xad, 0x23, 0xce, 0xf3, 0x1c, 0x86,
        0x84, 0xe6, 0x01, 0x77, 0x15, 0x52, 0x54, 0x8f, 0xc6, 0xb9};
    static const char text[] = "1234567890";
    const struct boot_stage_put puts[] = {
        {{.kind = CLUSTER_KEY_POOL, .pool = POOL},
         {.pool = {.state = CLUSTER_POOL_ACTIVE,
                   .containers = 4,
                   .slots_count = 4096,
                   .digest = {digest, sizeof digest},
                   .spec = {text, 10},
                   .manifest = {text, 10}}}},
        {{.kind = CLUSTER_KEY_OPERATION, .number = 7}, {.operation = {.kind = 1, .step = 1}}},
        {{.kind = CLUSTER_KEY_RECOVERY, .node = 3, .revision = 9},
         {.operation = {.kind = 2, .step = 1}}},
        {{.kind = CLUSTER_KEY_MODULE, .text = {"kv", 2}, .version = {"1.0", 3}},
         {.module = {.name = {"kv", 2},
                     .version = {"1.0", 3},
                     .machine = {"x86_64", 6},
                     .abi = 1,
                     .size = 10,
                     .digest = {digest, sizeof digest}}}},
    };

    return boot_stage_write(boot, puts, 4);
}
