/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rapahub/error.h>

#define RULE "cluster.store.etcd.tls"
#define RECORDS                                                                       \
    ((size_t)64 << 10) /* bytes for the network that may wait before more are written \
                        */

struct cluster_etcd_tls {
    SSL *ssl;
    BIO *in, *out; /* both are in ssl */
    bool done;     /* the handshake has ended */
    bool heard;    /* something was read since */
};

/* ---- files ---- */

static int fail_memory(void)
{
    ERR_clear_error();
    return rapahub_fail(RAPAHUB_ENOMEM, "", "TLS to etcd: out of memory");
}

static int path_of(const char *folder, const char *name, char to[PATH_MAX])
{
    if (snprintf(to, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%s: the path is too long", folder);
    return 0;
}

static int refuse_file(const char *path)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    int r = rapahub_fail(RAPAHUB_EINVAL, RULE, "%s: %s", path, why ? why : "it cannot be used");

    ERR_clear_error();
    return r;
}

static int check_file(const char *path, bool secret)
{
    struct stat is;

    if (stat(path, &is) < 0)
        return rapahub_fail(-errno, RULE, "%s: it cannot be looked at", path);
    if (!S_ISREG(is.st_mode))
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "%s: it is no file", path);
    if (secret && (is.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return rapahub_fail(RAPAHUB_EACCES, RULE,
                            "%s: others may use this key; chmod 600 keeps it for its user", path);
    return 0;
}

/* A key with a password is refused: nothing here asks for one. */
static int no_password(char *to, int size, int writes, void *user)
{
    (void)to;
    (void)size;
    (void)writes;
    (void)user;
    return 0;
}

static int load(SSL_CTX *context, const char *folder)
{
    char path[PATH_MAX];
    int r = path_of(folder, "ca.pem", path);

    if (r == 0 && (r = check_file(path, false)) == 0 &&
        SSL_CTX_load_verify_locations(context, path, NULL) != 1)
        r = refuse_file(path);
    if (r == 0 && (r = path_of(folder, "client.pem", path)) == 0 &&
        (r = check_file(path, false)) == 0 &&
        SSL_CTX_use_certificate_chain_file(context, path) != 1)
        r = refuse_file(path);
    if (r == 0 && (r = path_of(folder, "client.key", path)) == 0 &&
        (r = check_file(path, true)) == 0 &&
        (SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM) != 1 ||
         SSL_CTX_check_private_key(context) != 1))
        r = refuse_file(path);
    return r;
}

/* r[impl cluster.store.etcd.tls] */
int cluster_etcd_tls_context(const char *folder, struct ssl_ctx_st **out)
{
    static const unsigned char protocols[] = "\2h2";
    int r;

    *out = SSL_CTX_new(TLS_client_method());
    if (!*out)
        return fail_memory();
    SSL_CTX_set_default_passwd_cb(*out, no_password);
    SSL_CTX_set_options(*out, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(*out, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(*out, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(*out, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_min_proto_version(*out, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_alpn_protos(*out, protocols, sizeof protocols - 1) != 0)
        r = fail_memory();
    else
        r = load(*out, folder);
    if (r < 0)
        cluster_etcd_tls_context_release(out);
    return r;
}

void cluster_etcd_tls_context_release(struct ssl_ctx_st **context)
{
    SSL_CTX_free(*context);
    *context = NULL;
}

/* ---- sessions ---- */

static bool set_host(SSL *ssl, const char *host)
{
    unsigned char number[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host, number) == 1 || inet_pton(AF_INET6, host, number) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 &&
           SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    (void *)(uintptr_t)host) == 1; /* its macro casts const away */
}

int cluster_etcd_tls_create(struct ssl_ctx_st *context, const char *host,
                            struct cluster_etcd_tls **out)
{
    struct cluster_etcd_tls *tls = calloc(1, sizeof *tls);

    *out = tls;
    if (!tls)
        return fail_memory();
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    tls->ssl = SSL_new(context);
    if (!tls->ssl || !tls->in || !tls->out) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        cluster_etcd_tls_release(out);
        return fail_memory();
    }
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_connect_state(tls->ssl);
    BIO_set_mem_eof_return(tls->in, -1); /* empty: more may come */
    if (set_host(tls->ssl, host))
        return 0;
    cluster_etcd_tls_release(out);
    return fail_memory();
}

void cluster_etcd_tls_release(struct cluster_etcd_tls **tls)
{
    if (!*tls)
        return;
    SSL_free((*tls)->ssl);
    free(*tls);
    *tls = NULL;
}

bool cluster_etcd_tls_is_done(const struct cluster_etcd_tls *tls)
{
    return tls->done;
}

bool cluster_etcd_tls_is_unheard(const struct cluster_etcd_tls *tls)
{
    return tls->done && !tls->heard;
}

int cluster_etcd_tls_feed(struct cluster_etcd_tls *tls, const uint8_t *bytes, size_t size)
{
    size_t n = 0;

    if (size == 0 || (BIO_write_ex(tls->in, bytes, size, &n) == 1 && n == size))
        return 0;
    return fail_memory();
}

size_t cluster_etcd_tls_take(struct cluster_etcd_tls *tls, uint8_t *to, size_t room)
{
    size_t n = 0;

    if (BIO_read_ex(tls->out, to, room, &n) != 1)
        return 0;
    return n;
}

/* ---- failures ---- */

static bool is_refusal(unsigned long error)
{
    int reason = ERR_GET_REASON(error);

    return reason == SSL_R_CERTIFICATE_VERIFY_FAILED ||
           reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED ||
           reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA || reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
           reason == SSL_R_TLSV1_ALERT_ACCESS_DENIED ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN ||
           reason == SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE;
}

/* r[impl cluster.store.etcd.tls] */
static int fail(struct cluster_etcd_tls *tls, int code)
{
    unsigned long error = ERR_peek_error();
    const char *why = ERR_reason_error_string(error);
    long verified = SSL_get_verify_result(tls->ssl);
    int r;

    if (code == SSL_ERROR_ZERO_RETURN)
        r = rapahub_fail(RAPAHUB_ECLOSED, "", "it has ended the session by TLS");
    else if (verified != X509_V_OK)
        r = rapahub_fail(RAPAHUB_EACCES, RULE, "its certificate is refused: %s",
                         X509_verify_cert_error_string(verified));
    else if (is_refusal(error))
        r = rapahub_fail(RAPAHUB_EACCES, RULE, "it refuses our certificate: %s", why ? why : "?");
    else
        r = rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "it does not speak TLS 1.3: %s", why ? why : "?");
    ERR_clear_error();
    return r;
}

static int check_protocol(struct cluster_etcd_tls *tls)
{
    const unsigned char *name;
    unsigned size;

    SSL_get0_alpn_selected(tls->ssl, &name, &size);
    if (size == 2 && memcmp(name, "h2", 2) == 0)
        return 0;
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "it speaks TLS, but not HTTP/2");
}

/* Returns 1: the handshake has ended; 0: it goes on. */
static int shake_hands(struct cluster_etcd_tls *tls)
{
    int n, code;

    if (tls->done)
        return 1;
    ERR_clear_error();
    n = SSL_do_handshake(tls->ssl);
    if (n == 1) {
        tls->done = true;
        n = check_protocol(tls);
        return n < 0 ? n : 1;
    }
    code = SSL_get_error(tls->ssl, n);
    return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE ? 0 : fail(tls, code);
}

ssize_t cluster_etcd_tls_read(struct cluster_etcd_tls *tls, uint8_t *to, size_t room)
{
    int r = shake_hands(tls), n, code;

    if (r <= 0)
        return r;
    ERR_clear_error();
    n = SSL_read(tls->ssl, to, room > INT_MAX ? INT_MAX : (int)room);
    tls->heard |= n > 0;
    if (n > 0)
        return n;
    code = SSL_get_error(tls->ssl, n);
    return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE ? 0 : fail(tls, code);
}

ssize_t cluster_etcd_tls_write(struct cluster_etcd_tls *tls, const void *bytes, size_t size)
{
    int r = shake_hands(tls), n, code;

    if (r <= 0 || size == 0 || BIO_ctrl_pending(tls->out) >= RECORDS)
        return r < 0 ? r : 0;
    ERR_clear_error();
    n = SSL_write(tls->ssl, bytes, size > RECORDS ? (int)RECORDS : (int)size);
    if (n > 0)
        return n;
    code = SSL_get_error(tls->ssl, n);
    return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE ? 0 : fail(tls, code);
}
