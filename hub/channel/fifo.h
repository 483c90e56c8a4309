/* SPDX-License-Identifier: Apache-2.0 */
/* fifo: bytes that were received and not yet taken, in a ring. It grows as far as it is filled,
 * which its owner bounds by credit, and keeps its memory until it is freed. Zeroed: empty.
 *
 * What was committed does not move as long as it is lent, and what was reserved does not move
 * before the next reserve: so either side copies without a lock. r[impl hub.channel.bound] */
#ifndef HUB_CHANNEL_FIFO_H
#define HUB_CHANNEL_FIFO_H

#include <stdbool.h>
#include <stdint.h>

struct hub_fifo {
    uint8_t *data;
    uint8_t *left; /* where the lent bytes lie, if it grew meanwhile */
    uint32_t capacity;
    uint32_t head, tail; /* free-running: filled from head to tail */
    bool lent;
};

/* Room for `size` bytes behind the last; false for no memory. Nothing is in it before the commit;
 * but for lend and take no other function may be called between. */
bool hub_fifo_reserve(struct hub_fifo *fifo, uint32_t size);

/* Where byte `at` of what was reserved goes; *run: how many may follow it there. */
uint8_t *hub_fifo_room(const struct hub_fifo *fifo, uint32_t at, uint32_t *run);
void hub_fifo_commit(struct hub_fifo *fifo, uint32_t size);

uint32_t hub_fifo_size(const struct hub_fifo *fifo);

/* The first bytes, as many as lie in one piece, until take says how many of them are used up. NULL
 * where there are none. */
const uint8_t *hub_fifo_lend(struct hub_fifo *fifo, uint32_t *size);
void hub_fifo_take(struct hub_fifo *fifo, uint32_t size);

/* Its memory, and what is in it, to another one, which has none. */
void hub_fifo_move(struct hub_fifo *to, struct hub_fifo *from);

void hub_fifo_fini(struct hub_fifo *fifo); /* leaves it empty */

#endif
