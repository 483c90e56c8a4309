/* SPDX-License-Identifier: Apache-2.0 */
/* store_check: looks at the metastore of a data folder by a copy of it, which is removed.
 */
#ifndef CLUSTER_NODE_BOOT_STORE_CHECK_H
#define CLUSTER_NODE_BOOT_STORE_CHECK_H

#include "cluster/metastore/metastore.h"
#include "cluster/node/boot/log_map.h"
#include "cluster/node/disk/data_folder.h"
#include "cluster/wire/record.h"

/* Tells of a module that the metastore has a record of. */
typedef void cluster_store_check_module(void *user, const struct cluster_record_module *record);

struct cluster_store_check_options {
    const struct cluster_data_folder *folder;
    const struct cluster_log_map *map; /* the log's, to be compared; revision 0: none */
    const char *scratch;               /* a folder for the copy */
    const struct cluster_metastore_end *const *ends;
    uint64_t wait_ns;
    cluster_store_check_module *module;
    void *user;
};

struct cluster_store_check {
    uint64_t revision, records;
    uint64_t last;   /* revision of the last delta; 0: none */
    bool not_looked; /* the copy could not be made: nothing is known of the metastore */
};

/* Returns 0; 1 if there is none, and none was there before; or what is wrong with it: as a start
 * would, or RAPAHUB_EFORMAT where a record is damaged, or an entry is not that of the log. The
 * diagnosis names the folder's file, not the copy. */
int cluster_store_check_run(const struct cluster_store_check_options *options,
                            struct cluster_store_check *out);

#endif
