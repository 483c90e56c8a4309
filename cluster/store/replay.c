/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/wire/delta.h"
#include "hub/base/own.h"

#define TOPIC "store"
#define ALIGN 8 /* records begin at multiples of it */

_Static_assert(CLUSTER_WAL_RECORD_SEGMENT % ALIGN == 0 && CLUSTER_WAL_RECORD_SIZE % ALIGN == 0 &&
                   CLUSTER_WAL_RECORD_CHANGE % ALIGN == 0,
               "so does each record after another");

/* How the reading of a segment ended. */
enum stop {
    CLEAN,  /* where its records end */
    TORN,   /* at bytes that are no record, and no record is after them */
    HOLE,   /* records are after them */
    BEGUN,  /* it has no header, and no record */
    BROKEN, /* records are missing: the log is damaged, wherever that is */
};

struct reading {
    const struct cluster_segments *log;
    cluster_replay_apply *apply;
    void *user;
    struct cluster_replay *out;
    char name[CLUSTER_FILES_NAME_MAX]; /* the segment's */
    uint8_t *bytes;
    size_t size, at;
    bool doubtful; /* an earlier segment ended in damage, and no later one has shown that nothing
                      is lost by it */
    char why[256];
};

static enum stop broken(struct reading *reading, const char *why)
{
    snprintf(reading->why, sizeof reading->why, "%s: %s", reading->name, why);
    return BROKEN;
}

static bool has_record_after(const struct reading *reading, size_t at)
{
    for (; at + CLUSTER_WAL_RECORD_SIZE <= reading->size; at += ALIGN) {
        struct cluster_wal_record record;
        uint32_t length;

        memcpy(&length, reading->bytes + at, sizeof length);
        if (length == 0 || length % CLUSTER_WAL_RECORD_CHANGE != 0)
            continue;
        if (cluster_wal_record_read((struct rapahub_bytes){reading->bytes + at, reading->size - at},
                                    &record) > 0)
            return true;
    }
    return false;
}

/* ---- a segment ---- */

/* Returns a failure, or sets *stop: CLEAN if the header is sound. */
static int read_header(struct reading *reading, uint64_t *first, enum stop *stop)
{
    struct cluster_wal_segment header;
    int r = cluster_wal_record_read_segment((struct rapahub_bytes){reading->bytes, reading->size},
                                            &header);

    *stop = CLEAN;
    if (r == 0) {
        *first = header.first;
        return cluster_segments_check(reading->log, reading->name, header.node, header.uuid);
    }
    if (r == RAPAHUB_EABI)
        return r;
    *stop = has_record_after(reading, 0) ? HOLE : BEGUN;
    return 0;
}

/* Hands on a record that follows the one before it in its segment, or is the first. *stop is BROKEN
 * where it does not follow the map. */
static int take_record(struct reading *reading, const struct cluster_wal_record *record,
                       enum stop *stop)
{
    int r = 0;

    switch (cluster_delta_step(reading->out->revision, record->revision, record->previous)) {
    case CLUSTER_DELTA_ASK:
        *stop = broken(reading, "records before it are missing");
        return 0;
    case CLUSTER_DELTA_APPLY:
        r = reading->apply(reading->user, record);
        if (r < 0)
            return r;
        reading->out->revision = record->revision;
        reading->out->records++;
        break;
    default: /* the snapshot has it, or an earlier segment */
        break;
    }
    reading->doubtful = false;
    return r;
}

static int read_records(struct reading *reading, uint64_t first, enum stop *stop)
{
    uint64_t last = 0;
    int r;

    for (reading->at = CLUSTER_WAL_RECORD_SEGMENT;;) {
        struct cluster_wal_record record;
        int size = cluster_wal_record_read(
            (struct rapahub_bytes){reading->bytes + reading->at, reading->size - reading->at},
            &record);

        if (size > 0 && (last == 0 ? record.revision != first : record.previous != last))
            size = -EILSEQ; /* a record, but not the next one */
        if (size <= 0) {
            *stop = has_record_after(reading, reading->at) ? HOLE : size < 0 ? TORN : CLEAN;
            return 0;
        }
        r = take_record(reading, &record, stop);
        if (r < 0 || *stop == BROKEN)
            return r;
        last = record.revision;
        reading->at += (size_t)size;
    }
}

/* A segment that cannot be read is as one that is damaged. */
static int read_segment(struct reading *reading, enum stop *stop)
{
    OWN(hub_memory) uint8_t *bytes = NULL;
    uint64_t first = 0;
    int r = cluster_files_load(&reading->log->folder, reading->name, CLUSTER_SEGMENTS_SIZE, &bytes,
                               &reading->size);

    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        *stop = broken(reading, strerrordesc_np(-r));
        return 0;
    }
    reading->bytes = bytes;
    r = read_header(reading, &first, stop);
    if (r == 0 && *stop == CLEAN)
        r = read_records(reading, first, stop);
    reading->bytes = NULL;
    return r;
}

/* ---- the end of the log ---- */

static int sync_last(const struct reading *reading, enum stop stop)
{
    const struct cluster_files_folder *folder = &reading->log->folder;
    const struct cluster_files *files = folder->files;
    int fd = files->open(files, folder->fd, reading->name, O_RDWR, 0), r = fd;

    if (r >= 0 && stop == TORN)
        r = files->cut(files, fd, reading->at);
    if (r >= 0)
        r = files->sync(files, fd);
    if (fd >= 0)
        files->close(files, fd);
    if (r >= 0)
        r = files->sync_folder(files, folder->fd);
    return r < 0 ? cluster_files_fail(folder, reading->name, "make the log durable", r) : 0;
}

/* The process that wrote the last segment may have been killed before it synced it, and the map
 * that was read is told from now on. r[impl cluster.wal.tail] */
static int finish(struct reading *reading, enum stop stop)
{
    const struct cluster_files_folder *folder = &reading->log->folder;
    int r;

    if (stop == BEGUN) {
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%s/%s: a segment that was not yet begun is removed",
                    folder->path, reading->name);
        reading->out->segments--;
        r = folder->files->remove(folder->files, folder->fd, reading->name);
        return r < 0 ? cluster_files_fail(folder, reading->name, "remove it", r) : 0;
    }
    r = sync_last(reading, stop);
    if (r < 0 || stop == CLEAN)
        return r;
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC,
                "%s/%s: cut at byte %zu, after revision %" PRIu64
                ": the rest had not become durable",
                folder->path, reading->name, reading->at, reading->out->revision);
    reading->out->end = CLUSTER_REPLAY_CUT;
    return 0;
}

static int give_up(struct reading *reading)
{
    struct cluster_replay *out = reading->out;

    out->end = CLUSTER_REPLAY_DAMAGED;
    out->revision = 0;
    out->segments = 0;
    return cluster_segments_put_aside(reading->log, reading->why);
}

static int read_all(struct reading *reading, const struct cluster_segments_list *list)
{
    enum stop stop = CLEAN;

    for (size_t i = 0; i < list->count; i++) {
        bool last = i + 1 == list->count;
        int r;

        cluster_segments_name(list->sequences[i], reading->name);
        r = read_segment(reading, &stop);
        if (r < 0)
            return r;
        if (stop == BROKEN)
            return give_up(reading);
        if (stop == HOLE || (stop != CLEAN && !last))
            reading->doubtful = true;
        if (stop != CLEAN && reading->why[0] == 0)
            broken(reading, "a record is damaged");
        if (last && reading->doubtful)
            return give_up(reading);
    }
    return list->count > 0 ? finish(reading, stop) : 0;
}

int cluster_replay_run(const struct cluster_segments *log, uint64_t revision,
                       cluster_replay_apply *apply, void *user, struct cluster_replay *out)
{
    struct reading reading = {.log = log, .apply = apply, .user = user, .out = out};
    OWN(hub_memory) uint64_t *sequences = NULL;
    struct cluster_segments_list list;
    int r = cluster_segments_list(log, &list);

    if (r < 0)
        return r;
    sequences = list.sequences;
    *out = (struct cluster_replay){
        .revision = revision, .sequence = list.next, .segments = list.count};
    return read_all(&reading, &list);
}
