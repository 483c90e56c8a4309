/* SPDX-License-Identifier: Apache-2.0 */
/* session: the life of this node, as the metastore knows it. Every transaction of the node compares
 * it; so nothing of an ended one is written.
 */
#ifndef CLUSTER_CORE_SESSION_SESSION_H
#define CLUSTER_CORE_SESSION_SESSION_H

#include <stdint.h>

struct cluster_session {
    uint64_t revision; /* that created its record; 0: it has not started */
    uint32_t boot;     /* each start of the node has a higher one */
    uint32_t generation;
};

/* Starts it, once: RAPAHUB_ESTATE where it has started. -EINVAL for numbers that no session has. */
int cluster_session_start(struct cluster_session *session, uint64_t revision, uint32_t boot,
                          uint32_t generation);

/* Returns the token of a life of a container in this session. */
uint64_t cluster_session_token(const struct cluster_session *session, uint64_t epoch,
                               uint32_t life);

#endif
