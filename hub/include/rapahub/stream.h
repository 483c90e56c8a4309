/* SPDX-License-Identifier: Apache-2.0 */
/* stream: a source to read bytes from in order, a sink to write them to.
 *
 * One thread at a time uses a stream. Reads and writes on a descriptor wait until its deadline,
 * 30 s from the start of each operation.
 */
#ifndef RAPAHUB_STREAM_H
#define RAPAHUB_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_source;
struct rapahub_sink;

/* At most `size` bytes, as soon as there are any; 0 at the end; less than 0 on failure. */
RAPAHUB_API_CHECKED ssize_t rapahub_source_read(struct rapahub_source *from, void *to, size_t size);

/* All of `size` bytes, or a failure: RAPAHUB_ERESET where the stream ends before. */
RAPAHUB_API_CHECKED int rapahub_source_read_all(struct rapahub_source *from, void *to, size_t size);

/* Writes all of it; the bytes are copied. -EMSGSIZE where the sink is bounded and full. */
RAPAHUB_API_CHECKED int rapahub_sink_write(struct rapahub_sink *to, const void *from, size_t size);

/* Streams over a descriptor, which stays the caller's and must outlive the stream. */
RAPAHUB_API_CHECKED int rapahub_source_of_fd(int fd, struct rapahub_source **out);
RAPAHUB_API_CHECKED int rapahub_sink_of_fd(int fd, struct rapahub_sink **out);

/* A source over memory, which must outlive it. */
RAPAHUB_API_CHECKED int rapahub_source_of_memory(const void *data, size_t size,
                                                 struct rapahub_source **out);

/* A sink that collects at most `max` bytes in memory, and a view of what it holds, good until the
 * next write or the sink's end. */
RAPAHUB_API_CHECKED int rapahub_sink_of_memory(size_t max, struct rapahub_sink **out);
RAPAHUB_API const void *rapahub_sink_data(const struct rapahub_sink *sink, size_t *size);

/* NULL is allowed. */
RAPAHUB_API void rapahub_source_destroy(struct rapahub_source *source);
RAPAHUB_API void rapahub_sink_destroy(struct rapahub_sink *sink);

RAPAHUB_END_DECLS

#endif
