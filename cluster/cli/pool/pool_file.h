/* SPDX-License-Identifier: Apache-2.0 */
/* pool_file: a file with pools, rapahub-pool(5), as specs with every default filled in: the bytes
 * of cluster/wire/pool_spec.h, which a node takes. The whole file is read and checked before
 * anything is sent. For one thread.
 */
#ifndef CLUSTER_CLI_POOL_FILE_H
#define CLUSTER_CLI_POOL_FILE_H

#include "cluster/cli/pool/pool_module.h"
#include "host/config/yaml.h"

#define CLUSTER_POOL_FILE_POOLS 256

struct cluster_pool_draft;

/* A pool of the file. Texts and bytes live as long as the file is open. */
struct cluster_pool_file_pool {
    struct cluster_pool_draft *draft; /* its keys, until the module is known */
    struct cluster_pool_spec spec;    /* before that: without what depends on the module, and
                                         with the version that is said, or none */
    struct rapahub_bytes bytes;       /* the spec; none until the module is known */
    char *path;                       /* the module's file; NULL: a node has the module */
};

struct cluster_pool_file {
    struct config_yaml yaml;
    void *blocks;
    unsigned count;
    struct cluster_pool_file_pool pools[CLUSTER_POOL_FILE_POOLS];
    struct cli_texts notes; /* keys that are said in it, and not kept */
};

/* Reads a file. Pools whose module is a path are complete then; others are once
 * cluster_pool_file_complete was told their module. RAPAHUB_ECONFIG says what is wrong and where,
 * and `out->yaml.quote` shows the line; RAPAHUB_ENOMEM. `path` must outlive `out`, which must be
 * closed in any case. */
int cluster_pool_file_open(const char *path, struct cluster_pool_file *out);
void cluster_pool_file_close(struct cluster_pool_file *file);

/* Completes a pool whose module a node has: `module`, as the node knows it. RAPAHUB_ECONFIG where
 * the module does not do what the file says of it. */
int cluster_pool_file_complete(struct cluster_pool_file *file, unsigned index,
                               const struct cluster_pool_module *module);

#endif
