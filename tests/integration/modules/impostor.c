/* SPDX-License-Identifier: Apache-2.0 */
/* impostor: a chimod that says it is calc, so that calls of calc reach it. */
#include <rapahub/chimod.h>

static int impostor_add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a - b;
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, impostor_add, i64, i64, i64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "calc", .version = "1.0.0", .methods = methods);
