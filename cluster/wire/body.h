/* SPDX-License-Identifier: Apache-2.0 */
/* body: what follows the header of a frame, by its type. Strings, bytes and lists that were read
 * are views of the bytes that were read.
 */
#ifndef CLUSTER_WIRE_BODY_H
#define CLUSTER_WIRE_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/wire/copy_body.h"
#include "cluster/wire/datagram.h"
#include "cluster/wire/format.h"
#include "cluster/wire/frame.h"

#define CLUSTER_BODY_PROTOCOL    1 /* of frames and bodies: what this release speaks */
#define CLUSTER_BODY_UUID        16
#define CLUSTER_BODY_TEXT_MAX    1024
#define CLUSTER_BODY_STREAMS_MAX 16
#define CLUSTER_BODY_WAITING_MAX 3
#define CLUSTER_BODY_RETRY_MAX   (UINT64_C(600) * 1000000000) /* ns */
#define CLUSTER_BODY_PIECE_MAX   (64 * 1024)
#define CLUSTER_BODY_TOKEN_MAX   64   /* bytes of a join token */
#define CLUSTER_BODY_PEM_MAX     4096 /* bytes of a request, or of a certificate */
#define CLUSTER_BODY_ANCHORS_MAX (2 * CLUSTER_BODY_PEM_MAX)
#define CLUSTER_BODY_PLACE_MAX   2559
#define CLUSTER_BODY_UPDATES_MAX 1024
#define CLUSTER_BODY_KEY         32

enum cluster_body_role { CLUSTER_ROLE_NODE = 1, CLUSTER_ROLE_CLIENT };

/* Bits of `features`. */
#define CLUSTER_FEATURE_SHARE 1 /* a node: it takes a SHARE */

/* HELLO and HELLO_OK: who speaks, and what it understands. */
struct cluster_body_hello {
    uint16_t protocol_least, protocol_most;
    uint8_t role;
    struct rapahub_bytes cluster; /* the cluster's uuid; a client may know none */
    uint32_t node, boot;          /* 0 from a client */
    uint64_t origin; /* its calls': a node's session, 0 before it has one; a client's random number
                      */
    uint64_t features;
    uint64_t revision; /* its map's, if it is a node; 0: none */
    uint64_t retry_ns; /* how long a client sends its open calls again */
};

enum cluster_body_credit_kind { CLUSTER_CREDIT_CALLS, CLUSTER_CREDIT_BULK, CLUSTER_CREDIT_KINDS };

struct cluster_body_credit {
    uint8_t kind;
    uint32_t bytes;
};

struct cluster_body_close {
    int32_t code;
    struct rapahub_string text;
};

enum cluster_body_class { CLUSTER_CLASS_ONCE, CLUSTER_CLASS_REPEAT, CLUSTER_CLASSES };

/* The modes are those of a query, in the same order; a call that is resolved is DIRECT. */
enum cluster_body_mode {
    CLUSTER_MODE_DIRECT,
    CLUSTER_MODE_LOCAL,
    CLUSTER_MODE_PHYSICAL,
    CLUSTER_MODE_HASH,
    CLUSTER_MODE_RANGE,
    CLUSTER_MODE_BROADCAST,
    CLUSTER_MODE_DYNAMIC,
    CLUSTER_MODES
};

/* A container that a call was resolved to; its place in the list is the replica. */
struct cluster_body_member {
    uint32_t container;
    uint64_t lineage;
};

struct cluster_body_call {
    uint8_t class;
    bool maybe;   /* it may have been admitted before */
    bool collect; /* a member that fails does not end the others */
    uint8_t mode;
    uint64_t number;        /* HASH: the hash; PHYSICAL: the node; DYNAMIC: any */
    uint32_t offset, count; /* RANGE */
    uint64_t lineage;       /* that it was last admitted in; 0: none */
    uint64_t left_us;       /* time until its deadline */
    uint64_t method_id;
    uint64_t root_origin, root_number; /* its chain: the uid of the call at its root, or, from a
                                          node, the chain's number and 1; 0: it begins one */
    uint32_t order;                    /* 0: none */
    uint64_t order_prev;               /* number of the call before it in this order; 0: none */
    uint64_t done_below;               /* all numbers of this origin below have ended */
    uint32_t sources, sinks;           /* streams: a bit for each index, from 0 on */
    struct rapahub_bytes arguments;
    struct cluster_list members; /* struct cluster_body_member; when it is sent again */
};

/* RESULT: the end of a call. EACH: that of one of its containers, which the header names, with its
 * replica, while the call goes on. */
struct cluster_body_result {
    int32_t status;
    int32_t application; /* error number of a method */
    uint64_t lineage;
    struct rapahub_string text;
    struct rapahub_bytes payload;
};

enum cluster_body_nack_reason {
    CLUSTER_NACK_MOVED = 1,
    CLUSTER_NACK_BEHIND,
    CLUSTER_NACK_FENCED,
    CLUSTER_NACK_BUSY,
    CLUSTER_NACK_ORDER,
    CLUSTER_NACK_MAYBE,
    CLUSTER_NACK_EXPIRED,
    CLUSTER_NACK_UNKNOWN,
    CLUSTER_NACK_VERSION,
    CLUSTER_NACK_HOPS,
    CLUSTER_NACK_LOST, /* it was handed on, and may have been admitted; the others say that it was
                          not */
    CLUSTER_NACK_END
};

struct cluster_body_nack {
    uint8_t reason;
    uint32_t after_ms; /* BUSY: when to try again */
    uint32_t owner;    /* MOVED: node */
    uint64_t epoch, lineage;
    struct rapahub_string text;
};

/* Which containers the call goes to, told before it is admitted. */
struct cluster_body_resolved {
    struct cluster_list members; /* struct cluster_body_member */
};

struct cluster_body_bulk_open {
    uint32_t index; /* the stream's, in its call */
    bool sink;
};

struct cluster_body_bulk_reset {
    int32_t code;
};

/* A client asks for a segment of its own. */
struct cluster_body_share {
    uint64_t payload_max; /* a RESULT with a larger body comes by the socket */
};

/* The node's answer. With status 0 two descriptors come with its first byte: the segment, and the
 * client's end of the doorbell. */
struct cluster_body_shared {
    int32_t status;  /* or why there is none */
    uint32_t peer;   /* the client's, in the segment; 0: none */
    uint8_t waiting; /* how the node waits: enum rapahub_waiting */
    struct rapahub_string text;
};

/* STORE_REQUEST, STORE_REPLY, STORE_EVENT: a piece of a message of seat_message.h, or all of it.
 * The pieces of a message follow each other. */
struct cluster_body_piece {
    bool more; /* the next frame from this side that is of the store continues the message */
    struct rapahub_bytes bytes; /* as many as a piece can have, unless it is the last */
};

enum cluster_body_step {
    CLUSTER_STEP_NONE,
    CLUSTER_STEP_BEGUN,   /* it has begun, and is held */
    CLUSTER_STEP_FAILED,  /* its begin has failed for good, or too often */
    CLUSTER_STEP_DOWN,    /* it was active, and does not come to life again in its epoch */
    CLUSTER_STEP_SPENT,   /* its epoch has no life left */
    CLUSTER_STEP_REMOVED, /* it is gone, with all that the node had of it, or, with a status,
                             without */
    CLUSTER_STEPS
};

#define CLUSTER_BODY_STEP_TEXT_MAX 160

/* STEP_DONE: a node tells the one that leads how far it is with a container of its own. It says so
 * again until the map shows that it was heard. */
struct cluster_body_step_done {
    uint64_t pool, epoch; /* the epoch of the entry that it follows */
    uint32_t container;
    uint8_t step;               /* enum cluster_body_step */
    int32_t status;             /* why not; 0: nothing has failed */
    struct rapahub_string text; /* why, where there is a status */
};

#define CLUSTER_BODY_DIGEST    32
#define CLUSTER_BODY_BLOB_MAX  (UINT64_C(1) << 30)
#define CLUSTER_BODY_BLOB_TEXT 160

/* BLOB_ASK: a node asks another one for a part of the file of a module. */
struct cluster_body_blob_ask {
    struct rapahub_bytes digest; /* SHA-256 of the file */
    uint64_t offset;             /* the part begins there */
};

/* BLOB_PART: the part, of the file with this digest, from this offset on; or why there is none. */
struct cluster_body_blob_part {
    struct rapahub_bytes digest;
    uint64_t offset, size;      /* `size`: of the whole file */
    int32_t status;             /* 0, or a failure */
    struct rapahub_string text; /* why, where there is a status */
    struct rapahub_bytes part;  /* CLUSTER_BODY_PIECE_MAX bytes, or what is left */
};

/* A node asks to join. It is sent by a side that has no certificate yet. */
struct cluster_body_join {
    struct rapahub_bytes uuid;     /* the node's own, made by itself */
    struct rapahub_string token;   /* a secret */
    struct rapahub_string name;    /* the node's, for people; none: one is given */
    struct rapahub_string request; /* for a certificate, PEM */
};

/* It has joined. */
struct cluster_body_join_ok {
    uint32_t node;     /* its number, for ever */
    uint64_t revision; /* of the metastore, that gave it */
    struct rapahub_bytes cluster;
    struct rapahub_string certificate; /* its own, PEM */
    struct rapahub_string anchors;     /* certificates of the authorities to trust, PEM */
    struct rapahub_string place; /* where the metastore is: SCHEME:...; none: at the node that was
                                    asked, which is its seat */
};

#define CLUSTER_BODY_RENEW_TEXT 160

/* RENEW: a node asks the one that has the authority for a new certificate. */
struct cluster_body_renew {
    struct rapahub_string request; /* PEM */
};

/* RENEWED: the certificate, or why there is none. */
struct cluster_body_renewed {
    int32_t status;                    /* 0, or a failure */
    struct rapahub_string text;        /* why, where there is a status */
    struct rapahub_string certificate; /* PEM */
};

/* DEATH: the warden of a node says that a life of its daemon is over, and that nothing of it runs.
 * It has the certificate of the node, and says no HELLO; the answer is a CLOSE, with 0 where it was
 * taken. */
struct cluster_body_death {
    uint32_t node, boot;
    uint64_t session;
    bool final; /* the next life is not to be waited for */
};

/* PUSH_PULL: all that a node knows of who lives. The other side tells the same in an answer. */
struct cluster_body_push_pull {
    bool answer;
    struct cluster_list updates; /* struct cluster_update, at most CLUSTER_BODY_UPDATES_MAX */
};

/* LINK_PROBE: whether a node lives, asked over its link; and that it does. */
struct cluster_body_link_probe {
    bool answer;
    uint32_t sequence; /* the asker's number of its probe, also in the answer */
};

/* DATAGRAM_KEY: what datagrams between the nodes of the cluster are sealed with from now on. */
struct cluster_body_datagram_key {
    uint8_t number;
    struct rapahub_bytes key; /* a secret, CLUSTER_BODY_KEY bytes */
};

struct cluster_body {
    union {
        struct cluster_body_hello hello; /* HELLO, HELLO_OK */
        struct cluster_body_credit credit;
        struct cluster_body_close close;
        struct cluster_body_call call;
        struct cluster_body_result result; /* RESULT, EACH */
        struct cluster_body_nack nack;
        struct cluster_body_resolved resolved;
        struct cluster_body_bulk_open bulk_open;
        struct rapahub_bytes data; /* BULK_DATA */
        struct cluster_body_bulk_reset bulk_reset;
        struct cluster_body_share share;
        struct cluster_body_shared shared;
        struct cluster_body_piece piece;
        struct cluster_body_step_done step_done;
        struct cluster_body_blob_ask blob_ask;
        struct cluster_body_blob_part blob_part;
        struct cluster_body_copy_put copy_put;
        struct cluster_body_copy_taken copy_taken;
        struct cluster_body_copy_seal copy_seal;
        struct cluster_body_copy_sealed copy_sealed;
        struct cluster_body_copy_ask copy_ask;
        struct cluster_body_copy_piece copy_piece;
        struct cluster_body_copy_held copy_held;
        struct cluster_body_join join;
        struct cluster_body_join_ok join_ok;
        struct cluster_body_renew renew;
        struct cluster_body_renewed renewed;
        struct cluster_body_death death;
        struct cluster_body_push_pull push_pull;
        struct cluster_body_link_probe link_probe;
        struct cluster_body_datagram_key datagram_key;
    };
};

/* Writes the body of a frame of this type. Returns 0, the writer's failure, or -EINVAL for a body
 * that would be refused. PING, PONG, ACK, CANCEL and BULK_DONE have none: nothing is written.
 * BULK_DATA is plain bytes, and not for this function: -EINVAL. */
int cluster_body_put(struct hub_writer *writer, uint8_t type, const struct cluster_body *body);

/* Reads such a body. RAPAHUB_EFORMAT where it is not sound. */
int cluster_body_read(uint8_t type, struct rapahub_bytes from, struct cluster_body *out);

bool cluster_body_next_member(struct cluster_list *list, struct cluster_body_member *out);
bool cluster_body_next_update(struct cluster_list *list, struct cluster_update *out);

#endif
