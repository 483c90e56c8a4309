/* SPDX-License-Identifier: Apache-2.0 */
/* pool_target: the text that names a method of a pool, and the containers that a call goes to:
 *
 *     POOL.METHOD                     of a pool with one container
 *     POOL#N.METHOD                   container N
 *     POOL@local.METHOD               one on the node that is asked
 *     POOL@physical:N.METHOD          the one on node N
 *     POOL@hash:KEY.METHOD            the one to which a key belongs, by the FNV-1a 64 of its text
 *     POOL@range:O+N.METHOD           N from container O on
 *     POOL@broadcast.METHOD           all
 *
 * METHOD is a name or a whole signature, and begins after the last dot before its bracket.
 */
#ifndef CLUSTER_CLI_POOL_TARGET_H
#define CLUSTER_CLI_POOL_TARGET_H

#include <stdbool.h>

#include <rapahub/call.h>

#include "cluster/base/keys.h"

struct cluster_pool_target {
    char name[CLUSTER_KEYS_NAME_MAX + 1];
    const char *method; /* in the text */
    bool has_mode;      /* `query` says where to, else the container does */
    bool has_container; /* it is said */
    uint32_t container;
    struct rapahub_query query; /* without order and callbacks */
};

/* Says whether a text names a pool for sure: it has a mode. */
bool cluster_pool_target_has_mode(const char *text);

/* Says whether a text may name a pool: no host and no file is in it. */
bool cluster_pool_target_may_be(const char *text);

/* Reads a text. RAPAHUB_ECONFIG says how one is written, or which modes there are. */
int cluster_pool_target_read(const char *text, struct cluster_pool_target *out);

/* Reads POOL#N. RAPAHUB_ECONFIG. */
int cluster_pool_target_container(const char *text, char pool[CLUSTER_KEYS_NAME_MAX + 1],
                                  uint32_t *container);

/* Says whether the call goes to several containers. */
bool cluster_pool_target_is_many(const struct cluster_pool_target *target);

#endif
