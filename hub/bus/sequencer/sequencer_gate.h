/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_gate: the gates of the stages: how far producers may go, how far a stage may, and how a
 * gate comes, goes, and is put out of the way.
 *
 * FREE -> JOINING -> GATING -> FREE by its stage; GATING -> FROZEN -> GATING where it died and
 * comes again; any state -> EVICTED -> JOINING -> GATING. All but the advance, and the leaving of a
 * stage, happens under TABLE. Nothing here waits. r[impl region.stage] */
#ifndef HUB_BUS_SEQUENCER_GATE_H
#define HUB_BUS_SEQUENCER_GATE_H

#include "hub/bus/sequencer/sequencer_view.h"

#define HUB_STAGE_NONE UINT32_MAX

/* Finds the position before which producers may claim: the least one of all gates, and a ring.
 * `slowest` gets that gate, or HUB_STAGE_NONE. RAPAHUB_EFULL, without a diagnosis: there is no
 * gate, or gates come and go at this moment; RAPAHUB_ECORRUPT: a gate is before all claims. */
int hub_sequencer_gate_limit(const struct hub_sequencer_view *view, uint64_t *limit,
                             uint32_t *slowest);

/* The limit of a stage. */
struct hub_sequencer_bound {
    uint64_t position; /* before which it may go; UINT64_MAX: it follows none */
    uint32_t behind;   /* the stage that this is of; HUB_STAGE_NONE: none is before UINT64_MAX */
    uint64_t followed; /* bits of all stages that it follows, also in the place of evicted ones */
};

/* Finds how far a stage may go. The stages that an evicted one follows take its place. */
struct hub_sequencer_bound hub_sequencer_gate_bound(const struct hub_sequencer_view *view,
                                                    uint32_t index);

/* Under TABLE, by its stage: the gate begins to gate. If it gates already, or is frozen, it goes on
 * where it is; if it was evicted it begins with the first position that is not published yet, else
 * where the slowest of the stages is that follow it, also by way of stages without a gate. `seq`
 * gets that position. RAPAHUB_ECORRUPT: it is beyond all claims; then the gate is as it was. */
int hub_sequencer_gate_join(const struct hub_sequencer_view *view, uint32_t index, uint64_t *seq);

/* By its stage: only the stages that follow it wait for the gate from now on. */
void hub_sequencer_gate_leave(const struct hub_sequencer_view *view, uint32_t index);

/* Under TABLE: the gate is not waited for any more. May be repeated. */
void hub_sequencer_gate_evict(const struct hub_sequencer_view *view, uint32_t index);

/* Under TABLE: the stage is proven dead; its gate holds, is frozen or evicted, as its option says.
 */
void hub_sequencer_gate_died(const struct hub_sequencer_view *view, uint32_t index,
                             uint64_t now_ns);

/* Returns a stage that is frozen and whose time is over, or HUB_STAGE_NONE. */
uint32_t hub_sequencer_gate_expired(const struct hub_sequencer_view *view, uint64_t now_ns);

static inline bool hub_sequencer_gate_is_evicted(const struct hub_sequencer_view *view,
                                                 uint32_t index)
{
    return hub_observe(&view->gates[index].state) == HUB_STAGE_EVICTED;
}

#endif
