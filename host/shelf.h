/* SPDX-License-Identifier: Apache-2.0 */
/* shelf: pieces of memory of one size, kept for who needs one next, so that nothing is allocated
 * while as many are given back as are taken. It never keeps more than `max`. Any thread. */
#ifndef HOST_SHELF_H
#define HOST_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/mutex.h"

struct host_shelf {
    struct hub_mutex lock;
    size_t size;
    uint32_t max;
    uint32_t count GUARDED_BY(lock);
    void *first GUARDED_BY(lock); /* each begins with a pointer to the next one */
};

void host_shelf_open(struct host_shelf *shelf, size_t size, uint32_t max);
void host_shelf_close(struct host_shelf *shelf); /* which is empty */

/* One to use: as it was given back, but for its first word, or new and zeroed. NULL: no memory. */
void *host_shelf_take(struct host_shelf *shelf);

/* False where the shelf is full: the piece is the caller's, to be freed. */
bool host_shelf_give(struct host_shelf *shelf, void *piece);

/* Takes out one that lies there, to be freed; NULL where there is none. */
void *host_shelf_pop(struct host_shelf *shelf);

#endif
