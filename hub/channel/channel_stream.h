/* SPDX-License-Identifier: Apache-2.0 */
/* channel_stream: a channel as a source or a sink, and its reader's access to received data. Only
 * one thread at a time reads. */
#ifndef HUB_CHANNEL_CHANNEL_STREAM_H
#define HUB_CHANNEL_CHANNEL_STREAM_H

#include "hub/channel/channel.h"

/* Makes a channel without an id; NULL with the diagnosis if there is no memory. For channels.c. */
struct hub_channel *hub_channel_stream_create(struct hub_channels *set, bool sends, bool ours);

/* Reads at most `size` bytes as soon as there are any; 0 at the end. RAPAHUB_ERESET, RAPAHUB_EDIED,
 * RAPAHUB_ECLOSED, -ECANCELED after a stop. */
ssize_t hub_channel_stream_read(struct hub_channel *channel, void *to, size_t size);

/* The same in two steps: hub_channel_stream_lend returns the bytes of the next piece and its
 * address; hub_channel_stream_take says how many of them are used up. */
ssize_t hub_channel_stream_lend(struct hub_channel *channel, const void **data);
void hub_channel_stream_take(struct hub_channel *channel, size_t size);

#endif
