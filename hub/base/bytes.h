/* SPDX-License-Identifier: Apache-2.0 */
/* bytes: a bounded reader and a bounded writer. Both keep the first failure, so that a chain of
 * calls is checked once, at its end. */
#ifndef HUB_BASE_BYTES_H
#define HUB_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_reader {
    const uint8_t *at, *end;
    int failure; /* 0, or the first error code */
};

/* A writer with `data` NULL only counts. */
struct hub_writer {
    uint8_t *data;
    size_t size;     /* bytes written so far, or needed */
    size_t capacity; /* bytes at data */
    int failure;     /* 0, or -EMSGSIZE: it did not fit */
};

static inline void hub_reader_init(struct hub_reader *reader, const void *data, size_t size)
{
    reader->at = size > 0 ? data : (const void *)"";
    reader->end = reader->at + size;
    reader->failure = 0;
}

static inline size_t hub_reader_left(const struct hub_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static inline void hub_writer_init(struct hub_writer *writer, void *data, size_t capacity)
{
    *writer = (struct hub_writer){.data = data, .capacity = capacity};
}

void hub_writer_count(struct hub_writer *writer); /* makes a writer that only counts */
void hub_writer_put(struct hub_writer *writer, const void *data, size_t size);

/* Inline, because small messages consist mostly of single bytes. */
static inline void hub_writer_byte(struct hub_writer *writer, uint8_t byte)
{
    if (writer->failure == 0 && writer->size < writer->capacity && writer->data)
        writer->data[writer->size++] = byte;
    else
        hub_writer_put(writer, &byte, 1);
}

#endif
