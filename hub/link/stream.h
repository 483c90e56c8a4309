/* SPDX-License-Identifier: Apache-2.0 */
/* stream: what stands behind <rapahub/stream.h>: the interface a stream of another kind implements.
 */
#ifndef HUB_LINK_STREAM_H
#define HUB_LINK_STREAM_H

#include <rapahub/stream.h>

/* A source somebody else implements: embed it first in your struct. */
struct rapahub_source {
    ssize_t (*read)(struct rapahub_source *source, void *to, size_t size);
    void (*destroy)(struct rapahub_source *source); /* NULL: nothing to free */
};

struct rapahub_sink {
    int (*write)(struct rapahub_sink *sink, const void *from, size_t size);
    void (*destroy)(struct rapahub_sink *sink);
};

#endif
