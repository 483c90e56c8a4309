/* SPDX-License-Identifier: Apache-2.0 */
/* stream: what stands behind <rapahub/stream.h>: the interface a stream of another kind implements.
 */
#ifndef HUB_CHANNEL_STREAM_H
#define HUB_CHANNEL_STREAM_H

#include <stdbool.h>

#include <rapahub/stream.h>

/* A source somebody else implements: embed it first in your struct. What is NULL does nothing. */
struct rapahub_source {
    ssize_t (*read)(struct rapahub_source *source, void *to, size_t size);
    /* Instead of read, where it has what is read: as many bytes as lie in one piece are lent, with
     * *data where, until `take` says how many are used up. As read: 0 at the end. NULL: read. */
    ssize_t (*lend)(struct rapahub_source *source, const void **data);
    void (*take)(struct rapahub_source *source, size_t size);
    /* From now on read returns -ECANCELED, or no longer; any thread. */
    void (*stop)(struct rapahub_source *source, bool stopped);
    void (*leave)(struct rapahub_source *source); /* its reader wants no more: tell the writer */
    void (*destroy)(struct rapahub_source *source);
    bool lasting; /* read waits as long as it takes: somebody else watches, and stops it */
};

struct rapahub_sink {
    int (*write)(struct rapahub_sink *sink, const void *from, size_t size);
    int (*cork)(struct rapahub_sink *sink, bool corked); /* NULL: it holds nothing back */
    int (*end)(struct rapahub_sink *sink);               /* all is written */
    void (*stop)(struct rapahub_sink *sink, bool stopped);
    void (*leave)(struct rapahub_sink *sink); /* the rest will not come: tell the reader */
    void (*destroy)(struct rapahub_sink *sink);
    bool lasting;
    /* Who uses it wants to know of each part of a write that is out, as one may take long; NULL:
     * not. On the thread that writes. */
    void (*on_part)(void *user);
    void *user;
};

/* Of a write, of which more is to come. */
static inline void hub_stream_part(const struct rapahub_sink *sink)
{
    if (sink->on_part)
        sink->on_part(sink->user);
}

#endif
