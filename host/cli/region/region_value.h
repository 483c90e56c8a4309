/* SPDX-License-Identifier: Apache-2.0 */
/* region_value: a type as people write it, and memory for a value of it: "{at: u64, load: f64}". */
#ifndef CLI_REGION_VALUE_H
#define CLI_REGION_VALUE_H

#include "hub/wire/signature.h"

struct cli_region_value {
    struct hub_signature *signature; /* a method with this one argument */
    const struct rapahub_type *type; /* NULL: none was given */
    void *value;                     /* memory for one value */
};

/* Parses a type that messages can have. RAPAHUB_EINVAL names the fault. Zero before;
 * cli_region_value_fini frees it, also after a failure. */
int cli_region_value_parse(const char *text, struct cli_region_value *out);
void cli_region_value_fini(struct cli_region_value *type);

#endif
