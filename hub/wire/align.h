/* SPDX-License-Identifier: Apache-2.0 */
/* align: the alignment of `bytes` that a program receives. The largest bytes of a message begin at
 * a cache line, the others at a multiple of 16, strings anywhere. Bytes that neither the sender nor
 * the copy out of the slot has aligned are copied once more. */
#ifndef HUB_WIRE_ALIGN_H
#define HUB_WIRE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/value.h>

#include "hub/base/line.h"

/* Memory for such copies: zeroed at first, and reused. */
struct hub_align {
    uint8_t *data;
    size_t capacity;
};
void hub_align_fini(struct hub_align *memory);

/* Says whether a value of this type contains bytes. */
bool hub_align_concerns(const struct rapahub_type *type);

/* Moves the bytes among values of `types`, which end with NULL, to aligned memory where necessary.
 * Returns 0 or RAPAHUB_ENOMEM. Value i was decoded without a failure to values + places[i]. Moved
 * bytes hold until the next use of `memory`. The sender may still write to the original bytes.
 * r[impl hub.bytes.align] */
int hub_align_values(const struct rapahub_type *const *types, void *values, const size_t *places,
                     struct hub_align *memory);

/* The same for a single value of bytes. */
int hub_align_move(struct rapahub_bytes *bytes, struct hub_align *memory);
static inline int hub_align_bytes(struct rapahub_bytes *bytes, struct hub_align *memory)
{
    return hub_line_begins(bytes->data) ? 0 : hub_align_move(bytes, memory);
}

#endif
