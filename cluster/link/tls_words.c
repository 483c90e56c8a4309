/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/tls_words.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stddef.h>

#include <rapahub/error.h>

#define RULE_CERTIFICATE "cluster.link.certificate"
#define RULE_TLS         "cluster.link.tls"

/* A number, and words for it. */
struct words {
    long number;
    const char *text;
};

#define UNKNOWN_ISSUER "no authority that is trusted there has signed it"

/* Alerts, by which the other side says why it ends. */
static const struct words alerts[] = {{SSL3_AD_BAD_CERTIFICATE, "it is damaged, or not valid yet"},
                                      {SSL3_AD_UNSUPPORTED_CERTIFICATE, "it is of another kind"},
                                      {SSL3_AD_CERTIFICATE_REVOKED, "it has been revoked"},
                                      {SSL3_AD_CERTIFICATE_EXPIRED, "it has expired"},
                                      {SSL3_AD_CERTIFICATE_UNKNOWN, "the reason is not said"},
                                      {TLS1_AD_UNKNOWN_CA, UNKNOWN_ISSUER},
                                      {TLS1_AD_ACCESS_DENIED, "it gives no access"},
                                      {TLS1_AD_DECRYPT_ERROR, "it does not fit its key"},
                                      {TLS13_AD_CERTIFICATE_REQUIRED, "there was none"},
                                      {0, NULL}};

#define UNKNOWN_HERE "no authority that is trusted here has signed it"

/* Faults of the certificate of the other side. */
static const struct words faults[] = {
    {X509_V_ERR_CERT_HAS_EXPIRED, "it has expired"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "it is not valid yet; is a clock wrong?"},
    {X509_V_ERR_CERT_REVOKED, "it has been revoked"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, UNKNOWN_HERE},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, UNKNOWN_HERE},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, UNKNOWN_HERE},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, UNKNOWN_HERE},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, UNKNOWN_HERE},
    {X509_V_ERR_CERT_SIGNATURE_FAILURE, UNKNOWN_HERE},
    {0, NULL}};

static const char *find(const struct words *table, long number)
{
    for (; table->text; table++)
        if (table->number == number)
            return table->text;
    return NULL;
}

static int fail_of_theirs(long verified)
{
    const char *text = find(faults, verified);

    return rapahub_fail(RAPAHUB_EACCES, RULE_CERTIFICATE,
                        "the certificate of the other side is refused: %s",
                        text ? text : X509_verify_cert_error_string(verified));
}

int cluster_tls_words_fail(long verified, bool done)
{
    unsigned long error = ERR_peek_last_error();
    int reason = ERR_GET_REASON(error);
    const char *alert =
        reason > SSL_AD_REASON_OFFSET ? find(alerts, reason - SSL_AD_REASON_OFFSET) : NULL;
    const char *text = error != 0 ? ERR_reason_error_string(error) : NULL;

    if (reason == ERR_R_MALLOC_FAILURE)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for TLS");
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return fail_of_theirs(verified);
    if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
        return rapahub_fail(RAPAHUB_EACCES, RULE_CERTIFICATE, "the other side has no certificate");
    if (alert)
        return rapahub_fail(RAPAHUB_EACCES, RULE_CERTIFICATE,
                            "the other side refuses the certificate of this one: %s", alert);
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE_TLS, "%s: %s",
                        done ? "a record of TLS is refused"
                             : "the other side does not speak TLS 1.3",
                        text ? text : "the reason is not known");
}
