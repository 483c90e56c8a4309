/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the types that a message of a region may have. */
#ifndef HUB_TYPED_SCHEMA_H
#define HUB_TYPED_SCHEMA_H

#include <stdbool.h>

#include <rapahub/value.h>

/* Says whether values of this type can be messages: no void, no stream, and no record that has
 * such a member, is deeper than records may be, or has no or too many members. */
bool hub_schema_is_of_messages(const struct rapahub_type *type);

#endif
