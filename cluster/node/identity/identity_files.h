/* SPDX-License-Identifier: Apache-2.0 */
/* identity_files: the keys and certificates in a data folder: `ca/ca.key` and `ca/ca.pem` of the
 * authority, where the node has it; `tls/node.key` and `tls/node.pem` of the node; and
 * `tls/ca.pem`, the certificates of the authorities that it trusts. All of it waits for the disk.
 */
#ifndef CLUSTER_NODE_IDENTITY_IDENTITY_FILES_H
#define CLUSTER_NODE_IDENTITY_IDENTITY_FILES_H

#include "cluster/identity/pem.h"
#include "cluster/store/files.h"

enum cluster_identity_file {
    CLUSTER_IDENTITY_CA_KEY,
    CLUSTER_IDENTITY_CA,
    CLUSTER_IDENTITY_NODE_KEY,
    CLUSTER_IDENTITY_NODE,
    CLUSTER_IDENTITY_ANCHORS,
    CLUSTER_IDENTITY_FILES
};

struct cluster_identity_files {          /* zeros: closed */
    struct cluster_files_folder ca, tls; /* `path` NULL: there is none */
};

/* Opens both folders. `make`: a missing one is made, durably. */
int cluster_identity_files_open(const struct cluster_files_folder *root, bool make,
                                struct cluster_identity_files *out);
void cluster_identity_files_close(struct cluster_identity_files *files);

/* Reads a file. -ENOENT, without a diagnosis: there is none. RAPAHUB_EACCES: it is a key that
 * others may read. A text with a key is to be wiped. */
int cluster_identity_files_read(const struct cluster_identity_files *files,
                                enum cluster_identity_file which, struct cluster_pem *out);

/* Replaces a file, durably. */
int cluster_identity_files_write(const struct cluster_identity_files *files,
                                 enum cluster_identity_file which, const struct cluster_pem *pem);

/* Puts a file aside, durably. */
int cluster_identity_files_put_aside(const struct cluster_identity_files *files,
                                     enum cluster_identity_file which, const char *why);

/* Says, in front of the diagnosis of now, in which file the fault is; returns `code`. */
int cluster_identity_files_blame(const struct cluster_identity_files *files,
                                 enum cluster_identity_file which, int code);

#endif
