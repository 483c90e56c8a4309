/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/identity/own_identity.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"

#define RULE "cluster.identity.own"

static struct rapahub_bytes bytes_of(const struct cluster_pem *pem)
{
    return (struct rapahub_bytes){pem->text, pem->size};
}

/* ---- the authority ---- */

static int read_ca(const struct cluster_identity_files *files, const struct cluster_pem *pem,
                   const struct cluster_own_identity_owner *owner, struct cluster_ca *out)
{
    struct cluster_pem key;
    int r = cluster_identity_files_read(files, CLUSTER_IDENTITY_CA_KEY, &key);

    if (r == -ENOENT) {
        rapahub_fail(r, RULE, "the key of the authority is missing");
        return cluster_identity_files_blame(files, CLUSTER_IDENTITY_CA_KEY, r);
    }
    if (r < 0)
        return r;
    r = cluster_ca_read(bytes_of(pem), bytes_of(&key), out);
    cluster_pem_wipe(&key);
    if (r == 0 && memcmp(out->uuid, owner->uuid, sizeof out->uuid) != 0) {
        cluster_ca_fini(out);
        r = rapahub_fail(RAPAHUB_EINVAL, RULE, "it is the authority of another cluster");
    }
    return r < 0 ? cluster_identity_files_blame(files, CLUSTER_IDENTITY_CA, r) : 0;
}

int cluster_own_identity_load_ca(const struct cluster_identity_files *files,
                                 const struct cluster_own_identity_owner *owner,
                                 struct cluster_ca *out)
{
    struct cluster_pem pem;
    int r = cluster_identity_files_read(files, CLUSTER_IDENTITY_CA, &pem);

    *out = (struct cluster_ca){NULL, NULL, {0}};
    if (r == -ENOENT)
        return 1;
    return r == 0 ? read_ca(files, &pem, owner, out) : r;
}

/* ---- the node's own ---- */

/* The parts of an identity that a certificate gives it. */
struct taken {
    struct cluster_peer_name name;
    struct cluster_revocation_serial serial;
    uint64_t from_s, until_s;
};

static int look(const struct cluster_own_identity *own, struct x509_st *certificate,
                const struct cluster_own_identity_owner *owner, struct taken *out)
{
    int r = cluster_certificate_peer(certificate, &out->name, out->serial.bytes, &out->serial.size);

    if (r == 0 && (out->name.kind != CLUSTER_PEER_NODE || out->name.node != owner->node ||
                   memcmp(out->name.uuid, owner->uuid, sizeof out->name.uuid) != 0))
        r = rapahub_fail(RAPAHUB_EINVAL, RULE,
                         "the certificate is not that of node %" PRIu32 " of this cluster",
                         owner->node);
    if (r == 0)
        r = cluster_certificate_check_key(certificate, own->key);
    return r == 0 ? cluster_certificate_dates(certificate, &out->from_s, &out->until_s) : r;
}

int cluster_own_identity_take(struct cluster_own_identity *own, struct x509_st *certificate,
                              const struct cluster_own_identity_owner *owner)
{
    struct taken taken;
    int r = look(own, certificate, owner, &taken);

    if (r < 0)
        return r;
    cluster_certificate_release(&own->certificate);
    own->certificate = certificate;
    own->name = taken.name;
    own->serial = taken.serial;
    own->from_s = taken.from_s;
    own->until_s = taken.until_s;
    return 0;
}

/* A file that must be there. */
static int read_file(const struct cluster_identity_files *files, enum cluster_identity_file which,
                     struct cluster_pem *out)
{
    int r = cluster_identity_files_read(files, which, out);

    if (r != -ENOENT)
        return r;
    rapahub_fail(r, RULE, "it is missing");
    return cluster_identity_files_blame(files, which, r);
}

static int load_key(const struct cluster_identity_files *files, struct cluster_own_identity *own)
{
    struct cluster_pem pem;
    int r = read_file(files, CLUSTER_IDENTITY_NODE_KEY, &pem);

    if (r < 0)
        return r;
    r = cluster_private_key_read(bytes_of(&pem), &own->key);
    cluster_pem_wipe(&pem);
    return r < 0 ? cluster_identity_files_blame(files, CLUSTER_IDENTITY_NODE_KEY, r) : 0;
}

static int load_certificate(const struct cluster_identity_files *files,
                            const struct cluster_own_identity_owner *owner,
                            struct cluster_own_identity *own)
{
    struct x509_st *certificate = NULL;
    struct cluster_pem pem;
    int r = read_file(files, CLUSTER_IDENTITY_NODE, &pem);

    if (r < 0)
        return r;
    r = cluster_certificate_read(bytes_of(&pem), &certificate);
    if (r == 0)
        r = cluster_own_identity_take(own, certificate, owner);
    if (r < 0)
        cluster_certificate_release(&certificate);
    return r < 0 ? cluster_identity_files_blame(files, CLUSTER_IDENTITY_NODE, r) : 0;
}

static int load_anchors(const struct cluster_identity_files *files, const struct cluster_pem *pem,
                        const struct cluster_own_identity_owner *owner,
                        struct cluster_own_identity *own)
{
    uint8_t uuid[CLUSTER_URI_UUID];
    int r = cluster_certificate_read_all(bytes_of(pem), own->anchors, CLUSTER_CERTIFICATE_ANCHORS);

    if (r > 0)
        own->anchors_count = (size_t)r;
    for (size_t i = 0; r >= 0 && i < own->anchors_count; i++) {
        r = cluster_certificate_authority(own->anchors[i], uuid);
        if (r == 0 && memcmp(uuid, owner->uuid, sizeof uuid) != 0)
            r = rapahub_fail(RAPAHUB_EINVAL, RULE, "it is the authority of another cluster");
    }
    return r < 0 ? cluster_identity_files_blame(files, CLUSTER_IDENTITY_ANCHORS, r) : 0;
}

/* The certificate must be signed by an authority that others trust too. */
static int check_issuer(const struct cluster_own_identity *own, struct x509_st *certificate)
{
    int r = RAPAHUB_EACCES;

    for (size_t i = 0; r < 0 && i < own->anchors_count; i++)
        r = cluster_certificate_check_issuer(certificate, own->anchors[i]);
    return r;
}

int cluster_own_identity_check_next(const struct cluster_own_identity *own,
                                    struct x509_st *certificate,
                                    const struct cluster_own_identity_owner *owner, uint64_t now_s)
{
    struct taken taken;
    int r = look(own, certificate, owner, &taken);

    if (r == 0)
        r = check_issuer(own, certificate);
    if (r == 0)
        r = cluster_certificate_check_dates(certificate, now_s);
    if (r == 0 && taken.until_s <= own->until_s)
        r = rapahub_fail(RAPAHUB_EINVAL, RULE,
                         "the certificate is good no longer than the one of now");
    return r;
}

/* r[impl cluster.identity.own] */
static int load(const struct cluster_identity_files *files,
                const struct cluster_own_identity_owner *owner, const struct cluster_pem *anchors,
                struct cluster_own_identity *own)
{
    int r = load_anchors(files, anchors, owner, own);

    if (r == 0)
        r = load_key(files, own);
    if (r == 0)
        r = load_certificate(files, owner, own);
    if (r == 0) {
        r = check_issuer(own, own->certificate);
        r = r < 0 ? cluster_identity_files_blame(files, CLUSTER_IDENTITY_NODE, r) : 0;
    }
    if (r == 0)
        r = cluster_own_identity_load_ca(files, owner, &own->ca);
    return r < 0 ? r : 0;
}

int cluster_own_identity_load(const struct cluster_identity_files *files,
                              const struct cluster_own_identity_owner *owner,
                              struct cluster_own_identity *out)
{
    struct cluster_pem anchors;
    int r = cluster_identity_files_read(files, CLUSTER_IDENTITY_ANCHORS, &anchors);

    *out = (struct cluster_own_identity){.key = NULL};
    if (r == -ENOENT)
        return 1;
    if (r == 0)
        r = load(files, owner, &anchors, out);
    if (r < 0)
        cluster_own_identity_fini(out);
    return r;
}

int cluster_own_identity_renew(const struct cluster_own_identity *own, uint64_t now_s,
                               struct x509_st **out, struct cluster_pem *pem)
{
    struct cluster_pem request;
    int r = cluster_csr_make(own->key, &request);

    if (r == 0)
        r = cluster_ca_sign(&own->ca, bytes_of(&request), &own->name, now_s, out);
    return r == 0 ? cluster_certificate_write(*out, pem) : r;
}

int cluster_own_identity_write_anchors(const struct cluster_own_identity *own,
                                       struct cluster_own_identity_anchors *out)
{
    struct cluster_pem pem;

    out->size = 0;
    for (size_t i = 0; i < own->anchors_count; i++) {
        int r = cluster_certificate_write(own->anchors[i], &pem);

        if (r < 0)
            return r;
        memcpy(out->text + out->size, pem.text, pem.size + 1);
        out->size += pem.size;
    }
    return 0;
}

void cluster_own_identity_fini(struct cluster_own_identity *own)
{
    cluster_ca_fini(&own->ca);
    cluster_private_key_release(&own->key);
    cluster_certificate_release(&own->certificate);
    for (size_t i = 0; i < own->anchors_count; i++)
        cluster_certificate_release(&own->anchors[i]);
    *own = (struct cluster_own_identity){.key = NULL};
}
