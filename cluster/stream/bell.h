/* SPDX-License-Identifier: Apache-2.0 */
/* bell: wakes the thread that serves connections, when a stream of a call has something for it. The
 * bell counts the streams that there are, and so bounds them. It is reference-counted: the last
 * stream may end after the connections.
 */
#ifndef CLUSTER_STREAM_BELL_H
#define CLUSTER_STREAM_BELL_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_bell;

/* Makes a bell for at most `streams_max` streams. -ENOMEM, -EMFILE and the like. */
int cluster_bell_create(uint32_t streams_max, struct cluster_bell **out);

/* Add a reference, and take one away. Any thread. NULL is allowed in what is dropped. */
struct cluster_bell *cluster_bell_hold(struct cluster_bell *bell);
void cluster_bell_drop(struct cluster_bell **bell);

/* Counts more streams. False: there would be too many. Any thread. */
bool cluster_bell_count(struct cluster_bell *bell, uint32_t streams);
void cluster_bell_uncount(struct cluster_bell *bell, uint32_t streams);

/* Readable after a ring, until it is heard. */
int cluster_bell_fd(const struct cluster_bell *bell);

/* Any thread. */
void cluster_bell_ring(struct cluster_bell *bell);

/* Everything that was done before a ring is seen after this. */
void cluster_bell_hear(struct cluster_bell *bell);

#endif
