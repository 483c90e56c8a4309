/* SPDX-License-Identifier: Apache-2.0 */
/* private_key: the keys of a cluster: of the curve P-256, and of no other kind. Any thread; a key
 * has one at a time.
 */
#ifndef CLUSTER_IDENTITY_PRIVATE_KEY_H
#define CLUSTER_IDENTITY_PRIVATE_KEY_H

#include <stdbool.h>

#include <rapahub/value.h>

#include "cluster/identity/pem.h"

struct evp_pkey_st;

/* Makes a key. RAPAHUB_ENOMEM, also where the system gives no random bytes. */
int cluster_private_key_make(struct evp_pkey_st **out);

/* Reads one in PEM, without a password. -EINVAL: it is none, or of another kind. */
int cluster_private_key_read(struct rapahub_bytes pem, struct evp_pkey_st **out);

/* Writes it; the text is to be wiped. */
int cluster_private_key_write(struct evp_pkey_st *key, struct cluster_pem *out);

/* Says whether a key, or the public half of one, is of the curve. */
bool cluster_private_key_is_p256(const struct evp_pkey_st *key);

/* For OWN: NULL is ignored. */
void cluster_private_key_release(struct evp_pkey_st **key);

#endif
