/* SPDX-License-Identifier: Apache-2.0 */
/* fifo: bytes that were received and not yet read, in a ring. It grows as far as it is filled,
 * which its owner bounds by credit, and keeps its memory until it is freed. Zeroed: empty.
 *
 * Committed bytes do not move while they are lent, and reserved space does not move before the next
 * reserve, so either side copies without a lock. r[impl hub.channel.bound]
 */
#ifndef HUB_CHANNEL_FIFO_H
#define HUB_CHANNEL_FIFO_H

#include <stdbool.h>
#include <stdint.h>

struct hub_fifo {
    uint8_t *data;
    uint8_t *left; /* the lent bytes, if the fifo grew meanwhile */
    uint32_t capacity;
    uint32_t head, tail; /* free-running: filled from head to tail */
    bool lent;
};

/* Reserves space for `size` bytes after the last; false if there is no memory. It stays empty until
 * the commit, and between the two only lend and take may be called. */
bool hub_fifo_reserve(struct hub_fifo *fifo, uint32_t size);

/* Returns the address of byte `at` of the reserved space; *run: how many may follow it there. */
uint8_t *hub_fifo_room(const struct hub_fifo *fifo, uint32_t at, uint32_t *run);
void hub_fifo_commit(struct hub_fifo *fifo, uint32_t size);

uint32_t hub_fifo_size(const struct hub_fifo *fifo);

/* hub_fifo_lend returns the first bytes, as many as lie in one piece, NULL if there are none;
 * hub_fifo_pop then says how many of them are used up. */
const uint8_t *hub_fifo_lend(struct hub_fifo *fifo, uint32_t *size);
void hub_fifo_pop(struct hub_fifo *fifo, uint32_t size);

/* Moves its memory and its content to another fifo, which has none. */
void hub_fifo_move(struct hub_fifo *to, struct hub_fifo *from);

void hub_fifo_fini(struct hub_fifo *fifo); /* leaves it empty */

#endif
