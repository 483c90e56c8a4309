/* SPDX-License-Identifier: Apache-2.0 */
/* shelf: pieces of memory, kept for who needs one next. Whose they are the owner of the shelf knows
 * by a list of its own. Any thread. */
#ifndef HOST_CALL_SHELF_H
#define HOST_CALL_SHELF_H

#include <stdbool.h>

#include "hub/base/mutex.h"

struct host_shelf {
    struct hub_mutex lock;
    bool closed GUARDED_BY(lock);
    void *first GUARDED_BY(lock); /* each begins with a pointer to the next one */
};

void host_shelf_open(struct host_shelf *shelf);

/* From now on it forgets what lies there, and what is given to it. */
void host_shelf_close(struct host_shelf *shelf);

/* One to use: as it was given, but for its first word; NULL where none is there. */
void *host_shelf_pop(struct host_shelf *shelf);
void host_shelf_give(struct host_shelf *shelf, void *piece);

#endif
