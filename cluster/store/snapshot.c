/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "hub/base/crc32c.h"
#include "hub/base/own.h"

#define TOPIC       "store"
#define MAGIC       "RPHMAP\x01"
#define VERSION     1
#define CHECKSUM_AT 60
#define FILE_MAX                                                                                \
    (CLUSTER_SNAPSHOT_HEADER + (CLUSTER_SNAPSHOT_ENTRIES_MAX / CLUSTER_DELTA_CHANGES_MAX + 1) * \
                                   (size_t)CLUSTER_WAL_RECORD_SIZE_MAX)

_Static_assert(sizeof MAGIC == 8, "its last byte is 0");

struct header {
    uint32_t version, node, boot;
    uint8_t uuid[CLUSTER_WAL_RECORD_UUID];
    uint64_t revision, entries;
};

#define PUT(to, at, number)       memcpy((to) + (at), &(number), sizeof(number))
#define TAKE_AT(number, from, at) memcpy(&(number), (from) + (at), sizeof(number))

static void put_header(const struct header *header, uint8_t to[CLUSTER_SNAPSHOT_HEADER])
{
    uint32_t checksum;

    memset(to, 0, CLUSTER_SNAPSHOT_HEADER);
    memcpy(to, MAGIC, sizeof MAGIC);
    PUT(to, 8, header->version);
    PUT(to, 12, header->node);
    memcpy(to + 16, header->uuid, sizeof header->uuid);
    PUT(to, 32, header->boot);
    PUT(to, 40, header->revision);
    PUT(to, 48, header->entries);
    checksum = hub_crc32c(0, to, CHECKSUM_AT);
    PUT(to, CHECKSUM_AT, checksum);
}

/* ---- writing ---- */

static int fail(const struct cluster_snapshot *snapshot, int code)
{
    return cluster_files_fail(&snapshot->log->folder, CLUSTER_SEGMENTS_SNAPSHOT, "write it", code);
}

int cluster_snapshot_begin(struct cluster_snapshot *snapshot, const struct cluster_segments *log,
                           uint64_t revision)
{
    int r;

    *snapshot = (struct cluster_snapshot){
        .log = log, .revision = revision, .at = CLUSTER_SNAPSHOT_HEADER, .fd = -1};
    if (!cluster_ids_is_revision(revision))
        return rapahub_fail(RAPAHUB_EINVAL, "", "a snapshot without a revision");
    r = cluster_files_create(&log->folder, CLUSTER_SEGMENTS_SNAPSHOT_TEMPORARY);
    if (r < 0)
        return fail(snapshot, r);
    snapshot->fd = r;
    return 0;
}

void cluster_snapshot_abandon(struct cluster_snapshot *snapshot)
{
    const struct cluster_files *files = snapshot->log->folder.files;

    if (snapshot->fd < 0)
        return;
    files->close(files, snapshot->fd);
    files->remove(files, snapshot->log->folder.fd, CLUSTER_SEGMENTS_SNAPSHOT_TEMPORARY);
    snapshot->fd = -1;
}

static int write_batch(struct cluster_snapshot *snapshot)
{
    struct cluster_wal_record record = {.revision = snapshot->revision, .count = snapshot->count};
    uint8_t bytes[CLUSTER_WAL_RECORD_SIZE_MAX];
    int size, r;

    if (snapshot->count == 0)
        return 0;
    size = cluster_wal_record_put(&record, snapshot->batch, bytes, sizeof bytes);
    if (size < 0)
        return size;
    r = cluster_files_write(snapshot->log->folder.files, snapshot->fd, bytes, (size_t)size,
                            snapshot->at);
    if (r < 0)
        return fail(snapshot, r);
    snapshot->at += (uint64_t)size;
    snapshot->count = 0;
    return 0;
}

int cluster_snapshot_add(struct cluster_snapshot *snapshot,
                         const struct cluster_delta_change *entry)
{
    if (entry->entry.state == CLUSTER_ENTRY_NONE ||
        snapshot->entries == CLUSTER_SNAPSHOT_ENTRIES_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "an entry that a snapshot cannot have");
    snapshot->batch[snapshot->count++] = *entry;
    snapshot->entries++;
    return snapshot->count == CLUSTER_DELTA_CHANGES_MAX ? write_batch(snapshot) : 0;
}

static int write_header(const struct cluster_snapshot *snapshot)
{
    struct header header = {.version = VERSION,
                            .node = snapshot->log->node,
                            .boot = snapshot->log->boot,
                            .revision = snapshot->revision,
                            .entries = snapshot->entries};
    uint8_t bytes[CLUSTER_SNAPSHOT_HEADER];
    int r;

    memcpy(header.uuid, snapshot->log->uuid, sizeof header.uuid);
    put_header(&header, bytes);
    r = cluster_files_write(snapshot->log->folder.files, snapshot->fd, bytes, sizeof bytes, 0);
    return r < 0 ? fail(snapshot, r) : 0;
}

/* r[impl cluster.wal.snapshot] */
int cluster_snapshot_commit(struct cluster_snapshot *snapshot)
{
    const struct cluster_segments *log = snapshot->log;
    int r = write_batch(snapshot), fd;

    if (r == 0)
        r = write_header(snapshot);
    if (r < 0) {
        cluster_snapshot_abandon(snapshot);
        return r;
    }
    fd = snapshot->fd;
    snapshot->fd = -1;
    r = cluster_files_settle(&log->folder, fd, CLUSTER_SEGMENTS_SNAPSHOT_TEMPORARY,
                             CLUSTER_SEGMENTS_SNAPSHOT);
    if (r < 0)
        return r;
    if (cluster_segments_remove_before(log, snapshot->revision) < 0)
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%s: it stays until the next snapshot",
                    rapahub_last_error()->text);
    return 0;
}

/* ---- reading ---- */

/* Returns 0, 1 if the header is no sound one, or a failure that leaves the file as it is. */
static int take_header(const struct cluster_segments *log, struct rapahub_bytes bytes,
                       struct header *out)
{
    uint8_t written[CLUSTER_SNAPSHOT_HEADER];
    const uint8_t *at = bytes.data;

    if (bytes.size < CLUSTER_SNAPSHOT_HEADER || memcmp(at, MAGIC, sizeof MAGIC) != 0)
        return 1;
    TAKE_AT(out->version, at, 8);
    TAKE_AT(out->node, at, 12);
    memcpy(out->uuid, at + 16, sizeof out->uuid);
    TAKE_AT(out->boot, at, 32);
    TAKE_AT(out->revision, at, 40);
    TAKE_AT(out->entries, at, 48);
    put_header(out, written);
    if (memcmp(written + CHECKSUM_AT, at + CHECKSUM_AT, 4) != 0)
        return 1;
    if (out->version != VERSION)
        return rapahub_fail(RAPAHUB_EABI, "cluster.wal.snapshot",
                            "%s/%s: a snapshot of version %" PRIu32 ", this release reads %d",
                            log->folder.path, CLUSTER_SEGMENTS_SNAPSHOT, out->version, VERSION);
    if (memcmp(written, at, sizeof written) != 0 || !cluster_ids_is_revision(out->revision))
        return 1;
    return cluster_segments_check(log, CLUSTER_SEGMENTS_SNAPSHOT, out->node, out->uuid);
}

/* Takes the next record. False where there is none that the snapshot may have. */
static bool take_record(struct rapahub_bytes bytes, size_t *at, uint64_t revision,
                        struct cluster_wal_record *out)
{
    const uint8_t *data = bytes.data;
    int size = cluster_wal_record_read((struct rapahub_bytes){data + *at, bytes.size - *at}, out);

    if (size <= 0 || out->revision != revision || out->previous != 0)
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        if (cluster_wal_record_change(out, i).entry.state == CLUSTER_ENTRY_NONE)
            return false;
    *at += (size_t)size;
    return true;
}

static bool is_whole(struct rapahub_bytes bytes, const struct header *header)
{
    struct cluster_wal_record record;
    uint64_t entries = 0;
    size_t at = CLUSTER_SNAPSHOT_HEADER;

    while (at < bytes.size) {
        if (!take_record(bytes, &at, header->revision, &record))
            return false;
        entries += record.count;
    }
    return entries == header->entries;
}

static int hand_out(struct rapahub_bytes bytes, const struct header *header,
                    int (*apply)(void *, const struct cluster_wal_record *), void *user)
{
    struct cluster_wal_record record;
    size_t at = CLUSTER_SNAPSHOT_HEADER;
    int r = 0;

    while (r == 0 && at < bytes.size && take_record(bytes, &at, header->revision, &record))
        r = apply(user, &record);
    return r < 0 ? r : 0;
}

int cluster_snapshot_read(const struct cluster_segments *log,
                          int (*apply)(void *user, const struct cluster_wal_record *record),
                          void *user, uint64_t *revision)
{
    OWN(hub_memory) uint8_t *data = NULL;
    struct rapahub_bytes bytes = {NULL, 0};
    struct header header;
    int r;

    *revision = 0;
    r = cluster_files_load(&log->folder, CLUSTER_SEGMENTS_SNAPSHOT, FILE_MAX, &data, &bytes.size);
    if (r == -ENOENT)
        return 0;
    if (r == -ENOMEM)
        return r;
    bytes.data = data;
    r = r < 0 ? 1 : take_header(log, bytes, &header);
    if (r == 0 && !is_whole(bytes, &header))
        r = 1;
    if (r == 1) {
        r = cluster_files_put_aside(&log->folder, CLUSTER_SEGMENTS_SNAPSHOT,
                                    "the snapshot is damaged");
        return r < 0 ? r : 1;
    }
    if (r == 0)
        r = hand_out(bytes, &header, apply, user);
    if (r == 0)
        *revision = header.revision;
    return r;
}
