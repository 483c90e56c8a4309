/* SPDX-License-Identifier: Apache-2.0 */
/* fifo: bytes that were received and not yet taken, one element packed behind the other. It grows
 * as far as it is filled, which its owner bounds by credit. Zeroed: empty.
 * r[impl hub.channel.bound] */
#ifndef HUB_LINK_FIFO_H
#define HUB_LINK_FIFO_H

#include <stdint.h>

struct hub_fifo {
    uint8_t *data;
    uint32_t capacity, head, tail; /* filled from head to tail */
};

/* Room for `size` bytes in one piece behind the last; NULL for no memory. Nothing is in it before
 * the commit; no other function may be called between but take. */
void *hub_fifo_reserve(struct hub_fifo *fifo, uint32_t size);
void hub_fifo_commit(struct hub_fifo *fifo, uint32_t size);

/* How much there is; where it begins; `size` bytes of it are used up. */
uint32_t hub_fifo_size(const struct hub_fifo *fifo);
const uint8_t *hub_fifo_front(const struct hub_fifo *fifo);
void hub_fifo_take(struct hub_fifo *fifo, uint32_t size);

void hub_fifo_fini(struct hub_fifo *fifo); /* leaves it empty */

#endif
