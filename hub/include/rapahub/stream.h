/* SPDX-License-Identifier: Apache-2.0 */
/* stream: a source to read bytes from in order, a sink to write them to.
 *
 * A stream is an argument of a call like another: its word in a signature is `source` where the
 * method reads and `sink` where it writes. The caller gives any stream it has, and keeps it; the
 * library moves the bytes, from process to process under credit, until the call has ended. The
 * method gets streams that hold until it returns.
 *
 * One thread at a time uses a stream. Reads and writes on a descriptor wait until its deadline,
 * 30 s from the start of each operation. Those of a method wait as long as its caller does: they
 * end with RAPAHUB_ERESET when the other side wants no more, and when it dies.
 */
#ifndef RAPAHUB_STREAM_H
#define RAPAHUB_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rapahub/export.h>
#include <rapahub/value.h>

RAPAHUB_BEGIN_DECLS

/* Bytes of the state that one container saves, at most: 1 GiB. More, be it announced or found in a
 * stream, is refused before any of it is moved: -EMSGSIZE. */
#define RAPAHUB_STATE_MAX (UINT64_C(1) << 30)

/* At most `size` bytes, as soon as there are any; 0 at the end; less than 0 on failure. */
RAPAHUB_API_CHECKED ssize_t rapahub_source_read(struct rapahub_source *from, void *to, size_t size);

/* All of `size` bytes, or a failure: RAPAHUB_ERESET where the stream ends before. */
RAPAHUB_API_CHECKED int rapahub_source_read_all(struct rapahub_source *from, void *to, size_t size);

/* Writes all of it; the bytes are copied. -EMSGSIZE where the sink is bounded and full. */
RAPAHUB_API_CHECKED int rapahub_sink_write(struct rapahub_sink *to, const void *from, size_t size);

/* Corked, a method's sink may hold back what is written, so that many small writes reach the other
 * side together: until it is uncorked or ended, until 64 are held back or no more fit, until this
 * thread waits in the library, or until the method returns. A method that waits elsewhere uncorks
 * before. No sink is corked at first; on sinks of other kinds it does nothing. 0, or what a write
 * gives. r[impl hub.ring.cork] */
RAPAHUB_API_CHECKED int rapahub_sink_cork(struct rapahub_sink *sink, bool corked);

/* All is written: the reader of the other end gets its end behind the last byte. Harmless twice. A
 * sink that is destroyed without it gives that reader an error instead. */
RAPAHUB_API_CHECKED int rapahub_sink_end(struct rapahub_sink *to);

/* Two ends of one stream within this process, at most 64 KiB between them. Each is destroyed by
 * its user. */
RAPAHUB_API_CHECKED int rapahub_stream_pair(struct rapahub_sink **out_sink,
                                            struct rapahub_source **out_source);

/* Streams over a descriptor, which stays the caller's and must outlive the stream. */
RAPAHUB_API_CHECKED int rapahub_source_of_fd(int fd, struct rapahub_source **out);
RAPAHUB_API_CHECKED int rapahub_sink_of_fd(int fd, struct rapahub_sink **out);

/* A source over memory, which must outlive it. */
RAPAHUB_API_CHECKED int rapahub_source_of_memory(const void *data, size_t size,
                                                 struct rapahub_source **out);

/* A sink that collects at most `max` bytes in memory, and a view of what it holds, from a multiple
 * of RAPAHUB_BYTES_ALIGN on, good until the next write or the sink's end. */
RAPAHUB_API_CHECKED int rapahub_sink_of_memory(size_t max, struct rapahub_sink **out);
RAPAHUB_API const void *rapahub_sink_data(const struct rapahub_sink *sink, size_t *size);

/* NULL is allowed. */
RAPAHUB_API void rapahub_source_destroy(struct rapahub_source *source);
RAPAHUB_API void rapahub_sink_destroy(struct rapahub_sink *sink);

RAPAHUB_END_DECLS

#endif
