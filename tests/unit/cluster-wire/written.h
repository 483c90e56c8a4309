/* SPDX-License-Identifier: Apache-2.0 */
/* written: bytes that a writer of the room wrote, in memory that ends where they end, so that a
 * reader that goes further is found out. */
#ifndef TESTS_UNIT_CLUSTER_WIRE_WRITTEN_H
#define TESTS_UNIT_CLUSTER_WIRE_WRITTEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "tests/support/testing.h"

#define WRITTEN_MAX (256 * 1024)

/* What assert_memory_equal may look at: beyond the last member there is padding, of any content. */
#define WRITTEN_ENTRY  (offsetof(struct cluster_entry, state) + 1)
#define WRITTEN_CHANGE (offsetof(struct cluster_delta_change, entry) + WRITTEN_ENTRY)

struct written {
    uint8_t *data;
    size_t size;
};

/* Copies the bytes that the writer has written, and refuses a writer that failed. */
static inline struct written written_by(const struct hub_writer *writer)
{
    struct written written = {malloc(writer->size > 0 ? writer->size : 1), writer->size};

    assert_int_equal(writer->failure, 0);
    assert_non_null(written.data);
    if (writer->size > 0)
        memcpy(written.data, writer->data, writer->size);
    return written;
}

static inline struct rapahub_bytes written_bytes(const struct written *written)
{
    return (struct rapahub_bytes){written->data, written->size};
}

/* The first `size` bytes, in memory that ends there. */
static inline struct written written_cut(const struct written *written, size_t size)
{
    struct written cut = {malloc(size > 0 ? size : 1), size};

    assert_non_null(cut.data);
    memcpy(cut.data, written->data, size);
    return cut;
}

static inline void written_release(struct written *written)
{
    free(written->data);
    written->data = NULL;
}

#endif
