/* SPDX-License-Identifier: Apache-2.0 */
/* keys: the keys of the metastore, as text. Numbers in them are hexadecimal digits, lower case, as
 * many as their type has, so that keys are ordered as their numbers are. */
#ifndef CLUSTER_BASE_KEYS_H
#define CLUSTER_BASE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#define CLUSTER_KEYS_SIZE_MAX    160 /* bytes of any key */
#define CLUSTER_KEYS_NAME_MAX    63
#define CLUSTER_KEYS_VERSION_MAX 31
#define CLUSTER_KEYS_SERIAL_MAX  40
#define CLUSTER_KEYS_DIGEST      64 /* digits of a SHA-256 */

/* X(kind, form). In a form %n is a node, %p a pool, %c a container, %o a number of 64 bits, %s a
 * revision, %m a marker's slot, %a a name, %v a version, %x a serial number, %h a digest. */
#define CLUSTER_KEYS(X)                    \
    X(META, "/c/meta")                     \
    X(NEXT_NODE, "/c/next_node")           \
    X(NEXT_POOL, "/c/next_pool")           \
    X(NODE, "/c/node/%n")                  \
    X(SESSION, "/c/sess/%n")               \
    X(LEAD, "/c/lead")                     \
    X(POOL, "/c/pool/%p")                  \
    X(NAME, "/c/name/%a")                  \
    X(ENTRY, "/c/addr/%p/%c")              \
    X(LOG, "/c/log")                       \
    X(HOLD, "/c/hold/%p/%c")               \
    X(OPERATION, "/c/op/%o")               \
    X(RECOVERY, "/c/op/recover-%n-%s")     \
    X(MODULE, "/c/mod/%a/%v")              \
    X(MODULE_HAVE, "/c/mod/%a/%v/have/%n") \
    X(TOKEN, "/c/token/%o")                \
    X(REVOKED, "/c/revoked/%x")            \
    X(IMPORT, "/c/import/%h")              \
    X(MARKER, "/w/%o/%m")

enum cluster_keys_kind {
#define CLUSTER_KEYS_KIND(kind, form) CLUSTER_KEY_##kind,
    CLUSTER_KEYS(CLUSTER_KEYS_KIND)
#undef CLUSTER_KEYS_KIND
        CLUSTER_KEY_KINDS
};

/* The things that a key names; members that its form does not have are 0. */
struct cluster_key {
    enum cluster_keys_kind kind;
    uint32_t node;
    uint32_t container;
    uint32_t slot;              /* a marker's, below CLUSTER_TXN_FLIGHT_MAX */
    uint64_t pool;              /* cluster_ids_pool */
    uint64_t number;            /* an operation, a join token, or the client of a marker */
    uint64_t revision;          /* a session's */
    struct rapahub_string text; /* name, serial number or digest */
    struct rapahub_string version;
};

/* Writes the key and returns its size, or refuses what is in no key: -EINVAL. */
int cluster_keys_build(const struct cluster_key *key, char to[CLUSTER_KEYS_SIZE_MAX]);

/* Reads a key that another process wrote; its texts are views of it. Refuses all that the function
 * above does not write: RAPAHUB_EFORMAT. */
int cluster_keys_parse(struct rapahub_bytes text, struct cluster_key *out);

/* Writes what all keys of this kind begin with, up to its first number or text, or, of ENTRY and
 * HOLD with a pool, up to the container. `past` gets the least text above all of them. Both have
 * the returned size. */
int cluster_keys_prefix(enum cluster_keys_kind kind, uint64_t pool,
                        char from[CLUSTER_KEYS_SIZE_MAX], char past[CLUSTER_KEYS_SIZE_MAX]);

/* Names of pools and modules: 1 to 63 letters, digits, '_', '-' and '.', the first a letter, a
 * digit or '_'. Versions: 1 to 31 of these, '+' and '~'. */
bool cluster_keys_is_name(struct rapahub_string text);
bool cluster_keys_is_version(struct rapahub_string text);

#endif
