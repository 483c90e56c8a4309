/* SPDX-License-Identifier: Apache-2.0 */
/* parts: a body that comes in several frames, put together. There is one at a time on a connection:
 * the parts of a body follow each other, with nothing but frames of other kinds between them.
 */
#ifndef CLUSTER_LINK_PARTS_H
#define CLUSTER_LINK_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/wire/frame.h"
#include "hub/base/budget.h"

struct cluster_parts {
    size_t most;               /* bytes of a body */
    struct hub_budget *budget; /* that the memory is taken from; NULL: none */
    bool open;                 /* more is to come */
    struct cluster_frame head; /* the first part's */
    uint8_t *data;
    size_t size, capacity;
};

void cluster_parts_fini(struct cluster_parts *parts);

/* Says whether a frame begins a body, in parts or not. */
bool cluster_parts_begins(const struct cluster_parts *parts);

/* Takes a frame of a body that may come in parts. Returns 0 and the whole body, of the frame itself
 * or of all its parts; 1: more is to come. RAPAHUB_EPROTOCOL: it is no part of the body that is
 * open, or that becomes too large; RAPAHUB_EBUDGET, -ENOMEM. */
int cluster_parts_take(struct cluster_parts *parts, const struct cluster_frame *frame,
                       struct rapahub_bytes bytes, struct rapahub_bytes *out);

/* The frame that made a body whole is taken again later, as if it had not been taken. */
void cluster_parts_put_back(struct cluster_parts *parts, const struct cluster_frame *frame);

/* The body that was returned is needed no more. */
void cluster_parts_done(struct cluster_parts *parts);

#endif
