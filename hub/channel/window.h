/* SPDX-License-Identifier: Apache-2.0 */
/* window: by how much the sender of a channel may be ahead of its reader, as its receiver sees it.
 * It begins with the credit of a new channel, and widens while the reader takes all that comes and
 * the sender uses most of it: else each half of a small window costs a turn of both sides
 * (docs/adr/0022). */
#ifndef HUB_CHANNEL_WINDOW_H
#define HUB_CHANNEL_WINDOW_H

#include "hub/channel/channel_state.h"

/* About to grant what was taken: the bytes to be granted besides, mostly 0.
 * r[impl hub.channel.window] */
uint32_t hub_window_widen(struct hub_channel *channel) REQUIRES(channel->set->lock);

/* So many bytes are as much as its reader should get at once. */
uint32_t hub_window_plenty(const struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Memory of one that has ended is kept for the next that may fill as much: new memory costs a page
 * fault for each 4 KiB, which is more than to copy into it. Of a channel that is opened, or has
 * been widened. r[impl hub.channel.bound] */
void hub_window_settle(struct hub_channel *channel) REQUIRES(channel->set->lock);
void hub_window_leave(struct hub_channel *channel) REQUIRES(channel->set->lock); /* it has ended */

/* Nothing may come for long: such memory is freed, at once or if nobody used it since the last
 * time.
 */
void hub_window_rest(struct hub_channels *set, bool at_once);

/* At the end of a channel: what it had beyond its first credit may be another's. */
void hub_window_close(struct hub_channel *channel);

#endif
