/* SPDX-License-Identifier: Apache-2.0 */
/* pool_draft: a pool while its file is read: what was said so far, and where.
 */
#ifndef CLUSTER_CLI_POOL_DRAFT_H
#define CLUSTER_CLI_POOL_DRAFT_H

#include "cluster/wire/pool_spec.h"
#include "host/config/tree.h"

/* The keys of a pool, in the order of the page rapahub-pool(5). */
enum cluster_pool_draft_key {
    CLUSTER_POOL_NAME,
    CLUSTER_POOL_MODULE,
    CLUSTER_POOL_CONTAINERS,
    CLUSTER_POOL_GUESTS,
    CLUSTER_POOL_DURABILITY,
    CLUSTER_POOL_COPIES,
    CLUSTER_POOL_MIN_COPIES,
    CLUSTER_POOL_REPEAT,
    CLUSTER_POOL_OUTSIDE,
    CLUSTER_POOL_ON_DAEMON_DEATH,
    CLUSTER_POOL_ON_FENCE,
    CLUSTER_POOL_IDLE_TO_ZERO,
    CLUSTER_POOL_PLACEMENT,
    CLUSTER_POOL_SUPERVISE,
    CLUSTER_POOL_LIMITS,
    CLUSTER_POOL_TRUST,
    CLUSTER_POOL_PARAMS,
    CLUSTER_POOL_MOD_NAME,
    CLUSTER_POOL_ID,
    CLUSTER_POOL_QUERY,
    CLUSTER_POOL_RESTART,
    CLUSTER_POOL_DRAFT_KEYS
};

/* Texts are the file's, or in `blocks`. */
struct cluster_pool_draft {
    struct config_yaml *yaml;
    void **blocks; /* memory that lives as long as the file */
    struct fy_node *at;
    struct fy_node *said[CLUSTER_POOL_DRAFT_KEYS]; /* value of each key; NULL: it is not said */
    const char *module;
    struct cluster_pool_spec spec; /* its lists are those below */
    struct cluster_pool_method methods[CLUSTER_POOL_SPEC_METHODS_MAX];
    uint32_t nodes[CLUSTER_POOL_SPEC_NODES_MAX], not_on[CLUSTER_POOL_SPEC_NODES_MAX];
    struct cluster_pool_option options[CLUSTER_POOL_SPEC_OPTIONS_MAX];
    struct config_tree_node guest;
};

/* Fails at a node of the file, by no rule of the specification. */
#define CLUSTER_POOL_FAIL(draft, at, ...) config_yaml_fail((draft)->yaml, at, "", __VA_ARGS__)

#endif
