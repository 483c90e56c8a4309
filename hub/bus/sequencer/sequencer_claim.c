/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/sequencer/sequencer_claim.h"

#include <inttypes.h>

#include <rapahub/error.h>

static uint64_t intend(uint64_t position, uint32_t count)
{
    return (uint64_t)count << 56 | (position + 1);
}

void hub_sequencer_claim_begin(struct hub_sequencer_claimer *claimer)
{
    claimer->limit = 0;
    claimer->left = 0;
    claimer->first = 0;
    claimer->slowest = HUB_STAGE_NONE;
}

/* The limit that it knows holds for ever: stages that join begin within it. So gates are looked at
 * only where it ends. */
static int find_room(struct hub_sequencer_claimer *claimer, uint64_t end)
{
    uint64_t limit;
    int r;

    if (end <= claimer->limit)
        return 0;
    r = hub_sequencer_gate_limit(&claimer->view, &limit, &claimer->slowest);
    if (r < 0)
        return r;
    if (limit > claimer->limit)
        claimer->limit = limit;
    return end <= limit ? 0 : RAPAHUB_EFULL;
}

bool hub_sequencer_claim_has_room(const struct hub_sequencer_claimer *claimer, uint32_t count)
{
    struct hub_sequencer_claimer look = *claimer;

    return find_room(&look, hub_sequencer_view_claims(&look.view) + count) != RAPAHUB_EFULL;
}

static int check(const struct hub_sequencer_claimer *claimer, uint32_t count)
{
    if (claimer->left > 0)
        return rapahub_fail(RAPAHUB_EINVAL, "region.sequencer.claim",
                            "%" PRIu32 " positions from %" PRIu64
                            " on are claimed and not published: publish them first",
                            claimer->left, claimer->first);
    if (count < 1 || count > HUB_SEQUENCER_CLAIM_MAX || count > claimer->view.ring_size)
        return rapahub_fail(RAPAHUB_EINVAL, "region.sequencer.claim",
                            "%" PRIu32 " positions cannot be claimed at once: 1 to %d, and at most "
                            "the ring of %" PRIu32,
                            count, HUB_SEQUENCER_CLAIM_MAX, claimer->view.ring_size);
    return 0;
}

/* The intent is stored before each try, so that it covers the claim from its first moment on. */
static int claim_shared(struct hub_sequencer_claimer *claimer, uint32_t count, uint64_t *position)
{
    struct hub_a64 *claim = &claimer->view.body->claim;
    int r;

    do {
        *position = hub_observe64(claim);
        r = *position > HUB_SEQUENCER_POSITION_MAX ? RAPAHUB_ERETIRED
                                                   : find_room(claimer, *position + count);
        if (r < 0)
            break;
        if (claimer->intent)
            hub_publish64(claimer->intent, intend(*position, count));
    } while (!hub_claim64(claim, *position, *position + count));
    if (r < 0 && claimer->intent)
        hub_publish64(claimer->intent, 0);
    return r;
}

static int claim_alone(struct hub_sequencer_claimer *claimer, uint32_t count, uint64_t *position)
{
    *position = hub_observe64(&claimer->view.body->cursor);
    return *position > HUB_SEQUENCER_POSITION_MAX ? RAPAHUB_ERETIRED
                                                  : find_room(claimer, *position + count);
}

int hub_sequencer_claim(struct hub_sequencer_claimer *claimer, uint32_t count, uint64_t *position)
{
    int r = check(claimer, count);

    if (r == 0)
        r = claimer->view.avail ? claim_shared(claimer, count, position)
                                : claim_alone(claimer, count, position);
    if (r == RAPAHUB_ERETIRED)
        return rapahub_fail(r, "region.cell", "the positions are used up");
    if (r < 0)
        return r;
    claimer->first = *position;
    claimer->left = count;
    return 0;
}

/* A word only grows. A later one is there only if no stage waits for this position any more. */
static bool raise_word(const struct hub_sequencer_view *view, uint64_t position, uint64_t to)
{
    struct hub_a64 *word = hub_sequencer_view_word(view, position);
    uint64_t before;

    while ((before = hub_observe64(word)) < hub_sequencer_published(position))
        if (hub_claim64(word, before, to))
            return true;
    return false;
}

static void publish_shared(const struct hub_sequencer_claimer *claimer, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = claimer->first + i;

        (void)raise_word(&claimer->view, at, hub_sequencer_published(at));
    }
}

static void took(struct hub_sequencer_claimer *claimer, uint32_t count)
{
    claimer->first += count;
    claimer->left -= count;
    if (claimer->left == 0 && claimer->intent)
        hub_publish64(claimer->intent, 0);
}

int hub_sequencer_claim_publish(struct hub_sequencer_claimer *claimer, uint64_t position,
                                uint32_t count)
{
    if (count > claimer->left || position != claimer->first)
        return rapahub_fail(RAPAHUB_EINVAL, "region.sequencer.claim",
                            "%" PRIu32 " positions from %" PRIu64 " on are published, and claimed "
                            "are %" PRIu32 " from %" PRIu64 " on",
                            count, position, claimer->left, claimer->first);
    if (claimer->view.avail)
        publish_shared(claimer, count);
    else
        hub_publish64(&claimer->view.body->cursor, position + count);
    took(claimer, count);
    return 0;
}

uint32_t hub_sequencer_claim_give_up(struct hub_sequencer_claimer *claimer, bool poison)
{
    uint32_t poisoned = 0;

    if (claimer->view.avail && !poison)
        publish_shared(claimer, claimer->left);
    for (uint32_t i = 0; claimer->view.avail && poison && i < claimer->left; i++)
        poisoned += hub_sequencer_claim_poison(&claimer->view, claimer->first + i);
    took(claimer, claimer->left);
    return poisoned;
}

bool hub_sequencer_claim_is_missing(const struct hub_sequencer_view *view, uint64_t position)
{
    return view->avail && position < hub_observe64(&view->body->claim) &&
           hub_observe64(hub_sequencer_view_word(view, position)) <
               hub_sequencer_published(position);
}

bool hub_sequencer_claim_poison(const struct hub_sequencer_view *view, uint64_t position)
{
    return hub_sequencer_claim_is_missing(view, position) &&
           raise_word(view, position, hub_sequencer_poisoned(position));
}
