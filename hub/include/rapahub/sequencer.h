/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer: event regions of kind SEQUENCER. Producers claim positions of a ring, fill the bytes
 * of the program that belong to them, and publish them. Stages do each position one after the other
 * or side by side, as the graph of the region says, and acknowledge it. A position is claimed again
 * only when all stages are past it.
 *
 * <rapahub/region.h> has what all regions have in common: how they are made and opened, deaths,
 * timeouts, threads. RAPAHUB_EFULL, RAPAHUB_EEMPTY and -ETIMEDOUT come without a diagnosis.
 */
#ifndef RAPAHUB_SEQUENCER_H
#define RAPAHUB_SEQUENCER_H

#include <rapahub/region.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_stage;

/* The fate of a stage that is proven dead. */
enum rapahub_stage_on_death {
    RAPAHUB_STAGE_HOLD,   /* it is waited for until it comes again, or an operator evicts it */
    RAPAHUB_STAGE_FREEZE, /* the same for `freeze_ns`; then it is evicted */
    RAPAHUB_STAGE_EVICT   /* it is not waited for any more, until it comes again */
};

/* A stage of a new SEQUENCER. */
struct rapahub_region_stage {
    uint64_t
        after; /* bits of the stages that it follows: it gets a position when they have done it */
    enum rapahub_stage_on_death on_death; /* FREEZE and EVICT need the hardened profile */
    uint64_t freeze_ns;                   /* 1 s */
    uint64_t reserved[2];
};

/* ---- looking at stages ---- */

enum rapahub_stage_state {
    RAPAHUB_STAGE_FREE,    /* it never came, or left: producers do not wait for it */
    RAPAHUB_STAGE_GATING,  /* producers wait for it, also where it died and is held */
    RAPAHUB_STAGE_FROZEN,  /* it died, and is waited for until its time is over */
    RAPAHUB_STAGE_EVICTED, /* it is not waited for */
    RAPAHUB_STAGE_JOINING
};

/* A stage of a SEQUENCER. */
struct rapahub_region_stage_report {
    uint32_t index;
    enum rapahub_stage_state state;
    bool held;         /* it lives, or is stopped */
    uint64_t position; /* the next one that it has to do */
    uint64_t behind;   /* positions that are claimed, and not done by it */
    uint64_t after;
    enum rapahub_stage_on_death on_death;
    uint64_t freeze_ns;
    uint32_t evictions; /* so far */
};

/* Calls `visit` for each stage of a region of kind SEQUENCER, until it returns another number than
 * 0, which is returned. */
RAPAHUB_API_CHECKED int rapahub_region_stages(
    const char *name, bool foreign,
    int (*visit)(void *user, const struct rapahub_region_stage_report *stage), void *user);

/* A stage is not waited for any more, whether it lives or not: by the word of the operator. The
 * stages that follow it get RAPAHUB_EGAP once, and so does it where it lives or when it comes
 * again. -EINVAL: there is no such stage. r[impl region.stage.evict] */
RAPAHUB_API_CHECKED int rapahub_region_evict(struct rapahub_region *region, uint32_t stage);

/* ---- producers ---- */

/* Claims `count` positions in a row, at most 32, which are its own to fill until it has
 * published them, and waits for room as the policy says, which may not be DROP. The last claim must
 * be published before. RAPAHUB_EFULL: there is no room, or no stage takes part, and the timeout is
 * 0; -ETIMEDOUT: it stayed so; RAPAHUB_EPEERDEAD: the stage in the way proved dead meanwhile, and
 * is held. RAPAHUB_EBADKIND, -EINVAL, RAPAHUB_ECORRUPT, RAPAHUB_ERETIRED, RAPAHUB_ESTALE. r[impl
 * region.sequencer.claim] */
RAPAHUB_API_CHECKED int rapahub_producer_claim(struct rapahub_producer *producer, uint32_t count,
                                               uint64_t timeout_ns, uint64_t *position);

/* Publishes the next `count` positions of the claim, from `position` on. What is claimed
 * and not published when a producer closes, or dies, is skipped; of one producer it is claimed
 * again; in the profile V1 a closing one publishes it as it is. -EINVAL: they are not the next
 * ones. */
RAPAHUB_API_CHECKED int rapahub_producer_publish(struct rapahub_producer *producer,
                                                 uint64_t position, uint32_t count);

/* ---- stages ---- */

struct rapahub_stage_options {
    uint32_t index; /* which one */
    uint64_t reserved[4];
};

/* Positions that a stage may have left out. */
struct rapahub_stage_gap {
    uint32_t stage;    /* which one: itself, or one that it follows */
    uint64_t from, to; /* the first one, and the first that is none of them */
};

/* Opens a stage. One that died goes on with the first position that it had not acknowledged, in the
 * hardened profile until it is evicted. One that is new, or had left, begins with what is not
 * published yet; but where stages that follow it wait for it, also by way of one that takes no
 * part, where those are. RAPAHUB_EROLETAKEN: another one lives, or is stopped. -EINVAL: there is no
 * such stage. RAPAHUB_EBADKIND; RAPAHUB_ECORRUPT; RAPAHUB_EFULL: all leases are held. `options` may
 * be NULL. r[impl region.stage] */
RAPAHUB_API_CHECKED int rapahub_stage_open(struct rapahub_region *region,
                                           const struct rapahub_stage_options *options,
                                           struct rapahub_stage **out);

/* Gives the positions that the stage can do: `count` of them in a row, at least one, from `first`
 * on, which is the first one that it has not acknowledged. They are published, and done by all
 * stages that it follows. Positions that dead producers left are passed over: rapahub_stage_skipped
 * counts them. RAPAHUB_EGAP, once for each: the stage itself, or one that it follows, was evicted;
 * rapahub_stage_gap says where; go on with the next call. RAPAHUB_EEMPTY: there is none and the
 * timeout is 0; -ETIMEDOUT; RAPAHUB_EPEERDEAD: the stage, or the only producer, that it waits for
 * proved dead meanwhile, and is held; RAPAHUB_EBLOCKED: a living producer has claimed the next
 * position and not published it: rapahub_stage_blocked says which one. RAPAHUB_ECORRUPT,
 * RAPAHUB_ESTALE. */
RAPAHUB_API_CHECKED int rapahub_stage_next(struct rapahub_stage *stage, uint64_t timeout_ns,
                                           uint64_t *first, uint32_t *count);

/* Acknowledges the first `count` positions: they are done. A stage that dies before gets them
 * again. -EINVAL: more than were given. RAPAHUB_EGAP: it was evicted meanwhile, and others did not
 * wait. */
RAPAHUB_API_CHECKED int rapahub_stage_advance(struct rapahub_stage *stage, uint32_t count);

/* Says where the gap is, after RAPAHUB_EGAP. */
RAPAHUB_API void rapahub_stage_gap(const struct rapahub_stage *stage,
                                   struct rapahub_stage_gap *out);

/* Returns how many positions it passed over that dead producers left. r[impl
 * region.sequencer.claim.dead] */
RAPAHUB_API uint64_t rapahub_stage_skipped(const struct rapahub_stage *stage);

/* Says who stands in the way, after RAPAHUB_EBLOCKED. */
RAPAHUB_API void rapahub_stage_blocked(const struct rapahub_stage *stage,
                                       struct rapahub_region_blocker *out);

/* It leaves: producers do not wait for it any more. Stages that follow it do, until it comes again
 * or is evicted. NULL is allowed. */
RAPAHUB_API void rapahub_stage_close(struct rapahub_stage *stage);

/* Returns the bytes of the program that belong to a position, `user_bytes` of them; NULL: it has
 * none. They are the claimer's until it publishes, and then those of the stages that have the
 * position. The region neither reads nor checks them. r[impl region.sequencer.user] */
RAPAHUB_API void *rapahub_region_user(const struct rapahub_region *region, uint64_t position);

RAPAHUB_END_DECLS

#endif
