/* SPDX-License-Identifier: Apache-2.0 */
/* payload: C memory to POSTCARD and back, by type. */
#ifndef HUB_WIRE_PAYLOAD_H
#define HUB_WIRE_PAYLOAD_H

#include <rapahub/value.h>

#include "hub/base/bytes.h"

/* Writes the value at `value`. With a counting writer: its size. */
void hub_payload_put(struct hub_writer *writer, const struct rapahub_type *type, const void *value);

/* Reads a value to `value`. Strings and bytes become views into the reader's memory. Failure: the
 * reader's; `value` is then undefined. */
void hub_payload_take(struct hub_reader *reader, const struct rapahub_type *type, void *value);

/* A tuple of arguments: types without the result, ended by NULL; the address of each value. */
void hub_payload_put_arguments(struct hub_writer *writer, const struct rapahub_type *const *types,
                               const void *const *values);

/* Of such a tuple as it is written: the bytes from where the largest `bytes` begins on, that is an
 * argument by itself; 0: there is none. */
size_t hub_payload_from_largest(const struct rapahub_type *const *types, const void *const *values);

/* Are they all there? `types` as above, `values` ended by NULL, or NULL for none. 0, or
 * RAPAHUB_EARGUMENTS: `name` takes so many, so many were given. */
int hub_payload_count(const char *name, const struct rapahub_type *const *types,
                      const void *const *values);

#endif
