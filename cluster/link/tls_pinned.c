/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/tls_pinned.h"

#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/certificate.h"

static bool has_digest(const X509 *certificate, const uint8_t *digest)
{
    uint8_t found[CLUSTER_CERTIFICATE_DIGEST];

    return cluster_certificate_digest(certificate, found) == 0 &&
           memcmp(found, digest, sizeof found) == 0;
}

/* Returns the certificate with this digest among those that the other side has sent, or NULL. */
static X509 *find(X509_STORE_CTX *store, const uint8_t *digest)
{
    STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(store);
    int count = sent ? sk_X509_num(sent) : 0;

    for (int i = 0; i < count; i++)
        if (has_digest(sk_X509_value(sent, i), digest))
            return sk_X509_value(sent, i);
    return NULL;
}

static int refuse(X509_STORE_CTX *store, int why)
{
    rapahub_clear_error();
    X509_STORE_CTX_set_error(store, why);
    return 0;
}

/* r[impl cluster.join.pinned] */
int cluster_tls_pinned_verify(X509_STORE_CTX *store, void *digest)
{
    X509 *authority = find(store, digest);
    uint8_t uuid[CLUSTER_URI_UUID];
    STACK_OF(X509) * trusted;
    int sound;

    if (!authority || cluster_certificate_authority(authority, uuid) < 0)
        return refuse(store, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
    trusted = sk_X509_new_null();
    if (!trusted || sk_X509_push(trusted, authority) == 0) {
        sk_X509_free(trusted);
        return refuse(store, X509_V_ERR_OUT_OF_MEM);
    }
    X509_STORE_CTX_set0_trusted_stack(store, trusted);
    sound = X509_verify_cert(store);
    sk_X509_free(trusted);
    return sound == 1;
}
