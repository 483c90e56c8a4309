/* SPDX-License-Identifier: Apache-2.0 */
/* A method's arguments and result of any type from any bytes: a line with its signature, then the
 * bytes. A value that can be decoded is encoded such that it decodes to the same. */
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/arena.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/signature.h"
#include "tests/fuzz/fuzz.h"

#define SIGNATURE_MAX 512

static size_t size_of(const struct rapahub_type *type)
{
    return type->size ? type->size : 1;
}

/* Reads one value of the type, at the reader's place, and looks at its bytes written again. */
static void check_value(struct hub_reader *reader, const struct rapahub_type *type, void **blocks)
{
    void *value = hub_arena_alloc(blocks, size_of(type)), *again;
    struct hub_writer writer;
    struct hub_reader reread;
    uint8_t *first, *second;
    size_t size;

    if (!value) {
        reader->failure = RAPAHUB_ENOMEM;
        return;
    }
    hub_payload_decode(reader, type, value);
    if (reader->failure)
        return;
    hub_writer_count(&writer);
    hub_payload_put(&writer, type, value);
    size = writer.size;
    first = hub_arena_alloc(blocks, size + 1);
    second = hub_arena_alloc(blocks, size + 1);
    again = hub_arena_alloc(blocks, size_of(type));
    if (!first || !second || !again)
        return;
    hub_writer_init(&writer, first, size);
    hub_payload_put(&writer, type, value);
    FUZZ_HOLDS(writer.failure == 0 && writer.size == size);
    hub_reader_init(&reread, first, size);
    hub_payload_decode(&reread, type, again);
    FUZZ_HOLDS(hub_postcard_end(&reread) == 0);
    hub_writer_init(&writer, second, size);
    hub_payload_put(&writer, type, again);
    FUZZ_HOLDS(writer.failure == 0 && writer.size == size && !memcmp(first, second, size));
}

static void check_tuple(const struct hub_signature *signature, const uint8_t *data, size_t size)
{
    struct hub_reader reader;
    void *blocks = NULL;

    hub_reader_init(&reader, data, size);
    for (size_t i = 0; signature->types[i] && !reader.failure; i++)
        check_value(&reader, signature->types[i], &blocks);
    FUZZ_HOLDS(reader.at <= reader.end);
    hub_arena_release(&blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    struct hub_signature *signature = NULL;
    char text[SIGNATURE_MAX];
    size_t length;

    if (!line || (size_t)(line - data) >= sizeof(text))
        return 0;
    length = (size_t)(line - data);
    memcpy(text, data, length);
    text[length] = '\0';
    if (hub_signature_parse(text, &signature) == 0)
        check_tuple(signature, line + 1, size - length - 1);
    hub_signature_release(&signature);
    return 0;
}
