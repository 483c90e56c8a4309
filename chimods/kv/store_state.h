/* SPDX-License-Identifier: Apache-2.0 */
/* store_state: an open store, and the parts of the streams of its state, for the files of the
 * store. */
#ifndef KV_STORE_STATE_H
#define KV_STORE_STATE_H

#include "index.h"
#include "log.h"
#include "store.h"

struct kv_store {
    char *folder, *path, *next_path; /* the log, and the one that a compaction writes */
    int folder_fd, lock_fd;
    struct kv_log *log;
    struct kv_index *index;
    uint64_t saved; /* the records from there on are in no save yet */
    bool rewritten; /* the records before are not those that were saved */
};

/* A key in a stream; size 0 ends the stream. */
#define KV_STORE_REMOVED UINT32_MAX /* a value_size, in changes */
struct kv_store_item {
    uint32_t key_size, value_size;
};

/* From now on no record that the log has is a change. */
void kv_store_note_saved(struct kv_store *store);

/* Write a record as an item, all present keys as items, and the end, after which all is saved. */
int kv_store_write_item(struct rapahub_sink *to, const struct kv_log_record *record);
int kv_store_write_entries(struct kv_store *store, struct rapahub_sink *to);
int kv_store_write_end(struct kv_store *store, struct rapahub_sink *to);

/* Reads the key and the value of an item, and applies the function to them. `key` has space for the
 * longest. */
typedef int kv_store_item_function(struct kv_store *store, struct rapahub_string key,
                                   struct rapahub_bytes value);
int kv_store_take_item(struct kv_store *store, struct rapahub_source *from,
                       const struct kv_store_item *item, char *key, kv_store_item_function *done);

#endif
