/* SPDX-License-Identifier: Apache-2.0 */
/* channel_writer: the sending end of a channel: cuts bytes into elements, never beyond the credit.
 */
#ifndef HUB_CHANNEL_CHANNEL_WRITER_H
#define HUB_CHANNEL_CHANNEL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_channel;
struct hub_channels;

/* Returns the best number of bytes in an element if messages of `piece` bytes find slots: several
 * fit into the window, so that one is read while the next is written. */
size_t hub_channel_writer_longest(uint32_t window, size_t piece);

/* Writes all bytes, waiting for credit and space. RAPAHUB_ERESET, RAPAHUB_EDIED, RAPAHUB_ECLOSED,
 * -ECANCELED after a stop; -EMSGSIZE if the window cannot hold a single byte. */
int hub_channel_writer_write(struct hub_channel *channel, const void *from, size_t size);

/* From now on writes may be held back, or no longer: then they are published. 0, also if the stream
 * has ended; else like a write. */
int hub_channel_writer_cork(struct hub_channel *channel, bool corked);

/* Sends everything held back, on any thread, when there is no writer any more. The thread's
 * diagnosis stays, as long as the link is there. */
void hub_channel_writer_flush(struct hub_channel *channel);

/* Sends everything that this thread holds back on any of them, waiting until the deadline; 0: as
 * far as there is space. */
void hub_channel_writer_push(struct hub_channels *set, uint64_t deadline_ns);

/* Ends the stream, in order. Harmless if it has ended. */
int hub_channel_writer_end(struct hub_channel *channel);

#endif
