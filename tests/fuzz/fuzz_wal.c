/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a segment of a node's log: its header, then records to the end. The checksum of each
 * record is put right as long as its length lets it. A record that is read is written the same. */
#include <string.h>

#include "cluster/wire/wal_record.h"
#include "hub/base/crc32c.h"
#include "tests/fuzz/fuzz.h"

static void mend(uint8_t *at, size_t left)
{
    uint32_t length, checksum;

    if (left < CLUSTER_WAL_RECORD_SIZE)
        return;
    memcpy(&length, at, sizeof length);
    if (length > left - CLUSTER_WAL_RECORD_SIZE)
        return;
    checksum = hub_crc32c(0, at + 8, CLUSTER_WAL_RECORD_SIZE - 8 + length);
    memcpy(at + 4, &checksum, sizeof checksum);
}

static void check_record(const struct cluster_wal_record *record, const uint8_t *at, int size)
{
    struct cluster_delta_change changes[CLUSTER_DELTA_CHANGES_MAX];
    uint8_t written[CLUSTER_WAL_RECORD_SIZE_MAX];

    FUZZ_HOLDS(record->count > 0 && record->count <= CLUSTER_DELTA_CHANGES_MAX);
    for (uint32_t i = 0; i < record->count; i++)
        changes[i] = cluster_wal_record_change(record, i);
    FUZZ_HOLDS(cluster_wal_record_put(record, changes, written, sizeof written) == size);
    FUZZ_HOLDS(memcmp(written, at, (size_t)size) == 0);
}

static void check_segment(uint8_t *at, size_t left)
{
    uint8_t written[CLUSTER_WAL_RECORD_SEGMENT];
    struct cluster_wal_segment segment;
    uint32_t checksum;

    if (left >= CLUSTER_WAL_RECORD_SEGMENT) {
        checksum = hub_crc32c(0, at, 48);
        memcpy(at + 48, &checksum, sizeof checksum);
    }
    if (cluster_wal_record_read_segment((struct rapahub_bytes){at, left}, &segment) < 0)
        return;
    cluster_wal_record_put_segment(&segment, written);
    FUZZ_HOLDS(memcmp(written, at, sizeof written) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    struct cluster_wal_record record;
    size_t at = CLUSTER_WAL_RECORD_SEGMENT;
    int r = 1;

    FUZZ_HOLDS(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    check_segment(copy, size);
    while (r > 0 && at < size) {
        mend(copy + at, size - at);
        r = cluster_wal_record_read((struct rapahub_bytes){copy + at, size - at}, &record);
        if (r > 0)
            check_record(&record, copy + at, r);
        at += r > 0 ? (size_t)r : 0;
    }
    free(copy);
    return 0;
}
