/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_layout: every byte of the body of a region of kind SEQUENCER, as docs/spec/region.md
 * has it.
 *
 * All of it is written by other processes. Words that change are atomic; the others are copied when
 * a region is opened, checked there, and never read again. r[impl region.geometry]
 */
#ifndef HUB_BUS_SEQUENCER_LAYOUT_H
#define HUB_BUS_SEQUENCER_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/atomic.h"

#define HUB_SEQUENCER_ALIGN        UINT64_C(128)
#define HUB_SEQUENCER_RING_MIN     2
#define HUB_SEQUENCER_RING_MAX     (UINT32_C(1) << 24)
#define HUB_SEQUENCER_STAGES_MAX   64
#define HUB_SEQUENCER_USER_MAX     (UINT32_C(1) << 24)
#define HUB_SEQUENCER_CLAIM_MAX    32 /* positions of one claim */
#define HUB_SEQUENCER_POSITION_MAX ((UINT64_C(1) << 56) - (UINT64_C(1) << 32))

struct hub_region_sequencer {
    _Alignas(128) struct hub_a64 claim;  /* many producers: the next position to be claimed */
    _Alignas(128) struct hub_a64 cursor; /* a single producer: the positions that are published */
    _Alignas(128) uint32_t ring_size;
    uint32_t gate_count, gates_off;
    uint32_t avail_off; /* a word for each place of the ring; 0: a single producer */
    uint32_t user_off, user_bytes;
    struct hub_a32 cursor_seq, cursor_flag; /* where stages sleep */
    struct hub_a32 space_seq, space_flag;   /* where producers sleep */
    struct hub_a32 producer_lease;          /* a single producer: its lease + 1; 0: none */
};

/* The gate of a stage. No position is claimed that is a ring or more beyond it. */
struct hub_region_stage_gate {
    _Alignas(128) struct hub_a64 seq; /* the next position to be done */
    struct hub_a64 dead_at;           /* the claims when it was evicted last */
    struct hub_a32 lease;             /* + 1; 0: none */
    struct hub_a32 state;             /* enum hub_stage_state */
    uint64_t after;                   /* bits of the stages that it follows */
    struct hub_a64 deadline_ns;       /* FROZEN: monotonic */
    uint32_t on_death;                /* enum hub_stage_on_death */
    uint64_t freeze_ns;
    struct hub_a64 gap_from;  /* `seq` when it was evicted first since it was told last */
    struct hub_a32 evictions; /* so far */
    struct hub_a32 untold;    /* 1: it was evicted, and has not been told since */
    uint8_t reserved[56];
};

/* JOINING counts as GATING for everybody else; its holder has not begun yet. */
enum hub_stage_state {
    HUB_STAGE_FREE,
    HUB_STAGE_GATING,
    HUB_STAGE_FROZEN,
    HUB_STAGE_EVICTED,
    HUB_STAGE_JOINING
};
enum hub_stage_on_death { HUB_STAGE_HOLD, HUB_STAGE_FREEZE, HUB_STAGE_EVICT };

/* The words of the places: position << 2 and a tag, as in the cells of a ring. A word below
 * PUBLISHED(p) says that p is not published. */
enum hub_sequencer_tag { HUB_SEQUENCER_PUBLISHED = 2, HUB_SEQUENCER_POISONED = 3 };

static inline uint64_t hub_sequencer_published(uint64_t position)
{
    return position << 2 | HUB_SEQUENCER_PUBLISHED;
}

static inline uint64_t hub_sequencer_poisoned(uint64_t position)
{
    return position << 2 | HUB_SEQUENCER_POISONED;
}

#define HUB_SEQUENCER_AT(type, member, offset) \
    static_assert(offsetof(struct type, member) == (offset), #type "." #member)
HUB_SEQUENCER_AT(hub_region_sequencer, cursor, 128);
HUB_SEQUENCER_AT(hub_region_sequencer, ring_size, 256);
HUB_SEQUENCER_AT(hub_region_sequencer, gate_count, 260);
HUB_SEQUENCER_AT(hub_region_sequencer, gates_off, 264);
HUB_SEQUENCER_AT(hub_region_sequencer, avail_off, 268);
HUB_SEQUENCER_AT(hub_region_sequencer, user_off, 272);
HUB_SEQUENCER_AT(hub_region_sequencer, user_bytes, 276);
HUB_SEQUENCER_AT(hub_region_sequencer, cursor_seq, 280);
HUB_SEQUENCER_AT(hub_region_sequencer, space_seq, 288);
HUB_SEQUENCER_AT(hub_region_sequencer, producer_lease, 296);
HUB_SEQUENCER_AT(hub_region_stage_gate, dead_at, 8);
HUB_SEQUENCER_AT(hub_region_stage_gate, lease, 16);
HUB_SEQUENCER_AT(hub_region_stage_gate, state, 20);
HUB_SEQUENCER_AT(hub_region_stage_gate, after, 24);
HUB_SEQUENCER_AT(hub_region_stage_gate, deadline_ns, 32);
HUB_SEQUENCER_AT(hub_region_stage_gate, on_death, 40);
HUB_SEQUENCER_AT(hub_region_stage_gate, freeze_ns, 48);
HUB_SEQUENCER_AT(hub_region_stage_gate, gap_from, 56);
HUB_SEQUENCER_AT(hub_region_stage_gate, evictions, 64);
HUB_SEQUENCER_AT(hub_region_stage_gate, untold, 68);
static_assert(sizeof(struct hub_region_sequencer) == 384, "sequencer");
static_assert(sizeof(struct hub_region_stage_gate) == 128, "stage gate");

#endif
