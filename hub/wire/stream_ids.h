/* SPDX-License-Identifier: Apache-2.0 */
/* stream_ids: the ids of channels among the encoded arguments of a call. */
#ifndef HUB_WIRE_STREAM_IDS_H
#define HUB_WIRE_STREAM_IDS_H

#include <rapahub/value.h>

#include "hub/base/bytes.h"
#include "hub/wire/signature.h"

/* The positions of streams in encoded arguments. */
struct hub_stream_marks {
    uint32_t count;
    struct hub_stream_mark {
        size_t at, size; /* offset and bytes in the arguments */
        bool is_sink;
        void *stream; /* the caller's struct rapahub_source * or rapahub_sink * */
    } list[HUB_SIGNATURE_ARGUMENTS_MAX];
};

/* Does the same as hub_payload_put_arguments, and records the streams, whose ids are not known
 * yet. */
void hub_stream_ids_put(struct hub_writer *writer, const struct rapahub_type *const *types,
                        const void *const *values, struct hub_stream_marks *marks);

/* Copies the arguments with these ids in the places of the streams, in order. `to` needs 10 bytes
 * more for each stream. Returns the number of bytes written. */
size_t hub_stream_ids_fill(struct rapahub_bytes arguments, const struct hub_stream_marks *marks,
                           const uint64_t *ids, uint8_t *to);

/* Decodes a list of arguments, strictly and to the end, and returns the positions and ids of its
 * streams. `types` has no result. RAPAHUB_EFORMAT if they cannot be decoded, -ENOMEM. */
int hub_stream_ids_find(const struct rapahub_type *const *types, struct rapahub_bytes arguments,
                        struct hub_stream_marks *marks, uint64_t *ids);

#endif
