/* SPDX-License-Identifier: Apache-2.0 */
/* boot: the start of a node, up to where its core can be told what the metastore has. In order: the
 * data folder is locked, and set up if it is empty; the guests of the last life are proven dead;
 * the log of the map is replayed; the number of this life is raised, durably; the metastore is
 * opened, and is not older than what was seen of it; the session of the last life is ended, and
 * that of this life begun.
 *
 * A crash at any step repeats all of it. It waits, for the disk and for the ends of guests, each
 * time with a deadline; but a node that has joined waits for its seat until that answers. The
 * thread that does it owns the metastore then.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_H
#define CLUSTER_NODE_BOOT_BOOT_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/session/lead.h"
#include "cluster/metastore/marker.h"
#include "cluster/metastore/metastore.h"
#include "cluster/node/boot/log_map.h"
#include "cluster/node/disk/data_folder.h"
#include "cluster/node/disk/guest_records.h"
#include "cluster/node/disk/machine.h"
#include "cluster/store/segments.h"
#include "cluster/store/wal.h"
#include "cluster/wire/record.h"

struct cluster_boot_options {          /* zero: the default given */
    const struct cluster_files *files; /* the system's */
    const char *data;                  /* the data folder; required */
    const char *name;                  /* the node's, when it is set up: "node" */
    const char *metastore; /* its URL, if it is not in the folder; NULL: as the folder says */
    const char *tls;       /* the folder of the certificate for it, as of struct
                              cluster_metastore_options;       NULL: `etcd` of the data folder */
    const struct cluster_metastore_end *const
        *ends;                            /* ways to open a metastore, ended by NULL; required */
    int lock_fd;                          /* the warden's; -1 or 0: none */
    const struct cluster_seat_link *link; /* the way to the seat, for a folder that has joined */
    void *link_user;
    int stop_fd; /* readable once the program shall end: a seat that is away is waited for no more;
                    -1 or 0: none */
    uint64_t wait_ns; /* for one guest, or one answer of the metastore: 30 s */
    uint64_t keep_ns; /* of struct cluster_metastore_options */
    bool adopt; /* the operator says that the folder was moved or restored here, and that nothing of
                   its old place runs any more */
};

/* All of it is this struct's, which is not moved: parts of it point to others. */
struct cluster_boot {
    struct cluster_data_folder folder;
    struct cluster_machine machine;
    struct cluster_metastore *store;
    struct cluster_marker *marker;
    struct cluster_segments log;
    struct cluster_wal_options
        wal;                    /* for cluster_store_thread_start, after cluster_boot_read_all */
    struct cluster_log_map map; /* the log's, at map.revision; 0: none, or damaged */
    uint64_t session;           /* this life's */
    struct cluster_lead_record lead; /* at `revision`; term 0: there is none */
    uint32_t generation;             /* the metastore's */
    uint64_t revision;               /* at which cluster_boot_read_all has read */
    uint64_t last;                   /* revision of the last delta there; 0: none */
    uint64_t opened;                 /* revision of the metastore when it was opened */
    uint64_t wait_ns;
    int stop_fd;
    size_t killed; /* guests of the last life that still lived */
};

/* Does all of the above. Fails with one diagnosis that names the thing, the place and the remedy;
 * then nothing is left open. RAPAHUB_ESTATE: the session is another folder's, see `adopt`.
 * RAPAHUB_ESTOREOLD: the metastore is older than what was seen of it, or another one.
 * RAPAHUB_ECANCELED: `stop_fd` is readable. RAPAHUB_ECONFIG: the folder has another metastore than
 * that of the options. */
int cluster_boot_run(const struct cluster_boot_options *options, struct cluster_boot *out);

/* Ends the session in the metastore, as a node does that stops in order. Its guests are dead. */
int cluster_boot_end_session(struct cluster_boot *boot);

/* Releases all of it; the session stays. The store thread has stopped. */
void cluster_boot_close(struct cluster_boot *boot);

#endif
