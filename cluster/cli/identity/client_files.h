/* SPDX-License-Identifier: Apache-2.0 */
/* client_files: the key of a client and its certificate, in a folder: `client.key`, which is made
 * here and stays here, `client.pem` of the node's authority, and `ca.pem`, the authorities that the
 * client trusts. For one thread; it waits for the disk.
 */
#ifndef CLUSTER_CLI_IDENTITY_CLIENT_FILES_H
#define CLUSTER_CLI_IDENTITY_CLIENT_FILES_H

#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/identity/certificate.h"

struct cluster_client_files {
    const char *name, *role, *folder; /* the caller's */
    struct evp_pkey_st *key;
    struct cluster_pem request; /* for the node */
};

struct cluster_client_files_made {
    char uri[CLUSTER_URI_SIZE_MAX];
    char serial[CLUSTER_CERTIFICATE_SERIAL_TEXT];
    uint64_t until_s; /* seconds since 1970 */
};

/* Makes a key, and a request for it. -EINVAL: there is no such name. RAPAHUB_EEXIST: the folder has
 * a certificate of a client, or a key. Nothing is written yet. */
int cluster_client_files_begin(struct cluster_client_files *files);

/* Checks the answer of the node, and writes the files, durably: the certificate last. The folder is
 * made if its parent is there. RAPAHUB_EPROTOCOL: it is not what was asked for. */
int cluster_client_files_finish(const struct cluster_client_files *files,
                                struct rapahub_string answer,
                                struct cluster_client_files_made *out);
void cluster_client_files_end(struct cluster_client_files *files);

#endif
