/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/identity/identity_setup.h"

#include <errno.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "hub/base/own.h"

#define RULE "cluster.identity.setup"

static int write_key(const struct cluster_identity_files *files, enum cluster_identity_file which,
                     struct evp_pkey_st *key)
{
    struct cluster_pem pem;
    int r = cluster_private_key_write(key, &pem);

    if (r == 0)
        r = cluster_identity_files_write(files, which, &pem);
    cluster_pem_wipe(&pem);
    return r;
}

static int write_certificate(const struct cluster_identity_files *files,
                             enum cluster_identity_file which, const struct x509_st *certificate)
{
    struct cluster_pem pem;
    int r = cluster_certificate_write(certificate, &pem);

    return r == 0 ? cluster_identity_files_write(files, which, &pem) : r;
}

/* A key without its certificate has signed nothing, or the certificate was lost: it is kept. */
static int keep_old_key(const struct cluster_identity_files *files)
{
    struct cluster_pem pem;
    int r = cluster_identity_files_read(files, CLUSTER_IDENTITY_CA_KEY, &pem);

    cluster_pem_wipe(&pem);
    if (r == -ENOENT)
        return 0;
    return r < 0 ? r
                 : cluster_identity_files_put_aside(files, CLUSTER_IDENTITY_CA_KEY,
                                                    "its certificate is missing");
}

/* An authority that an earlier setup left is taken. */
static int get_ca(const struct cluster_identity_files *files,
                  const struct cluster_own_identity_owner *owner, uint64_t now_s,
                  struct cluster_ca *out)
{
    int r = cluster_own_identity_load_ca(files, owner, out);

    if (r <= 0)
        return r;
    r = keep_old_key(files);
    if (r == 0)
        r = cluster_ca_make(owner->uuid, now_s, out);
    if (r == 0)
        r = write_key(files, CLUSTER_IDENTITY_CA_KEY, out->key);
    return r == 0 ? write_certificate(files, CLUSTER_IDENTITY_CA, out->certificate) : r;
}

static int certify_node(const struct cluster_identity_files *files, const struct cluster_ca *ca,
                        uint32_t node, uint64_t now_s)
{
    struct cluster_peer_name name = {.kind = CLUSTER_PEER_NODE, .node = node};
    OWN(cluster_private_key) struct evp_pkey_st *key = NULL;
    OWN(cluster_certificate) struct x509_st *certificate = NULL;
    struct cluster_pem request;
    int r = cluster_private_key_make(&key);

    memcpy(name.uuid, ca->uuid, sizeof name.uuid);
    if (r == 0)
        r = cluster_csr_make(key, &request);
    if (r == 0)
        r = cluster_ca_sign(ca, (struct rapahub_bytes){request.text, request.size}, &name, now_s,
                            &certificate);
    if (r == 0)
        r = write_key(files, CLUSTER_IDENTITY_NODE_KEY, key);
    return r == 0 ? write_certificate(files, CLUSTER_IDENTITY_NODE, certificate) : r;
}

static int check_none(const struct cluster_files_folder *root,
                      const struct cluster_identity_files *files)
{
    struct cluster_pem pem;
    int r = cluster_identity_files_read(files, CLUSTER_IDENTITY_ANCHORS, &pem);

    if (r == -ENOENT)
        return 0;
    return r < 0 ? r
                 : rapahub_fail(RAPAHUB_EEXIST, RULE,
                                "%s: the node has a certificate and trusts an authority: name the "
                                "folder of another node",
                                root->path);
}

static int run(const struct cluster_files_folder *root, const struct cluster_identity_files *files,
               const struct cluster_own_identity_owner *owner, uint64_t now_s,
               struct cluster_ca *ca)
{
    int r = check_none(root, files);

    if (r == 0)
        r = get_ca(files, owner, now_s, ca);
    if (r == 0)
        r = certify_node(files, ca, owner->node, now_s);
    return r == 0 ? write_certificate(files, CLUSTER_IDENTITY_ANCHORS, ca->certificate) : r;
}

/* r[impl cluster.identity.setup] */
int cluster_identity_setup_run(const struct cluster_files_folder *root,
                               const struct cluster_own_identity_owner *owner, uint64_t now_s,
                               uint8_t digest[CLUSTER_CERTIFICATE_DIGEST])
{
    struct cluster_identity_files files;
    struct cluster_ca ca = {NULL, NULL, {0}};
    int r = cluster_identity_files_open(root, true, &files);

    if (r < 0)
        return r;
    r = run(root, &files, owner, now_s, &ca);
    if (r == 0)
        r = cluster_certificate_digest(ca.certificate, digest);
    cluster_ca_fini(&ca);
    cluster_identity_files_close(&files);
    return r;
}
