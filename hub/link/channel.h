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
#ifndef HUB_LINK_CHANNEL_H
#define HUB_LINK_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/link/stream.h"

struct hub_channel;
struct hub_channels;

/* Without an id; NULL with the diagnosis for no memory. For channels.c. */
struct hub_channel *hub_channel_create(struct hub_channels *set, bool sends, bool ours);

uint32_t hub_channel_id(const struct hub_channel *channel);

/* The channel as a stream; valid as long as the channel is held. Its `destroy` does nothing. */
struct rapahub_source *hub_channel_source(struct hub_channel *channel);
struct rapahub_sink *hub_channel_sink(struct hub_channel *channel);

/* At most `size` bytes as soon as there are any; 0 at the end. RAPAHUB_ERESET, RAPAHUB_EDIED,
 * RAPAHUB_ECLOSED, -ECANCELED after a stop. */
ssize_t hub_channel_read(struct hub_channel *channel, void *to, size_t size);

/* The same in two steps: as many bytes as lie in one piece, and where; and how many of them are
 * used up. */
ssize_t hub_channel_lend(struct hub_channel *channel, const void **data);
void hub_channel_take(struct hub_channel *channel, size_t size);

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

#endif
