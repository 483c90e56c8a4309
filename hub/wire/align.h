/* SPDX-License-Identifier: Apache-2.0 */
/* align: where `bytes` begin that a program is shown. The largest of a message begins at a line,
 * the others at a multiple of 16, strings anywhere. What the sender and the copy out of its slot
 * have not put there already is copied once more. */
#ifndef HUB_WIRE_ALIGN_H
#define HUB_WIRE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/value.h>

#include "hub/base/line.h"

/* Where such copies lie: zeroed at first, used again and again. */
struct hub_align {
    uint8_t *data;
    size_t capacity;
};
void hub_align_fini(struct hub_align *memory);

/* Has a value of this type any? */
bool hub_align_concerns(const struct rapahub_type *type);

/* Moves those among values of `types`, which end with NULL, to where they have to begin: 0 or
 * RAPAHUB_ENOMEM. Each value was decoded, without a failure, to its place in bytes behind `values`.
 * What was moved is good until the next time. The bytes may lie where their sender still writes.
 * r[impl hub.bytes.align] */
int hub_align_values(const struct rapahub_type *const *types, void *values, const size_t *places,
                     struct hub_align *memory);

/* The same where bytes are all there is. */
int hub_align_move(struct rapahub_bytes *bytes, struct hub_align *memory);
static inline int hub_align_bytes(struct rapahub_bytes *bytes, struct hub_align *memory)
{
    return hub_line_begins(bytes->data) ? 0 : hub_align_move(bytes, memory);
}

#endif
