/* SPDX-License-Identifier: Apache-2.0 */
/* copy_calls: the calls that a copy of a container's state covers, as they lie beside it on a disk.
 * It is written piece by piece, for there may be many: the origins with their count before them,
 * then the calls.
 */
#ifndef CLUSTER_WIRE_COPY_CALLS_H
#define CLUSTER_WIRE_COPY_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/wire/format.h"

#define CLUSTER_COPY_CALLS_MAX 65536 /* origins, and calls */

struct cluster_copy_calls_origin {
    uint64_t origin;
    uint64_t peer;       /* that it belongs to; 0: the node */
    uint64_t done_below; /* all lower numbers have ended there */
};

struct cluster_copy_calls_call {
    uint64_t origin; /* it is among the origins */
    uint64_t number, method, digest;
    int32_t status, application;
    bool lost; /* it has run, and no answer of it was kept */
    struct rapahub_bytes answer;
};

struct cluster_copy_calls {
    struct cluster_list origins, calls;
};

/* Begins a history of so many origins, which are put next; then so many calls, which are put after
 * them. A value that a reader would refuse is a failure of the writer. */
void cluster_copy_calls_begin(struct hub_writer *writer, uint32_t origins);
void cluster_copy_calls_put_origin(struct hub_writer *writer,
                                   const struct cluster_copy_calls_origin *origin);
void cluster_copy_calls_begin_calls(struct hub_writer *writer, uint32_t calls);
void cluster_copy_calls_put_call(struct hub_writer *writer,
                                 const struct cluster_copy_calls_call *call);

/* Reads a history, with the results of cluster_format_read. */
int cluster_copy_calls_read(struct rapahub_bytes from, struct cluster_copy_calls *out);

/* Take the next element. False: there is none. */
bool cluster_copy_calls_next_origin(struct cluster_list *list,
                                    struct cluster_copy_calls_origin *out);
bool cluster_copy_calls_next_call(struct cluster_list *list, struct cluster_copy_calls_call *out);

#endif
