/* SPDX-License-Identifier: Apache-2.0 */
/* archive_killer: a thread that sends SIGKILL to the guests of a host, spread over a run: the n-th
 * of N kills comes at a random moment in the n-th part of the work. */
#ifndef ARCHIVE_KILLER_H
#define ARCHIVE_KILLER_H

#include <pthread.h>
#include <stdatomic.h>

#include <rapahub/host.h>

struct archive_killer {
    struct rapahub_host *host;
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

#endif
