/* SPDX-License-Identifier: Apache-2.0 */
/* boot_stage: a node that starts in a folder of a test, and what it reads there.
 */
#ifndef TESTS_STORE_BOOT_STAGE_H
#define TESTS_STORE_BOOT_STAGE_H

#include "cluster/node/boot/boot.h"
#include "cluster/node/boot/boot_read.h"
#include "tests/store/folder_stage.h"

#define BOOT_STAGE_ENTRIES_MAX 256

/* What was told, in order. */
struct boot_told {
    unsigned pools, readings, entries, operations, modules, fail_at, calls;
    uint64_t revision, last;
    bool disordered;
    uint64_t entry_revisions[BOOT_STAGE_ENTRIES_MAX];
};

extern const struct cluster_boot_read_visitor boot_stage_visitor; /* of struct boot_told */

struct cluster_boot_options boot_stage_options(const struct folder_stage *stage);
int boot_stage_run(const struct folder_stage *stage, struct cluster_boot *boot);

/* Runs a transaction of puts by the marker. Returns its revision, or 0. */
struct boot_stage_put {
    struct cluster_key key;
    struct cluster_record record;
};
uint64_t boot_stage_write(struct cluster_boot *boot, const struct boot_stage_put *puts,
                          unsigned count);

uint64_t boot_stage_put_raw(struct cluster_boot *boot, const struct cluster_write *write);

/* Puts an entry of container `container` with its delta, as the writer of the map does. Returns the
 * revision. */
uint64_t boot_stage_map(struct cluster_boot *boot, uint32_t container, uint64_t previous);

/* A pool, an operation and a module in one transaction. */
uint64_t boot_stage_fill(struct cluster_boot *boot);

#endif
