/* SPDX-License-Identifier: Apache-2.0 */
/* stage: host and guest over one segment, and the swept operations on it: the preparation, the
 * operation itself, the conditions while it is stopped and after its end. */
#ifndef TESTS_FAULT_STAGE_H
#define TESTS_FAULT_STAGE_H

#include "hub/connection/connection.h"
#include "hub/link/loan.h"
#include "tests/fault/stage_slots.h"
#include "tests/support/sweep.h"

#define STAGE_PAYLOAD 200 /* bytes: takes a slot */

struct side {
    struct hub_segment *segment;
    struct hub_segment_view view;
    struct hub_slots *pool;
    struct hub_connection connection;
    int doorbell;
};

struct stage {
    enum stage_memory memory;
    struct hub_segment *segment; /* the host's */
    struct hub_slots host_pool;
    struct hub_slots guest_pool;
    struct side host, guest;
    uint32_t peer, epoch;
    uint8_t payload[STAGE_PAYLOAD_MAX];
    uint32_t size; /* bytes of it that the operation sends */
    struct hub_answer answer;
    struct hub_loan loan; /* loan of the swept side */
    uint64_t call;
    uint32_t slot;
    struct hub_slot_reader reader;
    uint32_t arrived;                          /* messages, while the child stood still */
    struct hub_channel_list of_host, of_guest; /* the two ends of one channel */
};

/* 0, or a failure: a segment alone, of stage->memory; with the host's end of the link; with the
 * guest's too. */
int stage_setup_segment(struct stage *stage);
int stage_setup_host(struct stage *stage);
int stage_setup_pair(struct stage *stage);

/* The guest's mapping of the segment, for peer stage->peer. */
int stage_map_guest(struct stage *stage);

/* Opens the link of one side: its segment, view and pool, and the stage's peer and epoch, are set.
 */
int stage_open_side(struct stage *stage, struct side *side, enum hub_role role);

/* Lets the child see a mapping, too. */
void stage_let_fork(const struct hub_segment *segment);

/* Closes all; may be repeated. */
void stage_teardown(struct stage *stage);

/* Gives up what both sides hold of channels. */
void stage_drop_channels(struct stage *stage);

/* The entry is like one that was never used; a next guest in it calls and is called, with a payload
 * for each kind of slot; all that after the host has cleaned up after the guest. A private segment
 * has no next guest. */
int stage_check_entry(struct stage *stage, struct sweep_point *point);
int stage_check_next_guest(struct stage *stage, struct sweep_point *point);
int stage_check_recovered(struct stage *stage, struct sweep_point *point);

/* The guest stands still: the host receives, sends, waits for nothing, repairs nothing. */
int stage_look_at_host(struct stage *stage, struct sweep_point *point);

struct stage_operation {
    const char *name;
    int (*setup)(struct stage *stage);
    void (*operation)(struct stage *stage);
    int (*look)(struct stage *stage, struct sweep_point *point);  /* it stands still */
    int (*check)(struct stage *stage, struct sweep_point *point); /* it is dead, or has ended */
    enum stage_memory memory;
};

/* Sweeps an operation and prints a line: 0 if nothing failed, else -1. One point in `stride` is
 * tried (1: every point); the line says so, and names the first point, which is another one in each
 * run. */
int stage_sweep(const struct stage_operation *operation, enum sweep_mode mode, uint32_t stride);

/* For the arguments of a sweep's program: `stride`; 1 with --every; 0 if they are wrong. */
uint32_t stage_stride(int argc, char **argv, uint32_t stride);

#endif
