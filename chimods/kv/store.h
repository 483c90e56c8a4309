/* SPDX-License-Identifier: Apache-2.0 */
/* store: keys and values in a folder: `log` with the records, `lock` held while it is open. What
 * put has returned 0 for is on the disk; put_later asks for a sync behind it, and until then
 * survives the death of the process, not that of the machine. One thread at a time. */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <rapahub/chimod.h>

struct kv_store;

/* Where a result goes: as malloc; whose it is then, the function says. */
typedef void *kv_store_alloc(size_t size);

/* Makes the folder (0700) where there is none, and reads what is in it: -EBUSY where another
 * process has it, -EIO where it is damaged. */
int kv_store_open(const char *folder, struct kv_store **out);

/* Syncs. NULL is allowed. */
void kv_store_close(struct kv_store *store);

/* On failure the key is as before. Keys have 1 to 1,024 bytes and no line break. */
int kv_store_put(struct kv_store *store, struct rapahub_string key, struct rapahub_bytes value);
int kv_store_put_later(struct kv_store *store, struct rapahub_string key,
                       struct rapahub_bytes value);
int kv_store_sync(struct kv_store *store);

/* -ENOENT where there is no such key. */
int kv_store_get(struct kv_store *store, struct rapahub_string key, kv_store_alloc *alloc,
                 struct rapahub_bytes *value);

int kv_store_remove(struct kv_store *store, struct rapahub_string key, bool *found);

uint64_t kv_store_count(const struct kv_store *store);

/* Keys behind `after` in the order of their bytes, a line each, at most `max` of them and 48 KiB:
 * the last one is the next `after`. Empty at the end. */
int kv_store_keys(const struct kv_store *store, struct rapahub_string after, uint32_t max,
                  kv_store_alloc *alloc, struct rapahub_string *keys);

/* Writes the log anew without what was replaced or removed. On failure the old one stays. */
int kv_store_compact(struct kv_store *store, uint64_t *saved);

/* All keys and values as a stream, and back into a store without keys, or with these very keys and
 * values: then it is the folder they were saved from. Else RAPAHUB_ESTATE. */
int kv_store_save(struct kv_store *store, struct rapahub_sink *to);
int kv_store_load(struct kv_store *store, struct rapahub_source *from);

bool kv_store_is_broken(const struct kv_store *store);

#endif
