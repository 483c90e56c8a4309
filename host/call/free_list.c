/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/free_list.h"

#include <string.h>

void host_free_list_open(struct host_free_list *free_list)
{
    hub_mutex_init(&free_list->lock, HUB_MUTEX_FREE_LIST);
    hub_mutex_lock(&free_list->lock);
    free_list->closed = false;
    free_list->first = NULL;
    hub_mutex_unlock(&free_list->lock);
}

void host_free_list_close(struct host_free_list *free_list)
{
    hub_mutex_lock(&free_list->lock);
    free_list->closed = true;
    free_list->first = NULL;
    hub_mutex_unlock(&free_list->lock);
}

void *host_free_list_pop(struct host_free_list *free_list)
{
    void *piece;

    hub_mutex_lock(&free_list->lock);
    piece = free_list->first;
    if (piece)
        memcpy(&free_list->first, piece, sizeof free_list->first);
    hub_mutex_unlock(&free_list->lock);
    return piece;
}

void host_free_list_give(struct host_free_list *free_list, void *piece)
{
    hub_mutex_lock(&free_list->lock);
    if (!free_list->closed) {
        memcpy(piece, &free_list->first, sizeof free_list->first);
        free_list->first = piece;
    }
    hub_mutex_unlock(&free_list->lock);
}
