/* SPDX-License-Identifier: Apache-2.0 */
/* thread_stage: the thread of the disk of a node in a folder of a test, and requests to it that are
 * waited for. The log of the map can be made to find the disk full, or to fail.
 */
#ifndef TESTS_STORE_THREAD_STAGE_H
#define TESTS_STORE_THREAD_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/node/disk/store_thread.h"
#include "tests/store/folder_stage.h"

extern const uint8_t thread_stage_boot[CLUSTER_MACHINE_ID];
extern int thread_stage_full, thread_stage_broken; /* of the log; any thread */
extern int thread_stage_blobs_full;                /* any thread */
extern uint64_t thread_stage_clock_s;              /* the wall clock of the thread; any thread */

struct thread_stage {
    struct folder_stage folder;
    struct cluster_data_folder data;
    struct cluster_segments log;
    struct cluster_wal_options wal;
    struct cluster_store_thread *thread;
};

/* The end of a request. */
struct thread_answer {
    unsigned ends;
    struct cluster_disk_result result;
    char text[256];
};

/* For cmocka: a folder that is set up, with its thread. */
int thread_stage_begin(void **state);
int thread_stage_end(void **state);

void thread_stage_open(struct thread_stage *stage); /* the folder */
void thread_stage_start(struct thread_stage *stage);
void thread_stage_stop(struct thread_stage *stage, bool drain, uint64_t deadline_ns);

/* The callback of an answer; descriptor and copies are the test's then. */
void thread_stage_on_done(void *user, struct cluster_disk_result *result);

/* Steps once, after at most so many milliseconds; or until the answer has come, at most 20 s. Both
 * return the result of the last step. */
int thread_stage_step(struct thread_stage *stage, int ms);
int thread_stage_wait(struct thread_stage *stage, const struct thread_answer *answer);

#endif
