/* SPDX-License-Identifier: Apache-2.0 */
/* thread_results: the last result of each thread that calls by a client. It holds until the
 * thread's next call, and is freed when the thread ends, or with the client.
 */
#ifndef CLUSTER_CLIENT_THREAD_RESULTS_H
#define CLUSTER_CLIENT_THREAD_RESULTS_H

#include <pthread.h>

#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/calls.h"
#include "hub/call/thread_ends.h"
#include "hub/wire/align.h"

struct cluster_thread_results {
    pthread_key_t key;
    struct hub_mutex lock;
    struct hub_list all GUARDED_BY(lock);
};

struct cluster_thread_result {
    struct cluster_thread_results *owner;
    struct hub_list link;
    struct hub_thread_end end;
    void *memory; /* the result's bytes and strings, or they are in: */
    struct hub_answer answer;
    struct hub_align moved;
};

int cluster_thread_results_init(struct cluster_thread_results *results);
void cluster_thread_results_fini(struct cluster_thread_results *results); /* no thread is inside */

/* Returns the calling thread's, whose last result is gone. NULL with the diagnosis: no memory. */
struct cluster_thread_result *cluster_thread_results_get(struct cluster_thread_results *results);

#endif
