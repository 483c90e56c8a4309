/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rapahub/error.h>

#include "cluster/identity/certificate.h"
#include "cluster/link/tls_context.h"
#include "cluster/link/tls_words.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

struct cluster_tls {
    SSL *ssl;
    const struct cluster_tls_context *context;
    struct cluster_tls_options options;
    int fd;
    bool done;    /* the handshake has ended */
    bool judged;  /* and the name of the other side is as it must be */
    bool nobody;  /* or it has none, and need not have one */
    bool failed;  /* nothing goes through any more */
    bool more;    /* bytes may have been received that were not given out */
    bool eof;     /* the socket has given all */
    int io_error; /* the last one that the socket gave; 0: none */
    short wants;  /* the socket is to be ready for POLLIN or POLLOUT */
    struct cluster_peer_name peer;
    int failure; /* that ended the handshake; 0: none has */
    const char *rule;
    char why[200];
};

/* ---- the socket ---- */

static bool is_for_later(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

/* Returns what OpenSSL is to be told. */
static int note_io(BIO *bio, ssize_t n, int error, int retry)
{
    struct cluster_tls *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (n >= 0)
        return (int)n;
    if (is_for_later(error))
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    else
        tls->io_error = error;
    return -1;
}

static int read_socket(BIO *bio, char *to, int size)
{
    struct cluster_tls *tls = BIO_get_data(bio);
    ssize_t n;

    do
        n = recv(tls->fd, to, (size_t)size, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    tls->eof = n == 0;
    return note_io(bio, n, errno, BIO_FLAGS_READ);
}

static int write_socket(BIO *bio, const char *from, int size)
{
    const struct cluster_tls *tls = BIO_get_data(bio);
    ssize_t n;

    do
        n = send(tls->fd, from, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return note_io(bio, n, errno, BIO_FLAGS_WRITE);
}

static long control_socket(BIO *bio, int command, long number, void *pointer)
{
    const struct cluster_tls *tls = BIO_get_data(bio);

    (void)number, (void)pointer;
    if (command == BIO_CTRL_EOF)
        return tls->eof;
    return command == BIO_CTRL_FLUSH;
}

/* ---- certificates ---- */

static bool is_revoked(const struct cluster_tls *tls, X509 *certificate)
{
    const struct cluster_tls_options *options = &tls->options;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_peer_name name;
    size_t size;

    if (!options->hooks || cluster_certificate_peer(certificate, &name, serial, &size) < 0)
        return false; /* a name that is none is refused after the handshake */
    return options->hooks->is_revoked(options->user, serial, size);
}

/* r[impl cluster.link.revoked] */
bool cluster_tls_is_revoked(const struct cluster_tls *tls)
{
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);

    return tls->judged && certificate && is_revoked(tls, certificate);
}

/* OpenSSL has looked at signatures and dates. r[impl cluster.link.certificate] */
static int verify(int sound, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct cluster_tls *tls = SSL_get_app_data(ssl);

    if (sound && X509_STORE_CTX_get_error_depth(store) == 0 &&
        is_revoked(tls, X509_STORE_CTX_get_current_cert(store))) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED);
        return 0;
    }
    return sound;
}

static int refuse_peer(const char *why)
{
    return rapahub_fail(RAPAHUB_EACCES, "cluster.link.peer",
                        "the certificate of the other side is refused: %s", why);
}

/* r[impl cluster.link.peer] */
static int judge(struct cluster_tls *tls)
{
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    size_t size;

    tls->nobody = !certificate && tls->options.anonymous;
    if (tls->nobody)
        return 1;
    if (!certificate || cluster_certificate_peer(certificate, &tls->peer, serial, &size) < 0)
        return refuse_peer("it has no name of a cluster");
    if (!tls->context->pinned &&
        memcmp(tls->peer.uuid, tls->context->own.uuid, sizeof tls->peer.uuid) != 0)
        return refuse_peer("it is of another cluster");
    if (tls->options.side == CLUSTER_TLS_CLIENT && tls->peer.kind != CLUSTER_PEER_NODE)
        return refuse_peer("it is a client's, and a node was called");
    tls->judged = true;
    return 1;
}

/* ---- opened and closed ---- */

static const struct cluster_tls_context_parts parts = {read_socket, write_socket, control_socket,
                                                       verify};

int cluster_tls_open_pinned(const uint8_t digest[CLUSTER_CERTIFICATE_DIGEST],
                            struct cluster_tls_context **out)
{
    return cluster_tls_context_create_pinned(digest, &parts, out);
}

int cluster_tls_open(const char *folder, const char *name, struct cluster_tls_context **out)
{
    return cluster_tls_context_create(folder, name, &parts, out);
}

int cluster_tls_check_dates(const struct cluster_tls_context *context)
{
    return cluster_certificate_check_dates(SSL_CTX_get0_certificate(context->ssl),
                                           hub_clock_wall() / HUB_SECOND);
}

static int attach(struct cluster_tls *tls)
{
    BIO *bio = BIO_new(tls->context->socket);

    tls->ssl = SSL_new(tls->context->ssl);
    if (!bio || !tls->ssl || SSL_set_app_data(tls->ssl, tls) != 1) {
        BIO_free(bio);
        ERR_clear_error();
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a session of TLS");
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    if (tls->options.anonymous)
        SSL_set_verify(tls->ssl, SSL_VERIFY_PEER, verify);
    if (tls->options.side == CLUSTER_TLS_SERVER)
        SSL_set_accept_state(tls->ssl);
    else
        SSL_set_connect_state(tls->ssl);
    return 0;
}

int cluster_tls_create(const struct cluster_tls_context *context, int fd,
                       const struct cluster_tls_options *options, struct cluster_tls **out)
{
    OWN(cluster_tls) struct cluster_tls *tls = calloc(1, sizeof *tls);
    int r;

    if (!tls)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a session of TLS");
    tls->context = context;
    tls->options = *options;
    tls->fd = fd;
    tls->wants = options->side == CLUSTER_TLS_SERVER ? POLLIN : POLLOUT;
    r = attach(tls);
    if (r == 0)
        *out = TAKE(tls);
    return r;
}

/* The other side is told that nothing more comes, as far as the socket takes that now. */
void cluster_tls_release(struct cluster_tls **tls)
{
    struct cluster_tls *gone = *tls;

    *tls = NULL;
    if (!gone)
        return;
    if (gone->done && !gone->failed)
        (void)SSL_shutdown(gone->ssl);
    ERR_clear_error();
    SSL_free(gone->ssl);
    free(gone);
}

/* ---- how it goes on ---- */

static int fail_of_socket(const struct cluster_tls *tls)
{
    switch (tls->io_error) {
    case 0:
    case ECONNRESET:
    case EPIPE:
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the other side hung up%s",
                            tls->done ? "" : " before the end of the handshake");
    case ECONNREFUSED:
        return rapahub_fail(-ECONNREFUSED, "", "nobody listens there");
    case EHOSTUNREACH:
    case ENETUNREACH:
        return rapahub_fail(-tls->io_error, "", "there is no way to it");
    default:
        return rapahub_fail(-tls->io_error, "", "its socket failed, with error %d", tls->io_error);
    }
}

/* A handshake that has failed fails again in the same way. */
static int keep_failure(struct cluster_tls *tls, int code)
{
    if (!tls->done) {
        tls->failure = code;
        tls->rule = rapahub_last_error()->rule;
        snprintf(tls->why, sizeof tls->why, "%s", rapahub_last_error()->text);
    }
    return code;
}

/* Says what came of a step of OpenSSL that was not carried out. Returns 0: it is for later. */
static int settle(struct cluster_tls *tls, int result)
{
    int error = SSL_get_error(tls->ssl, result);

    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        tls->wants = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
        return 0;
    }
    tls->failed = error != SSL_ERROR_ZERO_RETURN;
    error = error == SSL_ERROR_SSL && !tls->eof && tls->io_error == 0
                ? cluster_tls_words_fail(SSL_get_verify_result(tls->ssl), tls->done)
                : fail_of_socket(tls);
    ERR_clear_error();
    return keep_failure(tls, error);
}

/* r[impl cluster.link.handshake] */
int cluster_tls_handshake(struct cluster_tls *tls)
{
    int result;

    if (tls->done)
        return tls->judged || tls->nobody ? 1 : judge(tls);
    if (tls->failure < 0)
        return rapahub_fail(tls->failure, tls->rule, "%s", tls->why);
    if (hub_clock_left(tls->options.deadline_ns) == 0)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.link.handshake",
                            "the handshake of TLS has not ended in time");
    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    if (result != 1)
        return settle(tls, result);
    tls->done = true;
    tls->more = true;
    tls->wants = POLLIN;
    return judge(tls);
}

short cluster_tls_events(const struct cluster_tls *tls)
{
    return tls->wants;
}

bool cluster_tls_can_speak(const struct cluster_tls *tls)
{
    return tls->done && !tls->failed;
}

bool cluster_tls_is_anonymous(const struct cluster_tls *tls)
{
    return tls->nobody;
}

const struct cluster_peer_name *cluster_tls_peer(const struct cluster_tls *tls)
{
    return &tls->peer;
}

/* ---- bytes ---- */

/* Bytes that OpenSSL has wait in it unseen by poll, so it is asked until it has none. */
static int receive(void *self, int fd, struct hub_received *received)
{
    struct cluster_tls *tls = self;
    int r = cluster_tls_handshake(tls);
    size_t size = 0, n;

    (void)fd;
    if (r <= 0)
        return r;
    tls->more = false;
    tls->wants = POLLIN;
    while (size < received->room) {
        ERR_clear_error();
        if (SSL_read_ex(tls->ssl, (char *)received->bytes + size, received->room - size, &n) == 1) {
            size += n;
            continue;
        }
        r = settle(tls, 0);
        return size > 0 ? (int)size : r;
    }
    tls->more = true;
    return (int)size;
}

static ssize_t send_bytes(void *self, int fd, const void *bytes, size_t size, const int *fds)
{
    struct cluster_tls *tls = self;
    short wanted = tls->wants;
    int r = cluster_tls_can_speak(tls) ? 1 : cluster_tls_handshake(tls);
    size_t n;

    (void)fd;
    if (r <= 0)
        return r;
    if (fds)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "descriptors do not go over the network");
    ERR_clear_error();
    if (SSL_write_ex(tls->ssl, bytes, size, &n) == 1)
        return (ssize_t)n;
    r = settle(tls, 0);
    tls->wants = wanted; /* while bytes wait the socket is polled for them anyway */
    return r;
}

static short events(const void *self, bool waits)
{
    const struct cluster_tls *tls = self;

    if (!tls->done)
        return tls->wants;
    return (short)(POLLIN | tls->wants | (waits ? POLLOUT : 0));
}

static uint64_t due(const void *self)
{
    const struct cluster_tls *tls = self;

    if (!tls->done)
        return tls->options.deadline_ns;
    return tls->more ? 0 : HUB_NEVER;
}

static void release(void *self)
{
    struct cluster_tls *tls = self;

    cluster_tls_release(&tls);
}

const struct cluster_transport_table cluster_tls_table = {receive, send_bytes, events, due,
                                                          release};
