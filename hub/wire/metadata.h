/* SPDX-License-Identifier: Apache-2.0 */
/* metadata: pairs of key and value at the start of a Request or a Response.
 *
 * Order and duplicates are kept, and unknown keys are ignored. Keys of our own begin with
 * "rapahub-".
 * r[impl call.metadata.type] r[impl shm.metadata.limits]
 */
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
#define HUB_KEY_CONTAINER "rapahub-container" /* u64: the guest's container; absent: its first */
#define HUB_KEY_TARGET    "rapahub-to"        /* bytes: a chain or 0, and the called container */
#define HUB_KEY_CHAIN     "rapahub-chain"     /* u64: marks calls that serve to answer each other */
#define HUB_KEY_FAULT     "rapahub-fault"     /* u64: why a call was not run: HUB_FAULT_... */
#define HUB_KEY_UID       "rapahub-uid"       /* bytes: origin and number of a call, u64 LE each */

#define HUB_METADATA_UID 16 /* bytes */

enum hub_fault {
    HUB_FAULT_NONE,
    HUB_FAULT_BUSY,   /* Cancelled: too many calls are open there */
    HUB_FAULT_SIZE,   /* Cancelled: the result is larger than a message may be */
    HUB_FAULT_ROUTE,  /* the host could not make the call: an error of the host, not of a method */
    HUB_FAULT_BUDGET, /* Cancelled, not run: the caller's budget of stored bytes is used up */
    /* Cancelled for the same reason: the answer is dropped; the call may have run */
    HUB_FAULT_DROPPED,
    HUB_FAULT_LEASE /* Cancelled, not run: the lease of the host is over */
};

enum hub_metadata_kind { HUB_METADATA_STRING, HUB_METADATA_BYTES, HUB_METADATA_U64 };

struct hub_metadata_entry {
    struct rapahub_string key;
    enum hub_metadata_kind kind;
    struct rapahub_bytes bytes; /* for a string and for bytes */
    uint64_t number;            /* for a u64 */
};

/* The meaning of a call's metadata. It refers to the message and copies nothing. */
struct hub_metadata {
    uint64_t container;          /* 0: absent */
    uint64_t chain;              /* 0: absent */
    uint64_t fault;              /* 0: absent */
    struct rapahub_bytes target; /* size 0: absent */
    const uint8_t *uid;          /* HUB_METADATA_UID bytes; NULL: absent */
};

/* Writes the members that are not 0 under their keys, with chain and target in one entry. If all
 * are 0 it writes one byte. */
int hub_metadata_write(struct hub_writer *writer, const struct hub_metadata *metadata);

/* Reads all entries, up to the arguments or the result, and decodes those with keys of our own.
 * RAPAHUB_EPROTOCOL with rule call.metadata.limits or message.decode-error. */
int hub_metadata_read_entries(struct hub_reader *reader, struct hub_metadata *out);

/* The same; most calls have no metadata, which is one byte. */
static inline int hub_metadata_read(struct hub_reader *reader, struct hub_metadata *out)
{
    if (reader->failure != 0 || reader->at == reader->end || *reader->at != 0)
        return hub_metadata_read_entries(reader, out);
    reader->at++;
    *out = (struct hub_metadata){0};
    return 0;
}

/* Read the entries one by one: first the count, then each entry. For tests and tools. */
uint32_t hub_metadata_decode_count(struct hub_reader *reader);
void hub_metadata_decode_entry(struct hub_reader *reader, struct hub_metadata_entry *out);

#endif
