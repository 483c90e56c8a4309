/* SPDX-License-Identifier: Apache-2.0 */
/* A record of every kind from any bytes: a record that can be decoded is encoded such that it
 * decodes to the same. */
#include <string.h>

#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "tests/fuzz/fuzz.h"

struct inner {
    uint16_t a;
    struct rapahub_string b;
};
RAPAHUB_RECORD(inner, RAPAHUB_MEMBER(inner, a, u16), RAPAHUB_MEMBER(inner, b, string));

struct every {
    bool a;
    int8_t b;
    uint8_t c;
    int16_t d;
    int32_t e;
    uint32_t f;
    int64_t g;
    uint64_t h;
    float i;
    double j;
    struct rapahub_bytes k;
    struct inner l;
};
RAPAHUB_RECORD(every, RAPAHUB_MEMBER(every, a, bool), RAPAHUB_MEMBER(every, b, i8),
               RAPAHUB_MEMBER(every, c, u8), RAPAHUB_MEMBER(every, d, i16),
               RAPAHUB_MEMBER(every, e, i32), RAPAHUB_MEMBER(every, f, u32),
               RAPAHUB_MEMBER(every, g, i64), RAPAHUB_MEMBER(every, h, u64),
               RAPAHUB_MEMBER(every, i, f32), RAPAHUB_MEMBER(every, j, f64),
               RAPAHUB_MEMBER(every, k, bytes), RAPAHUB_MEMBER(every, l, inner));

static bool take(const void *data, size_t size, struct every *out)
{
    struct hub_reader reader;

    hub_reader_init(&reader, data, size);
    hub_payload_decode(&reader, &rapahub_type_every, out);
    return hub_postcard_end(&reader) == 0;
}

static void put(struct hub_writer *writer, uint8_t *to, size_t size, const struct every *value)
{
    hub_writer_init(writer, to, size);
    hub_payload_put(writer, &rapahub_type_every, value);
    FUZZ_HOLDS(writer->failure == 0);
}

static void check_record(const uint8_t *data, size_t size)
{
    struct hub_writer first, second;
    struct every value, again;
    uint8_t *copies;

    if (!take(data, size, &value))
        return;
    copies = malloc(2 * size);
    if (!copies)
        return;
    put(&first, copies, size, &value); /* never longer than what was read */
    FUZZ_HOLDS(take(copies, first.size, &again));
    put(&second, copies + size, size, &again);
    FUZZ_HOLDS(first.size == second.size && !memcmp(copies, copies + size, first.size));
    free(copies);
}

/* The rest of the primitives, as the bytes say. */
static void check_steps(const uint8_t *data, size_t size)
{
    struct hub_reader reader;

    hub_reader_init(&reader, data, size);
    while (!reader.failure && hub_reader_left(&reader)) {
        uint8_t step = hub_postcard_read_byte(&reader);
        uint32_t bound = step >> 3;

        if (step % 4 == 0)
            FUZZ_HOLDS(hub_postcard_read_count(&reader, bound) <= (bound ? size / bound : 65536));
        else if (step % 4 == 1)
            FUZZ_HOLDS(hub_postcard_read_variant(&reader, bound + 1) <= bound);
        else if (step % 4 == 2)
            FUZZ_HOLDS(hub_postcard_read_unsigned(&reader, 16) <= UINT16_MAX);
        else
            FUZZ_HOLDS(hub_postcard_read_string(&reader).size <= size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_record(data, size);
    check_steps(data, size);
    return 0;
}
