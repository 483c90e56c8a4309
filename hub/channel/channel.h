/* SPDX-License-Identifier: Apache-2.0 */
/* channel: bytes in one direction under credit, from the side that sends to the side that receives.
 *
 * A channel is an argument of a call. Its caller allocates the id; the caller sends on a `source`
 * of a signature, the callee on a `sink`. Each element on the wire is one POSTCARD value of bytes;
 * the sender alone decides how a stream is cut into elements.
 *
 * Guarantees. Nothing is sent beyond the credit, nothing received is lost before its end, and every
 * wait ends with the stream, with the link, or when the channel is stopped. One thread at a time
 * reads or writes a channel; any thread stops it. r[impl core.channel]
 */
#ifndef HUB_CHANNEL_CHANNEL_H
#define HUB_CHANNEL_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/channel/stream.h"

struct hub_channel;
struct hub_channels;

uint32_t hub_channel_id(const struct hub_channel *channel);

/* Return the channel as a stream; valid as long as the channel is held. Its `destroy` does
 * nothing. */
struct rapahub_source *hub_channel_source(struct hub_channel *channel);
struct rapahub_sink *hub_channel_sink(struct hub_channel *channel);

/* Either side: breaks the stream off; queued data is dropped. Never waits. */
void hub_channel_reset(struct hub_channel *channel);

/* Makes readers and writers return -ECANCELED, from now on, or no longer. Any thread. */
void hub_channel_stop(struct hub_channel *channel, bool stopped);

/* Sets a function that is called once, when the other side has no more use for the data; any
 * thread, under the receive token: it must not wait. Set it before the call is sent. */
void hub_channel_on_stop(struct hub_channel *channel, void (*on_stop)(void *user), void *user);

/* Another thread waits for the call, and receives, so the reader need not. Set it before. */
void hub_channel_set_led(struct hub_channel *channel);

struct hub_channel *hub_channel_hold(struct hub_channel *channel);
void hub_channel_release(struct hub_channel **channel); /* NULL is allowed in it */

/* ---- all channels of a link ---- */

/* Sends the Resets that found no space; true while some are left. Never waits. */
bool hub_channel_settle(struct hub_channels *channels);
bool hub_channel_owes(const struct hub_channels *channels); /* some are left */

/* The link closed, or the peer said goodbye: queued data can still be read, then comes `code`. */
void hub_channel_end_all(struct hub_channels *channels, int code);

#endif
