/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/ca.h"

#include <inttypes.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "hub/base/own.h"

#define RULE        "cluster.identity.ca"
#define SERIAL_SIZE 16
#define TITLE_SIZE  65 /* X.509 gives a common name 64 bytes */

/* A certificate that is to be made. */
struct draft {
    EVP_PKEY *key;                                            /* the public half goes into it */
    const char *title, *uri, *constraints, *usage, *purposes; /* `purposes` NULL: none */
    uint64_t from_s, until_s;
    const struct cluster_ca *by; /* NULL: it signs itself */
};

/* A number of 128 bits of which the first is 0 and the second 1: it has always the same size, and
 * is never negative. The others are random. */
static bool set_serial(X509 *certificate)
{
    unsigned char bytes[SERIAL_SIZE];
    BIGNUM *number;
    bool set;

    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    bytes[0] = (unsigned char)((bytes[0] & 0x3f) | 0x40);
    number = BN_bin2bn(bytes, sizeof bytes, NULL);
    set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return set;
}

static bool set_subject(X509 *certificate, const char *title)
{
    X509_NAME *name = X509_get_subject_name(certificate);

    return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"rapahub", -1,
                                      -1, 0) == 1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)title, -1,
                                      -1, 0) == 1;
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509_EXTENSION *extension;
    X509V3_CTX context;
    bool added;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_nconf_nid(NULL, &context, nid, value);
    added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool add_extensions(X509 *certificate, const struct draft *draft)
{
    X509 *issuer = draft->by ? draft->by->certificate : certificate;
    char names[CLUSTER_URI_SIZE_MAX + 8];

    snprintf(names, sizeof names, "URI:%s", draft->uri);
    return add_extension(certificate, issuer, NID_basic_constraints, draft->constraints) &&
           add_extension(certificate, issuer, NID_key_usage, draft->usage) &&
           (!draft->purposes ||
            add_extension(certificate, issuer, NID_ext_key_usage, draft->purposes)) &&
           add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
           add_extension(certificate, issuer, NID_authority_key_identifier, "keyid") &&
           add_extension(certificate, issuer, NID_subject_alt_name, names);
}

static bool fill(X509 *certificate, const struct draft *draft)
{
    X509_NAME *issuer;

    if (X509_set_version(certificate, X509_VERSION_3) != 1 || !set_serial(certificate) ||
        !set_subject(certificate, draft->title))
        return false;
    issuer = X509_get_subject_name(draft->by ? draft->by->certificate : certificate);
    return X509_set_issuer_name(certificate, issuer) == 1 &&
           X509_set_pubkey(certificate, draft->key) == 1 &&
           ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)draft->from_s) &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), (time_t)draft->until_s) &&
           add_extensions(certificate, draft);
}

static int make(const struct draft *draft, X509 **out)
{
    OWN(cluster_certificate) X509 *certificate = X509_new();
    EVP_PKEY *signer = draft->by ? draft->by->key : draft->key;

    if (!certificate || !fill(certificate, draft) ||
        X509_sign(certificate, signer, EVP_sha256()) <= 0)
        return cluster_pem_fail(RAPAHUB_ENOMEM, RULE, "cannot make a certificate");
    *out = TAKE(certificate);
    return 0;
}

/* ---- the authority ---- */

int cluster_ca_make(const uint8_t uuid[CLUSTER_URI_UUID], uint64_t now_s, struct cluster_ca *out)
{
    char uri[CLUSTER_URI_SIZE_MAX], title[TITLE_SIZE];
    struct draft draft = {.title = title,
                          .uri = uri,
                          .constraints = "critical,CA:TRUE,pathlen:0",
                          .usage = "critical,keyCertSign",
                          .from_s = now_s - CLUSTER_CA_BACKDATE_S,
                          .until_s = now_s + CLUSTER_CA_LIFE_S};
    int r;

    *out = (struct cluster_ca){NULL, NULL, {0}};
    cluster_uri_print_authority(uuid, uri);
    snprintf(title, sizeof title, "authority of %.*s", 2 * CLUSTER_URI_UUID,
             uri + sizeof "rapahub://" - 1);
    memcpy(out->uuid, uuid, sizeof out->uuid);
    r = cluster_private_key_make(&out->key);
    draft.key = out->key;
    if (r == 0)
        r = make(&draft, &out->certificate);
    if (r < 0)
        cluster_ca_fini(out);
    return r;
}

/* r[impl cluster.identity.ca] */
int cluster_ca_read(struct rapahub_bytes certificate, struct rapahub_bytes key,
                    struct cluster_ca *out)
{
    int r;

    *out = (struct cluster_ca){NULL, NULL, {0}};
    r = cluster_certificate_read(certificate, &out->certificate);
    if (r == 0)
        r = cluster_certificate_authority(out->certificate, out->uuid);
    if (r == 0)
        r = cluster_private_key_read(key, &out->key);
    if (r == 0)
        r = cluster_certificate_check_key(out->certificate, out->key);
    if (r < 0)
        cluster_ca_fini(out);
    return r;
}

void cluster_ca_fini(struct cluster_ca *ca)
{
    cluster_certificate_release(&ca->certificate);
    cluster_private_key_release(&ca->key);
}

/* ---- certificates of others ---- */

/* A certificate ends with that of its authority at the latest: it is not trusted after that. */
static int set_dates(const struct cluster_ca *ca, uint64_t now_s, struct draft *draft)
{
    uint64_t from_s, until_s;
    int r = cluster_certificate_check_dates(ca->certificate, now_s);

    if (r == 0)
        r = cluster_certificate_dates(ca->certificate, &from_s, &until_s);
    if (r < 0)
        return r;
    draft->from_s = now_s - CLUSTER_CA_BACKDATE_S;
    draft->until_s = now_s + CLUSTER_CA_PEER_S < until_s ? now_s + CLUSTER_CA_PEER_S : until_s;
    return 0;
}

/* A client is never taken for a node: its certificate cannot be shown by a server. */
int cluster_ca_sign(const struct cluster_ca *ca, struct rapahub_bytes request,
                    const struct cluster_peer_name *name, uint64_t now_s, struct x509_st **out)
{
    bool node = name->kind == CLUSTER_PEER_NODE;
    char uri[CLUSTER_URI_SIZE_MAX], title[TITLE_SIZE];
    OWN(cluster_private_key) EVP_PKEY *key = NULL;
    struct draft draft = {.title = title,
                          .uri = uri,
                          .constraints = "critical,CA:FALSE",
                          .usage = "critical,digitalSignature",
                          .purposes = node ? "serverAuth,clientAuth" : "clientAuth",
                          .by = ca};
    int r = cluster_uri_print(name, uri);

    if (r < 0)
        return r;
    if (memcmp(name->uuid, ca->uuid, sizeof ca->uuid) != 0)
        return rapahub_fail(RAPAHUB_EACCES, RULE, "%s: the name is of another cluster", uri);
    r = cluster_csr_read(request, &key);
    if (r == 0)
        r = set_dates(ca, now_s, &draft);
    if (r < 0)
        return r;
    if (node)
        snprintf(title, sizeof title, "node %" PRIu32, name->node);
    else
        snprintf(title, sizeof title, "%s", name->name);
    draft.key = key;
    return make(&draft, out);
}
