/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/region/region_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>

#include "hub/base/own.h"

static int refuse(const char *text, const char *why)
{
    return rapahub_fail(RAPAHUB_EINVAL, "",
                        "'%.200s' is no type of a message: %s; write a word, such as i64, string "
                        "or bytes, or a record, such as {at: u64, load: f64}",
                        text, why);
}

int cli_region_value_parse(const char *text, struct cli_region_value *out)
{
    OWN(hub_memory) char *method = NULL;

    if (asprintf(&method, "value(%s) -> void", text) < 0)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a type");
    if (hub_signature_parse(method, &out->signature) < 0 || out->signature->argument_count != 1)
        return refuse(text, "it is not one type");
    out->type = out->signature->types[1];
    if (rapahub_schema_id(out->type) == 0)
        return refuse(text, "streams are none");
    out->value = calloc(1, out->type->size);
    return out->value ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a value");
}

void cli_region_value_fini(struct cli_region_value *type)
{
    if (type->signature)
        hub_signature_release(&type->signature);
    free(type->value);
    type->value = NULL;
}
