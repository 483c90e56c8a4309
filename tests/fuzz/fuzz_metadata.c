/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata from any bytes: decoded entries are within the limits, and our own can be encoded
 * again. */
#include <string.h>

#include "hub/base/bytes.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/metadata.h"
#include "tests/fuzz/fuzz.h"

static void check_entries(const uint8_t *data, size_t size)
{
    struct hub_metadata_entry entry;
    struct hub_reader reader;
    size_t total = 0;
    uint32_t count;

    hub_reader_init(&reader, data, size);
    count = hub_metadata_decode_count(&reader);
    FUZZ_HOLDS(count <= HUB_METADATA_ENTRIES);
    for (uint32_t i = 0; i < count; i++) {
        hub_metadata_decode_entry(&reader, &entry);
        FUZZ_HOLDS(entry.key.size <= HUB_METADATA_KEY && entry.bytes.size <= HUB_METADATA_VALUE);
        total += entry.key.size;
        total += entry.kind == HUB_METADATA_U64 ? sizeof entry.number : entry.bytes.size;
    }
    FUZZ_HOLDS(reader.failure == 0 && total <= HUB_METADATA_TOTAL);
}

/* Our own entries, encoded again, decode to the same. */
static void check_ours(const struct hub_metadata *read)
{
    static uint8_t data[HUB_METADATA_TOTAL];
    struct hub_metadata again;
    struct hub_reader reader;
    struct hub_writer writer;

    hub_writer_init(&writer, data, sizeof data);
    if (hub_metadata_write(&writer, read) < 0)
        return; /* a target without the room for a chain before it */
    hub_reader_init(&reader, data, writer.size);
    FUZZ_HOLDS(hub_metadata_read(&reader, &again) == 0 && hub_reader_left(&reader) == 0);
    FUZZ_HOLDS(again.container == read->container && again.chain == read->chain &&
               again.fault == read->fault && again.target.size == read->target.size);
    FUZZ_HOLDS(read->target.size == 0 ||
               memcmp(again.target.data, read->target.data, read->target.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rapahub_container_id id;
    struct hub_metadata metadata;
    struct hub_reader reader;

    hub_reader_init(&reader, data, size);
    if (hub_metadata_read(&reader, &metadata) == 0) {
        check_entries(data, size);
        check_ours(&metadata);
        hub_lifecycle_decode_target(metadata.target, &id);
    }
    return 0;
}
