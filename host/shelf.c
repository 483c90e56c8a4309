/* SPDX-License-Identifier: Apache-2.0 */
#include "host/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "hub/base/check.h"

void host_shelf_open(struct host_shelf *shelf, size_t size, uint32_t max)
{
    CHECK(size >= sizeof(void *));
    hub_mutex_init(&shelf->lock);
    shelf->size = size;
    shelf->max = max;
    hub_mutex_lock(&shelf->lock);
    shelf->count = 0;
    shelf->first = NULL;
    hub_mutex_unlock(&shelf->lock);
}

void host_shelf_close(struct host_shelf *shelf)
{
    hub_mutex_fini(&shelf->lock);
}

void *host_shelf_pop(struct host_shelf *shelf)
{
    void *piece;

    hub_mutex_lock(&shelf->lock);
    piece = shelf->first;
    if (piece) {
        memcpy(&shelf->first, piece, sizeof shelf->first);
        shelf->count--;
    }
    hub_mutex_unlock(&shelf->lock);
    return piece;
}

void *host_shelf_take(struct host_shelf *shelf)
{
    void *piece = host_shelf_pop(shelf);

    return piece ? piece : calloc(1, shelf->size);
}

bool host_shelf_give(struct host_shelf *shelf, void *piece)
{
    bool kept;

    hub_mutex_lock(&shelf->lock);
    kept = shelf->count < shelf->max;
    if (kept) {
        memcpy(piece, &shelf->first, sizeof shelf->first);
        shelf->first = piece;
        shelf->count++;
    }
    hub_mutex_unlock(&shelf->lock);
    return kept;
}
