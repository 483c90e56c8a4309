/* SPDX-License-Identifier: Apache-2.0 */
/* stream: the interface that each kind of stream of <rapahub/stream.h> implements. */
#ifndef HUB_CHANNEL_STREAM_H
#define HUB_CHANNEL_STREAM_H

#include <stdbool.h>

#include <rapahub/stream.h>

/* A source of any kind: embed it first in your struct. A function that is NULL does nothing. */
struct rapahub_source {
    ssize_t (*read)(struct rapahub_source *source, void *to, size_t size);
    /* Instead of read, for a source that already has the bytes: lends as many as lie in one piece,
     * with their address in *data, until `take` says how many are used up. 0 at the end, like read.
     * NULL: read. */
    ssize_t (*lend)(struct rapahub_source *source, const void **data);
    void (*take)(struct rapahub_source *source, size_t size);
    /* From now on read returns -ECANCELED, or no longer; any thread. */
    void (*stop)(struct rapahub_source *source, bool stopped);
    void (*leave)(struct rapahub_source *source); /* its reader wants no more: tell the writer */
    void (*destroy)(struct rapahub_source *source);
    bool lasting; /* read waits as long as it takes: another thread watches, and stops it */
};

struct rapahub_sink {
    int (*write)(struct rapahub_sink *sink, const void *from, size_t size);
    int (*cork)(struct rapahub_sink *sink, bool corked); /* NULL: it holds nothing back */
    int (*end)(struct rapahub_sink *sink);               /* everything is written */
    void (*stop)(struct rapahub_sink *sink, bool stopped);
    void (*leave)(struct rapahub_sink *sink); /* the rest will not come: tell the reader */
    void (*destroy)(struct rapahub_sink *sink);
    bool lasting;
    /* Called for each part of a write that is out, because a write may take long; NULL: not. On the
     * writing thread. */
    void (*on_part)(void *user);
    void *user;
};

/* Reports a part of a write, after which more is to come. */
static inline void hub_stream_part(const struct rapahub_sink *sink)
{
    if (sink->on_part)
        sink->on_part(sink->user);
}

#endif
