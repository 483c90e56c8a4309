/* SPDX-License-Identifier: Apache-2.0 */
/* window: by how much the sender of a channel may be ahead of its reader, as its receiver sees it.
 * It begins with the credit of a new channel, and widens while the reader takes all that comes and
 * the sender uses most of it: else each half of a small window costs a turn of both sides
 * (docs/adr/0022). */
#ifndef HUB_LINK_WINDOW_H
#define HUB_LINK_WINDOW_H

#include "hub/link/channel_state.h"

/* About to grant what was taken: the bytes to be granted besides, mostly 0.
 * r[impl hub.channel.window] */
uint32_t hub_window_widen(struct hub_channel *channel) REQUIRES(channel->set->lock);

/* So many bytes are as much as its reader should get at once. */
uint32_t hub_window_plenty(const struct hub_channel *channel) REQUIRES(channel->set->lock);

/* At the end of a channel: what it had beyond its first credit may be another's. */
void hub_window_close(struct hub_channel *channel);

#endif
