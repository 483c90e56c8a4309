/* SPDX-License-Identifier: Apache-2.0 */
/* stream_ids: the ids of channels among the arguments of a call. */
#ifndef HUB_WIRE_STREAM_IDS_H
#define HUB_WIRE_STREAM_IDS_H

#include <rapahub/value.h>

#include "hub/base/bytes.h"
#include "hub/wire/signature.h"

/* Where streams stand in encoded arguments. */
struct hub_stream_marks {
    uint32_t count;
    struct hub_stream_mark {
        size_t at, size; /* bytes of the arguments */
        bool is_sink;
        void *stream; /* the caller's: struct rapahub_source *, or sink */
    } list[HUB_SIGNATURE_ARGUMENTS_MAX];
};

/* As hub_payload_put_arguments, and notes the streams, whose ids are not known yet. */
void hub_stream_ids_put(struct hub_writer *writer, const struct rapahub_type *const *types,
                        const void *const *values, struct hub_stream_marks *marks);

/* The arguments with these ids in the places of the streams, in order; `to` has room for 10 bytes
 * more for each: how many bytes they are. */
size_t hub_stream_ids_fill(struct rapahub_bytes arguments, const struct hub_stream_marks *marks,
                           const uint64_t *ids, uint8_t *to);

/* Reads a list of arguments, strictly and to the end, and finds the ids: their marks' positions and
 * ids. RAPAHUB_EFORMAT where they cannot be read, -ENOMEM. Types without the result. */
int hub_stream_ids_find(const struct rapahub_type *const *types, struct rapahub_bytes arguments,
                        struct hub_stream_marks *marks, uint64_t *ids);

#endif
