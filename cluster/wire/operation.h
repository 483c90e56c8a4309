/* SPDX-License-Identifier: Apache-2.0 */
/* operation: what an operation does, how far it is, and its arguments, as its record has them. */
#ifndef CLUSTER_WIRE_OPERATION_H
#define CLUSTER_WIRE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/bytes.h"
#include "hub/base/states.h"

enum cluster_operation_kind { /* `kind` of the record */
                              CLUSTER_OPERATION_CREATE = 1,
                              CLUSTER_OPERATION_DELETE,
                              CLUSTER_OPERATION_RELEASE, /* a quarantined container begins */
                              CLUSTER_OPERATION_KINDS,
                              CLUSTER_OPERATION_RECOVER = 16 /* of a RECOVERY record, and of no
                                                                other */
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

/* Why it is certain that a session of a node is over, and nothing of it runs. */
enum cluster_operation_proof {
    CLUSTER_PROOF_ENDED = 1,  /* the node has ended it */
    CLUSTER_PROOF_RESTARTING, /* its warden saw its daemon die, and starts the next one */
    CLUSTER_PROOF_FINAL,      /* its warden did, and the next one is not to be waited for */
    CLUSTER_PROOF_WORD,       /* a person says so */
    CLUSTER_PROOFS
};

/* The arguments of a RECOVERY record; its key has the node and the session. */
struct cluster_operation_recovery {
    uint8_t proof; /* enum cluster_operation_proof */
    bool discard;  /* its containers begin without what they have kept on its disk */
};

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
int cluster_operation_put_recovery(struct hub_writer *writer,
                                   const struct cluster_operation_recovery *recovery);
int cluster_operation_read_recovery(struct rapahub_bytes from,
                                    struct cluster_operation_recovery *out);

#endif
