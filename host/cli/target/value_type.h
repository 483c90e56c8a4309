/* SPDX-License-Identifier: Apache-2.0 */
/* value_type: a type as people write it, and memory for a value of it: "{at: u64, load: f64}". */
#ifndef CLI_VALUE_TYPE_H
#define CLI_VALUE_TYPE_H

#include "hub/wire/signature.h"

struct cli_value_type {
    struct hub_signature *signature; /* a method with this one argument */
    const struct rapahub_type *type; /* NULL: none was given */
    void *value;                     /* memory for one value */
};

/* Parses a type that messages can have. RAPAHUB_EINVAL names the fault. Zero before;
 * cli_value_type_fini frees it, also after a failure. */
int cli_value_type_parse(const char *text, struct cli_value_type *out);
void cli_value_type_fini(struct cli_value_type *type);

#endif
