/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/free_list.h"

#include <string.h>

void host_free_list_open(struct host_free_list *shelf)
{
    hub_mutex_init(&shelf->lock, HUB_MUTEX_FREE_LIST);
    hub_mutex_lock(&shelf->lock);
    shelf->closed = false;
    shelf->first = NULL;
    hub_mutex_unlock(&shelf->lock);
}

void host_free_list_close(struct host_free_list *shelf)
{
    hub_mutex_lock(&shelf->lock);
    shelf->closed = true;
    shelf->first = NULL;
    hub_mutex_unlock(&shelf->lock);
}

void *host_free_list_pop(struct host_free_list *shelf)
{
    void *piece;

    hub_mutex_lock(&shelf->lock);
    piece = shelf->first;
    if (piece)
        memcpy(&shelf->first, piece, sizeof shelf->first);
    hub_mutex_unlock(&shelf->lock);
    return piece;
}

void host_free_list_give(struct host_free_list *shelf, void *piece)
{
    hub_mutex_lock(&shelf->lock);
    if (!shelf->closed) {
        memcpy(piece, &shelf->first, sizeof shelf->first);
        shelf->first = piece;
    }
    hub_mutex_unlock(&shelf->lock);
}
