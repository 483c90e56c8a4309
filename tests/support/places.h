/* SPDX-License-Identifier: Apache-2.0 */
/* places: checks that bytes of one message are aligned as required. For tests, and for modules of
 * tests. */
#ifndef TESTS_SUPPORT_PLACES_H
#define TESTS_SUPPORT_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

/* Several bytes in one record, next to members that shift them. */
struct trio {
    uint8_t number;
    struct rapahub_bytes a;
    struct rapahub_string text;
    struct rapahub_bytes b, c;
};
RAPAHUB_RECORD(trio, RAPAHUB_MEMBER(trio, number, u8), RAPAHUB_MEMBER(trio, a, bytes),
               RAPAHUB_MEMBER(trio, text, string), RAPAHUB_MEMBER(trio, b, bytes),
               RAPAHUB_MEMBER(trio, c, bytes));

/* The largest begins at a multiple of 64, the others at a multiple of 16. Among equally large ones,
 * one counts as the largest. r[verify hub.bytes.align] */
static inline bool places_are_good_of(const struct rapahub_bytes *const *list, size_t count)
{
    size_t largest = 0, at_lines = 0, elsewhere = 0;

    for (size_t i = 0; i < count; i++)
        largest = list[i]->size > largest ? list[i]->size : largest;
    for (size_t i = 0; i < count; i++) {
        at_lines += list[i]->size == largest && (uintptr_t)list[i]->data % 64 == 0;
        elsewhere += (uintptr_t)list[i]->data % 16 != 0;
    }
    return at_lines > 0 && elsewhere == 0;
}

static inline bool places_are_good(const struct rapahub_bytes *one,
                                   const struct rapahub_bytes *other)
{
    const struct rapahub_bytes *const list[] = {one, other};

    return places_are_good_of(list, other ? 2 : 1);
}

static inline bool places_of_trio_are_good(const struct trio *trio,
                                           const struct rapahub_bytes *other)
{
    const struct rapahub_bytes *const list[] = {&trio->a, &trio->b, &trio->c, other};

    return places_are_good_of(list, other ? 4 : 3);
}

#endif
