/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

#include <string.h>

#include "store_state.h"

/* Says whether no later record has the same key. */
static bool is_latest(const struct kv_store *store, const struct kv_log_record *record, uint64_t at)
{
    const struct kv_index_entry *entry = kv_index_find(store->index, record->key);

    return entry ? entry->at == at : record->removed;
}

static int write_records(struct kv_store *store, struct rapahub_sink *to)
{
    uint64_t end = kv_log_size(store->log);
    struct kv_log_record record;
    int r = 0;

    for (uint64_t at = store->saved; at < end && r == 0;) {
        uint64_t here = at;

        r = kv_log_read(store->log, at, &record);
        if (r < 0)
            return r;
        at += KV_LOG_RECORD_HEAD_SIZE + record.key.size + record.value.size;
        if (is_latest(store, &record, here))
            r = kv_store_write_item(to, &record);
    }
    return r;
}

/* The first byte says whether these are all keys. */
int kv_changes_save(struct kv_store *store, struct rapahub_sink *to)
{
    const uint8_t all = store->rewritten;
    int r = rapahub_sink_write(to, &all, sizeof(all));

    if (r == 0)
        r = all ? kv_store_write_entries(store, to) : write_records(store, to);
    return r < 0 ? r : kv_store_write_end(store, to);
}

static int remove_later(struct kv_store *store, struct rapahub_string key)
{
    const struct kv_log_record record = {.key = key, .removed = true};
    uint64_t at;
    int r = kv_index_find(store->index, key) ? kv_log_append(store->log, &record, &at) : 1;

    if (r == 0)
        kv_index_remove(store->index, key);
    return r < 0 ? r : 0;
}

/* The key is copied, because it is freed with its entry. */
static int remove_all(struct kv_store *store)
{
    const struct kv_index_entry *entry;
    char key[KV_LOG_KEY_MAX];
    size_t cursor = 0;
    int r = 0;

    while (r == 0 && (entry = kv_index_next(store->index, &cursor)) != NULL) {
        memcpy(key, entry->key.data, entry->key.size);
        r = remove_later(store, (struct rapahub_string){key, entry->key.size});
        cursor = 0;
    }
    return r;
}

static int take_change(struct kv_store *store, struct rapahub_source *from,
                       const struct kv_store_item *item, char *key)
{
    int r;

    if (item->value_size != KV_STORE_REMOVED || item->key_size > KV_LOG_KEY_MAX)
        return kv_store_take_item(store, from, item, key, kv_store_put_later);
    r = rapahub_source_read_all(from, key, item->key_size);
    return r < 0 ? r : remove_later(store, (struct rapahub_string){key, item->key_size});
}

int kv_changes_load(struct kv_store *store, struct rapahub_source *from)
{
    char key[KV_LOG_KEY_MAX];
    struct kv_store_item item;
    uint8_t all;
    int r = rapahub_source_read_all(from, &all, sizeof(all));

    if (r == 0 && all)
        r = remove_all(store);
    while (r == 0) {
        r = rapahub_source_read_all(from, &item, sizeof(item));
        if (r < 0 || item.key_size == 0)
            break;
        r = take_change(store, from, &item, key);
    }
    if (r == 0)
        r = kv_log_sync(store->log);
    if (r == 0)
        kv_store_note_saved(store);
    return r;
}
