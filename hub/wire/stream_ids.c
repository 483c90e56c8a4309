/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/stream_ids.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

/* The list of marks has space for as many arguments as a signature may have. */
static struct hub_stream_mark *note(struct hub_stream_marks *marks, const struct rapahub_type *type)
{
    struct hub_stream_mark *mark = &marks->list[marks->count++];

    *mark = (struct hub_stream_mark){.is_sink = type->kind == RAPAHUB_KIND_SINK};
    return mark;
}

void hub_stream_ids_put(struct hub_writer *writer, const struct rapahub_type *const *types,
                        const void *const *values, struct hub_stream_marks *marks)
{
    marks->count = 0;
    for (size_t i = 0; types[i]; i++) {
        struct hub_stream_mark *mark;

        if (!hub_signature_is_stream(types[i])) {
            hub_payload_put(writer, types[i], values[i]);
            continue;
        }
        mark = note(marks, types[i]);
        memcpy(&mark->stream, values[i], sizeof(void *));
        mark->at = writer->size;
        mark->size = 1;
        hub_writer_byte(writer, 0);
    }
}

size_t hub_stream_ids_fill(struct rapahub_bytes arguments, const struct hub_stream_marks *marks,
                           const uint64_t *ids, uint8_t *to)
{
    const uint8_t *from = arguments.data;
    struct hub_writer writer;
    size_t done = 0;

    hub_writer_init(&writer, to, arguments.size + 10 * (size_t)marks->count);
    for (uint32_t i = 0; i < marks->count; i++) {
        hub_writer_put(&writer, from + done, marks->list[i].at - done);
        hub_postcard_put_unsigned(&writer, ids[i]);
        done = marks->list[i].at + marks->list[i].size;
    }
    hub_writer_put(&writer, from + done, arguments.size - done);
    return writer.size;
}

/* Returns memory for any of the values, which are decoded only to check them. */
static void *room_for(const struct rapahub_type *const *types)
{
    size_t most = sizeof(uint64_t);

    for (size_t i = 0; types[i]; i++)
        if (types[i]->size > most)
            most = types[i]->size;
    return malloc(most);
}

int hub_stream_ids_find(const struct rapahub_type *const *types, struct rapahub_bytes arguments,
                        struct hub_stream_marks *marks, uint64_t *ids)
{
    void *value = room_for(types);
    struct hub_reader reader;

    if (!value)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory to look for streams");
    hub_reader_init(&reader, arguments.data, arguments.size);
    marks->count = 0;
    for (size_t i = 0; types[i] && !reader.failure; i++) {
        const uint8_t *start = reader.at;
        struct hub_stream_mark *mark;

        hub_payload_decode(&reader, types[i], value);
        if (!hub_signature_is_stream(types[i]) || reader.failure)
            continue;
        memcpy(&ids[marks->count], value, sizeof *ids);
        mark = note(marks, types[i]);
        mark->at = (size_t)(start - (const uint8_t *)arguments.data);
        mark->size = (size_t)(reader.at - start);
    }
    free(value);
    return hub_postcard_end(&reader);
}
