/* SPDX-License-Identifier: Apache-2.0 */
/* pem: blocks of DER between lines of text, as certificates, requests and keys are kept. All that
 * is read was written by others: a text that is longer than CLUSTER_PEM_SIZE_MAX, that has a
 * header, or anything but blocks and white space, is refused. Any thread.
 */
#ifndef CLUSTER_IDENTITY_PEM_H
#define CLUSTER_IDENTITY_PEM_H

#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#define CLUSTER_PEM_SIZE_MAX 4096 /* bytes of a text that is read or written */

#define CLUSTER_PEM_CERTIFICATE "CERTIFICATE"
#define CLUSTER_PEM_REQUEST     "CERTIFICATE REQUEST"
#define CLUSTER_PEM_KEY         "PRIVATE KEY"

/* A text with its size. Wipe it if it has a key. */
struct cluster_pem {
    char text[CLUSTER_PEM_SIZE_MAX + 1]; /* ended by a 0 */
    size_t size;
};

/* Bytes of a block, to be freed by cluster_pem_release_der, which wipes them. */
struct cluster_pem_der {
    uint8_t *data;
    size_t size;
};

/* Takes the next block off a text, or the one that is all of it. -EINVAL: there is none with this
 * label, or more is there than may be. */
int cluster_pem_next(struct rapahub_bytes *text, const char *label, struct cluster_pem_der *out);
int cluster_pem_read(struct rapahub_bytes text, const char *label, struct cluster_pem_der *out);
void cluster_pem_release_der(struct cluster_pem_der *der);

/* Writes a block. RAPAHUB_ENOMEM; -EMSGSIZE: it is too long for a text. */
int cluster_pem_write(const char *label, const uint8_t *der, size_t size, struct cluster_pem *out);

/* Overwrites a text that has a key. */
void cluster_pem_wipe(struct cluster_pem *pem);

/* Writes the diagnosis "WHAT: why", with the reason that OpenSSL gave, forgets that, and returns
 * `code`: a reason that is left would be taken for one of a later failure. */
int cluster_pem_fail(int code, const char *rule, const char *what);

#endif
