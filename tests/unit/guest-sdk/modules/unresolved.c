/* SPDX-License-Identifier: Apache-2.0 */
/* unresolved: a chimod that needs a function which does not exist. */
#include <rapahub/chimod.h>

extern int function_that_nobody_has(void *self, int64_t *result);

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(call, function_that_nobody_has, i64, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "unresolved", .version = "1.0.0", .methods = methods);
