/* SPDX-License-Identifier: Apache-2.0 */
/* log: an append-only file of records.
 *
 * The file is a head of 16 bytes (magic, and a random number that identifies this file) and
 * records, each a head of 24 bytes, the key, the value, with all integers little-endian:
 *
 * - u32 at 0: crc32c of the file's number, the record's position, and the record after this field
 * - u32 at 4: bytes of the key, 1 to 1,024
 * - u32 at 8: bytes of the value, at most 16 MiB
 * - u32 at 12: flags; bit 0: the key is removed, the value empty
 * - u64 at 16: how much of the file was surely on the disk when this record was written
 *
 * A process may be killed at any point: an incomplete record at the end is cut off when the log is
 * next opened. An invalid record before the position that a later, valid record states to be on the
 * disk is damage: it is refused with -EIO and never cut off. The checksum includes file number and
 * position, so that a log stored as a value in another log is not mistaken for records of that log.
 *
 * After a failed sync the state of the pages is unknown, so the log accepts no more records until
 * it is opened again. One thread at a time.
 */
#ifndef KV_LOG_H
#define KV_LOG_H

#include <rapahub/chimod.h>

#define KV_LOG_HEAD_SIZE        16u
#define KV_LOG_RECORD_HEAD_SIZE 24u
#define KV_LOG_KEY_MAX          1024u
#define KV_LOG_VALUE_MAX        (16u << 20)

struct kv_log;

struct kv_log_record {
    struct rapahub_string key;
    struct rapahub_bytes value;
    bool removed;
    uint64_t synced; /* filled in by the log */
};

/* Opens the file, or makes a new one, mode 0600. The caller ensures that no other process has it
 * open. The log is empty until it is replayed. */
int kv_log_open(const char *path, struct kv_log **out);

/* Does not sync. NULL is allowed. */
void kv_log_close(struct kv_log *log);

/* Visits every record in order, cuts off an incomplete tail, and syncs. The record's views hold
 * until the visit returns; an error of it ends the replay. */
typedef int kv_log_visit(void *user, uint64_t at, const struct kv_log_record *record);
int kv_log_replay(struct kv_log *log, kv_log_visit *visit, void *user);

/* Appends a record, which is on the disk after the next sync. A failure leaves the log
 * unchanged. */
int kv_log_append(struct kv_log *log, const struct kv_log_record *record, uint64_t *at);

/* Reads the record at a position that append or replay returned. The views hold until the next call
 * for this log. */
int kv_log_read(struct kv_log *log, uint64_t at, struct kv_log_record *record);

int kv_log_sync(struct kv_log *log);

/* Removes everything from `at` on, after its sync failed, or a step that belongs to it. */
int kv_log_cut(struct kv_log *log, uint64_t at);

/* Renames the file. */
int kv_log_rename(struct kv_log *log, const char *path);

uint64_t kv_log_size(const struct kv_log *log); /* bytes */
bool kv_log_is_broken(const struct kv_log *log);

#endif
