/* SPDX-License-Identifier: Apache-2.0 */
/* restore: a backup becomes the store of a later generation. On its caller's thread. */
#ifndef CLUSTER_METASTORE_SQLITE_RESTORE_H
#define CLUSTER_METASTORE_SQLITE_RESTORE_H

#include <stdint.h>

/* See cluster_metastore_restore. */
int cluster_restore_file(const char *path, uint32_t least, uint32_t *out);

#endif
