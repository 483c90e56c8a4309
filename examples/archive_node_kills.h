/* SPDX-License-Identifier: Apache-2.0 */
/* archive_node_kills: kills processes of a node, and measures when the next call is answered. */
#ifndef ARCHIVE_NODE_KILLS_H
#define ARCHIVE_NODE_KILLS_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "archive_killer.h"

#define ARCHIVE_NODE_KILLS_MAX 1024u

enum archive_node_victim { VICTIM_GUEST, VICTIM_DAEMON, VICTIM_BOTH, VICTIM_WARDEN, VICTIMS };

struct archive_node_kills {
    atomic_uint_fast64_t *answered_ns; /* when the last call was answered */
    pid_t (*begin)(void *node);        /* begins the node again after its warden has died */
    void *node;
    _Atomic pid_t warden; /* the child of this program */
    unsigned count[VICTIMS];
    uint64_t gap_ns[VICTIMS][ARCHIVE_NODE_KILLS_MAX]; /* from the kill to the next answer */
    uint64_t turn;
};

/* `self` is a struct archive_node_kills. */
extern const struct archive_victims archive_node_kills_victims;

void archive_node_kills_print(const struct archive_node_kills *kills);

/* Says why there were too few of a kind, or NULL. */
const char *archive_node_kills_verdict(const struct archive_node_kills *kills);

#endif
