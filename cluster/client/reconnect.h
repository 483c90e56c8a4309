/* SPDX-License-Identifier: Apache-2.0 */
/* reconnect: when a client that has lost its node looks for it again: after 10 ms, then at most 50
 * ms apart for 5 s, then twice as far apart each time, up to a second. It has no clock.
 */
#ifndef CLUSTER_CLIENT_RECONNECT_H
#define CLUSTER_CLIENT_RECONNECT_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_reconnect {
    uint64_t since_ns; /* the node is away */
    uint64_t next_ns;  /* the next attempt */
    uint64_t wait_ns;  /* before that attempt */
};

/* The node is away from now on; `at_once`: it was never there, and is looked for now. */
void cluster_reconnect_begin(struct cluster_reconnect *reconnect, uint64_t now_ns, bool at_once);

/* An attempt was made in vain. */
void cluster_reconnect_failed(struct cluster_reconnect *reconnect, uint64_t now_ns);

#endif
