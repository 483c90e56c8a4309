/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/tls_context.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/identity/certificate.h"
#include "cluster/identity/private_key.h"
#include "cluster/link/tls_pinned.h"
#include "hub/base/own.h"

#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define GROUPS  "X25519:P-256"

/* ---- files ---- */

struct file {
    char path[PATH_MAX];
    struct cluster_pem text;
};

/* Says the name of the file before the diagnosis. */
static int name_file(const struct file *file, int code)
{
    char why[256];

    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    return rapahub_fail(code, rapahub_last_error()->rule, "%s: %s", file->path, why);
}

/* r[impl cluster.link.key] */
static int check_file(const struct file *file, int fd, bool secret)
{
    struct stat is;

    if (fstat(fd, &is) < 0)
        return rapahub_fail(-errno, "", "%s: it cannot be looked at", file->path);
    if (!S_ISREG(is.st_mode) || is.st_size > CLUSTER_PEM_SIZE_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%s: it is no file of at most %d bytes", file->path,
                            CLUSTER_PEM_SIZE_MAX);
    if (secret && (is.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.link.key",
                            "%s: others may use this key; chmod 600 keeps it for its user",
                            file->path);
    return 0;
}

static int read_file(struct file *file, const char *folder, const char *name, const char *end)
{
    OWN(hub_fd) int fd = -1;
    ssize_t n;
    int r;

    if (snprintf(file->path, sizeof file->path, "%s/%s%s", folder, name, end) >=
        (int)sizeof file->path)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%s: the path is too long", folder);
    fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return rapahub_fail(-errno, "", "%s: it cannot be opened", file->path);
    r = check_file(file, fd, strcmp(end, ".key") == 0);
    if (r < 0)
        return r;
    n = read(fd, file->text.text, CLUSTER_PEM_SIZE_MAX);
    if (n < 0)
        return rapahub_fail(-errno, "", "%s: it cannot be read", file->path);
    file->text.size = (size_t)n;
    return 0;
}

static struct rapahub_bytes bytes_of(const struct file *file)
{
    return (struct rapahub_bytes){file->text.text, file->text.size};
}

/* ---- OpenSSL ---- */

static int no_memory(void)
{
    return cluster_pem_fail(RAPAHUB_ENOMEM, "", "TLS cannot be set up");
}

/* r[impl cluster.link.tls] */
static int set_up(SSL_CTX *ssl, const struct cluster_tls_context_parts *parts)
{
    char groups[] = GROUPS; /* the macro of OpenSSL casts const away */

    if (SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ssl, CIPHERS) != 1 || SSL_CTX_set1_groups_list(ssl, groups) != 1 ||
        SSL_CTX_set_num_tickets(ssl, 0) != 1 || SSL_CTX_set_max_early_data(ssl, 0) != 1)
        return no_memory();
    SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, parts->verify);
    SSL_CTX_set_verify_depth(ssl, 1); /* an authority of the cluster signs each by itself */
    return 0;
}

static int make_socket(struct cluster_tls_context *context,
                       const struct cluster_tls_context_parts *parts)
{
    context->socket = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "rapahub");
    if (!context->socket || BIO_meth_set_read(context->socket, parts->read) != 1 ||
        BIO_meth_set_write(context->socket, parts->write) != 1 ||
        BIO_meth_set_ctrl(context->socket, parts->control) != 1)
        return no_memory();
    return 0;
}

/* ---- authorities, and the own certificate ---- */

static int trust_one(SSL_CTX *ssl, const struct file *file, X509 *authority, X509 *own)
{
    uint8_t uuid[CLUSTER_URI_UUID];
    int r = cluster_certificate_authority(authority, uuid);

    if (r < 0)
        return name_file(file, r);
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), authority) != 1)
        return no_memory();
    if (cluster_certificate_check_issuer(own, authority) == 0)
        return 1;
    rapahub_clear_error();
    return 0;
}

/* The own certificate is to be of one of those that are trusted. */
static int trust(SSL_CTX *ssl, const struct file *file, X509 *own)
{
    X509 *authorities[CLUSTER_CERTIFICATE_ANCHORS] = {NULL};
    int count =
        cluster_certificate_read_all(bytes_of(file), authorities, CLUSTER_CERTIFICATE_ANCHORS);
    int r = count < 0 ? name_file(file, count) : 0, signer = 0;

    for (int i = 0; i < count && r >= 0; i++) {
        r = trust_one(ssl, file, authorities[i], own);
        signer += r == 1 ? 1 : 0;
    }
    for (unsigned i = 0; i < CLUSTER_CERTIFICATE_ANCHORS; i++)
        cluster_certificate_release(&authorities[i]);
    if (r < 0)
        return r;
    return signer > 0
               ? 0
               : rapahub_fail(RAPAHUB_EACCES, "cluster.link.certificate",
                              "%s: the certificate beside it is of another authority", file->path);
}

static int read_key(const char *folder, const char *name, struct file *file, EVP_PKEY **out)
{
    int r = read_file(file, folder, name, ".key");

    if (r < 0)
        return r;
    r = cluster_private_key_read(bytes_of(file), out);
    cluster_pem_wipe(&file->text);
    return r < 0 ? name_file(file, r) : 0;
}

static int use_key(SSL_CTX *ssl, const char *folder, const char *name, X509 *own)
{
    OWN(cluster_private_key) EVP_PKEY *key = NULL;
    struct file file;
    int r = read_key(folder, name, &file, &key);

    if (r < 0)
        return r;
    r = cluster_certificate_check_key(own, key);
    if (r < 0)
        return name_file(&file, r);
    return SSL_CTX_use_certificate(ssl, own) == 1 && SSL_CTX_use_PrivateKey(ssl, key) == 1
               ? 0
               : no_memory();
}

static int read_own(const char *folder, const char *name, struct file *file, X509 **own,
                    struct cluster_peer_name *out)
{
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    size_t serial_size;
    int r = read_file(file, folder, name, ".pem");

    if (r < 0)
        return r;
    r = cluster_certificate_read(bytes_of(file), own);
    if (r == 0)
        r = cluster_certificate_peer(*own, out, serial, &serial_size);
    return r < 0 ? name_file(file, r) : 0;
}

static int read_identity(struct cluster_tls_context *context, const char *folder, const char *name)
{
    OWN(cluster_certificate) X509 *own = NULL;
    struct file file;
    int r = read_own(folder, name, &file, &own, &context->own);

    if (r == 0)
        r = read_file(&file, folder, "ca", ".pem");
    if (r == 0)
        r = trust(context->ssl, &file, own);
    return r < 0 ? r : use_key(context->ssl, folder, name, own);
}

static int make(const struct cluster_tls_context_parts *parts, struct cluster_tls_context **out)
{
    struct cluster_tls_context *context = calloc(1, sizeof *context);
    int r;

    *out = context;
    if (context)
        context->ssl = SSL_CTX_new(TLS_method());
    if (!context || !context->ssl)
        return no_memory();
    r = set_up(context->ssl, parts);
    return r == 0 ? make_socket(context, parts) : r;
}

int cluster_tls_context_create_pinned(const uint8_t digest[CLUSTER_CERTIFICATE_DIGEST],
                                      const struct cluster_tls_context_parts *parts,
                                      struct cluster_tls_context **out)
{
    OWN(cluster_tls_context) struct cluster_tls_context *context = NULL;
    int r = make(parts, &context);

    ERR_clear_error();
    if (r < 0)
        return r;
    context->pinned = true;
    memcpy(context->digest, digest, sizeof context->digest);
    SSL_CTX_set_cert_verify_callback(context->ssl, cluster_tls_pinned_verify, context->digest);
    *out = TAKE(context);
    return 0;
}

int cluster_tls_context_create(const char *folder, const char *name,
                               const struct cluster_tls_context_parts *parts,
                               struct cluster_tls_context **out)
{
    OWN(cluster_tls_context) struct cluster_tls_context *context = NULL;
    int r = make(parts, &context);

    if (r == 0)
        r = read_identity(context, folder, name);
    ERR_clear_error();
    if (r == 0)
        *out = TAKE(context);
    return r;
}

int cluster_tls_context_renew(struct cluster_tls_context *context, const char *folder,
                              const char *name)
{
    OWN(cluster_certificate) X509 *own = NULL;
    struct cluster_peer_name of = {0};
    struct file file;
    int r = read_own(folder, name, &file, &own, &of);

    if (r == 0 && (of.kind != context->own.kind || of.node != context->own.node ||
                   memcmp(of.uuid, context->own.uuid, sizeof of.uuid) != 0))
        r = rapahub_fail(RAPAHUB_EACCES, "cluster.link.certificate",
                         "%s: it names another side than before", file.path);
    if (r == 0)
        r = use_key(context->ssl, folder, name, own);
    ERR_clear_error();
    return r;
}

void cluster_tls_context_release(struct cluster_tls_context **context)
{
    struct cluster_tls_context *gone = *context;

    *context = NULL;
    if (!gone)
        return;
    SSL_CTX_free(gone->ssl);
    BIO_meth_free(gone->socket);
    free(gone);
}
