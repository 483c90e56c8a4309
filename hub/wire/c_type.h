/* SPDX-License-Identifier: Apache-2.0 */
/* c_type: types as libffi describes them. */
#ifndef HUB_WIRE_C_TYPE_H
#define HUB_WIRE_C_TYPE_H

#include <ffi.h>
#include <stdbool.h>

#include <rapahub/value.h>

/* The C type of a value; memory comes from the arena and must outlive every use. RAPAHUB_EABI where
 * size or offsets of a record are not those libffi computes; -ENOMEM. */
int hub_c_type_of(void **blocks, const struct rapahub_type *type, ffi_type **out);

/* Is it, or does a record hold, a string or bytes? */
bool hub_c_type_has_views(const struct rapahub_type *type);

#endif
