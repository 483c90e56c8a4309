/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#define TOPIC "store"

int cluster_wal_begin(struct cluster_wal *wal, const struct cluster_wal_options *options)
{
    uint32_t size = options->segment_size > 0 ? options->segment_size : CLUSTER_SEGMENTS_SIZE;

    if (size < CLUSTER_SEGMENTS_SIZE_LEAST || size > CLUSTER_SEGMENTS_SIZE)
        return rapahub_fail(RAPAHUB_EINVAL, "", "segments of %" PRIu32 " bytes", size);
    if (options->sequence == UINT64_MAX)
        return rapahub_fail(RAPAHUB_EOVERFLOW, "", "%s: no number is left for a segment of the log",
                            options->log->folder.path);
    *wal = (struct cluster_wal){
        .log = options->log,
        .segment_size = size,
        .sequence = options->sequence,
        .segments = options->segments,
        .fd = -1,
        .appended = options->revision,
        .synced = options->revision,
        .capacity = size - CLUSTER_WAL_RECORD_SEGMENT,
    };
    if (wal->capacity > CLUSTER_WAL_GROUP_MAX)
        wal->capacity = CLUSTER_WAL_GROUP_MAX;
    wal->group = malloc(wal->capacity);
    return wal->group ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the log");
}

static void close_segment(struct cluster_wal *wal)
{
    const struct cluster_files *files = wal->log->folder.files;

    if (wal->fd >= 0)
        files->close(files, wal->fd);
    wal->fd = -1;
}

void cluster_wal_end(struct cluster_wal *wal)
{
    close_segment(wal);
    free(wal->group);
    wal->group = NULL;
}

/* ---- segments ---- */

static int fill_segment(struct cluster_wal *wal, int fd)
{
    const struct cluster_files *files = wal->log->folder.files;
    struct cluster_wal_segment header = {
        .node = wal->log->node, .boot = wal->log->boot, .first = wal->first};
    uint8_t bytes[CLUSTER_WAL_RECORD_SEGMENT];
    int r = files->allocate(files, fd, wal->segment_size);

    for (size_t i = 0; i < sizeof header.uuid; i++)
        header.uuid[i] = wal->log->uuid[i];
    cluster_wal_record_put_segment(&header, bytes);
    if (r == 0)
        r = cluster_files_write(files, fd, bytes, sizeof bytes, 0);
    if (r == 0)
        r = files->sync(files, fd);
    if (r == 0)
        r = files->sync_folder(files, wal->log->folder.fd);
    return r;
}

/* Makes the next segment: its header and its name are durable before a record is in it. */
static int make_segment(struct cluster_wal *wal)
{
    const struct cluster_files *files = wal->log->folder.files;
    int folder = wal->log->folder.fd, fd, r;

    cluster_segments_name(wal->sequence, wal->name);
    fd = files->open(files, folder, wal->name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    wal->sequence++;
    r = fill_segment(wal, fd);
    if (r < 0) {
        files->close(files, fd);
        files->remove(files, folder, wal->name);
        return r;
    }
    wal->fd = fd;
    wal->at = CLUSTER_WAL_RECORD_SEGMENT;
    wal->segments++;
    return 0;
}

/* ---- records ---- */

/* After ENOSPC of a write the file is good: the same bytes go to the same place when there is
 * space. After any other failure, and any of a sync, it is not used again. */
static int write_group(struct cluster_wal *wal)
{
    const struct cluster_files *files = wal->log->folder.files;
    int r = wal->fd < 0 ? make_segment(wal) : 0;

    if (r < 0)
        return r;
    r = cluster_files_write(files, wal->fd, wal->group, wal->size, wal->at);
    if (cluster_files_is_full(r))
        return r;
    if (r == 0)
        r = files->sync(files, wal->fd);
    if (r < 0) {
        close_segment(wal);
        return r;
    }
    wal->at += wal->size;
    wal->size = 0;
    wal->synced = wal->appended;
    return 0;
}

/* r[impl cluster.wal.fsync] */
static int ended(const struct cluster_wal *wal)
{
    return rapahub_fail(RAPAHUB_EIO, "cluster.wal.fsync",
                        "%s: the log of the map has ended after an error of the disk",
                        wal->log->folder.path);
}

int cluster_wal_sync(struct cluster_wal *wal)
{
    int r;

    if (wal->ended)
        return ended(wal);
    if (wal->size == 0)
        return 0;
    r = write_group(wal);
    if (r < 0 && !cluster_files_is_full(r)) {
        cluster_files_fail(&wal->log->folder, wal->name, "write the log", r);
        rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "%s; it goes on in a new file",
                    rapahub_last_error()->text);
        r = write_group(wal);
        wal->ended = r < 0 && !cluster_files_is_full(r);
    }
    return r < 0 ? cluster_files_fail(&wal->log->folder, wal->name, "write the log", r) : 0;
}

/* r[impl cluster.wal.space] */
static bool has_space(const struct cluster_wal *wal, size_t size)
{
    return wal->fd < 0 || wal->at + wal->size + size <= wal->segment_size;
}

/* Makes space for a record; a full segment is whole before the next one is begun. */
static int make_space(struct cluster_wal *wal, size_t size)
{
    int r;

    if (wal->capacity - wal->size >= size && has_space(wal, size))
        return 0;
    r = cluster_wal_sync(wal);
    if (r == 0 && !has_space(wal, size))
        close_segment(wal);
    return r;
}

/* r[impl cluster.wal.order] */
int cluster_wal_append(struct cluster_wal *wal, const struct cluster_wal_record *record,
                       const struct cluster_delta_change *changes)
{
    int r;

    if (wal->ended)
        return ended(wal);
    if (record->previous != wal->appended || record->count > CLUSTER_DELTA_CHANGES_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "a record that follows %" PRIu64 ", after the record %" PRIu64,
                            record->previous, wal->appended);
    r = make_space(wal, CLUSTER_WAL_RECORD_SIZE + record->count * CLUSTER_WAL_RECORD_CHANGE);
    if (r == 0)
        r = cluster_wal_record_put(record, changes, wal->group + wal->size,
                                   wal->capacity - wal->size);
    if (r < 0)
        return r;
    if (wal->size == 0)
        wal->first = record->revision;
    wal->size += (size_t)r;
    wal->appended = record->revision;
    return 0;
}

uint64_t cluster_wal_synced(const struct cluster_wal *wal)
{
    return wal->synced;
}

bool cluster_wal_has_ended(const struct cluster_wal *wal)
{
    return wal->ended;
}

bool cluster_wal_wants_snapshot(const struct cluster_wal *wal)
{
    return wal->segments > CLUSTER_WAL_SNAPSHOT_SEGMENTS;
}

void cluster_wal_has_snapshot(struct cluster_wal *wal)
{
    wal->segments = wal->fd >= 0;
}
