/* SPDX-License-Identifier: Apache-2.0 */
/* detector_keys: the keys of a cluster for datagrams, as a node has them: in its memory only. The
 * node that leads makes one at each of its starts, and another one when a certificate was revoked;
 * it hands them to others over their links. The key before goes on for a while, since not all nodes
 * have the next one at once.
 */
#ifndef CLUSTER_NODE_DETECTION_DETECTOR_KEYS_H
#define CLUSTER_NODE_DETECTION_DETECTOR_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/link/keyring.h"
#include "hub/base/clock.h"

#define CLUSTER_DETECTOR_KEYS_BEFORE (30 * HUB_SECOND) /* so long the key before goes on */

struct cluster_detector_keys {
    struct cluster_keyring *ring;
    bool has, has_before;
    uint8_t number, before;
    uint64_t forget_ns;                 /* the key before is forgotten then */
    uint32_t boot, made;                /* the start of the node that leads, and how many it made */
    uint8_t bytes[CLUSTER_KEYRING_KEY]; /* the key that it seals with */
};

/* Makes an empty ring for the node of a cluster, in one of its starts. -ENOMEM. */
int cluster_detector_keys_create(struct cluster_detector_keys *keys, const uint8_t cluster[16],
                                 uint32_t node, uint32_t boot);
void cluster_detector_keys_release(struct cluster_detector_keys *keys);

/* Makes a key, and seals with it from now on. */
int cluster_detector_keys_make(struct cluster_detector_keys *keys, uint64_t now_ns);

/* Takes a key of the node that leads. The same one again is no failure. RAPAHUB_EEXIST: another one
 * has its number. */
int cluster_detector_keys_take(struct cluster_detector_keys *keys, uint8_t number,
                               const uint8_t key[CLUSTER_KEYRING_KEY], uint64_t now_ns);

/* Forgets the key before when its time is over. Returns when that will be, or HUB_NEVER. */
uint64_t cluster_detector_keys_step(struct cluster_detector_keys *keys, uint64_t now_ns);

#endif
