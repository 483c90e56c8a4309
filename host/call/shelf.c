/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/shelf.h"

#include <string.h>

void host_shelf_open(struct host_shelf *shelf)
{
    hub_mutex_init(&shelf->lock, HUB_MUTEX_SHELF);
    hub_mutex_lock(&shelf->lock);
    shelf->closed = false;
    shelf->first = NULL;
    hub_mutex_unlock(&shelf->lock);
}

void host_shelf_close(struct host_shelf *shelf)
{
    hub_mutex_lock(&shelf->lock);
    shelf->closed = true;
    shelf->first = NULL;
    hub_mutex_unlock(&shelf->lock);
}

void *host_shelf_pop(struct host_shelf *shelf)
{
    void *piece;

    hub_mutex_lock(&shelf->lock);
    piece = shelf->first;
    if (piece)
        memcpy(&shelf->first, piece, sizeof shelf->first);
    hub_mutex_unlock(&shelf->lock);
    return piece;
}

void host_shelf_give(struct host_shelf *shelf, void *piece)
{
    hub_mutex_lock(&shelf->lock);
    if (!shelf->closed) {
        memcpy(piece, &shelf->first, sizeof shelf->first);
        shelf->first = piece;
    }
    hub_mutex_unlock(&shelf->lock);
}
