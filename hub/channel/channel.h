/* SPDX-License-Identifier: Apache-2.0 */
/* channel: bytes in one direction under credit, from the side that sends to the side that receives.
 *
 * A channel is an argument of a call. Its caller allocates the id; `source` in a signature is sent
 * by the caller, `sink` by the callee. Each element on the wire is one POSTCARD value of bytes; how
 * a stream is cut into elements is the sender's affair.
 *
 * Guarantees. Nothing is sent beyond the credit, nothing received is lost before its end, and every
 * wait ends with the stream, with the link, or when the channel is stopped. One thread at a time
 * reads or writes a channel; any thread stops it. r[impl core.channel] */
#ifndef HUB_CHANNEL_CHANNEL_H
#define HUB_CHANNEL_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/channel/stream.h"

struct hub_channel;
struct hub_channels;

uint32_t hub_channel_id(const struct hub_channel *channel);

/* The channel as a stream; valid as long as the channel is held. Its `destroy` does nothing. */
struct rapahub_source *hub_channel_source(struct hub_channel *channel);
struct rapahub_sink *hub_channel_sink(struct hub_channel *channel);

/* Either side: the stream is broken off; what is queued is dropped. Never waits. */
void hub_channel_reset(struct hub_channel *channel);

/* Whoever reads or writes it returns with -ECANCELED, from now on, or no longer. Any thread. */
void hub_channel_stop(struct hub_channel *channel, bool stopped);

/* Runs once, when the other side has no more use for what is sent; any thread, under the receive
 * token: must not wait. To be set before the call is sent. */
void hub_channel_on_stop(struct hub_channel *channel, void (*on_stop)(void *user), void *user);

/* Another thread waits for its call, and receives: who reads it need not. To be set before. */
void hub_channel_set_led(struct hub_channel *channel);

struct hub_channel *hub_channel_hold(struct hub_channel *channel);
void hub_channel_release(struct hub_channel **channel); /* accepts NULL */

/* ---- all channels of a link ---- */

/* Sends the Resets that found no space; true while some are left. Never waits. */
bool hub_channel_settle(struct hub_channels *channels);
bool hub_channel_owes(const struct hub_channels *channels); /* are some left? */

/* The link closed, or the peer said goodbye: what is queued can still be read, then comes `code`.
 */
void hub_channel_end_all(struct hub_channels *channels, int code);

#endif
