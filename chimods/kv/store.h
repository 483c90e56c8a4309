/* SPDX-License-Identifier: Apache-2.0 */
/* store: keys and values in a folder: `log` has the records, `lock` is held while the store is
 * open. A put that returned 0 is on the disk. put_later needs a later sync for that; until then it
 * survives the death of the process, but not of the machine. Not thread-safe. */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <rapahub/chimod.h>

struct kv_store;

/* Allocates memory for a result, like malloc; each function says who owns it. */
typedef void *kv_store_alloc(size_t size);

/* Opens the store in a folder, which is made (0700) if necessary. -EBUSY if another process has it
 * open, -EIO if it is damaged. */
int kv_store_open(const char *folder, struct kv_store **out);

/* Syncs. NULL is allowed. */
void kv_store_close(struct kv_store *store);

/* A failure leaves the key unchanged. Keys have 1 to 1,024 bytes and no line break. */
int kv_store_put(struct kv_store *store, struct rapahub_string key, struct rapahub_bytes value);
int kv_store_put_later(struct kv_store *store, struct rapahub_string key,
                       struct rapahub_bytes value);
int kv_store_sync(struct kv_store *store);

/* -ENOENT if there is no such key. */
int kv_store_get(struct kv_store *store, struct rapahub_string key, kv_store_alloc *alloc,
                 struct rapahub_bytes *value);

int kv_store_remove(struct kv_store *store, struct rapahub_string key, bool *found);

uint64_t kv_store_count(const struct kv_store *store);

/* Returns keys after `after` in the order of their bytes, one a line, at most `max` of them and 48
 * KiB. The last one is the next `after`. Empty at the end. */
int kv_store_keys(const struct kv_store *store, struct rapahub_string after, uint32_t max,
                  kv_store_alloc *alloc, struct rapahub_string *keys);

/* Rewrites the log without replaced and removed records. On failure the old one stays. */
int kv_store_compact(struct kv_store *store, uint64_t *saved);

/* Write all keys and values as a stream, and read them into a store without keys, or with exactly
 * these keys and values, when it is the folder that they were saved from. RAPAHUB_ESTATE for any
 * other. */
int kv_store_save(struct kv_store *store, struct rapahub_sink *to);
int kv_store_load(struct kv_store *store, struct rapahub_source *from);

bool kv_store_is_broken(const struct kv_store *store);

#endif
