/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/resume.h"

#include <inttypes.h>

static bool is_cell_word(const struct hub_ring_view *view, uint32_t index, uint64_t word)
{
    uint64_t position = hub_cell_position(word);
    enum hub_cell_tag tag = hub_cell_tag(word);

    return (position & view->mask) == index && position <= HUB_CELL_POSITION_MAX + view->mask + 1 &&
           (tag == HUB_CELL_FREE || tag == HUB_CELL_PUBLISHED ||
            (tag == HUB_CELL_POISONED && view->poison));
}

static int refuse(uint32_t index, uint64_t word)
{
    return rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                        "cell %" PRIu32 " has the state %" PRIx64 ", which is none", index, word);
}

int hub_resume_head(const struct hub_ring_view *view, uint64_t *out)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint32_t i = 0; i <= view->mask; i++) {
        uint64_t word = hub_observe64(&hub_ring_view_cell(view, i)->state);
        uint64_t position = hub_cell_position(word);

        if (!is_cell_word(view, i, word))
            return refuse(i, word);
        least = position < least ? position : least;
        most = position > most ? position : most;
    }
    if (most - least > view->mask)
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                            "its cells have positions from %" PRIu64 " to %" PRIu64, least, most);
    *out = least;
    return 0;
}

int hub_resume_tail(const struct hub_ring_view *view, uint64_t *out)
{
    uint64_t next = 0;

    for (uint32_t i = 0; i <= view->mask; i++) {
        uint64_t word = hub_observe64(&hub_ring_view_cell(view, i)->state);
        uint64_t position = hub_cell_position(word), after = 0;

        if (!is_cell_word(view, i, word))
            return refuse(i, word);
        if (hub_cell_tag(word) != HUB_CELL_FREE)
            after = position + 1;
        else if (position > view->mask)
            after = position - view->mask;
        next = after > next ? after : next;
    }
    *out = next;
    return 0;
}

int hub_resume_ends(const struct hub_ring_view *view, bool scan, uint64_t *head, uint64_t *tail)
{
    int r = 0;

    *head = hub_load_relaxed64(&view->ring->head);
    *tail = hub_load_relaxed64(&view->ring->tail);
    if (scan)
        r = hub_resume_head(view, head);
    if (scan && r == 0)
        r = hub_resume_tail(view, tail);
    if (*tail < *head)
        *tail = *head;
    return r;
}
