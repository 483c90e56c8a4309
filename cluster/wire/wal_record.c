/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/wal_record.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/check.h"
#include "hub/base/crc32c.h"

#define FORM                "cluster.wal.form"
#define MAGIC               "RPHWAL\x01"
#define CHECKED             8 /* a record's checksum is that of the bytes from here on */
#define LENGTH_AT           0
#define CHECKSUM_AT         4
#define SEGMENT_CHECKSUM_AT 48

_Static_assert(sizeof MAGIC == 8, "its last byte is 0");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the log is little-endian");

#define PUT(to, at, number)    memcpy((to) + (at), &(number), sizeof(number))
#define TAKE(number, from, at) memcpy(&(number), (from) + (at), sizeof(number))

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

void cluster_wal_record_put_segment(const struct cluster_wal_segment *segment,
                                    uint8_t to[CLUSTER_WAL_RECORD_SEGMENT])
{
    const uint32_t version = CLUSTER_WAL_RECORD_VERSION;
    uint32_t checksum;

    memset(to, 0, CLUSTER_WAL_RECORD_SEGMENT);
    memcpy(to, MAGIC, sizeof MAGIC);
    PUT(to, 8, version);
    PUT(to, 12, segment->node);
    memcpy(to + 16, segment->uuid, sizeof segment->uuid);
    PUT(to, 32, segment->boot);
    PUT(to, 40, segment->first);
    checksum = hub_crc32c(0, to, SEGMENT_CHECKSUM_AT);
    PUT(to, SEGMENT_CHECKSUM_AT, checksum);
}

static int refuse(const char *why)
{
    return rapahub_fail(RAPAHUB_EFORMAT, FORM, "the log: %s", why);
}

int cluster_wal_record_read_segment(struct rapahub_bytes from, struct cluster_wal_segment *out)
{
    const uint8_t *at = from.data;
    uint32_t checksum, version;

    if (from.size < CLUSTER_WAL_RECORD_SEGMENT)
        return refuse("the header of a segment is cut");
    if (memcmp(at, MAGIC, sizeof MAGIC) != 0)
        return refuse("a file that is no segment");
    TAKE(version, at, 8);
    TAKE(checksum, at, SEGMENT_CHECKSUM_AT);
    if (checksum != hub_crc32c(0, at, SEGMENT_CHECKSUM_AT))
        return refuse("the header of a segment is damaged");
    if (version != CLUSTER_WAL_RECORD_VERSION)
        return rapahub_fail(RAPAHUB_EABI, FORM,
                            "the log: a segment of version %" PRIu32 ", this release reads %d",
                            version, CLUSTER_WAL_RECORD_VERSION);
    TAKE(out->node, at, 12);
    memcpy(out->uuid, at + 16, sizeof out->uuid);
    TAKE(out->boot, at, 32);
    TAKE(out->first, at, 40);
    if (out->node == 0 || out->boot == 0 || !cluster_ids_is_revision(out->first) ||
        !is_zero(at + 36, 4) || !is_zero(at + 52, CLUSTER_WAL_RECORD_SEGMENT - 52))
        return refuse("the header of a segment says what no node writes");
    return 0;
}

static void put_change(const struct cluster_delta_change *change, uint8_t *to)
{
    memset(to, 0, CLUSTER_WAL_RECORD_CHANGE);
    PUT(to, 0, change->pool);
    PUT(to, 8, change->container);
    PUT(to, 12, change->owner_before);
    PUT(to, 16, change->entry.owner);
    PUT(to, 20, change->entry.state);
    PUT(to, 24, change->entry.epoch);
    PUT(to, 32, change->entry.lineage);
    PUT(to, 40, change->entry.op);
}

static struct cluster_delta_change take_change(const uint8_t *from)
{
    struct cluster_delta_change change = {0};

    TAKE(change.pool, from, 0);
    TAKE(change.container, from, 8);
    TAKE(change.owner_before, from, 12);
    TAKE(change.entry.owner, from, 16);
    TAKE(change.entry.state, from, 20);
    TAKE(change.entry.epoch, from, 24);
    TAKE(change.entry.lineage, from, 32);
    TAKE(change.entry.op, from, 40);
    return change;
}

struct cluster_delta_change cluster_wal_record_change(const struct cluster_wal_record *record,
                                                      uint32_t at)
{
    CHECK(at < record->count);
    return take_change(record->changes + (size_t)at * CLUSTER_WAL_RECORD_CHANGE);
}

/* A change in the log lacks what the store has, so that only the rest of it is looked at. */
static bool is_sound_change(const struct cluster_delta_change *change)
{
    const struct cluster_entry *entry = &change->entry;
    bool gone = entry->state == CLUSTER_ENTRY_NONE,
         owned = !gone && entry->state != CLUSTER_ENTRY_PASSIVE &&
                 entry->state != CLUSTER_ENTRY_QUARANTINED;

    if (!cluster_ids_is_pool(change->pool) || !cluster_ids_is_container(change->container) ||
        entry->state >= CLUSTER_ENTRY_STATES || owned != (entry->owner != 0))
        return false;
    if (gone)
        return entry->epoch == 0 && entry->lineage == 0 && entry->op == 0;
    return entry->epoch <= CLUSTER_EPOCH_MAX && cluster_ids_is_lineage(entry->lineage) &&
           cluster_ids_epoch(entry->lineage) <= entry->epoch;
}

static bool is_sound_record(const struct cluster_wal_record *record)
{
    return record->count > 0 && record->count <= CLUSTER_DELTA_CHANGES_MAX &&
           cluster_ids_is_revision(record->revision) && record->previous < record->revision &&
           (record->previous == 0 || cluster_ids_is_revision(record->previous));
}

int cluster_wal_record_put(const struct cluster_wal_record *record,
                           const struct cluster_delta_change *changes, uint8_t *to, size_t room)
{
    uint32_t length = record->count * CLUSTER_WAL_RECORD_CHANGE, checksum;
    size_t size = CLUSTER_WAL_RECORD_SIZE + length;

    if (!is_sound_record(record))
        return rapahub_fail(RAPAHUB_EINVAL, FORM, "a record that the log cannot have");
    if (size > room)
        return rapahub_fail(RAPAHUB_EMSGSIZE, FORM, "a record of %zu bytes in room for %zu", size,
                            room);
    memset(to, 0, CLUSTER_WAL_RECORD_SIZE);
    PUT(to, LENGTH_AT, length);
    PUT(to, 8, record->revision);
    PUT(to, 16, record->previous);
    PUT(to, 24, record->wall_ns);
    PUT(to, 32, record->count);
    for (uint32_t i = 0; i < record->count; i++) {
        if (!is_sound_change(&changes[i]))
            return rapahub_fail(RAPAHUB_EINVAL, FORM, "a change that no entry can have");
        put_change(&changes[i], to + CLUSTER_WAL_RECORD_SIZE + i * CLUSTER_WAL_RECORD_CHANGE);
    }
    checksum = hub_crc32c(0, to + CHECKED, size - CHECKED);
    PUT(to, CHECKSUM_AT, checksum);
    return (int)size;
}

/* r[impl cluster.wal.end] */
static bool ends(const uint8_t *at, size_t size)
{
    return is_zero(at, size < CLUSTER_WAL_RECORD_SIZE ? size : CLUSTER_WAL_RECORD_SIZE);
}

/* Reads the part before the changes; all of the record is there, and its checksum is right. */
static int take_record(const uint8_t *at, uint32_t length, struct cluster_wal_record *out)
{
    TAKE(out->revision, at, 8);
    TAKE(out->previous, at, 16);
    TAKE(out->wall_ns, at, 24);
    TAKE(out->count, at, 32);
    out->changes = at + CLUSTER_WAL_RECORD_SIZE;
    if (!is_sound_record(out) || length != out->count * CLUSTER_WAL_RECORD_CHANGE ||
        !is_zero(at + 36, 4))
        return refuse("a record that no node writes");
    for (uint32_t i = 0; i < out->count; i++) {
        const uint8_t *from = out->changes + (size_t)i * CLUSTER_WAL_RECORD_CHANGE;
        struct cluster_delta_change change = take_change(from);

        if (!is_sound_change(&change) || !is_zero(from + 21, 3))
            return refuse("a change that no entry can have");
    }
    return 0;
}

/* r[impl cluster.wal.form] */
int cluster_wal_record_read(struct rapahub_bytes from, struct cluster_wal_record *out)
{
    const uint8_t *at = from.data;
    uint32_t length, checksum;
    size_t size;
    int r;

    if (ends(at, from.size))
        return 0;
    if (from.size < CLUSTER_WAL_RECORD_SIZE)
        return refuse("a record is cut");
    TAKE(length, at, LENGTH_AT);
    TAKE(checksum, at, CHECKSUM_AT);
    size = CLUSTER_WAL_RECORD_SIZE + (size_t)length;
    if (size > CLUSTER_WAL_RECORD_SIZE_MAX)
        return refuse("a record is longer than any");
    if (size > from.size)
        return refuse("a record is cut");
    if (checksum != hub_crc32c(0, at + CHECKED, size - CHECKED))
        return refuse("a record is damaged");
    r = take_record(at, length, out);
    return r < 0 ? r : (int)size;
}
