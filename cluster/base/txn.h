/* SPDX-License-Identifier: Apache-2.0 */
/* txn: a transaction of the metastore, and what a store says of its pairs. All views are the
 * caller's until the function that takes them has returned. Revisions are those of ids.h.
 */
#ifndef CLUSTER_BASE_TXN_H
#define CLUSTER_BASE_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#define CLUSTER_TXN_KEY_MAX    512
#define CLUSTER_TXN_VALUE_MAX  (256 * 1024)
#define CLUSTER_TXN_LIST_MAX   96 /* compares, or writes of one branch */
#define CLUSTER_TXN_FLIGHT_MAX 64 /* transactions that one client has open, and markers it has */

/* Which transaction this is: a repeated one has the id that it had at first. {0, 0} is none. */
struct cluster_txn_id {
    uint64_t client; /* cluster_txn_client */
    uint64_t seq;    /* from 1 */
};

/* A pair as a store has it. */
struct cluster_pair {
    struct rapahub_bytes key, value;
    uint64_t create_rev; /* revision that put it where there was none */
    uint64_t mod_rev;    /* revision of the last put */
    uint64_t version;    /* puts since then, from 1 */
};

enum cluster_compare_kind {
    CLUSTER_MOD_EQ,    /* the last put was at `rev` */
    CLUSTER_CREATE_EQ, /* it was created at `rev` */
    CLUSTER_ABSENT,
    CLUSTER_PRESENT,
    CLUSTER_VALUE_EQ,
    CLUSTER_COMPARE_KINDS
};

struct cluster_compare {
    enum cluster_compare_kind kind;
    struct rapahub_bytes key, value; /* value: of VALUE_EQ only */
    uint64_t rev;                    /* for MOD_EQ and CREATE_EQ, not 0 */
};

enum cluster_write_kind { CLUSTER_PUT, CLUSTER_DELETE, CLUSTER_GET, CLUSTER_WRITE_KINDS };

struct cluster_write {
    enum cluster_write_kind kind;
    struct rapahub_bytes key, value; /* value: of PUT only */
};

/* If all compares hold, `then` is carried out, else `otherwise`: as a whole, at one revision. */
struct cluster_txn {
    struct cluster_txn_id id;
    const struct cluster_compare *compares;
    const struct cluster_write *then, *otherwise;
    uint32_t compares_count, then_count, otherwise_count;
};

/* The keys from `from` up to, and without, `to`. */
struct cluster_span {
    struct rapahub_bytes from, to;
    uint64_t rev; /* 0: now */
    uint32_t pairs_max;
};

struct cluster_change {
    struct cluster_pair pair; /* if deleted: its key, and mod_rev of the deletion */
    uint64_t prev_mod;        /* mod_rev before, 0 if there was none */
    bool deleted;
};

/* How a request to a metastore ended. */
enum cluster_txn_status {
    CLUSTER_TXN_OK,          /* durable */
    CLUSTER_TXN_CONFLICT,    /* a compare did not hold; `otherwise` was carried out */
    CLUSTER_TXN_NOT_APPLIED, /* certainly not, now or later */
    CLUSTER_TXN_UNKNOWN,     /* carried out or not, or yet to be: ask again with the same id */
    CLUSTER_TXN_COMPACTED,   /* the revision is older than what the store keeps */
    CLUSTER_TXN_TOO_BIG,
    CLUSTER_TXN_NO_SPACE,
    CLUSTER_TXN_DENIED,
    CLUSTER_TXN_CORRUPT, /* the store is damaged, and has closed itself */
    CLUSTER_TXN_CLOSED,
    CLUSTER_TXN_STATUSES
};

/* Returns the order of two keys: less than, equal to, or greater than 0. */
int cluster_txn_order(struct rapahub_bytes key, struct rapahub_bytes other);

/* Returns "OK", "CONFLICT" and so on; "?" for any other number. */
const char *cluster_txn_status_name(uint32_t status);

/* Returns the client of the life `boot` of a node. */
uint64_t cluster_txn_client(uint32_t node, uint32_t boot);

/* Says whether the transaction has a put or a delete, in either branch. */
bool cluster_txn_mutates(const struct cluster_txn *txn);

/* Refuses a transaction that no store takes: -EMSGSIZE for a list, key or value above the limits;
 * -EINVAL for an empty key, an unknown kind, an id that is none where something is written, or a
 * key that one branch writes twice. */
int cluster_txn_check(const struct cluster_txn *txn);

/* Refuses a span without a key in it: -EINVAL; one with an end that has more than one byte above
 * the limit of a key: -EMSGSIZE. */
int cluster_txn_check_span(const struct cluster_span *span);

#endif
