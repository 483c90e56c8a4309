/* SPDX-License-Identifier: Apache-2.0 */
/* copy_faults: the holders that failed a node which fetches a copy from them. A holder that has
 * failed too often is left out of the fetch, so no single node can keep a container from beginning.
 * For the files of this folder alone.
 */
#ifndef CLUSTER_NODE_HOLDERS_COPY_FAULTS_H
#define CLUSTER_NODE_HOLDERS_COPY_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/copies/sealed.h"
#include "cluster/wire/record.h"

#define CLUSTER_COPY_FAULTS_MAX      24 /* with as many a holder is left out */
#define CLUSTER_COPY_FAULTS_BUSY     1  /* it has too much to do */
#define CLUSTER_COPY_FAULTS_REFUSED  8  /* it gives no piece, or one that cannot be */
#define CLUSTER_COPY_FAULTS_UNUSABLE CLUSTER_COPY_FAULTS_MAX /* its copy is damaged */
#define CLUSTER_COPY_FAULTS_TEXT_MAX 256

/* Zeros mean no faults. The last fault is told where all holders are left out. */
struct cluster_copy_faults {
    struct {
        uint32_t node, faults;
    } of[CLUSTER_RECORD_HOLDERS_MAX];
    uint32_t count;
    int status;
    char text[CLUSTER_COPY_FAULTS_TEXT_MAX];
};

/* A node that has no place any more, because the holders changed so often, takes that of the first
 * one. `text` is copied. */
void cluster_copy_faults_add(struct cluster_copy_faults *faults, uint32_t node, uint32_t weight,
                             int status, const char *text);

bool cluster_copy_faults_leave_out(const struct cluster_copy_faults *faults, uint32_t node);

/* Writes that no holder was reached in time, and which there are. */
void cluster_copy_faults_list_away(const struct cluster_sealed *sealed, uint32_t count,
                                   char text[CLUSTER_COPY_FAULTS_TEXT_MAX]);

#endif /* CLUSTER_NODE_HOLDERS_COPY_FAULTS_H */
