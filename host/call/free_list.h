/* SPDX-License-Identifier: Apache-2.0 */
/* free_list: pieces of memory that are kept for the next user. Their owner keeps a list of all
 * pieces, and frees them by that. Any thread. */
#ifndef HOST_CALL_FREE_LIST_H
#define HOST_CALL_FREE_LIST_H

#include <stdbool.h>

#include "hub/base/mutex.h"

struct host_free_list {
    struct hub_mutex lock;
    bool closed GUARDED_BY(lock);
    void *first GUARDED_BY(lock); /* each piece begins with a pointer to the next */
};

void host_free_list_open(struct host_free_list *free_list);

/* Forgets all pieces, and those that are given later, without freeing them. */
void host_free_list_close(struct host_free_list *free_list);

/* Returns a piece as it was given, except its first word; NULL if there is none. */
void *host_free_list_pop(struct host_free_list *free_list);
void host_free_list_give(struct host_free_list *free_list, void *piece);

#endif
