/* SPDX-License-Identifier: Apache-2.0 */
/* keyring: the keys with which the nodes of a cluster seal their datagrams. A process without them
 * can neither read a datagram nor make one, and none is taken twice.
 *
 * Each node derives a key of its own from each key of the ring, by its number and a random salt of
 * each of its starts; so two nodes, and two starts of one, never use a nonce twice with one key.
 */
#ifndef CLUSTER_LINK_KEYRING_H
#define CLUSTER_LINK_KEYRING_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/wire/datagram.h"

#define CLUSTER_KEYRING_KEY   32 /* bytes of a key */
#define CLUSTER_KEYRING_MAX   4  /* keys at once */
#define CLUSTER_KEYRING_PEERS 16384

struct cluster_keyring;

struct cluster_keyring_figures {
    uint64_t sealed, opened;
    uint64_t malformed;   /* no datagrams */
    uint64_t unknown_key; /* sealed with a key that is not in the ring */
    uint64_t forged;      /* not sealed with the key that they name */
    uint64_t replayed;    /* taken before, or too old */
    uint64_t earlier;     /* their start is before the one that is known */
};

/* Makes the ring of a node, without a key. The salt is random. -ENOMEM. Owner's thread. */
int cluster_keyring_create(const uint8_t cluster[16], uint32_t node,
                           const uint8_t salt[CLUSTER_DATAGRAM_SALT], struct cluster_keyring **out);
void cluster_keyring_release(struct cluster_keyring **ring);

/* Adds a key, which is copied and cleared with the ring. The first one is used at once. The same
 * key under its number again is no failure; RAPAHUB_EEXIST: another one has the number.
 * RAPAHUB_EFULL. */
int cluster_keyring_install(struct cluster_keyring *ring, uint8_t number,
                            const uint8_t key[CLUSTER_KEYRING_KEY]);

/* Seals with this key from now on; removes one that is not used so. RAPAHUB_EINVAL: the ring has
 * none of this number, or it is in use. */
int cluster_keyring_use(struct cluster_keyring *ring, uint8_t number);
int cluster_keyring_remove(struct cluster_keyring *ring, uint8_t number);

/* Seals a payload of cluster_datagram_write; returns the bytes of the datagram. RAPAHUB_EINVAL:
 * there is no key. RAPAHUB_EFULL: the counter of this start has no more numbers. */
int cluster_keyring_seal(struct cluster_keyring *ring, const uint8_t *payload, size_t size,
                         uint8_t to[CLUSTER_DATAGRAM_MAX]);

/* Opens a datagram that anybody may have sent; returns the bytes of the payload, which the node
 * `*from` sealed. RAPAHUB_EPROTOCOL: it is none, and was counted. */
int cluster_keyring_open(struct cluster_keyring *ring, const uint8_t *datagram, size_t size,
                         uint32_t *from, uint8_t payload[CLUSTER_DATAGRAM_PAYLOAD_MAX]);

struct cluster_keyring_figures cluster_keyring_figures(const struct cluster_keyring *ring);

#endif
