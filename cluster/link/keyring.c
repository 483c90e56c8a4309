/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/keyring.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/id_map.h"

#define RULE   "cluster.swim.keys"
#define NONCE  12
#define WINDOW 64 /* counters before the last one of which each is known to have come or not */
#define INFO   "swim"

struct key {
    bool used; /* the place is */
    uint8_t number;
    uint8_t bytes[CLUSTER_KEYRING_KEY];
    uint8_t own[CLUSTER_KEYRING_KEY]; /* derived for this node */
};

/* Another node in one of its starts. */
struct peer {
    uint8_t salt[CLUSTER_DATAGRAM_SALT];
    uint64_t session;
    uint64_t last, seen; /* the largest counter, and a bit for each of those before it */
    struct {
        uint8_t number;
        bool known;
        uint8_t bytes[CLUSTER_KEYRING_KEY];
    } derived[CLUSTER_KEYRING_MAX]; /* by the place of the key in the ring */
};

struct cluster_keyring {
    uint8_t cluster[16];
    uint32_t node;
    uint8_t salt[CLUSTER_DATAGRAM_SALT];
    uint64_t counter;
    struct key keys[CLUSTER_KEYRING_MAX];
    struct key *sealing; /* NULL: there is no key */
    struct hub_id_map *peers;
    EVP_CIPHER_CTX *context;
    EVP_CIPHER *cipher;
    EVP_KDF *kdf;
    struct cluster_keyring_figures figures;
};

/* ---- made ---- */

int cluster_keyring_create(const uint8_t cluster[16], uint32_t node,
                           const uint8_t salt[CLUSTER_DATAGRAM_SALT], struct cluster_keyring **out)
{
    struct cluster_keyring *ring = calloc(1, sizeof *ring);

    *out = ring;
    if (ring) {
        memcpy(ring->cluster, cluster, sizeof ring->cluster);
        memcpy(ring->salt, salt, sizeof ring->salt);
        ring->node = node;
        ring->context = EVP_CIPHER_CTX_new();
        ring->cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
        ring->kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    }
    if (ring && ring->context && ring->cipher && ring->kdf &&
        hub_id_map_create(CLUSTER_KEYRING_PEERS, &ring->peers) == 0)
        return 0;
    cluster_keyring_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the keys of datagrams");
}

static void free_peer(void *user, uint64_t node, void *peer)
{
    (void)user;
    (void)node;
    OPENSSL_clear_free(peer, sizeof(struct peer));
}

void cluster_keyring_release(struct cluster_keyring **ring)
{
    if (!*ring)
        return;
    if ((*ring)->peers)
        hub_id_map_each((*ring)->peers, free_peer, NULL);
    hub_id_map_release(&(*ring)->peers);
    EVP_CIPHER_CTX_free((*ring)->context);
    EVP_CIPHER_free((*ring)->cipher);
    EVP_KDF_free((*ring)->kdf);
    OPENSSL_cleanse(*ring, sizeof **ring);
    free(*ring);
    *ring = NULL;
}

/* ---- keys ---- */

/* The key of a node in one of its starts. r[impl cluster.swim.keys] */
static int derive(const struct cluster_keyring *ring, const struct key *key, uint32_t node,
                  const uint8_t *salt, uint8_t out[CLUSTER_KEYRING_KEY])
{
    uint8_t info[sizeof INFO - 1 + sizeof ring->cluster + sizeof node];
    uint8_t secret[CLUSTER_KEYRING_KEY], with[CLUSTER_DATAGRAM_SALT];
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(ring->kdf);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char[]){"SHA256"}, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret, sizeof secret),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, with, CLUSTER_DATAGRAM_SALT),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, sizeof info),
        OSSL_PARAM_construct_end()};
    int good;

    memcpy(secret, key->bytes, sizeof secret);
    memcpy(with, salt, sizeof with);
    memcpy(info, INFO, sizeof INFO - 1);
    memcpy(info + sizeof INFO - 1, ring->cluster, sizeof ring->cluster);
    memcpy(info + sizeof info - sizeof node, &node, sizeof node);
    good = context ? EVP_KDF_derive(context, out, CLUSTER_KEYRING_KEY, params) : 0;
    EVP_KDF_CTX_free(context);
    OPENSSL_cleanse(secret, sizeof secret);
    return good == 1 ? 0 : rapahub_fail(RAPAHUB_ENOMEM, RULE, "a key could not be derived");
}

static struct key *find(struct cluster_keyring *ring, uint8_t number)
{
    for (size_t i = 0; i < CLUSTER_KEYRING_MAX; i++)
        if (ring->keys[i].used && ring->keys[i].number == number)
            return &ring->keys[i];
    return NULL;
}

int cluster_keyring_install(struct cluster_keyring *ring, uint8_t number,
                            const uint8_t key[CLUSTER_KEYRING_KEY])
{
    struct key *place = find(ring, number);
    int r;

    if (place)
        return CRYPTO_memcmp(place->bytes, key, CLUSTER_KEYRING_KEY) == 0
                   ? 0
                   : rapahub_fail(RAPAHUB_EEXIST, RULE, "another key has number %u", number);
    for (size_t i = 0; i < CLUSTER_KEYRING_MAX && !place; i++)
        if (!ring->keys[i].used)
            place = &ring->keys[i];
    if (!place)
        return rapahub_fail(RAPAHUB_EFULL, RULE, "a ring has at most %d keys", CLUSTER_KEYRING_MAX);
    memcpy(place->bytes, key, CLUSTER_KEYRING_KEY);
    r = derive(ring, place, ring->node, ring->salt, place->own);
    if (r < 0)
        return r;
    place->number = number;
    place->used = true;
    if (!ring->sealing)
        ring->sealing = place;
    return 0;
}

int cluster_keyring_use(struct cluster_keyring *ring, uint8_t number)
{
    struct key *key = find(ring, number);

    if (!key)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "the ring has no key with number %u", number);
    ring->sealing = key;
    return 0;
}

/* A later key in this place is another one, even under the same number. */
static void forget_derived(void *place, uint64_t node, void *peer)
{
    (void)node;
    OPENSSL_cleanse(&((struct peer *)peer)->derived[*(size_t *)place],
                    sizeof((struct peer *)peer)->derived[0]);
}

int cluster_keyring_remove(struct cluster_keyring *ring, uint8_t number)
{
    struct key *key = find(ring, number);
    size_t place;

    if (!key || key == ring->sealing)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            key ? "key %u is in use: use another one first"
                                : "the ring has no key with number %u",
                            number);
    place = (size_t)(key - ring->keys);
    hub_id_map_each(ring->peers, forget_derived, &place);
    OPENSSL_cleanse(key, sizeof *key);
    return 0;
}

/* ---- sealed ---- */

static void nonce_of(uint64_t counter, uint8_t nonce[NONCE])
{
    memset(nonce, 0, NONCE);
    memcpy(nonce, &counter, sizeof counter);
}

int cluster_keyring_seal(struct cluster_keyring *ring, const uint8_t *payload, size_t size,
                         uint8_t to[CLUSTER_DATAGRAM_MAX])
{
    struct cluster_datagram_clear clear = {.size = (uint16_t)(size + CLUSTER_DATAGRAM_TAG),
                                           .node = ring->node};
    uint8_t nonce[NONCE], *sealed = to + CLUSTER_DATAGRAM_CLEAR;
    int written = 0, rest = 0;

    if (!ring->sealing || size < CLUSTER_DATAGRAM_HEAD || size > CLUSTER_DATAGRAM_PAYLOAD_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "there is no key, or no such payload");
    if (ring->counter == UINT64_MAX)
        return rapahub_fail(RAPAHUB_EFULL, RULE, "this start has sealed all it may");
    clear.key = ring->sealing->number;
    clear.counter = ++ring->counter;
    memcpy(clear.salt, ring->salt, sizeof clear.salt);
    cluster_datagram_write_clear(&clear, to);
    nonce_of(clear.counter, nonce);
    if (EVP_EncryptInit_ex2(ring->context, ring->cipher, ring->sealing->own, nonce, NULL) != 1 ||
        EVP_EncryptUpdate(ring->context, NULL, &rest, to, CLUSTER_DATAGRAM_CLEAR) != 1 ||
        EVP_EncryptUpdate(ring->context, sealed, &written, payload, (int)size) != 1 ||
        EVP_EncryptFinal_ex(ring->context, sealed + written, &rest) != 1 ||
        EVP_CIPHER_CTX_ctrl(ring->context, EVP_CTRL_AEAD_GET_TAG, CLUSTER_DATAGRAM_TAG,
                            sealed + size) != 1)
        return rapahub_fail(RAPAHUB_ENOMEM, RULE, "a datagram could not be sealed");
    ring->figures.sealed++;
    return (int)(CLUSTER_DATAGRAM_CLEAR + size + CLUSTER_DATAGRAM_TAG);
}

/* ---- opened ---- */

static int refuse(uint64_t *figure, const char *why)
{
    ++*figure;
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "%s", why);
}

static bool unseal(struct cluster_keyring *ring, const uint8_t *key, const uint8_t *datagram,
                   const struct cluster_datagram_clear *clear, uint8_t *payload)
{
    const uint8_t *sealed = datagram + CLUSTER_DATAGRAM_CLEAR;
    int size = clear->size - CLUSTER_DATAGRAM_TAG, written = 0, rest = 0;
    uint8_t nonce[NONCE], tag[CLUSTER_DATAGRAM_TAG];

    nonce_of(clear->counter, nonce);
    memcpy(tag, sealed + size, sizeof tag);
    return EVP_DecryptInit_ex2(ring->context, ring->cipher, key, nonce, NULL) == 1 &&
           EVP_DecryptUpdate(ring->context, NULL, &rest, datagram, CLUSTER_DATAGRAM_CLEAR) == 1 &&
           EVP_DecryptUpdate(ring->context, payload, &written, sealed, size) == 1 &&
           EVP_CIPHER_CTX_ctrl(ring->context, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) == 1 &&
           EVP_DecryptFinal_ex(ring->context, payload + written, &rest) == 1;
}

/* The key of the sender: that which is known of this start of it, or derived anew into `aside`. */
static const uint8_t *key_of(struct cluster_keyring *ring, struct peer *peer, const struct key *key,
                             const struct cluster_datagram_clear *clear, uint8_t *aside)
{
    size_t place = (size_t)(key - ring->keys);

    if (peer && memcmp(peer->salt, clear->salt, sizeof peer->salt) == 0) {
        if (!peer->derived[place].known || peer->derived[place].number != key->number) {
            if (derive(ring, key, clear->node, clear->salt, peer->derived[place].bytes) < 0)
                return NULL;
            peer->derived[place].number = key->number;
            peer->derived[place].known = true;
        }
        return peer->derived[place].bytes;
    }
    return derive(ring, key, clear->node, clear->salt, aside) < 0 ? NULL : aside;
}

/* Says whether the counter comes for the first time, and notes it. */
static bool is_first(struct peer *peer, uint64_t counter)
{
    uint64_t before;

    if (counter > peer->last) {
        uint64_t ahead = counter - peer->last;

        peer->seen = ahead < WINDOW ? peer->seen << ahead : 0;
        if (ahead <= WINDOW && peer->last > 0)
            peer->seen |= UINT64_C(1) << (ahead - 1);
        peer->last = counter;
        return true;
    }
    before = peer->last - counter;
    if (before == 0 || before > WINDOW || (peer->seen >> (before - 1) & 1) != 0)
        return false;
    peer->seen |= UINT64_C(1) << (before - 1);
    return true;
}

/* Begins to know a start of a node, of which this datagram is proof. */
static struct peer *begin(struct cluster_keyring *ring, struct peer *peer,
                          const struct cluster_datagram_clear *clear, uint64_t session)
{
    if (!peer) {
        peer = calloc(1, sizeof *peer);
        if (peer && hub_id_map_put(ring->peers, clear->node, peer) < 0) {
            free(peer);
            peer = NULL;
        }
        if (!peer)
            return NULL;
    }
    OPENSSL_cleanse(peer, sizeof *peer);
    memcpy(peer->salt, clear->salt, sizeof peer->salt);
    peer->session = session;
    return peer;
}

/* Takes a datagram that is proven. A recording of an earlier start of a node names an earlier
 * session. */
static int admit(struct cluster_keyring *ring, struct peer *peer,
                 const struct cluster_datagram_clear *clear, const uint8_t *payload)
{
    uint64_t session;

    memcpy(&session, payload + CLUSTER_DATAGRAM_SESSION, sizeof session);
    if (!peer || memcmp(peer->salt, clear->salt, sizeof peer->salt) != 0) {
        if (peer && session <= peer->session)
            return refuse(&ring->figures.earlier, "it is of an earlier start of its node");
        peer = begin(ring, peer, clear, session);
        if (!peer)
            return rapahub_fail(RAPAHUB_EFULL, RULE, "at most %d nodes are known",
                                CLUSTER_KEYRING_PEERS);
    }
    if (!is_first(peer, clear->counter))
        return refuse(&ring->figures.replayed, "it has come before");
    ring->figures.opened++;
    return clear->size - CLUSTER_DATAGRAM_TAG;
}

/* r[impl cluster.swim.keys] */
int cluster_keyring_open(struct cluster_keyring *ring, const uint8_t *datagram, size_t size,
                         uint32_t *from, uint8_t payload[CLUSTER_DATAGRAM_PAYLOAD_MAX])
{
    uint8_t aside[CLUSTER_KEYRING_KEY];
    struct cluster_datagram_clear clear;
    const uint8_t *bytes;
    struct key *key;
    struct peer *peer;
    bool proven;

    if (cluster_datagram_read_clear(datagram, size, &clear) < 0 || clear.node == ring->node)
        return refuse(&ring->figures.malformed, "it is no datagram of another node");
    key = find(ring, clear.key);
    if (!key)
        return refuse(&ring->figures.unknown_key, "the ring has no such key");
    peer = hub_id_map_get(ring->peers, clear.node);
    bytes = key_of(ring, peer, key, &clear, aside);
    proven = bytes && unseal(ring, bytes, datagram, &clear, payload);
    OPENSSL_cleanse(aside, sizeof aside);
    if (!proven)
        return refuse(&ring->figures.forged, "it is not sealed with this key");
    *from = clear.node;
    return admit(ring, peer, &clear, payload);
}

struct cluster_keyring_figures cluster_keyring_figures(const struct cluster_keyring *ring)
{
    return ring->figures;
}
