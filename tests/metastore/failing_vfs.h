/* SPDX-License-Identifier: Apache-2.0 */
/* failing_vfs: a disk below SQLite whose writes fail. It is the default of this process from
 * failing_vfs_begin to failing_vfs_end. */
#ifndef TESTS_METASTORE_FAILING_VFS_H
#define TESTS_METASTORE_FAILING_VFS_H

#include <stdbool.h>
#include <stdint.h>

void failing_vfs_begin(void);
void failing_vfs_end(void);

/* From now on write, sync or truncation number `number` (from 1 on) fails with this code of SQLite,
 * and with `on` all after it. A write that fails has written its first half. 0: none. */
void failing_vfs_arm(uint64_t number, int code, bool on);

/* Says whether one has failed. */
bool failing_vfs_fired(void);

/* Writes, syncs and truncations since then, and the syncs among them. */
uint64_t failing_vfs_calls(void);
uint64_t failing_vfs_syncs(void);

#endif
