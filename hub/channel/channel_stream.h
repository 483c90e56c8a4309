/* SPDX-License-Identifier: Apache-2.0 */
/* channel_stream: a channel as a source or a sink, and how its reader gets what was received. A
 * thread at a time reads. */
#ifndef HUB_CHANNEL_CHANNEL_STREAM_H
#define HUB_CHANNEL_CHANNEL_STREAM_H

#include "hub/channel/channel.h"

/* A channel without an id; NULL with the diagnosis for no memory. For channels.c. */
struct hub_channel *hub_channel_stream_create(struct hub_channels *set, bool sends, bool ours);

/* At most `size` bytes as soon as there are any; 0 at the end. RAPAHUB_ERESET, RAPAHUB_EDIED,
 * RAPAHUB_ECLOSED, -ECANCELED after a stop. */
ssize_t hub_channel_stream_read(struct hub_channel *channel, void *to, size_t size);

/* The same in two steps: as many bytes as lie in one piece, and where; and how many of them are
 * used up. */
ssize_t hub_channel_stream_lend(struct hub_channel *channel, const void **data);
void hub_channel_stream_take(struct hub_channel *channel, size_t size);

#endif
