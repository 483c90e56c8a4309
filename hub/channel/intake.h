/* SPDX-License-Identifier: Apache-2.0 */
/* intake: Data, Close and Reset as the link hands them up: to the channel they belong to, to
 * nobody, or a violation. Under the receive token. */
#ifndef HUB_CHANNEL_INTAKE_H
#define HUB_CHANNEL_INTAKE_H

#include "hub/channel/channels.h"

/* Close and Reset. 0, or RAPAHUB_EPROTOCOL: channeling.data-after-close,
 * channeling.holder-semantics, channeling.unknown. */
int hub_intake_accept(struct hub_channels *set, const struct hub_message *message);

/* Data: an enum hub_arrival_news, or RAPAHUB_EPROTOCOL: one of these, flow.channel.credit-overrun,
 * channeling.data.invalid, or what the copy failed with. */
int hub_intake_data(struct hub_channels *set, const struct hub_message *message,
                    const struct hub_arrival *arrival);

/* The two ends of a copy that is made without a lock. Between them the channel is held, and what
 * was reserved in its fifo stays where it is. NULL: nobody wants so much now. `prefix`: how many of
 * `size` bytes the element's length takes; 0: it is none; else why the copy failed. */
struct hub_channel *hub_intake_begin_fill(struct hub_channels *set, uint32_t id, uint32_t size);
int hub_intake_end_fill(struct hub_channel *channel, const struct hub_message *message,
                        uint32_t size, int prefix);

#endif
