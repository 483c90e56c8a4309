/* SPDX-License-Identifier: Apache-2.0 */
/* window: how far the sender of a channel may be ahead of its reader, as its receiver decides. It
 * begins with the credit of a new channel, and widens while the reader reads everything and the
 * sender uses most of it: otherwise each half of a small window costs a turn of both sides
 * (docs/adr/0022). */
#ifndef HUB_CHANNEL_WINDOW_H
#define HUB_CHANNEL_WINDOW_H

#include "hub/channel/channel_state.h"

/* Before granting consumed bytes again: returns the bytes to be granted in addition, mostly 0.
 * r[impl hub.channel.window] */
uint32_t hub_window_widen(struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Returns the number of bytes that its reader should get at once. */
uint32_t hub_window_plenty(const struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Memory of a channel that has ended is kept for the next that may fill as much: new memory costs a
 * page fault for each 4 KiB, which is more than copying into it. For a channel that is opened, or
 * has been widened. r[impl hub.channel.bound] */
void hub_window_settle(struct hub_channel *channel) REQUIRES(channel->set->lock);
void hub_window_leave(struct hub_channel *channel) REQUIRES(channel->set->lock); /* it has ended */

/* Nothing may come for long: frees such memory, at once or if it was not used since the last
 * time. */
void hub_window_rest(struct hub_channels *set, bool at_once);

/* At the end of a channel: its bytes beyond the first credit are free for others. */
void hub_window_close(struct hub_channel *channel);

#endif
