/* SPDX-License-Identifier: Apache-2.0 */
/* payload: encodes C memory as POSTCARD and decodes it, by type. */
#ifndef HUB_WIRE_PAYLOAD_H
#define HUB_WIRE_PAYLOAD_H

#include <rapahub/value.h>

#include "hub/base/bytes.h"

/* Writes the value at `value`. A counting writer only computes its size. */
void hub_payload_put(struct hub_writer *writer, const struct rapahub_type *type, const void *value);

/* Decodes a value into `value`. Strings and bytes become views of the reader's memory. After a
 * failure, which the reader holds, `value` is undefined. */
void hub_payload_decode(struct hub_reader *reader, const struct rapahub_type *type, void *value);

/* Writes a tuple of arguments. `types` has no result and ends with NULL; `values` has the address
 * of each argument. */
void hub_payload_put_arguments(struct hub_writer *writer, const struct rapahub_type *const *types,
                               const void *const *values);

/* Writes such a tuple, of at least one argument, without the last one. Returns its address. */
const void *hub_payload_put_before_last(struct hub_writer *writer,
                                        const struct rapahub_type *const *types,
                                        const void *const *values);

/* Returns the bytes of such an encoded tuple from the start of its largest `bytes` to the end; only
 * arguments of type bytes count, not members of records. 0 if there is none. */
size_t hub_payload_from_largest(const struct rapahub_type *const *types, const void *const *values);

/* Checks that all arguments are given. `types` is as above; `values` ends with NULL, or is NULL for
 * none. Returns 0 or RAPAHUB_EARGUMENTS with a text that names `name` and both numbers. */
int hub_payload_count(const char *name, const struct rapahub_type *const *types,
                      const void *const *values);

#endif
