/* SPDX-License-Identifier: Apache-2.0 */
/* channel_reader: receives Data, Close and Reset from the link, for the channel they belong to;
 * others are ignored, or a violation. Under the receive token. */
#ifndef HUB_CHANNEL_CHANNEL_READER_H
#define HUB_CHANNEL_CHANNEL_READER_H

#include "hub/channel/channels.h"

/* Receives Close and Reset. 0, or RAPAHUB_EPROTOCOL: channeling.data-after-close,
 * channeling.holder-semantics, channeling.unknown. */
int hub_channel_reader_accept(struct hub_channels *set, const struct hub_message *message);

/* Receives Data: an enum hub_receive_batch_news, or RAPAHUB_EPROTOCOL: one of these,
 * flow.channel.credit-overrun, channeling.data.invalid, or the failure of the copy. */
int hub_channel_reader_data(struct hub_channels *set, const struct hub_message *message,
                            const struct hub_receive_batch *arrival);

/* The begin and end of a copy that is made without a lock. In between the channel is held, and the
 * reserved space in its fifo stays in place. NULL: so much is unwanted now. `prefix`: how many of
 * `size` bytes the element's length has; 0: it is invalid; else why the copy failed. */
struct hub_channel *hub_channel_reader_begin_fill(struct hub_channels *set, uint32_t id,
                                                  uint32_t size);
int hub_channel_reader_end_fill(struct hub_channel *channel, const struct hub_message *message,
                                uint32_t size, int prefix);

#endif
