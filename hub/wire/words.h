/* SPDX-License-Identifier: Apache-2.0 */
/* words: calls a C function whose parameters are integers, pointers, pairs of both, and floats, as
 * many as the registers of a call hold. libffi would sort the parameters into registers at each
 * call; here that is decided once (docs/adr/0016). */
#ifndef HUB_WIRE_WORDS_H
#define HUB_WIRE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#define HUB_WORDS_MAX  6 /* x86-64 has six; arm64 has two more */
#define HUB_FLOATS_MAX 8 /* both have eight, in registers of their own */

/* The source of each word. */
struct hub_words {
    uint32_t count;
    struct {
        size_t place; /* offset in the memory of a run */
        uint8_t size; /* bytes of the integer, or 8 */
        bool is_signed;
    } list[HUB_WORDS_MAX];
    uint32_t float_count;
    struct {
        size_t place;
        bool is_double;
    } floats[HUB_FLOATS_MAX];
};

/* Add a pointer, or a parameter of this type whose value is at offset `place`. False if it is
 * neither words nor a float, if there is no register left, or if this machine's convention is not
 * known. */
bool hub_words_add_pointer(struct hub_words *words, size_t place);
bool hub_words_add(struct hub_words *words, const struct rapahub_type *type, size_t place);

/* Calls the function with the words in `memory` and returns its result. */
int hub_words_call(const struct hub_words *words, void (*function)(void), const void *memory);

#endif
