/* SPDX-License-Identifier: Apache-2.0 */
/* reading_files: the files of the system without a way to change them. A call that would change
 * something is noted and refused, so the rooms that mend a folder at a start say here what they
 * would mend. A table has one thread.
 */
#ifndef CLUSTER_NODE_DISK_READING_FILES_H
#define CLUSTER_NODE_DISK_READING_FILES_H

#include "cluster/store/files.h"

enum cluster_reading_files_change {
    CLUSTER_READING_FILES_NONE,
    CLUSTER_READING_FILES_MAKES,  /* a file or a folder that is missing */
    CLUSTER_READING_FILES_CUTS,   /* the end of a file off, or writes it */
    CLUSTER_READING_FILES_MOVES,  /* a file to another name */
    CLUSTER_READING_FILES_REMOVES /* a file */
};

struct cluster_reading_files {
    struct cluster_files files;               /* its functions take the whole by this */
    enum cluster_reading_files_change change; /* the first that was refused since it was cleared */
    char name[CLUSTER_FILES_NAME_MAX];        /* the file's; "" where only a descriptor is known */
};

void cluster_reading_files_init(struct cluster_reading_files *reading);
void cluster_reading_files_clear(struct cluster_reading_files *reading);

#endif
