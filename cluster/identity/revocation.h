/* SPDX-License-Identifier: Apache-2.0 */
/* revocation: the serial numbers of certificates that are good no more. A set has one thread.
 */
#ifndef CLUSTER_IDENTITY_REVOCATION_H
#define CLUSTER_IDENTITY_REVOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/identity/certificate.h"

#define CLUSTER_REVOCATION_MAX 4096 /* numbers of a set */

struct cluster_revocation_serial {
    uint8_t bytes[CLUSTER_CERTIFICATE_SERIAL_MAX];
    size_t size;
};

struct cluster_revocation {               /* zeros: empty */
    struct cluster_revocation_serial *of; /* rising */
    size_t count, room;
};

void cluster_revocation_fini(struct cluster_revocation *revocation);

/* Adds a number; one that is there stays. RAPAHUB_EFULL, RAPAHUB_ENOMEM. */
int cluster_revocation_add(struct cluster_revocation *revocation,
                           const struct cluster_revocation_serial *serial);
bool cluster_revocation_has(const struct cluster_revocation *revocation, const uint8_t *serial,
                            size_t size);

/* Reads a number as people and certificates have it: hexadecimal digits, two a byte, in lower or
 * upper case. -EINVAL: it is none, or it begins with a byte 0. */
int cluster_revocation_parse(struct rapahub_string text, struct cluster_revocation_serial *out);

#endif
