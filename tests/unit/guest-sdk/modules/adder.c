/* SPDX-License-Identifier: Apache-2.0 */
/* adder: a chimod as it should be, and a method that ends its process. */
#include <rapahub/chimod.h>

static int add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

static int crash(void *self)
{
    int *volatile nowhere = self;

    nowhere = NULL;
    *nowhere = 1;
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, add, i64, i64, i64),
    RAPAHUB_METHOD(crash, crash, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "adder", .version = "1.2.3", .state_size = 24, .methods = methods);
