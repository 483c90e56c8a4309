/* SPDX-License-Identifier: Apache-2.0 */
/* made: certificates, requests and keys for the tests of the identity of a cluster, sound ones by
 * the product and others by OpenSSL.
 */
#ifndef TESTS_UNIT_CLUSTER_IDENTITY_MADE_H
#define TESTS_UNIT_CLUSTER_IDENTITY_MADE_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/ca.h"
#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "tests/support/testing.h"

#define NOW UINT64_C(1800000000)

static const uint8_t the_uuid[CLUSTER_URI_UUID] = "0123456789abcde";

__attribute__((unused)) static struct rapahub_bytes bytes_of(const struct cluster_pem *pem)
{
    return (struct rapahub_bytes){pem->text, pem->size};
}

__attribute__((unused)) static struct rapahub_bytes bytes_of_text(const char *text)
{
    return (struct rapahub_bytes){text, strlen(text)};
}

__attribute__((unused)) static struct cluster_peer_name a_client(const char *name)
{
    struct cluster_peer_name client = {.kind = CLUSTER_PEER_CLIENT, .role = CLUSTER_PEER_OPERATOR};

    memcpy(client.uuid, the_uuid, sizeof client.uuid);
    snprintf(client.name, sizeof client.name, "%s", name);
    return client;
}

__attribute__((unused)) static struct cluster_peer_name a_node(uint32_t number)
{
    struct cluster_peer_name node = {.kind = CLUSTER_PEER_NODE, .node = number};

    memcpy(node.uuid, the_uuid, sizeof node.uuid);
    return node;
}

/* A request of a new key, which the caller frees if it wants it. */
__attribute__((unused)) static void make_request(struct cluster_pem *out, EVP_PKEY **key)
{
    EVP_PKEY *made;

    assert_int_equal(cluster_private_key_make(&made), 0);
    assert_int_equal(cluster_csr_make(made, out), 0);
    if (key)
        *key = made;
    else
        EVP_PKEY_free(made);
}

/* A certificate in which one thing is not as it shall be. */
struct odd {
    EVP_PKEY *key;
    const EVP_MD *digest; /* NULL: SHA-256 */
    const char *names;    /* NULL: none */
    const char *constraints;
    long serial;
    int version;
};

__attribute__((unused)) static void add_to(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

__attribute__((unused)) static X509 *make_odd(const struct odd *odd)
{
    X509 *certificate = X509_new();

    assert_non_null(certificate);
    X509_set_version(certificate, odd->version);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), odd->serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, odd->key);
    if (odd->constraints)
        add_to(certificate, NID_basic_constraints, odd->constraints);
    if (odd->names)
        add_to(certificate, NID_subject_alt_name, odd->names);
    assert_true(X509_sign(certificate, odd->key, odd->digest ? odd->digest : EVP_sha256()) > 0);
    return certificate;
}

#endif
