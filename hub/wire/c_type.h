/* SPDX-License-Identifier: Apache-2.0 */
/* c_type: types of values as libffi describes them. */
#ifndef HUB_WIRE_C_TYPE_H
#define HUB_WIRE_C_TYPE_H

#include <ffi.h>
#include <stdbool.h>

#include <rapahub/value.h>

/* Makes the C type of a value. Its memory comes from the arena and must outlive every use.
 * RAPAHUB_EABI if size or offsets of a record differ from those that libffi computes; -ENOMEM. */
int hub_c_type_of(void **blocks, const struct rapahub_type *type, ffi_type **out);

/* Says whether the type is a string or bytes, or a record that contains them. */
bool hub_c_type_has_views(const struct rapahub_type *type);

#endif
