/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/detection/detector_keys.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/random.h"

/* Numbers of 256: keys of starts that follow each other have others, and so have those of one
 * start.
 */
#define NUMBERS_EACH 37

static void fill(uint8_t *to, size_t size)
{
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t random = hub_random_nonce();

        memcpy(to + at, &random, sizeof random);
    }
}

int cluster_detector_keys_create(struct cluster_detector_keys *keys, const uint8_t cluster[16],
                                 uint32_t node, uint32_t boot)
{
    uint8_t salt[CLUSTER_DATAGRAM_SALT];

    *keys = (struct cluster_detector_keys){.boot = boot};
    fill(salt, sizeof salt);
    return cluster_keyring_create(cluster, node, salt, &keys->ring);
}

void cluster_detector_keys_release(struct cluster_detector_keys *keys)
{
    cluster_keyring_release(&keys->ring);
    explicit_bzero(keys, sizeof *keys);
}

static void forget_before(struct cluster_detector_keys *keys)
{
    if (keys->has_before && cluster_keyring_remove(keys->ring, keys->before) < 0)
        rapahub_clear_error(); /* it is not there */
    keys->has_before = false;
}

/* r[impl cluster.detect.key] */
int cluster_detector_keys_take(struct cluster_detector_keys *keys, uint8_t number,
                               const uint8_t key[CLUSTER_KEYRING_KEY], uint64_t now_ns)
{
    int r;

    if (keys->has_before && keys->before == number)
        forget_before(keys);
    r = cluster_keyring_install(keys->ring, number, key);
    if (r < 0 || (keys->has && keys->number == number))
        return r;
    forget_before(keys);
    r = cluster_keyring_use(keys->ring, number);
    keys->has_before = keys->has;
    keys->before = keys->number;
    keys->number = number;
    memmove(keys->bytes, key, sizeof keys->bytes);
    keys->has = true;
    keys->forget_ns = now_ns + CLUSTER_DETECTOR_KEYS_BEFORE;
    return r;
}

int cluster_detector_keys_make(struct cluster_detector_keys *keys, uint64_t now_ns)
{
    uint8_t number = (uint8_t)(keys->boot * NUMBERS_EACH + keys->made++), key[CLUSTER_KEYRING_KEY];
    int r;

    if (keys->has && keys->number == number) /* the key of a node that led before has it */
        number = (uint8_t)(number + keys->made++);
    fill(key, sizeof key);
    r = cluster_detector_keys_take(keys, number, key, now_ns);
    explicit_bzero(key, sizeof key);
    return r;
}

uint64_t cluster_detector_keys_step(struct cluster_detector_keys *keys, uint64_t now_ns)
{
    if (keys->has_before && now_ns >= keys->forget_ns)
        forget_before(keys);
    return keys->has_before ? keys->forget_ns : HUB_NEVER;
}
