/* SPDX-License-Identifier: Apache-2.0 */
/* identity_setup: a cluster gets its authority, and its first node its certificate. The file with
 * the authorities that the node trusts is written last: while it is missing nothing of the rest is
 * used, and the setup can be repeated. It waits for the disk.
 */
#ifndef CLUSTER_NODE_IDENTITY_IDENTITY_SETUP_H
#define CLUSTER_NODE_IDENTITY_IDENTITY_SETUP_H

#include "cluster/node/identity/own_identity.h"

/* Sets both up in a data folder whose lock the caller has, or finishes that. Gives the digest of
 * the authority's certificate. RAPAHUB_EEXIST: the node has an identity. */
int cluster_identity_setup_run(const struct cluster_files_folder *root,
                               const struct cluster_own_identity_owner *owner, uint64_t now_s,
                               uint8_t digest[CLUSTER_CERTIFICATE_DIGEST]);

#endif
