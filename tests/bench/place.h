/* SPDX-License-Identifier: Apache-2.0 */
/* place: on which CPU who runs, with which priority; and the other ends of the bases, each in a
 * process of its own, which is this very program started anew. */
#ifndef TESTS_BENCH_PLACE_H
#define TESTS_BENCH_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/suite.h"

/* Reads which CPUs this program may use. Before anything else here. */
void place_init(void);
unsigned place_cpus(void);

/* The n-th of those, as the kernel counts. */
unsigned place_cpu(unsigned n);

/* All threads of a process (0: this thread alone) to the n-th CPU of those; -1: to all of them. */
int place_pin(pid_t pid, int cpu);

/* This thread, and all of `peer` if it is not 0: there and back. Nothing changes where it is
 * refused. */
int place_fifo(pid_t peer, bool on);

/* The two sides as `place` says; SUITE_NOT_HERE where there is one CPU only. A host's side before
 * anything is made, for SUITE_SAME, that of the guest when it is there. */
int place_host(enum suite_place place, struct trial *out);
int place_guest(enum suite_place place, pid_t guest);
void place_end(void); /* this thread may run anywhere again */

/* Involuntary switches of a process so far; 0 of pid 0. */
uint64_t place_preempted(pid_t pid);

/* Page faults that needed no disk, so far; 0 of pid 0. */
uint64_t place_faults(pid_t pid);

/* Memory that a child shares with its parent. */
#define PLACE_LINES 256
struct place_line {
    _Alignas(64) uint64_t sequence;
    uint8_t data[32];
};
struct place_shared {
    struct place_line there[PLACE_LINES], back[PLACE_LINES];
    _Alignas(64) uint32_t word_there;
    _Alignas(64) uint32_t word_back;
    _Alignas(64) uint32_t relayed_there; /* from the second process to a third one */
    _Alignas(64) uint32_t relayed_back;
    _Alignas(64) uint32_t ready;
};

struct place_child {
    pid_t pid;
    int memory, socket; /* descriptors; the socket is our end */
    struct place_shared *shared;
};

/* Starts `rapahub-bench peer NAME`, pinned as the guest's side of `place`, and waits until it says
 * that it is ready. 0, or -errno. */
int place_start(const char *name, enum suite_place place, struct place_child *out);
void place_stop(struct place_child *child);

/* Starts a child whose argument is `name` with two descriptors 3 and 4; waits for nothing. */
int place_spawn(const char *name, int memory, int socket, pid_t *out);

#endif
