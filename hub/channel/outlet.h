/* SPDX-License-Identifier: Apache-2.0 */
/* outlet: the sending end of a channel: bytes cut into elements, no more than the credit allows. */
#ifndef HUB_CHANNEL_OUTLET_H
#define HUB_CHANNEL_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_channel;
struct hub_channels;

/* How many bytes an element may have where messages of `piece` bytes find slots: several fit into
 * the window, so that one is read while the next is written. */
size_t hub_outlet_longest(uint32_t window, size_t piece);

/* All of it, waiting for credit and space. RAPAHUB_ERESET, RAPAHUB_EDIED, RAPAHUB_ECLOSED,
 * -ECANCELED after a stop; -EMSGSIZE where the window holds not one byte. */
int hub_outlet_write(struct hub_channel *channel, const void *from, size_t size);

/* From now on what is written may wait for more, or no longer: then it is shown. 0, also where the
 * stream has ended; else as a write. */
int hub_outlet_cork(struct hub_channel *channel, bool corked);

/* What is held back is sent, by whichever thread: nobody writes any more. The thread's diagnosis
 * stays, as long as the link is there. */
void hub_outlet_flush(struct hub_channel *channel);

/* What this thread holds back on any of them is sent, waiting until the deadline; 0: as far as
 * there is space. */
void hub_outlet_push(struct hub_channels *set, uint64_t deadline_ns);

/* The end of the stream, in order. Harmless where it has ended. */
int hub_outlet_end(struct hub_channel *channel);

#endif
