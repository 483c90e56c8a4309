/* SPDX-License-Identifier: Apache-2.0 */
/* free_list: pieces of memory, kept for who needs one next. Whose they are the owner of the shelf
 * knows by a list of its own. Any thread. */
#ifndef HOST_CALL_FREE_LIST_H
#define HOST_CALL_FREE_LIST_H

#include <stdbool.h>

#include "hub/base/mutex.h"

struct host_free_list {
    struct hub_mutex lock;
    bool closed GUARDED_BY(lock);
    void *first GUARDED_BY(lock); /* each begins with a pointer to the next one */
};

void host_free_list_open(struct host_free_list *shelf);

/* From now on it forgets what lies there, and what is given to it. */
void host_free_list_close(struct host_free_list *shelf);

/* One to use: as it was given, but for its first word; NULL where none is there. */
void *host_free_list_pop(struct host_free_list *shelf);
void host_free_list_give(struct host_free_list *shelf, void *piece);

#endif
