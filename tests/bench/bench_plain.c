/* SPDX-License-Identifier: Apache-2.0 */
/* bench_plain: what a plugin would be that is loaded into the program itself. */
#include <stdint.h>

__attribute__((visibility("default"))) int bench_plain_add(void *self, int64_t a, int64_t b,
                                                           int64_t *sum);

int bench_plain_add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}
