/* SPDX-License-Identifier: Apache-2.0 */
/* index: where in the log the newest record of each key is. Open addressing, linear probing; it
 * doubles as it fills and is bounded in keys and in bytes. One thread at a time. */
#ifndef KV_INDEX_H
#define KV_INDEX_H

#include <rapahub/chimod.h>

#define KV_INDEX_KEYS_MAX  (UINT32_C(1) << 20)
#define KV_INDEX_BYTES_MAX (UINT64_C(64) << 20) /* of all keys together */

struct kv_index;

struct kv_index_entry {
    struct rapahub_string key; /* the index's */
    uint64_t at;               /* of the record in the log */
    uint64_t next_at;          /* of its copy, while the log is compacted */
    uint32_t hash;
};

int kv_index_create(struct kv_index **out);
void kv_index_destroy(struct kv_index *index); /* NULL is allowed */

uint64_t kv_index_count(const struct kv_index *index);

/* The key's entry, good until the next set or remove; NULL if there is none. */
struct kv_index_entry *kv_index_find(const struct kv_index *index, struct rapahub_string key);

/* Enters a key, which is copied (RAPAHUB_EFULL, -ENOMEM), or gives one its new place. */
int kv_index_set(struct kv_index *index, struct rapahub_string key, uint64_t at);

/* Whether it was there. */
bool kv_index_remove(struct kv_index *index, struct rapahub_string key);

/* The entry at a cursor or the next behind it, which moves behind that; NULL at the end. Starts at
 * 0; in no order. */
struct kv_index_entry *kv_index_next(const struct kv_index *index, size_t *cursor);

#endif
