/* SPDX-License-Identifier: Apache-2.0 */
/* payload: bodies of calls and answers that are kept, each with a count of its users. A small one
 * is copied; a larger one stays outside, and has a number there. When the last user of that is gone
 * an effect says so.
 */
#ifndef CLUSTER_CORE_BASE_PAYLOAD_H
#define CLUSTER_CORE_BASE_PAYLOAD_H

#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/core/base/effects.h"

struct cluster_payload;

struct cluster_payload_body {
    struct rapahub_bytes bytes; /* at most CLUSTER_EFFECTS_BODY_MAX, if it has no number */
    uint64_t number;            /* if it is outside; 0: it is not */
    uint64_t size;              /* bytes of either */
};

/* Makes a store of at most `max` small and as many larger bodies, at most 2^30, which says in
 * `effects` what is to be dropped. -ENOMEM. */
int cluster_payload_create(uint32_t max, struct cluster_effects_queue *effects,
                           struct cluster_payload **out);
void cluster_payload_release(struct cluster_payload **payload);

/* Keeps a body for its first user and returns its place; 0: too many are kept. A body without bytes
 * and number is kept as any other. */
uint32_t cluster_payload_keep(struct cluster_payload *payload,
                              const struct cluster_payload_body *body);

/* Keeps a text in the same way, cut to CLUSTER_EFFECTS_BODY_MAX bytes. */
uint32_t cluster_payload_keep_text(struct cluster_payload *payload, const char *text);

/* Add and take away a user of a body that is kept. */
void cluster_payload_retain(struct cluster_payload *payload, uint32_t place);
void cluster_payload_drop(struct cluster_payload *payload, uint32_t place);

/* Many bodies can be dropped at once, so effects that say so leave the queue CLUSTER_EFFECTS_MAX
 * places for others. This says what is left to say, as far as there is space: each step does it. */
void cluster_payload_say_dropped(struct cluster_payload *payload);

/* Returns a body that is kept. Its bytes are good until its last user is gone. */
struct cluster_payload_body cluster_payload_body(const struct cluster_payload *payload,
                                                 uint32_t place);

/* Returns the bytes of memory that such a body takes where it is kept, here and outside. */
uint64_t cluster_payload_weight(const struct cluster_payload_body *body);

uint32_t cluster_payload_count(const struct cluster_payload *payload);

#endif
