/* SPDX-License-Identifier: Apache-2.0 */
/* changing: declares another signature of its only method in each life: the way of which the number
 * stands in the file CHANGING_WAY. */
#include <stdio.h>

#include <rapahub/chimod.h>

struct large {
    int64_t a, b, c, d, e, f, g, h;
};
RAPAHUB_RECORD(large, RAPAHUB_MEMBER(large, a, i64), RAPAHUB_MEMBER(large, b, i64),
               RAPAHUB_MEMBER(large, c, i64), RAPAHUB_MEMBER(large, d, i64),
               RAPAHUB_MEMBER(large, e, i64), RAPAHUB_MEMBER(large, f, i64),
               RAPAHUB_MEMBER(large, g, i64), RAPAHUB_MEMBER(large, h, i64));

static const struct rapahub_type *types[7] = {&rapahub_type_i64, &rapahub_type_i64};

static const struct rapahub_type *const *const ways[] = {
    RAPAHUB_TYPES(i64, i64),                     /* as the calling program knows it */
    RAPAHUB_TYPES(i64, i64, i64),                /* one argument more than there is */
    RAPAHUB_TYPES(i64, i64, i64, i64, i64, i64), /* four more */
    RAPAHUB_TYPES(i64, bytes),                   /* the number is an address and a size instead */
    RAPAHUB_TYPES(i64, string),
    RAPAHUB_TYPES(i64, large),   /* eight words for one */
    RAPAHUB_TYPES(i64, source),  /* a pointer to follow */
    RAPAHUB_TYPES(i64, u64),     /* a change that would not even be noticed */
    RAPAHUB_TYPES(bytes, i64),   /* a result of two words in the room of one */
    RAPAHUB_TYPES(large, i64),   /* a record of eight members */
    RAPAHUB_TYPES(string, void), /* fewer than there are, and two words */
};

static int changing_take(void *self, int64_t value, int64_t *result)
{
    (void)self;
    *result = value;
    return 0;
}

__attribute__((constructor)) static void change(void)
{
    FILE *file = fopen(CHANGING_WAY, "re");
    size_t way = 0;

    if (file && fscanf(file, "%zu", &way) == 1 && way < sizeof ways / sizeof *ways)
        for (size_t i = 0; i == 0 || types[i - 1]; i++)
            types[i] = ways[way][i];
    if (file)
        fclose(file);
}

static const struct rapahub_method methods[] = {
    {"take", types, (void (*)(void))changing_take, RAPAHUB_METHOD_CHECKED},
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "changing", .version = "1.0.0", .methods = methods);
