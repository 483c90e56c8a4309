/* SPDX-License-Identifier: Apache-2.0 */
/* changes: the part of a store's state that is in no save yet. */
#ifndef KV_CHANGES_H
#define KV_CHANGES_H

#include "store.h"

/* Write the records that were added since the last save, load or call of these two, or since the
 * store was opened, and read them into a store that has all before. After a compaction all keys and
 * values are written, and replace what the reader has. */
int kv_changes_save(struct kv_store *store, struct rapahub_sink *to);
int kv_changes_load(struct kv_store *store, struct rapahub_source *from);

#endif
