/* SPDX-License-Identifier: Apache-2.0 */
/* words: a call of a C function whose parameters are integers, pointers, pairs of both and floats,
 * as many as the registers of a call hold. libffi sorts the parameters of such a function into
 * registers anew at each call; here that is decided once (docs/adr/0016). */
#ifndef HUB_WIRE_WORDS_H
#define HUB_WIRE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#define HUB_WORDS_MAX  6 /* of x86-64; arm64 has two more */
#define HUB_FLOATS_MAX 8 /* of both, in registers of their own */

/* Where each word is loaded from. */
struct hub_words {
    uint32_t count;
    struct {
        size_t place; /* in the memory of a run */
        uint8_t size; /* bytes of the integer, or 8 */
        bool is_signed;
    } list[HUB_WORDS_MAX];
    uint32_t float_count;
    struct {
        size_t place;
        bool is_double;
    } floats[HUB_FLOATS_MAX];
};

/* Adds a pointer, or the parameter of a value of this type that lies at `place`: false where it is
 * neither of words nor a float, or one too many; or on a machine where this is not known to be the
 * convention. */
bool hub_words_add_pointer(struct hub_words *words, size_t place);
bool hub_words_add(struct hub_words *words, const struct rapahub_type *type, size_t place);

/* Calls it with the words that lie in `memory`; what it returns. */
int hub_words_call(const struct hub_words *words, void (*function)(void), const void *memory);

#endif
