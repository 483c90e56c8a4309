/* SPDX-License-Identifier: Apache-2.0 */
/* index: finds the newest record of each key in the log. Open addressing with linear probing; it
 * doubles as it fills, and is bounded in keys and in bytes. Not thread-safe. */
#ifndef KV_INDEX_H
#define KV_INDEX_H

#include <rapahub/chimod.h>

#define KV_INDEX_KEYS_MAX  (UINT32_C(1) << 20)
#define KV_INDEX_BYTES_MAX (UINT64_C(64) << 20) /* bytes of all keys together */

struct kv_index;

struct kv_index_entry {
    struct rapahub_string key; /* owned by the index */
    uint64_t at;               /* position of the record in the log */
    uint64_t next_at;          /* position of its copy, while the log is compacted */
    uint32_t hash;
};

int kv_index_create(struct kv_index **out);
void kv_index_destroy(struct kv_index *index); /* NULL is allowed */

uint64_t kv_index_count(const struct kv_index *index);

/* Returns the key's entry, valid until the next set or remove, or NULL if there is none. */
struct kv_index_entry *kv_index_find(const struct kv_index *index, struct rapahub_string key);

/* Adds a key, which is copied (RAPAHUB_EFULL, -ENOMEM), or gives an existing key its new
 * position. */
int kv_index_set(struct kv_index *index, struct rapahub_string key, uint64_t at);

/* Removes a key. False if it was not there. */
bool kv_index_remove(struct kv_index *index, struct rapahub_string key);

/* Returns the entry at the cursor, or the next one after it, and moves the cursor past it; NULL at
 * the end. Starts at 0. The order is arbitrary. */
struct kv_index_entry *kv_index_next(const struct kv_index *index, size_t *cursor);

#endif
