/* SPDX-License-Identifier: Apache-2.0 */
/* power_loss: what is left of a folder after its machine lost power. All that a process changes is
 * in the folder at once, as ever; what it has made durable is kept beside it: the bytes of a file
 * since its last fsync or fdatasync, the names in a folder since the last fsync of that.
 *
 * When power fails nothing else is left; or any pages of files that were not synced are left too,
 * and all names of some folders that were not synced.
 */
#ifndef TESTS_FAULT_POWER_LOSS_H
#define TESTS_FAULT_POWER_LOSS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/cluster/node_process.h"

struct power_loss {
    char folder[NODE_PROCESS_PATH];
    char kept[NODE_PROCESS_PATH]; /* what is durable: files by their inode numbers */
    bool torn;                    /* not all is lost that was not synced */
    unsigned seed;
};

/* Begins with all that is in the folder now as durable. `kept` is made, or made empty. */
void power_loss_begin(struct power_loss *loss);

/* A process is about to make durable what this descriptor of its own is of. Files that are not in
 * the folder do no harm. */
void power_loss_sync(const struct power_loss *loss, pid_t process, int fd);

/* The folder becomes what is left of it. Nothing changes it meanwhile. */
void power_loss_strike(struct power_loss *loss);

#endif
