/* SPDX-License-Identifier: Apache-2.0 */
/* copy_stage: a history of the copies of one container, over some lives, and the file that keeps
 * them on a disk of the test. */
#ifndef TESTS_STORE_COPY_STAGE_H
#define TESTS_STORE_COPY_STAGE_H

#include <stdbool.h>

#include "cluster/store/copy_file.h"
#include "tests/store/disk.h"

#define COPY_STAGE_COPIES    40
#define COPY_STAGE_BYTES     1500
#define COPY_STAGE_POOL      UINT64_C(0x0000010000000002)
#define COPY_STAGE_CONTAINER 3

struct copy_story {
    struct cluster_copy copies[COPY_STAGE_COPIES + 1]; /* from 1 on */
    uint8_t bytes[COPY_STAGE_COPIES + 1][COPY_STAGE_BYTES];
};

void copy_stage_make(struct copy_story *story, struct hub_random *random);

/* The number of the copy that a file says is its newest; 0: none, -1: one that was never written.
 */
int copy_stage_newest(const struct copy_story *story, const struct cluster_copy_file *file);

/* Says whether reading the file gives exactly the copies that make the one of this number. */
bool copy_stage_has(const struct copy_story *story, const struct cluster_copy_file *file,
                    int number);

/* Puts checksums and digests of the file right, as if they were not looked at. */
void copy_stage_mend(struct disk *disk, const char *name);

#endif
