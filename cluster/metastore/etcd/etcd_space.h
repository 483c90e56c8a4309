/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_space: the part of etcd that is one store: all keys below one prefix. The pairs of the store
 * are below /PREFIX/k, its markers below /PREFIX/w, and /PREFIX/meta says that there is a store,
 * and its generation. A marker says that a transaction ran, by a key that has client, slot and
 * number; so all later ones of a slot, and of a node, are one range of keys.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_SPACE_H
#define CLUSTER_METASTORE_ETCD_ETCD_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/base/txn.h"

#define CLUSTER_ETCD_PREFIX_MAX 63
#define CLUSTER_ETCD_SPACE_LEAD (CLUSTER_ETCD_PREFIX_MAX + 3) /* bytes before the key of a pair */
#define CLUSTER_ETCD_SPACE_NAME (CLUSTER_ETCD_PREFIX_MAX + 48)

struct cluster_etcd_space {
    char lead[CLUSTER_ETCD_SPACE_LEAD + 1]; /* "/PREFIX/k" */
    size_t lead_size;
    uint32_t generation;
    uint64_t base;       /* revision of etcd at which the store was set up */
    uint64_t cluster_id; /* the etcd that has it; 0: none was heard yet */
};

/* Prefixes are 1 to 63 letters, digits, '-', '_' and '.'. */
bool cluster_etcd_space_is_prefix(const char *text);
void cluster_etcd_space_init(struct cluster_etcd_space *space, const char *prefix);

/* Writes /PREFIX/meta, and returns its size. */
size_t cluster_etcd_space_meta(const struct cluster_etcd_space *space,
                               char to[CLUSTER_ETCD_SPACE_NAME]);

/* Takes the lead from a key of a pair. False: it is no such key. */
bool cluster_etcd_space_strip(const struct cluster_etcd_space *space, struct rapahub_bytes key,
                              struct rapahub_bytes *out);

/* The keys around the marker of one transaction, as texts. */
struct cluster_etcd_space_marker {
    char own[CLUSTER_ETCD_SPACE_NAME];        /* its key: it ran */
    char conflict[CLUSTER_ETCD_SPACE_NAME];   /* the key beside it: a compare did not hold */
    char slot_from[CLUSTER_ETCD_SPACE_NAME];  /* up to own: earlier ones of the slot */
    char slot_to[CLUSTER_ETCD_SPACE_NAME];    /* from own: it and later ones of the slot */
    char boots_from[CLUSTER_ETCD_SPACE_NAME]; /* earlier lives of the node */
    char boots_to[CLUSTER_ETCD_SPACE_NAME];
    char later_from[CLUSTER_ETCD_SPACE_NAME]; /* later lives of the node; "": there is none */
    char later_to[CLUSTER_ETCD_SPACE_NAME];
};
void cluster_etcd_space_mark(const struct cluster_etcd_space *space, struct cluster_txn_id id,
                             struct cluster_etcd_space_marker *out);

/* Turns a revision of etcd into one of the store. False: it is none. */
bool cluster_etcd_space_revision(const struct cluster_etcd_space *space, int64_t own,
                                 uint64_t *out);

#endif
