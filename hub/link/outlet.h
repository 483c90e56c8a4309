/* SPDX-License-Identifier: Apache-2.0 */
/* outlet: the sending end of a channel: bytes cut into elements, no more than the credit allows. */
#ifndef HUB_LINK_OUTLET_H
#define HUB_LINK_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_channel;

/* How many bytes an element may have where messages of `piece` bytes find slots: several fit into
 * the window, so that one is read while the next is written. */
size_t hub_outlet_longest(uint32_t window, size_t piece);

/* All of it, waiting for credit and space. RAPAHUB_ERESET, RAPAHUB_EDIED, RAPAHUB_ECLOSED,
 * -ECANCELED after a stop; -EMSGSIZE where the window holds not one byte. */
int hub_outlet_write(struct hub_channel *channel, const void *from, size_t size);

/* From now on what is written may wait for more, or no longer: then it is shown. 0, also where the
 * stream has ended; else as a write. */
int hub_outlet_cork(struct hub_channel *channel, bool corked);

/* The end of the stream, in order. Harmless where it has ended. */
int hub_outlet_end(struct hub_channel *channel);

#endif
