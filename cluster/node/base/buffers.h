/* SPDX-License-Identifier: Apache-2.0 */
/* buffers: the bodies of calls and answers that are too large for the core. Each has a number, by
 * which the core names it until it needs it no more. Their bytes together are bounded. Owner.
 */
#ifndef CLUSTER_NODE_BASE_BUFFERS_H
#define CLUSTER_NODE_BASE_BUFFERS_H

#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/core/base/payload.h"

struct cluster_buffers;

/* Makes a store of at most `most` bodies and `bytes_max` bytes. -ENOMEM. */
int cluster_buffers_create(uint32_t most, uint64_t bytes_max, struct cluster_buffers **out);
void cluster_buffers_release(struct cluster_buffers **buffers);

/* Makes a body of these bytes as the core takes it: a small one is a view of them, a larger one is
 * copied and has a number, which cluster_buffers_drop ends. -EBUSY with the limit in the text. */
int cluster_buffers_keep(struct cluster_buffers *buffers, struct rapahub_bytes bytes,
                         struct cluster_payload_body *out);

/* Returns the bytes of a number: good until it is dropped. Empty where there is none. */
struct rapahub_bytes cluster_buffers_bytes(const struct cluster_buffers *buffers, uint64_t number);

/* Forgets a body; 0, and a number that is not there, is ignored. */
void cluster_buffers_drop(struct cluster_buffers *buffers, uint64_t number);

struct cluster_buffers_figures {
    uint32_t count;
    uint64_t bytes;
};
struct cluster_buffers_figures cluster_buffers_figures(const struct cluster_buffers *buffers);

#endif
