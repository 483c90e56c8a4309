/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/private_key.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define RULE "cluster.identity.key"

int cluster_private_key_make(struct evp_pkey_st **out)
{
    *out = EVP_EC_gen("P-256");
    return *out ? 0 : cluster_pem_fail(RAPAHUB_ENOMEM, RULE, "cannot make a key");
}

/* A curve that is spelled out as numbers has no name, and is refused so. */
bool cluster_private_key_is_p256(const struct evp_pkey_st *key)
{
    char name[32];
    size_t size = 0;
    bool is = key && EVP_PKEY_is_a(key, "EC") &&
              EVP_PKEY_get_group_name(key, name, sizeof name, &size) == 1 &&
              (strcmp(name, "prime256v1") == 0 || strcmp(name, "P-256") == 0);

    ERR_clear_error();
    return is;
}

static bool is_sound(EVP_PKEY *key)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    bool sound = context && EVP_PKEY_check(context) == 1; /* both halves, and that they fit */

    EVP_PKEY_CTX_free(context);
    return sound;
}

/* r[impl cluster.identity.key] */
int cluster_private_key_read(struct rapahub_bytes pem, struct evp_pkey_st **out)
{
    struct cluster_pem_der der;
    OWN(cluster_private_key) EVP_PKEY *key = NULL;
    PKCS8_PRIV_KEY_INFO *info;
    const unsigned char *at;
    bool whole;
    int r = cluster_pem_read(pem, CLUSTER_PEM_KEY, &der);

    if (r < 0)
        return r;
    at = der.data;
    info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)der.size);
    whole = info && at == der.data + der.size;
    key = whole ? EVP_PKCS82PKEY(info) : NULL;
    PKCS8_PRIV_KEY_INFO_free(info);
    cluster_pem_release_der(&der);
    if (!key)
        return cluster_pem_fail(RAPAHUB_EINVAL, RULE, "the private key is damaged");
    if (!cluster_private_key_is_p256(key) || !is_sound(key))
        return cluster_pem_fail(RAPAHUB_EINVAL, RULE, "the private key is none of the curve P-256");
    *out = TAKE(key);
    return 0;
}

int cluster_private_key_write(struct evp_pkey_st *key, struct cluster_pem *out)
{
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    unsigned char *der = NULL;
    int size = info ? i2d_PKCS8_PRIV_KEY_INFO(info, &der) : -1;
    int r = size > 0 ? cluster_pem_write(CLUSTER_PEM_KEY, der, (size_t)size, out)
                     : cluster_pem_fail(RAPAHUB_ENOMEM, RULE, "cannot write the private key");

    OPENSSL_clear_free(der, size > 0 ? (size_t)size : 0);
    PKCS8_PRIV_KEY_INFO_free(info);
    return r;
}

void cluster_private_key_release(struct evp_pkey_st **key)
{
    EVP_PKEY_free(*key);
    *key = NULL;
}
