/* SPDX-License-Identifier: Apache-2.0 */
/* recorder: records the events that a host reported to its machine of supervision and when, the
 * starts it was told to make, and the number of processes it made. The same children and deaths are
 * then given to a machine whose timer is never late; it determines the expected starts, and when
 * each is due.
 *
 * One host at a time, in a program in which the functions of host/supervise and host_spawn are
 * wrapped.
 */
#ifndef TESTS_FAULT_RECORDER_H
#define TESTS_FAULT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDER_STARTS 32768 /* the most that are kept */

struct recorder_start {
    uint32_t place;
    uint64_t now_ns;    /* time of the machine at this decision */
    uint64_t before_ns; /* when it was asked last before that */
    uint64_t armed_ns;  /* time set in the timer since a child died; 0: not yet */
    uint64_t death_ns;  /* death of the life before; 0: it is the first */
};

/* From now on, of the next host that is made. */
void recorder_begin(void);

/* Starts that were decided, and processes that were made. */
size_t recorder_starts(const struct recorder_start **list);
unsigned recorder_spawns(void);

/* The place of a child by its name. */
uint32_t recorder_place(const char *name);

/* The seed of its jitter. */
uint64_t recorder_seed(uint32_t place);

/* Returns the starts that a machine with a perfect timer makes for the same children with the same
 * deaths, up to the last time the recorded one was asked. The caller frees the list. */
size_t recorder_replay(struct recorder_start **list);

#endif
