/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/csr.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>

#include <rapahub/error.h>

#include "cluster/identity/private_key.h"
#include "hub/base/own.h"

#define RULE "cluster.identity.csr"

static void csr_release(X509_REQ **request)
{
    X509_REQ_free(*request);
    *request = NULL;
}

int cluster_csr_make(struct evp_pkey_st *key, struct cluster_pem *out)
{
    OWN(csr) X509_REQ *request = X509_REQ_new();
    unsigned char *der = NULL;
    int size, r;

    if (!request || X509_REQ_set_version(request, X509_REQ_VERSION_1) != 1 ||
        X509_REQ_set_pubkey(request, key) != 1 || X509_REQ_sign(request, key, EVP_sha256()) <= 0)
        return cluster_pem_fail(RAPAHUB_ENOMEM, RULE, "cannot make a request for a certificate");
    size = i2d_X509_REQ(request, &der);
    r = size > 0 ? cluster_pem_write(CLUSTER_PEM_REQUEST, der, (size_t)size, out)
                 : cluster_pem_fail(RAPAHUB_ENOMEM, RULE, "cannot write a request");
    OPENSSL_free(der);
    return r;
}

static bool is_signed_as_it_shall(const X509_REQ *request)
{
    return X509_REQ_get_signature_nid(request) == NID_ecdsa_with_SHA256;
}

static int check(const struct cluster_pem_der *der, EVP_PKEY **out)
{
    const unsigned char *at = der->data;
    OWN(csr) X509_REQ *request = d2i_X509_REQ(NULL, &at, (long)der->size);
    OWN(cluster_private_key) EVP_PKEY *key = NULL;

    if (!request || at != der->data + der->size)
        return cluster_pem_fail(RAPAHUB_EINVAL, RULE, "the request for a certificate is damaged");
    key = X509_REQ_get_pubkey(request);
    if (!cluster_private_key_is_p256(key))
        return cluster_pem_fail(RAPAHUB_EINVAL, RULE,
                                "the key of the request is none of the curve P-256");
    if (!is_signed_as_it_shall(request) || X509_REQ_verify(request, key) != 1)
        return cluster_pem_fail(RAPAHUB_EINVAL, RULE,
                                "the request is not signed by its own key with SHA-256");
    *out = TAKE(key);
    return 0;
}

/* r[impl cluster.identity.csr] */
int cluster_csr_read(struct rapahub_bytes pem, struct evp_pkey_st **out)
{
    struct cluster_pem_der der;
    int r = cluster_pem_read(pem, CLUSTER_PEM_REQUEST, &der);

    if (r == 0)
        r = check(&der, out);
    cluster_pem_release_der(&der);
    return r;
}
