/* SPDX-License-Identifier: Apache-2.0 */
/* metadata: pairs of key and value in front of a Request or a Response.
 *
 * Order and duplicates are kept; unknown keys are ignored; ours begin with "rapahub-".
 * r[impl call.metadata.type] r[impl shm.metadata.limits] */
#ifndef HUB_WIRE_METADATA_H
#define HUB_WIRE_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/bytes.h"

#define HUB_METADATA_ENTRIES 128
#define HUB_METADATA_KEY     256
#define HUB_METADATA_VALUE   16384
#define HUB_METADATA_TOTAL   65536

/* Keys of our own. */
#define HUB_KEY_CONTAINER \
    "rapahub-container"                /* u64: which container of the guest; absent: its first */
#define HUB_KEY_TARGET "rapahub-to"    /* bytes: a chain or 0, and the container a guest calls */
#define HUB_KEY_CHAIN  "rapahub-chain" /* u64: calls made to answer one another */
#define HUB_KEY_FAULT  "rapahub-fault" /* u64: why a call was not run: HUB_FAULT_... */

enum hub_fault {
    HUB_FAULT_NONE,
    HUB_FAULT_BUSY,   /* Cancelled: too many calls are open there */
    HUB_FAULT_SIZE,   /* Cancelled: the result is larger than a message may be */
    HUB_FAULT_ROUTE,  /* an error that is the host's, who could not make the call, no method's */
    HUB_FAULT_BUDGET, /* Cancelled: not run, so many bytes are kept for who asked */
    HUB_FAULT_DROPPED /* Cancelled: for the same reason its answer is not kept; it may have run */
};

enum hub_metadata_kind { HUB_METADATA_STRING, HUB_METADATA_BYTES, HUB_METADATA_U64 };

struct hub_metadata_entry {
    struct rapahub_string key;
    enum hub_metadata_kind kind;
    struct rapahub_bytes bytes; /* of a string or bytes */
    uint64_t number;            /* of a u64 */
};

/* What a call's metadata says to us; made from views, copied nowhere. */
struct hub_metadata {
    uint64_t container;          /* 0: absent */
    uint64_t chain;              /* 0: absent */
    uint64_t fault;              /* 0: absent */
    struct rapahub_bytes target; /* size 0: absent */
};

/* Writes the members that are not 0 under our own keys, chain and target in one entry; of none of
 * them one byte. */
int hub_metadata_write(struct hub_writer *writer, const struct hub_metadata *metadata);

/* Reads all entries up to the arguments or the result and keeps ours: RAPAHUB_EPROTOCOL with rule
 * call.metadata.limits, or message.decode-error. */
int hub_metadata_read_entries(struct hub_reader *reader, struct hub_metadata *out);

/* Most calls have none, which is one byte. */
static inline int hub_metadata_read(struct hub_reader *reader, struct hub_metadata *out)
{
    if (reader->failure != 0 || reader->at == reader->end || *reader->at != 0)
        return hub_metadata_read_entries(reader, out);
    reader->at++;
    *out = (struct hub_metadata){0};
    return 0;
}

/* Reads the next entries one by one: count first, then each; for tests and tools. */
uint32_t hub_metadata_take_count(struct hub_reader *reader);
void hub_metadata_take_entry(struct hub_reader *reader, struct hub_metadata_entry *out);

#endif
