/* SPDX-License-Identifier: Apache-2.0 */
/* node_tls: TLS 1.3 by OpenSSL alone, there and back between two processes over TCP: the base for a
 * client's call over the network. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/place.h"
#include "tests/bench/stage.h"

#define SIZE 32
#define DAY  86400

/* ---- both sides ---- */

static SSL_CTX *make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());

    if (context && (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
                    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1)) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

static bool give(SSL *ssl, const char *from)
{
    return SSL_write(ssl, from, SIZE) == SIZE;
}

static bool take(SSL *ssl, char *to)
{
    int done = 0, n = 1;

    for (; done < SIZE && n > 0; done += n > 0 ? n : 0)
        n = SSL_read(ssl, to + done, SIZE - done);
    return done == SIZE;
}

/* ---- the other side ---- */

static bool sign(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    bool made = key && certificate && X509_gmtime_adj(X509_getm_notBefore(certificate), 0) &&
                X509_gmtime_adj(X509_getm_notAfter(certificate), DAY) &&
                X509_set_pubkey(certificate, key) == 1 &&
                X509_sign(certificate, key, EVP_sha256()) > 0 &&
                SSL_CTX_use_certificate(context, certificate) == 1 &&
                SSL_CTX_use_PrivateKey(context, key) == 1;

    X509_free(certificate);
    EVP_PKEY_free(key);
    return made;
}

static int answer(int listener)
{
    SSL_CTX *context = make_context();
    SSL *ssl = context && sign(context) ? SSL_new(context) : NULL;
    int fd = accept(listener, NULL, NULL), on = 1;
    char bytes[SIZE];

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_accept(ssl) != 1)
        return 1;
    while (take(ssl, bytes) && give(ssl, bytes))
        ;
    return 0;
}

/* ---- this side ---- */

struct ping {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
    pid_t peer;
    char bytes[SIZE];
};

static int once_ping(void *user)
{
    struct ping *ping = user;

    return give(ping->ssl, ping->bytes) && take(ping->ssl, ping->bytes) ? 0 : -EPIPE;
}

static int start_peer(struct ping *ping, struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0 || bind(listener, (void *)address, size) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (void *)address, &size) < 0)
        return -errno;
    ping->peer = fork();
    if (ping->peer == 0) {
        (void)place_pin(0, 1);
        _exit(answer(listener));
    }
    close(listener);
    return ping->peer < 0 ? -errno : 0;
}

static int begin(struct ping *ping)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, r = start_peer(ping, &address);

    if (r < 0)
        return r;
    (void)place_pin(0, 0);
    ping->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ping->fd < 0 || connect(ping->fd, (void *)&address, sizeof address) < 0)
        return -errno;
    (void)setsockopt(ping->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ping->context = make_context();
    ping->ssl = ping->context ? SSL_new(ping->context) : NULL;
    return ping->ssl && SSL_set_fd(ping->ssl, ping->fd) == 1 && SSL_connect(ping->ssl) == 1
               ? 0
               : -EPROTO;
}

static void end(struct ping *ping)
{
    place_end();
    SSL_free(ping->ssl);
    SSL_CTX_free(ping->context);
    if (ping->fd >= 0)
        close(ping->fd);
    if (ping->peer > 0) {
        kill(ping->peer, SIGKILL);
        waitpid(ping->peer, NULL, 0);
    }
}

static int there_and_back(const struct suite_subject *subject, const struct suite_options *options,
                          struct trial *out)
{
    struct ping ping = {.fd = -1};
    const struct trial_plan plan = {.once = once_ping, .user = &ping, .ms = options->trial_ms};
    int r = place_cpus() < 2 ? stage_not_here(out, "needs two CPUs") : begin(&ping);

    (void)subject;
    if (r == 0)
        r = trial_run(&plan, out);
    end(&ping);
    return r < 0 ? stage_failed("TLS", r) : r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject node_tls_subjects[] = {
    {"tls-32", "bare TLS 1.3 there and back", there_and_back, SUITE_SLEEP, SUITE_CROSS, 0, SIZE, 0,
     0},
    {0},
};
