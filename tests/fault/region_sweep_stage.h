/* SPDX-License-Identifier: Apache-2.0 */
/* region_sweep_stage: a region with a victim, which a sweep kills or stops, and survivors.
 *
 * The victim's handles are opened in the parent, so that the sweep steps the operation alone; the
 * child has them by the fork. After its death the parent lets go of the victim's description, whose
 * locks are free then: the victim is proven dead. */
#ifndef TESTS_FAULT_REGION_SWEEP_STAGE_H
#define TESTS_FAULT_REGION_SWEEP_STAGE_H

#include <rapahub/sequencer.h>

#include "tests/support/sweep.h"

#define REGION_SWEEP_CELLS 4
#define REGION_SWEEP_VALUE 256 /* bytes of a state */

struct region_sweep_told { /* by the child */
    uint64_t taken;
    int result;
};

struct region_sweep {
    enum rapahub_region_kind kind;
    enum rapahub_region_profile profile;
    enum rapahub_region_mode mode; /* of FANOUT, which has two consumers; FANIN has two producers */
    bool shared;                   /* SEQUENCER: many producers; stage 1 follows stage 0 */
    enum rapahub_stage_on_death on_death; /* of both stages */
    struct rapahub_region *victim, *survivor;
    struct rapahub_producer *victim_producer, *producer;
    struct rapahub_consumer *victim_consumer, *consumer;
    struct region_sweep_told *told; /* shared */
    bool gone;                      /* the victim was let go of */
    unsigned seen_a, seen_b;        /* how often the messages of victim and survivor came */
    bool pushed_b;
    uint64_t skipped;
    uint64_t strandings, skips; /* sums over all points */
};

#define REGION_SWEEP_A UINT64_C(0xAAAAAAAAAAAAAAAA)
#define REGION_SWEEP_B UINT64_C(0xBBBBBBBBBBBBBBBB)

void region_sweep_stage_begin(struct region_sweep *stage);
void region_sweep_stage_end(struct region_sweep *stage);

/* Lets go of the victim's description. */
void region_sweep_stage_let_go(struct region_sweep *stage);

/* Opens what the survivor has not yet: 0, or the code that refused it. */
int region_sweep_stage_take_over(struct region_sweep *stage);

/* Takes messages until there are none, and counts them; each pop waits for `timeout_ns`. Returns
 * the last code. */
int region_sweep_stage_drain(struct region_sweep *stage, uint64_t timeout_ns);

/* Two laps at full capacity, after which the region is empty. */
int region_sweep_stage_use_all(struct region_sweep *stage, struct sweep_point *point);

#endif
