/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/words.h"

#include <string.h>

#include "hub/wire/number.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define KNOWN true
#else
#define KNOWN false
#endif

typedef uint64_t word;

static bool add(struct hub_words *words, size_t place, size_t size, bool is_signed)
{
    if (!KNOWN || words->count == HUB_WORDS_MAX)
        return false;
    words->list[words->count].place = place;
    words->list[words->count].size = (uint8_t)size;
    words->list[words->count++].is_signed = is_signed;
    return true;
}

bool hub_words_add_pointer(struct hub_words *words, size_t place)
{
    return add(words, place, sizeof(void *), false);
}

static bool add_float(struct hub_words *words, size_t place, bool is_double)
{
    if (!KNOWN || words->float_count == HUB_FLOATS_MAX)
        return false;
    words->floats[words->float_count].place = place;
    words->floats[words->float_count++].is_double = is_double;
    return true;
}

/* A view is a struct of two words. The calling conventions pass it in two registers, or whole in
 * memory if fewer than two are left, so it is added only if both fit. */
bool hub_words_add(struct hub_words *words, const struct rapahub_type *type, size_t place)
{
    switch (type->kind) {
    case RAPAHUB_KIND_BOOL:
    case RAPAHUB_KIND_U8:
    case RAPAHUB_KIND_U16:
    case RAPAHUB_KIND_U32:
    case RAPAHUB_KIND_U64:
        return add(words, place, type->size, false);
    case RAPAHUB_KIND_I8:
    case RAPAHUB_KIND_I16:
    case RAPAHUB_KIND_I32:
    case RAPAHUB_KIND_I64:
        return add(words, place, type->size, true);
    case RAPAHUB_KIND_STRING:
    case RAPAHUB_KIND_BYTES:
        return words->count + 2 <= HUB_WORDS_MAX &&
               add(words, place + offsetof(struct rapahub_bytes, data), sizeof(word), false) &&
               add(words, place + offsetof(struct rapahub_bytes, size), sizeof(word), false);
    case RAPAHUB_KIND_SOURCE:
    case RAPAHUB_KIND_SINK:
        return hub_words_add_pointer(words, place);
    case RAPAHUB_KIND_F32:
        return add_float(words, place, false);
    case RAPAHUB_KIND_F64:
        return add_float(words, place, true);
    default:
        return false;
    }
}

/* Extends the value to the width of a register, because a callee may rely on that. */
static word load(const struct hub_words *words, const void *memory, uint32_t i)
{
    const void *at = (const char *)memory + words->list[i].place;

    return words->list[i].is_signed ? (word)hub_number_load_signed(at, words->list[i].size)
                                    : hub_number_load_unsigned(at, words->list[i].size);
}

/* A callee reads a float from the lower half of a register. A double with these bits serves as
 * well, as long as it is not used as a number on the way. */
static double load_float(const struct hub_words *words, const void *memory, uint32_t i)
{
    const void *at = (const char *)memory + words->floats[i].place;
    word bits = hub_number_load_unsigned(at, words->floats[i].is_double ? 8 : 4);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A callee ignores registers that are none of its parameters. So one type serves for all functions,
 * whatever the order of words and floats. */
typedef int with_floats(word, word, word, word, word, word, double, double, double, double, double,
                        double, double, double);

static __attribute__((noinline)) int call_with_floats(const struct hub_words *words,
                                                      void (*function)(void), const void *memory,
                                                      const word w[HUB_WORDS_MAX])
{
    double f[HUB_FLOATS_MAX] = {0};

    for (uint32_t i = 0; i < words->float_count; i++)
        f[i] = load_float(words, memory, i);
    return ((with_floats *)function)(w[0], w[1], w[2], w[3], w[4], w[5], f[0], f[1], f[2], f[3],
                                     f[4], f[5], f[6], f[7]);
}

int hub_words_call(const struct hub_words *words, void (*function)(void), const void *memory)
{
    word w[HUB_WORDS_MAX] = {0};

    for (uint32_t i = 0; i < words->count; i++)
        w[i] = load(words, memory, i);
    if (words->float_count > 0)
        return call_with_floats(words, function, memory, w);
    switch (words->count) {
    case 1:
        return ((int (*)(word))function)(w[0]);
    case 2:
        return ((int (*)(word, word))function)(w[0], w[1]);
    case 3:
        return ((int (*)(word, word, word))function)(w[0], w[1], w[2]);
    case 4:
        return ((int (*)(word, word, word, word))function)(w[0], w[1], w[2], w[3]);
    case 5:
        return ((int (*)(word, word, word, word, word))function)(w[0], w[1], w[2], w[3], w[4]);
    default:
        return ((int (*)(word, word, word, word, word, word))function)(w[0], w[1], w[2], w[3], w[4],
                                                                       w[5]);
    }
}
