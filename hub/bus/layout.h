/* SPDX-License-Identifier: Apache-2.0 */
/* layout: every byte of a region, as docs/spec/region.md has it.
 *
 * All of it is written by other processes. Words that change are atomic; the others are copied when
 * a region is opened, checked there, and never read again. r[impl region.geometry]
 */
#ifndef HUB_BUS_LAYOUT_H
#define HUB_BUS_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/atomic.h"

#define HUB_REGION_MAGIC        UINT64_C(0x0153554241504152) /* the bytes "RAPABUS", 1 */
#define HUB_REGION_MAJOR        1
#define HUB_REGION_MINOR        0
#define HUB_REGION_BYTE_ORDER   UINT32_C(0x01020304)
#define HUB_REGION_FROZEN       64 /* bytes that are the same in every version */
#define HUB_REGION_HEADER_BYTES 256
#define HUB_REGION_SIZE_MAX     (UINT64_C(1) << 32)
#define HUB_REGION_CELL_MIN     64
#define HUB_REGION_CELL_MAX     65536
#define HUB_REGION_CELLS_MAX    (UINT32_C(1) << 24)
#define HUB_REGION_LEASES_MAX   1024
#define HUB_REGION_BATCH_MAX    256 /* pops after which a consumer stores its head */
#define HUB_REGION_CLAIM_MAX    32  /* positions that an intent covers */
#define HUB_REGION_QUEUES_MAX   64  /* consumers of a region of kind FANOUT */
#define HUB_REGION_RINGS_MAX    255 /* producers of a region of kind FANIN */

enum hub_region_kind {
    HUB_REGION_SPSC = 1,
    HUB_REGION_MPSC = 2,
    HUB_REGION_FANOUT = 3,
    HUB_REGION_SEQUENCER = 4,
    HUB_REGION_STATE_V1 = 5,
    HUB_REGION_STATE_LATCH = 6,
    HUB_REGION_FANIN = 8
};

/* The values of `initialized`. */
enum hub_region_init {
    HUB_REGION_INIT_NONE,
    HUB_REGION_INIT_BUSY,
    HUB_REGION_INIT_DONE,
    HUB_REGION_INIT_RETIRED
};

/* Bits of caps_required and caps_optional. */
#define HUB_CAP_LEASES      (UINT64_C(1) << 0)  /* each claim is covered by a lease */
#define HUB_CAP_POISON      (UINT64_C(1) << 1)  /* cells may be poisoned */
#define HUB_CAP_WAKE_FUTEX  (UINT64_C(1) << 2)  /* flags and futex words */
#define HUB_CAP_CREDITS     (UINT64_C(1) << 3)  /* the router keeps to credit_max */
#define HUB_CAP_BATCH_CLAIM (UINT64_C(1) << 6)  /* intents have a count */
#define HUB_CAP_IDEMPOTENT  (UINT64_C(1) << 7)  /* cells of queues name their source position */
#define HUB_CAP_LATCH       (UINT64_C(1) << 8)  /* of kind STATE_LATCH, and of no other */
#define HUB_CAP_WAKE_ASYM   (UINT64_C(1) << 10) /* each participant has joined membarrier */
#define HUB_CAPS_KNOWN                                                        \
    (HUB_CAP_LEASES | HUB_CAP_POISON | HUB_CAP_WAKE_FUTEX | HUB_CAP_CREDITS | \
     HUB_CAP_BATCH_CLAIM | HUB_CAP_IDEMPOTENT | HUB_CAP_LATCH | HUB_CAP_WAKE_ASYM)

struct hub_region_header {
    struct hub_a64 magic;
    uint16_t version_major, version_minor;
    uint32_t byte_order;
    uint32_t flags; /* the kind in the low 8 bits */
    uint32_t header_bytes;
    uint64_t caps_required, caps_optional;
    uint64_t layout_bytes; /* that are used */
    uint64_t region_bytes; /* that its creator mapped */
    struct hub_a32 initialized;
    struct hub_a32 generation;
    uint32_t init_pid; /* for people, never a proof */
    uint32_t pool_off; /* 0 */
    uint64_t id;       /* a nonce: which region, over its generations */
    uint64_t init_ns;  /* monotonic, for people */
    uint8_t name[16];  /* cut, for people */
    uint32_t cell_bytes, cell_count;
    uint32_t lease_off, lease_count;
    uint32_t body_off;
    uint32_t header_crc32c;
    _Alignas(128) struct hub_a64 poisoned_total;
    struct hub_a64 reaped_total, decode_errors;
    uint8_t reserved[104];
};

/* A lease of each handle that claims, or has a role. */
struct hub_region_lease {
    _Alignas(128) struct hub_a64 owner; /* pid:32, epoch:16, role:8, state:8 */
    uint64_t incarnation;               /* 0 */
    struct hub_a64 intent;              /* count:8, position + 1:56; 0: none */
    struct hub_a64 progress;            /* for people */
    struct hub_a64 since_ns;            /* monotonic, for people */
    uint32_t scope, child;              /* 0 */
    struct hub_a32 cpu;                 /* where it worked last, + 1; for people */
    uint8_t name[28];                   /* the program, for people */
    uint8_t reserved[48];
};

enum hub_lease_state { HUB_LEASE_FREE, HUB_LEASE_GRANTING, HUB_LEASE_HELD, HUB_LEASE_REAPING };
enum hub_lease_role {
    HUB_LEASE_PRODUCER = 1,
    HUB_LEASE_CONSUMER = 2,
    HUB_LEASE_ROUTER = 3,
    HUB_LEASE_WRITER = 4
};

/* The payload runs on, over the whole cell. */
struct hub_region_cell {
    _Alignas(64) struct hub_a64 state; /* cell.h */
    struct hub_a32 len;
    struct hub_a32 flags; /* 0 in the low half; the lease of its producer, + 1, in the high one */
    uint8_t payload[48];
};

struct hub_region_ring {
    _Alignas(128) struct hub_a64 tail; /* MPSC: the claims; SPSC: the publications, lazy */
    uint32_t mask, cells_off;
    struct hub_a32 producer_lease; /* SPSC: its lease + 1; 0: none */
    uint32_t kind;
    _Alignas(128) struct hub_a64 head; /* the messages that were consumed, lazy */
    struct hub_a32 consumer_lease;     /* + 1; 0: none */
    uint32_t head_batch;
    _Alignas(128) struct hub_a32 not_empty_seq;
    struct hub_a32 not_empty_flag;
    _Alignas(128) struct hub_a32 not_full_seq;
    struct hub_a32 not_full_flag;
};

/* The body of kind FANOUT: a source ring, whose messages a router puts into a queue for each
 * consumer. Queue i + 1 follows queue i; cells follow their ring. */
struct hub_region_fanout {
    _Alignas(128) uint32_t mode; /* enum hub_fanout_mode */
    uint32_t credit_policy;      /* enum hub_fanout_credit */
    uint32_t consumer_count, consumers_off, src_ring_off, reserved;
    uint64_t detach_after_ns;
    _Alignas(128) struct hub_a32 router_lease; /* + 1; 0: none */
    struct hub_a32 router_epoch;               /* routers so far */
    struct hub_a64 routed, dropped;
    _Alignas(128) struct hub_a32 credit_seq; /* where a router that is held up sleeps */
    struct hub_a32 credit_flag;
};

enum hub_fanout_mode { HUB_FANOUT_BROADCAST, HUB_FANOUT_WORK };
enum hub_fanout_credit { HUB_FANOUT_DROP, HUB_FANOUT_PARK, HUB_FANOUT_DETACH };

struct hub_region_consumer {
    _Alignas(128) struct hub_a32 flags; /* HUB_CONSUMER_... */
    uint32_t ring_off, credit_max, on_death;
    struct hub_a32 lease;              /* + 1; 0: none */
    struct hub_a32 opened;             /* how often */
    struct hub_a64 dropped, delivered; /* by the router */
    uint8_t reserved[88];
};

#define HUB_CONSUMER_SUBSCRIBED 1u /* opened, and not closed since; a death does not change it */
#define HUB_CONSUMER_DETACHED   2u /* by the operator */
#define HUB_CONSUMER_SUSPENDED  4u /* proven dead: not waited for */

/* The body of kind FANIN: a ring for each producer, in a row; cells follow their ring. */
struct hub_region_fanin {
    _Alignas(128) uint32_t ring_count;
    uint32_t rings_off, ring_stride;
    struct hub_a32 consumer_lease;              /* + 1; 0: none */
    _Alignas(128) struct hub_a32 not_empty_seq; /* where the consumer sleeps, over all rings */
    struct hub_a32 not_empty_flag;
};

#define HUB_REGION_AT(type, member, offset) \
    static_assert(offsetof(struct type, member) == (offset), #type "." #member)
HUB_REGION_AT(hub_region_header, byte_order, 12);
HUB_REGION_AT(hub_region_header, flags, 16);
HUB_REGION_AT(hub_region_header, caps_required, 24);
HUB_REGION_AT(hub_region_header, layout_bytes, 40);
HUB_REGION_AT(hub_region_header, initialized, 56);
HUB_REGION_AT(hub_region_header, init_pid, 64);
HUB_REGION_AT(hub_region_header, id, 72);
HUB_REGION_AT(hub_region_header, name, 88);
HUB_REGION_AT(hub_region_header, cell_bytes, 104);
HUB_REGION_AT(hub_region_header, lease_off, 112);
HUB_REGION_AT(hub_region_header, body_off, 120);
HUB_REGION_AT(hub_region_header, header_crc32c, 124);
HUB_REGION_AT(hub_region_header, poisoned_total, 128);
HUB_REGION_AT(hub_region_lease, intent, 16);
HUB_REGION_AT(hub_region_lease, since_ns, 32);
HUB_REGION_AT(hub_region_lease, cpu, 48);
HUB_REGION_AT(hub_region_lease, name, 52);
HUB_REGION_AT(hub_region_cell, len, 8);
HUB_REGION_AT(hub_region_cell, flags, 12);
HUB_REGION_AT(hub_region_cell, payload, 16);
HUB_REGION_AT(hub_region_ring, mask, 8);
HUB_REGION_AT(hub_region_ring, producer_lease, 16);
HUB_REGION_AT(hub_region_ring, kind, 20);
HUB_REGION_AT(hub_region_ring, head, 128);
HUB_REGION_AT(hub_region_ring, consumer_lease, 136);
HUB_REGION_AT(hub_region_ring, head_batch, 140);
HUB_REGION_AT(hub_region_ring, not_empty_seq, 256);
HUB_REGION_AT(hub_region_ring, not_full_seq, 384);
HUB_REGION_AT(hub_region_fanout, consumer_count, 8);
HUB_REGION_AT(hub_region_fanout, detach_after_ns, 24);
HUB_REGION_AT(hub_region_fanout, router_lease, 128);
HUB_REGION_AT(hub_region_fanout, routed, 136);
HUB_REGION_AT(hub_region_fanout, credit_seq, 256);
HUB_REGION_AT(hub_region_consumer, lease, 16);
HUB_REGION_AT(hub_region_consumer, opened, 20);
HUB_REGION_AT(hub_region_consumer, dropped, 24);
HUB_REGION_AT(hub_region_consumer, delivered, 32);
HUB_REGION_AT(hub_region_fanin, rings_off, 4);
HUB_REGION_AT(hub_region_fanin, ring_stride, 8);
HUB_REGION_AT(hub_region_fanin, consumer_lease, 12);
HUB_REGION_AT(hub_region_fanin, not_empty_seq, 128);
static_assert(sizeof(struct hub_region_fanin) == 256, "fanin");
static_assert(sizeof(struct hub_region_fanout) == 384, "fanout");
static_assert(sizeof(struct hub_region_consumer) == 128, "consumer");
static_assert(sizeof(struct hub_region_header) == HUB_REGION_HEADER_BYTES, "header");
static_assert(sizeof(struct hub_region_lease) == 128, "lease");
static_assert(sizeof(struct hub_region_cell) == HUB_REGION_CELL_MIN, "cell");
static_assert(sizeof(struct hub_region_ring) == 512, "ring");

#endif
