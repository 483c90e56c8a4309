/* SPDX-License-Identifier: Apache-2.0 */
/* A message of a region from any bytes: an envelope that can be decoded is put as the same bytes,
 * and a record in it is decoded or refused. */
#include <stdlib.h>
#include <string.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>

#include "tests/fuzz/fuzz.h"

struct inner {
    uint16_t a;
    struct rapahub_string b;
};
RAPAHUB_RECORD(inner, RAPAHUB_MEMBER(inner, a, u16), RAPAHUB_MEMBER(inner, b, string));

struct outer {
    bool a;
    int64_t b;
    struct rapahub_bytes c;
    struct inner d;
};
RAPAHUB_RECORD(outer, RAPAHUB_MEMBER(outer, a, bool), RAPAHUB_MEMBER(outer, b, i64),
               RAPAHUB_MEMBER(outer, c, bytes), RAPAHUB_MEMBER(outer, d, inner));

static void check_put(const uint8_t *data, size_t size)
{
    struct rapahub_envelope envelope;
    struct rapahub_bytes payload;
    uint8_t *again;
    size_t whole;

    if (rapahub_envelope_decode((struct rapahub_bytes){data, size}, &envelope, &payload) < 0)
        return;
    again = malloc(size);
    FUZZ_HOLDS(again != NULL);
    FUZZ_HOLDS(rapahub_envelope_put(&envelope, payload, again, size, &whole) == 0);
    FUZZ_HOLDS(whole == size && memcmp(again, data, size) == 0);
    free(again);
}

/* The views of a value lie in its message. */
static void check_view(const void *at, size_t size, const uint8_t *data, size_t whole)
{
    const uint8_t *from = at;

    FUZZ_HOLDS(size == 0 || (from >= data && from + size <= data + whole));
}

static void check_value(const uint8_t *data, size_t size)
{
    const struct rapahub_message message = {.data = data, .size = size};
    struct outer value;

    if (rapahub_message_value(&message, &rapahub_type_outer, &value) < 0)
        return;
    check_view(value.c.data, value.c.size, data, size);
    check_view(value.d.b.data, value.d.b.size, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_put(data, size);
    check_value(data, size);
    return 0;
}
