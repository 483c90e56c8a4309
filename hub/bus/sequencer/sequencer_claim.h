/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_claim: the producers of a sequencer. Many of them claim as those of MPSC do: the intent
 * comes before the claim, and goes after the last publication; a single one has its claims for
 * itself and publishes by the cursor. Nothing here waits. r[impl region.sequencer.claim] */
#ifndef HUB_BUS_SEQUENCER_CLAIM_H
#define HUB_BUS_SEQUENCER_CLAIM_H

#include "hub/bus/sequencer/sequencer_gate.h"

struct hub_sequencer_claimer {
    struct hub_sequencer_view view;
    struct hub_a64 *intent; /* in its lease; NULL: the region has none, or a single producer */
    uint64_t limit;         /* before which it may claim, as it knows */
    uint64_t first;         /* the next position that it has to publish */
    uint32_t left;          /* positions that are claimed and not published, from `first` on */
    uint32_t slowest; /* the stage that is in the way after RAPAHUB_EFULL, or HUB_STAGE_NONE */
};

/* Begins with nothing claimed; `view` and `intent` are set. */
void hub_sequencer_claim_begin(struct hub_sequencer_claimer *claimer);

/* Claims `count` positions in a row, 1 to 32. RAPAHUB_EFULL, without a diagnosis, and nothing
 * changed; -EINVAL: more than that, or than the ring has, or the last claim is not published;
 * RAPAHUB_ERETIRED; RAPAHUB_ECORRUPT. */
int hub_sequencer_claim(struct hub_sequencer_claimer *claimer, uint32_t count, uint64_t *position);

/* Publishes the next `count` positions of its claim. -EINVAL: they are not. */
int hub_sequencer_claim_publish(struct hub_sequencer_claimer *claimer, uint64_t position,
                                uint32_t count);

/* Says whether a claim of `count` would find room. */
bool hub_sequencer_claim_has_room(const struct hub_sequencer_claimer *claimer, uint32_t count);

/* Gives up what is claimed and not published: stages skip it, or in a region without poison find it
 * published as it is. Returns how many positions were poisoned. */
uint32_t hub_sequencer_claim_give_up(struct hub_sequencer_claimer *claimer, bool poison);

/* Poisons a position that a dead producer claimed. False: it is not claimed, or not missing. */
bool hub_sequencer_claim_poison(const struct hub_sequencer_view *view, uint64_t position);

/* Says whether a position is claimed and not published; never so of a single producer. */
bool hub_sequencer_claim_is_missing(const struct hub_sequencer_view *view, uint64_t position);

#endif
