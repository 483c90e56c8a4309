/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/certificate.h"

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rapahub/error.h>

#include "cluster/identity/private_key.h"
#include "hub/base/own.h"

#define RULE  "cluster.identity.certificate"
#define DATES "cluster.identity.dates"

/* ---- texts ---- */

static int decode(const struct cluster_pem_der *der, X509 **out)
{
    const unsigned char *at = der->data;
    OWN(cluster_certificate) X509 *certificate = d2i_X509(NULL, &at, (long)der->size);

    if (!certificate || at != der->data + der->size)
        return cluster_pem_fail(RAPAHUB_EINVAL, RULE, "the certificate is damaged");
    *out = TAKE(certificate);
    return 0;
}

static int take(struct rapahub_bytes *pem, X509 **out)
{
    struct cluster_pem_der der;
    int r = cluster_pem_next(pem, CLUSTER_PEM_CERTIFICATE, &der);

    if (r == 0)
        r = decode(&der, out);
    cluster_pem_release_der(&der);
    return r;
}

int cluster_certificate_read_all(struct rapahub_bytes pem, struct x509_st **out, size_t most)
{
    size_t count = 0;
    int r;

    do {
        r = count < most ? take(&pem, &out[count])
                         : rapahub_fail(RAPAHUB_EINVAL, RULE, "more than %zu certificates", most);
        count += r == 0;
    } while (r == 0 && pem.size > 0);
    while (r < 0 && count > 0)
        cluster_certificate_release(&out[--count]);
    return r < 0 ? r : (int)count;
}

int cluster_certificate_read(struct rapahub_bytes pem, struct x509_st **out)
{
    int r = cluster_certificate_read_all(pem, out, 1);

    return r < 0 ? r : 0;
}

int cluster_certificate_write(const struct x509_st *certificate, struct cluster_pem *out)
{
    unsigned char *der = NULL;
    int size = i2d_X509(certificate, &der);
    int r = size > 0 ? cluster_pem_write(CLUSTER_PEM_CERTIFICATE, der, (size_t)size, out)
                     : cluster_pem_fail(RAPAHUB_ENOMEM, "", "cannot write a certificate");

    OPENSSL_free(der);
    return r;
}

void cluster_certificate_release(struct x509_st **certificate)
{
    X509_free(*certificate);
    *certificate = NULL;
}

/* ---- the parts of a certificate ---- */

static int refuse(const char *why)
{
    return cluster_pem_fail(RAPAHUB_EINVAL, RULE, why);
}

/* Copies the one name that a certificate has beside its subject, if it is a URI of text. */
static bool copy_uri(const STACK_OF(GENERAL_NAME) * names, char to[CLUSTER_URI_SIZE_MAX])
{
    const GENERAL_NAME *name =
        sk_GENERAL_NAME_num(names) == 1 ? sk_GENERAL_NAME_value(names, 0) : NULL;
    const ASN1_IA5STRING *text;
    int size;

    if (!name || name->type != GEN_URI)
        return false;
    text = name->d.uniformResourceIdentifier;
    size = ASN1_STRING_length(text);
    if (size <= 0 || size >= CLUSTER_URI_SIZE_MAX ||
        memchr(ASN1_STRING_get0_data(text), 0, (size_t)size))
        return false;
    memcpy(to, ASN1_STRING_get0_data(text), (size_t)size);
    to[size] = 0;
    return true;
}

static int read_uri(const X509 *certificate, char to[CLUSTER_URI_SIZE_MAX])
{
    STACK_OF(GENERAL_NAME) *names =
        X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL); /* NULL if there are two */
    bool sound = names && copy_uri(names, to);

    GENERAL_NAMES_free(names);
    return sound ? 0 : refuse("the certificate has not one URI as its name");
}

/* The way in which all certificates of a cluster are made: version 3, P-256, SHA-256. */
static int check_form(X509 *certificate, bool authority)
{
    uint32_t flags = X509_get_extension_flags(certificate); /* looks at all extensions */
    int digest = NID_undef, cipher = NID_undef;

    if (X509_get_version(certificate) != X509_VERSION_3 || (flags & EXFLAG_INVALID) != 0 ||
        (flags & EXFLAG_CRITICAL) != 0)
        return refuse("the certificate is not one of version 3, or has unknown parts");
    if (X509_get_signature_info(certificate, &digest, &cipher, NULL, NULL) != 1 ||
        digest != NID_sha256 || cipher != NID_X9_62_id_ecPublicKey)
        return refuse("the certificate is not signed by ECDSA with SHA-256");
    if (!cluster_private_key_is_p256(X509_get0_pubkey(certificate)))
        return refuse("the key of the certificate is none of the curve P-256");
    if (((flags & EXFLAG_CA) != 0) != authority)
        return refuse(authority ? "the certificate is none of an authority"
                                : "the certificate is one of an authority");
    return 0;
}

static int read_serial(const X509 *certificate, uint8_t to[CLUSTER_CERTIFICATE_SERIAL_MAX],
                       size_t *size)
{
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
    bool sound = number && !BN_is_negative(number) && !BN_is_zero(number) &&
                 BN_num_bytes(number) <= CLUSTER_CERTIFICATE_SERIAL_MAX;

    *size = sound ? (size_t)BN_bn2bin(number, to) : 0;
    BN_free(number);
    return sound ? 0 : refuse("the certificate has no serial number of 1 to 20 bytes");
}

/* r[impl cluster.identity.certificate] */
int cluster_certificate_peer(struct x509_st *certificate, struct cluster_peer_name *out,
                             uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX], size_t *serial_size)
{
    char uri[CLUSTER_URI_SIZE_MAX];
    int r = check_form(certificate, false);

    if (r == 0)
        r = read_uri(certificate, uri);
    if (r == 0)
        r = read_serial(certificate, serial, serial_size);
    return r == 0 ? cluster_uri_parse(uri, out) : r;
}

int cluster_certificate_authority(struct x509_st *certificate, uint8_t uuid[CLUSTER_URI_UUID])
{
    char uri[CLUSTER_URI_SIZE_MAX];
    int r = check_form(certificate, true);

    if (r == 0)
        r = cluster_certificate_check_issuer(certificate, certificate);
    if (r == 0)
        r = read_uri(certificate, uri);
    return r == 0 ? cluster_uri_parse_authority(uri, uuid) : r;
}

/* ---- dates ---- */

static bool read_date(const ASN1_TIME *date, uint64_t *out)
{
    struct tm parts;
    time_t seconds;

    if (!date || ASN1_TIME_to_tm(date, &parts) != 1)
        return false;
    seconds = timegm(&parts);
    *out = (uint64_t)seconds;
    return seconds >= 0;
}

int cluster_certificate_dates(const struct x509_st *certificate, uint64_t *from_s,
                              uint64_t *until_s)
{
    if (!read_date(X509_get0_notBefore(certificate), from_s) ||
        !read_date(X509_get0_notAfter(certificate), until_s))
        return refuse("the certificate does not say when it is valid");
    return 0;
}

static int is_out_of_date(const char *what, uint64_t date_s, uint64_t now_s)
{
    time_t date = (time_t)date_s, now = (time_t)now_s;
    struct tm parts;
    char of[32] = "?", here[32] = "?";

    if (gmtime_r(&date, &parts))
        strftime(of, sizeof of, "%Y-%m-%d %H:%M:%S", &parts);
    if (gmtime_r(&now, &parts))
        strftime(here, sizeof here, "%Y-%m-%d %H:%M:%S", &parts);
    return rapahub_fail(RAPAHUB_EACCES, DATES,
                        "the certificate %s %s UTC, and the clock here says %s UTC", what, of,
                        here);
}

/* r[impl cluster.identity.dates] */
int cluster_certificate_check_dates(const struct x509_st *certificate, uint64_t now_s)
{
    uint64_t from_s, until_s;
    int r = cluster_certificate_dates(certificate, &from_s, &until_s);

    if (r == 0 && now_s < from_s)
        r = is_out_of_date("is valid only from", from_s, now_s);
    if (r == 0 && now_s > until_s)
        r = is_out_of_date("expired at", until_s, now_s);
    return r;
}

/* ---- to whom it belongs ---- */

int cluster_certificate_check_issuer(struct x509_st *certificate, struct x509_st *authority)
{
    if (X509_NAME_cmp(X509_get_issuer_name(certificate), X509_get_subject_name(authority)) != 0 ||
        X509_verify(certificate, X509_get0_pubkey(authority)) != 1)
        return cluster_pem_fail(RAPAHUB_EACCES, RULE,
                                "the authority has not signed the certificate");
    return 0;
}

int cluster_certificate_check_key(const struct x509_st *certificate, const struct evp_pkey_st *key)
{
    if (X509_check_private_key(certificate, key) != 1)
        return refuse("the private key is not that of the certificate");
    return 0;
}

int cluster_certificate_digest(const struct x509_st *certificate,
                               uint8_t to[CLUSTER_CERTIFICATE_DIGEST])
{
    unsigned int size = 0;

    if (X509_digest(certificate, EVP_sha256(), to, &size) != 1 ||
        size != CLUSTER_CERTIFICATE_DIGEST)
        return cluster_pem_fail(RAPAHUB_ENOMEM, "", "cannot make the digest of a certificate");
    return 0;
}

void cluster_certificate_serial_text(const uint8_t *serial, size_t size,
                                     char to[CLUSTER_CERTIFICATE_SERIAL_TEXT])
{
    to[0] = 0;
    for (size_t i = 0; i < size && i < CLUSTER_CERTIFICATE_SERIAL_MAX; i++)
        snprintf(to + 2 * i, 3, "%02x", serial[i]);
}
