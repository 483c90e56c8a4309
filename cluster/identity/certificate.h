/* SPDX-License-Identifier: Apache-2.0 */
/* certificate: certificates of nodes, clients and authorities of a cluster. Whatever is read was
 * written by others, and is checked before it is used. Any thread; a certificate that several
 * threads have is only read.
 */
#ifndef CLUSTER_IDENTITY_CERTIFICATE_H
#define CLUSTER_IDENTITY_CERTIFICATE_H

#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/identity/pem.h"
#include "cluster/identity/uri.h"

#define CLUSTER_CERTIFICATE_SERIAL_MAX  20 /* bytes of a serial number */
#define CLUSTER_CERTIFICATE_SERIAL_TEXT (2 * CLUSTER_CERTIFICATE_SERIAL_MAX + 1)
#define CLUSTER_CERTIFICATE_DIGEST      32
#define CLUSTER_CERTIFICATE_ANCHORS     2 /* authorities that a node trusts at a time */

struct x509_st;
struct evp_pkey_st;

/* Reads the one certificate of a text, or all of them, as many as `most`; returns their number.
 * -EINVAL: a text of something else, or of more. The caller releases them. */
int cluster_certificate_read(struct rapahub_bytes pem, struct x509_st **out);
int cluster_certificate_read_all(struct rapahub_bytes pem, struct x509_st **out, size_t most);
int cluster_certificate_write(const struct x509_st *certificate, struct cluster_pem *out);

/* Checks what a certificate of a node or of a client must be but for its signature and its dates,
 * and gives the name and the serial number in it. -EINVAL. */
int cluster_certificate_peer(struct x509_st *certificate, struct cluster_peer_name *out,
                             uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX], size_t *serial_size);

/* The same for the certificate of an authority; its signature is its own. */
int cluster_certificate_authority(struct x509_st *certificate, uint8_t uuid[CLUSTER_URI_UUID]);

/* Gives the seconds since 1970 from which on, and up to which, it is valid. -EINVAL: it does not
 * say. */
int cluster_certificate_dates(const struct x509_st *certificate, uint64_t *from_s,
                              uint64_t *until_s);

/* Checks that it is valid now. RAPAHUB_EACCES: it has expired, or is not valid yet. */
int cluster_certificate_check_dates(const struct x509_st *certificate, uint64_t now_s);

/* Checks that the authority has signed it. RAPAHUB_EACCES: another one has, or none. */
int cluster_certificate_check_issuer(struct x509_st *certificate, struct x509_st *authority);

/* Checks that it is this key's. -EINVAL. */
int cluster_certificate_check_key(const struct x509_st *certificate, const struct evp_pkey_st *key);

/* SHA-256 of its DER, by which people tell that they have the right one. */
int cluster_certificate_digest(const struct x509_st *certificate,
                               uint8_t to[CLUSTER_CERTIFICATE_DIGEST]);

/* Writes a serial number as the metastore has it: hexadecimal digits, two a byte. */
void cluster_certificate_serial_text(const uint8_t *serial, size_t size,
                                     char to[CLUSTER_CERTIFICATE_SERIAL_TEXT]);

/* For OWN: NULL is ignored. */
void cluster_certificate_release(struct x509_st **certificate);

#endif
