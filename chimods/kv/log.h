/* SPDX-License-Identifier: Apache-2.0 */
/* log: a file of records, to which is only ever added.
 *
 * The file is a head of 16 bytes (magic, a random number that names this file) and records, each a
 * head of 24 bytes, the key, the value, all integers little-endian:
 *
 *     0  u32  crc32c of the file's number, the record's place and all of the record behind these 4
 *     4  u32  bytes of the key, 1 to 1,024
 *     8  u32  bytes of the value, at most 16 MiB
 *    12  u32  flags; bit 0: the key is removed, the value empty
 *    16  u64  how much of the file was on the disk for sure when this record was written
 *
 * A process may be killed anywhere: what is unfinished at the end is cut when the log is next
 * opened. A record that does not check before the place that a later, sound record knows to have
 * been on the disk is damage: refused with -EIO, never cut. File number and place are part of the
 * sum so that a log kept as a value in another is not taken for records of that.
 *
 * After a failed sync nothing is known of the pages, so the log takes no more records until it is
 * opened again. One thread at a time. */
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

/* Opens the file, or makes a new one, mode 0600. Who opens it has made sure that nobody else has.
 * It holds nothing until it was replayed. */
int kv_log_open(const char *path, struct kv_log **out);

/* Does not sync. NULL is allowed. */
void kv_log_close(struct kv_log *log);

/* Visits every record in order, cuts a torn tail, and syncs. The record's views hold until the
 * visit returns, which stops all with an error. */
typedef int kv_log_visit(void *user, uint64_t at, const struct kv_log_record *record);
int kv_log_replay(struct kv_log *log, kv_log_visit *visit, void *user);

/* Adds a record; it is on the disk after the next sync. On failure the log is as before. */
int kv_log_append(struct kv_log *log, const struct kv_log_record *record, uint64_t *at);

/* Reads the record at a place that append or replay has named. The views hold until the next call
 * for this log. */
int kv_log_read(struct kv_log *log, uint64_t at, struct kv_log_record *record);

int kv_log_sync(struct kv_log *log);

/* Takes back what was added from `at` on, where its sync has failed or what belongs to it has. */
int kv_log_cut(struct kv_log *log, uint64_t at);

/* Renames the file. */
int kv_log_rename(struct kv_log *log, const char *path);

uint64_t kv_log_size(const struct kv_log *log); /* bytes */
bool kv_log_is_broken(const struct kv_log *log);

#endif
