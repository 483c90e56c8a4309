/* SPDX-License-Identifier: Apache-2.0 */
/* stream: a source, from which bytes are read in order, and a sink, to which they are written.
 *
 * A stream is an argument of a call. Its word in a signature is `source` where the method reads and
 * `sink` where it writes. The caller passes any stream it has and keeps it; the library moves the
 * bytes between the processes, with credits, until the call has ended. The method gets streams that
 * hold until it returns.
 *
 * One thread at a time uses a stream. A read or a write on a descriptor fails 30 s after its start.
 * A method's reads and writes wait as long as its caller does: they end with RAPAHUB_ERESET when
 * the other side wants no more, and when it dies.
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

/* Limit of the state that one container saves, in bytes: 1 GiB. A larger state, whether announced
 * or found in a stream, is refused with -EMSGSIZE before any of it is moved. */
#define RAPAHUB_STATE_MAX (UINT64_C(1) << 30)

/* Reads at most `size` bytes into `to`, as soon as there are any. Returns their number, 0 at the
 * end of the stream, less than 0 on failure. */
RAPAHUB_API_CHECKED ssize_t rapahub_source_read(struct rapahub_source *from, void *to, size_t size);

/* Reads exactly `size` bytes. Returns 0, or less on failure: RAPAHUB_ERESET if the stream ends
 * before. */
RAPAHUB_API_CHECKED int rapahub_source_read_all(struct rapahub_source *from, void *to, size_t size);

/* Writes all `size` bytes; they are copied. Returns 0, or less on failure: -EMSGSIZE if the sink is
 * bounded and would overflow. */
RAPAHUB_API_CHECKED int rapahub_sink_write(struct rapahub_sink *to, const void *from, size_t size);

/* Corks or uncorks a method's sink. A corked sink may hold back small writes, so that many of them
 * reach the other side together. They are sent when the sink is uncorked or ended, when 64 are held
 * back or no more fit, when this thread waits in the library, and when the method returns. A method
 * that waits elsewhere uncorks first. Sinks begin uncorked; on sinks of other kinds the function
 * does nothing. Returns 0, or the error of a write. r[impl hub.ring.cork] */
RAPAHUB_API_CHECKED int rapahub_sink_cork(struct rapahub_sink *sink, bool corked);

/* Ends the stream: the reader at the other side finds the end after the last byte. A second call is
 * harmless. A sink that is destroyed without it gives that reader an error instead. */
RAPAHUB_API_CHECKED int rapahub_sink_end(struct rapahub_sink *to);

/* Makes both ends of a stream within this process, which holds at most 64 KiB between them. Each
 * end may be on a thread of its own, and is destroyed separately. */
RAPAHUB_API_CHECKED int rapahub_stream_pair(struct rapahub_sink **out_sink,
                                            struct rapahub_source **out_source);

/* Make a stream over a descriptor, which remains the caller's and must outlive the stream. */
RAPAHUB_API_CHECKED int rapahub_source_of_fd(int fd, struct rapahub_source **out);
RAPAHUB_API_CHECKED int rapahub_sink_of_fd(int fd, struct rapahub_sink **out);

/* The same for a descriptor that another process chose, and sent: no thread that uses the stream
 * waits for the descriptor longer than until the stream's call ends or is cancelled, whatever the
 * other process does with it. The descriptor belongs to the stream from here on, and *fd becomes
 * -1; after a failure it is still the caller's. It is closed some time after the stream was
 * destroyed. RAPAHUB_EBUSY: there is no thread for it, or 1,024 streams of this kind are there. */
RAPAHUB_API_CHECKED int rapahub_source_of_received_fd(int *fd, struct rapahub_source **out);
RAPAHUB_API_CHECKED int rapahub_sink_of_received_fd(int *fd, struct rapahub_sink **out);

/* Makes a source that reads from memory, which must outlive it. */
RAPAHUB_API_CHECKED int rapahub_source_of_memory(const void *data, size_t size,
                                                 struct rapahub_source **out);

/* rapahub_sink_of_memory makes a sink that collects at most `max` bytes in memory.
 * rapahub_sink_data returns its content and the number of bytes in *size. The content begins at a
 * multiple of RAPAHUB_BYTES_ALIGN and holds until the next write or until the sink is destroyed.
 * For other sinks the result is NULL, with size 0. */
RAPAHUB_API_CHECKED int rapahub_sink_of_memory(size_t max, struct rapahub_sink **out);
RAPAHUB_API const void *rapahub_sink_data(const struct rapahub_sink *sink, size_t *size);

/* Destroy a stream. NULL is allowed. */
RAPAHUB_API void rapahub_source_destroy(struct rapahub_source *source);
RAPAHUB_API void rapahub_sink_destroy(struct rapahub_sink *sink);

RAPAHUB_END_DECLS

#endif
