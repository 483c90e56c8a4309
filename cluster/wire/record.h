/* SPDX-License-Identifier: Apache-2.0 */
/* record: the values of the metastore, by the kind of their key. Strings, bytes and lists that were
 * read are views of the bytes that were read.
 */
#ifndef CLUSTER_WIRE_RECORD_H
#define CLUSTER_WIRE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/base/entry.h"
#include "cluster/base/keys.h"
#include "cluster/base/pool.h"
#include "cluster/wire/format.h"

#define CLUSTER_RECORD_UUID          16
#define CLUSTER_RECORD_DIGEST        32
#define CLUSTER_RECORD_ADDRESSES_MAX 8
#define CLUSTER_RECORD_METHODS_MAX   1024
#define CLUSTER_RECORD_HOLDERS_MAX   16
#define CLUSTER_RECORD_TEXT_MAX      1024
#define CLUSTER_RECORD_USES_MAX      1024 /* of a join token */
#define CLUSTER_RECORD_TRIES_MAX     5

enum cluster_record_fencing {
    CLUSTER_FENCING_NONE,
    CLUSTER_FENCING_PROOF,
    CLUSTER_FENCING_TIME,
    CLUSTER_FENCINGS
};

struct cluster_record_meta {
    struct rapahub_bytes uuid;
    uint32_t format, generation, feature_level;
    uint8_t fencing;
};

struct cluster_record_counter { /* NEXT_NODE, NEXT_POOL */
    uint64_t next;
};

enum cluster_record_node_state {
    CLUSTER_NODE_JOINING = 1,
    CLUSTER_NODE_ACTIVE,
    CLUSTER_NODE_DRAINING,
    CLUSTER_NODE_LEFT,
    CLUSTER_NODE_FENCED,
    CLUSTER_NODE_STATES
};

struct cluster_record_node {
    uint8_t state;
    uint32_t capacity, abi;
    struct rapahub_bytes uuid;
    struct rapahub_string name, serial, zone;
    struct cluster_list addresses; /* struct rapahub_string */
};

/* A node may end its own old session only where all but the boot id are those of its folder. */
struct cluster_record_session {
    uint32_t boot;
    bool revoked;
    uint64_t seq;    /* rises with each renewal */
    uint64_t ttl_ns; /* 0: it has no end */
    struct rapahub_bytes machine_id, boot_id;
    uint64_t folder_device, folder_inode;
};

struct cluster_record_lead {
    uint32_t node;
    uint64_t session;
};

struct cluster_record_pool {
    uint8_t state;
    uint32_t containers, slots_count;
    struct rapahub_bytes digest;   /* SHA-256 of `spec` */
    struct rapahub_bytes spec;     /* pool_spec.h */
    struct rapahub_bytes manifest; /* a MODULE record */
    struct cluster_list slots;     /* uint16_t; none: as at creation */
};

struct cluster_record_name {
    uint64_t pool;
};

/* A node that is named has a full copy of the state that covers each call that was answered. The
 * owner waits for all of them, and for the one that joins. */
struct cluster_record_holders {
    uint32_t joining;          /* a node that is to be named once it has a copy; 0: none is */
    struct cluster_list nodes; /* uint32_t, rising, named; `joining` is none of them */
};

struct cluster_record_operation { /* OPERATION, RECOVERY */
    uint8_t kind, step;           /* the kind's own; kind 0 is none */
    uint32_t budget_ms;
    int32_t result;
    struct rapahub_bytes arguments;
    struct rapahub_string text; /* cause of a result that is not 0 */
};

struct cluster_record_method {
    uint64_t id;
    struct rapahub_string signature;
};

struct cluster_record_module {
    struct rapahub_string name, version, machine;
    uint32_t abi, state_version;
    uint64_t size;
    struct rapahub_bytes digest;    /* SHA-256 of the file */
    struct rapahub_bytes signature; /* none: it is not signed */
    struct cluster_list methods;    /* struct cluster_record_method */
};

struct cluster_record_import {
    uint64_t pool;
    struct rapahub_string file;
};

struct cluster_record_join_token { /* TOKEN */
    uint32_t uses, tries;          /* that are left */
    uint64_t until_s;              /* seconds since 1970 */
    struct rapahub_bytes digest;   /* SHA-256 of its secret */
};

struct cluster_record_revoked {
    uint64_t at_s, until_s; /* after `until_s` the certificate has expired, and this may go */
};

struct cluster_record {
    union {
        struct cluster_record_meta meta;
        struct cluster_record_counter counter;
        struct cluster_record_node node;
        struct cluster_record_session session;
        struct cluster_record_lead lead;
        struct cluster_record_pool pool;
        struct cluster_record_name name;
        struct cluster_entry entry;
        struct cluster_record_holders holders;
        struct cluster_record_operation operation;
        struct cluster_record_module module;
        struct cluster_record_import import;
        struct cluster_record_join_token join_token;
        struct cluster_record_revoked revoked;
    };
};

RAPAHUB_RECORD(cluster_entry, RAPAHUB_MEMBER(cluster_entry, state, u8),
               RAPAHUB_MEMBER(cluster_entry, owner, u32),
               RAPAHUB_MEMBER(cluster_entry, session, u64),
               RAPAHUB_MEMBER(cluster_entry, epoch, u64),
               RAPAHUB_MEMBER(cluster_entry, lineage, u64),
               RAPAHUB_MEMBER(cluster_entry, destination, u32),
               RAPAHUB_MEMBER(cluster_entry, op, u64), RAPAHUB_MEMBER(cluster_entry, module, u32));

/* Writes the value of a key of this kind. Returns 0, the writer's failure, or -EINVAL for a value
 * that would be refused, and for a kind whose values are not records: LOG (delta.h), and those of a
 * release to come. */
int cluster_record_put(struct hub_writer *writer, enum cluster_keys_kind kind,
                       const struct cluster_record *record);

/* Reads such a value. RAPAHUB_EFORMAT where it is not sound. */
int cluster_record_read(enum cluster_keys_kind kind, struct rapahub_bytes from,
                        struct cluster_record *out);

bool cluster_record_next_node(struct cluster_list *list, uint32_t *out);
bool cluster_record_next_address(struct cluster_list *list, struct rapahub_string *out);
bool cluster_record_next_slot(struct cluster_list *list, uint16_t *out);
bool cluster_record_next_method(struct cluster_list *list, struct cluster_record_method *out);

#endif
