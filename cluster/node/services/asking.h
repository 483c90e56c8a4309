/* SPDX-License-Identifier: Apache-2.0 */
/* asking: the parts of a node that its services use. */
#ifndef CLUSTER_NODE_SERVICES_ASKING_H
#define CLUSTER_NODE_SERVICES_ASKING_H

#include "cluster/metastore/marker.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/disk/store_thread.h"
#include "cluster/node/identity/node_identity.h"
#include "cluster/node/services/askers.h"
#include "cluster/node/services/inspections.h"
#include "cluster/node/services/lists.h"

/* The modules of the metastore as they were told last. A node that leads writes all of them, so its
 * list is true until it changes one; that of another node may be old. */
struct cluster_asking_modules {
    char *text;       /* a list for people; NULL: none was told yet */
    bool fresh;       /* nothing has changed since; only where the node leads */
    uint64_t changes; /* by this node */
};

struct cluster_asking { /* all but `modules` live longer */
    struct rapahub_host *host;
    struct cluster_event_queue *events;
    struct cluster_store_thread *disk;
    struct cluster_metastore *store;
    struct cluster_marker *marker;
    struct cluster_lists lists;
    struct cluster_askers *askers;
    struct cluster_inspections *inspections;
    struct cluster_node_identity *identity;
    const char *backups; /* path of a folder */
    uint32_t pushes;     /* open ones, whose files are there, and whose records are not yet */
    struct cluster_asking_modules modules;
};

/* A question that waits for a part of the node. It has the number of its asker, which may go
 * meanwhile. */
struct cluster_asking_question {
    struct cluster_asking *asking;
    uint64_t asker;
    uint8_t digest[CLUSTER_DIGEST_SIZE]; /* its module's */
    bool pushes;                         /* it counts as one of `pushes` */
    uint64_t changes;                    /* that were counted in `modules` when it was asked */
};

#endif
