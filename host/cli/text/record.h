/* SPDX-License-Identifier: Apache-2.0 */
/* record: a record given as JSON. Built without jansson, it is refused with how to write it. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <stdbool.h>

#include <rapahub/value.h>

#include "hub/wire/text.h"

/* Says whether a text begins with `{"`. */
bool cli_record_is_json(const char *text);

/* All members must be there, no others; bytes are base64; inf, -inf and nan are strings. -EINVAL.
 */
int cli_record_parse(const struct rapahub_type *type, const char *text, void *value,
                     struct hub_text_arena *arena);

#endif
