/* SPDX-License-Identifier: Apache-2.0 */
/* archive_killer: a thread that kills processes, spread over a run: the n-th of N kills comes at a
 * random moment in the n-th part of the work. */
#ifndef ARCHIVE_KILLER_H
#define ARCHIVE_KILLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The processes that are to be killed. */
struct archive_victims {
    const unsigned *moments; /* sets of victims that die together, in turn: bit n is victim n */
    unsigned moments_count, count;
    /* False: not at this moment, for it is not there; soon it is asked again. */
    bool (*kill)(void *self, unsigned victim);
};

struct archive_killer {
    const struct archive_victims *victims;
    void *self;
    unsigned wanted;
    uint64_t random;    /* seed, then state */
    atomic_uint *kills; /* counted here */
    /* thousandths of the whole work, written by the thread that watches it */
    atomic_size_t progress;
    atomic_bool ends; /* tells the thread to stop */
    pthread_t thread;
};

/* Returns 0, or an error number. */
int archive_killer_start(struct archive_killer *killer);
void archive_killer_stop(struct archive_killer *killer);

/* Kills the process with this pid, if `is_still` says that the pid is still that of the victim: a
 * pid may be reused as soon as its process is gone. False: it was gone. */
bool archive_killer_kill(int32_t pid, bool (*is_still)(void *self, int32_t pid), void *self);

#endif
