/* SPDX-License-Identifier: Apache-2.0 */
/* folder_check: looks at a data folder of which no node runs, and says what is wrong with it. It
 * reads with the code of a start, on files that cannot be changed; the metastore is copied, and the
 * copy is read. It waits for the disk, on its caller's thread.
 */
#ifndef CLUSTER_NODE_BOOT_FOLDER_CHECK_H
#define CLUSTER_NODE_BOOT_FOLDER_CHECK_H

#include "cluster/metastore/metastore.h"

enum cluster_folder_check_grade {
    CLUSTER_FOLDER_CHECK_FINE,   /* a part is as it shall be; the text says what is in it */
    CLUSTER_FOLDER_CHECK_MENDED, /* the next start mends it, and nothing is lost */
    CLUSTER_FOLDER_CHECK_WRONG,  /* something is lost, or is to be mended by hand */
    CLUSTER_FOLDER_CHECK_STRAY,  /* a file that is no node's: it does no harm */
    CLUSTER_FOLDER_CHECK_GRADES
};

/* A finding; `place` is a file or a folder, with the path of the data folder. Both texts are good
 * until the function returns. */
typedef void cluster_folder_check_found(void *user, enum cluster_folder_check_grade grade,
                                        const char *place, const char *text);

struct cluster_folder_check_options {
    const char *data;
    const char *scratch; /* a folder for the copy of the metastore, which is removed: /dev/shm */
    const struct cluster_metastore_end *const *ends;
    uint64_t wait_ns; /* for an answer of the metastore; 0: 30 s */
};

/* Looks at identity, guests, log, metastore, copies, modules and names, and tells each finding.
 * Returns the number of those that are not FINE, or a failure: RAPAHUB_EBUSY while a node has the
 * folder; -ENOENT: there is none; -ENOSPC: there is no space for the copy of the metastore. */
int cluster_folder_check_run(const struct cluster_folder_check_options *options,
                             cluster_folder_check_found *found, void *user);

#endif
