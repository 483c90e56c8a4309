/* SPDX-License-Identifier: Apache-2.0 */
/* operation: what an operation does, how far it is, and its arguments, as its record has them. */
#ifndef CLUSTER_WIRE_OPERATION_H
#define CLUSTER_WIRE_OPERATION_H

#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/bytes.h"
#include "hub/base/states.h"

enum cluster_operation_kind { /* `kind` of the record */
                              CLUSTER_OPERATION_CREATE = 1,
                              CLUSTER_OPERATION_DELETE,
                              CLUSTER_OPERATION_RELEASE, /* a quarantined container begins */
                              CLUSTER_OPERATION_KINDS
};

enum cluster_operation_state {                              /* `step` of the record */
                               CLUSTER_OPERATION_NEW,       /* it is not in the metastore yet */
                               CLUSTER_OPERATION_PLACING,   /* entries of the pool are written */
                               CLUSTER_OPERATION_BEGINNING, /* its containers begin, or the one does
                                                             */
                               CLUSTER_OPERATION_UNDOING,  /* it failed: all that it made is removed
                                                            */
                               CLUSTER_OPERATION_REMOVING, /* the containers of the pool end; then
                                                              their entries go */
                               CLUSTER_OPERATION_DONE,
                               CLUSTER_OPERATION_ABORTED, /* its result and its text say why */
                               CLUSTER_OPERATION_STATES
};

extern const struct hub_states cluster_operation_states;

struct cluster_operation_arguments {
    uint64_t pool;
    uint32_t container; /* RELEASE */
    struct rapahub_string name;
};

/* Write and read the arguments of a record, with the results of cluster_format_put and
 * cluster_format_read. */
int cluster_operation_put(struct hub_writer *writer,
                          const struct cluster_operation_arguments *arguments);
int cluster_operation_read(struct rapahub_bytes from, struct cluster_operation_arguments *out);

#endif
