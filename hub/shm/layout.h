/* SPDX-License-Identifier: Apache-2.0 */
/* layout: every byte of a segment; docs/spec/shm.md explains them. All numbers are little-endian.
 *
 * Words that both sides access while they run are struct hub_a32 and hub_a64. All else is written
 * before the magic, and afterwards only read, once, by copy.
 */
#ifndef HUB_SHM_LAYOUT_H
#define HUB_SHM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "hub/base/atomic.h"

#define HUB_MAGIC       UINT64_C(0x0142554841504152) /* "RAPAHUB\1" */
#define HUB_HEADER_SIZE 128
#define HUB_GUESTS_MAX  255

/* r[impl shm.segment.header] r[impl shm.segment.header-size] r[impl shm.segment.magic] */
struct hub_header {
    struct hub_a64 magic; /* written last */
    uint32_t version;
    uint32_t header_size;
    uint64_t total_size;
    uint32_t max_payload_size;
    uint32_t initial_credit;
    uint32_t max_guests;
    uint32_t ring_size;
    uint64_t peer_table_offset;
    uint64_t slot_region_offset;
    uint32_t slot_size;
    uint32_t slots_per_guest;
    uint32_t max_channels;
    struct hub_a32 host_goodbye;   /* 0 = active, 1 = leaving */
    uint64_t heartbeat_interval;   /* ns, 0 = none */
    uint64_t var_slot_pool_offset; /* 0: pools of one slot size */
    struct hub_a64 current_size;
    struct hub_a64 lease; /* see hub/shm/lease.h */
    uint32_t var_class_count;
    uint8_t reserved[20];
};

enum hub_peer_state { HUB_PEER_EMPTY, HUB_PEER_ATTACHED, HUB_PEER_GOODBYE, HUB_PEER_RESERVED };

/* The entry of peer id i + 1. r[impl shm.segment.peer-table] r[impl shm.topology.peer-id] */
struct hub_peer_entry {
    struct hub_a32 state;
    struct hub_a32 epoch;
    struct hub_a32 guest_to_host_head; /* guest writes */
    struct hub_a32 guest_to_host_tail; /* host writes */
    struct hub_a32 host_to_guest_head; /* host writes */
    struct hub_a32 host_to_guest_tail; /* guest writes */
    struct hub_a64 last_heartbeat;     /* guest writes; CLOCK_MONOTONIC ns; 0 = not yet */
    uint64_t ring_offset;
    uint64_t slot_pool_offset;
    uint64_t channel_table_offset;
    struct hub_a32 guest_wait; /* the guest's HUB_WAIT_... */
    struct hub_a32 host_wait;  /* the host's HUB_WAIT_... */
};

enum hub_message_type {
    HUB_REQUEST = 1,
    HUB_RESPONSE,
    HUB_CANCEL,
    HUB_DATA,
    HUB_CLOSE,
    HUB_RESET,
    HUB_GOODBYE
};

#define HUB_INLINE      UINT32_C(0xFFFFFFFF) /* payload_slot of a payload inside the descriptor */
#define HUB_INLINE_SIZE 32

/* A message. r[impl shm.desc.size] r[impl shm.desc.msg-type] r[impl shm.id.request-id]
 * r[impl shm.id.channel-id] */
struct hub_descriptor {
    uint8_t msg_type;
    uint8_t flags;       /* written as 0, ignored on receipt */
    uint8_t reserved[2]; /* the same */
    uint32_t id;         /* a request's or a channel's */
    uint64_t method_id;  /* a Request's; else 0 */
    uint32_t payload_slot;
    uint32_t payload_generation;
    uint32_t payload_offset;
    uint32_t payload_len;
    uint8_t inline_payload[HUB_INLINE_SIZE];
};

#define HUB_DESCRIPTOR_WORDS 8

/* A descriptor in a ring, copied word by word. */
struct hub_ring_cell {
    struct hub_a64 words[HUB_DESCRIPTOR_WORDS];
};

enum hub_channel_state { HUB_CHANNEL_FREE, HUB_CHANNEL_ACTIVE, HUB_CHANNEL_CLOSED };

/* r[impl shm.flow.channel-table] */
struct hub_channel_entry {
    struct hub_a32 state;
    struct hub_a32 granted_total;
    uint8_t reserved[8];
};

#define HUB_CLASSES_MAX          16
#define HUB_EXTENTS_MAX          4
#define HUB_SLOTS_PER_EXTENT_MAX (UINT32_C(1) << 20)
#define HUB_EXTENT_MAGIC         UINT64_C(0x0154584541504152) /* "RAPAEXT\1" */
#define HUB_EXTENT_OWN_MEMORY    UINT64_MAX /* an extent_offset: the extent is a memfd of its own */

/* The header of a size class, in segments that have size classes. Guests push the host's slots onto
 * its free_head. r[impl shm.varslot.classes] */
struct hub_size_class_header {
    uint32_t slot_size;
    uint32_t slots_per_extent;
    struct hub_a32 extent_count;
    uint32_t reserved_1;
    struct hub_a64 free_head;
    struct hub_a64 extent_offsets[HUB_EXTENTS_MAX];
    uint8_t reserved_2[8];
};

/* The slots that one guest has in one class. A guest's block has one of these for each class. Only
 * the guest pops. */
struct hub_peer_class {
    struct hub_a64 free_head;
    struct hub_a32 wanted;  /* written by the guest: it has no free slot */
    struct hub_a32 granted; /* written by the host: number of slots granted to the guest */
};

/* r[impl shm.varslot.extent-layout] */
struct hub_extent_header {
    uint64_t magic;
    uint32_t size_class;
    uint32_t extent;
    uint32_t slot_count;
    uint32_t slot_size;
    uint64_t meta_offset; /* from the extent's start, like data_offset */
    uint64_t data_offset;
    uint64_t size;
    uint8_t reserved[16];
};

enum hub_slot_meta_state { HUB_META_FREE, HUB_META_ALLOCATED, HUB_META_IN_FLIGHT };

/* The record of a slot. r[impl shm.varslot.ownership] */
struct hub_slot_meta {
    struct hub_a32 generation;
    struct hub_a32 state;
    struct hub_a32 owner_peer; /* the guest it is granted to; 0 = the host's own */
    struct hub_a32 next_free;  /* a slot ref */
};

/* Bits of a wait word. A word of 0 belongs to a peer that does not take part and must always be
 * woken. */
#define HUB_WAIT_PART      UINT32_C(0x01)
#define HUB_WAIT_RX_FUTEX  UINT32_C(0x02)
#define HUB_WAIT_RX_BELL   UINT32_C(0x04)
#define HUB_WAIT_TX_FUTEX  UINT32_C(0x08)
#define HUB_WAIT_TX_BELL   UINT32_C(0x10)
#define HUB_WAIT_LOCKED    UINT32_C(0x20) /* set by a guest without a ticket: its range is locked */
#define HUB_WAIT_RX        (HUB_WAIT_RX_FUTEX | HUB_WAIT_RX_BELL)
#define HUB_WAIT_TX        (HUB_WAIT_TX_FUTEX | HUB_WAIT_TX_BELL)
#define HUB_WAIT_CPU_SHIFT 16 /* CPU number + 1 in the upper half; 0 = unknown */

/* r[impl shm.architecture] */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "segments are little-endian");
_Static_assert(__GCC_ATOMIC_INT_LOCK_FREE == 2 && __GCC_ATOMIC_LLONG_LOCK_FREE == 2,
               "atomics between processes must be lock-free");

#define HUB_AT(type, member, offset) \
    _Static_assert(offsetof(struct type, member) == (offset), #type "." #member)

_Static_assert(sizeof(struct hub_header) == HUB_HEADER_SIZE, "header");
HUB_AT(hub_header, magic, 0);
HUB_AT(hub_header, version, 8);
HUB_AT(hub_header, header_size, 12);
HUB_AT(hub_header, total_size, 16);
HUB_AT(hub_header, max_payload_size, 24);
HUB_AT(hub_header, initial_credit, 28);
HUB_AT(hub_header, max_guests, 32);
HUB_AT(hub_header, ring_size, 36);
HUB_AT(hub_header, peer_table_offset, 40);
HUB_AT(hub_header, slot_region_offset, 48);
HUB_AT(hub_header, slot_size, 56);
HUB_AT(hub_header, slots_per_guest, 60);
HUB_AT(hub_header, max_channels, 64);
HUB_AT(hub_header, host_goodbye, 68);
HUB_AT(hub_header, heartbeat_interval, 72);
HUB_AT(hub_header, var_slot_pool_offset, 80);
HUB_AT(hub_header, current_size, 88);
HUB_AT(hub_header, lease, 96);
HUB_AT(hub_header, var_class_count, 104);

_Static_assert(sizeof(struct hub_peer_entry) == 64, "peer entry");
HUB_AT(hub_peer_entry, state, 0);
HUB_AT(hub_peer_entry, epoch, 4); /* next to the state: both are read at once */
HUB_AT(hub_peer_entry, guest_to_host_head, 8);
HUB_AT(hub_peer_entry, guest_to_host_tail, 12);
HUB_AT(hub_peer_entry, host_to_guest_head, 16);
HUB_AT(hub_peer_entry, host_to_guest_tail, 20);
HUB_AT(hub_peer_entry, last_heartbeat, 24);
HUB_AT(hub_peer_entry, ring_offset, 32);
HUB_AT(hub_peer_entry, slot_pool_offset, 40);
HUB_AT(hub_peer_entry, channel_table_offset, 48);
HUB_AT(hub_peer_entry, guest_wait, 56);
HUB_AT(hub_peer_entry, host_wait, 60);

_Static_assert(sizeof(struct hub_descriptor) == 64, "descriptor");
_Static_assert(sizeof(struct hub_ring_cell) == 64, "cell of a ring");
HUB_AT(hub_descriptor, id, 4);
HUB_AT(hub_descriptor, method_id, 8);
HUB_AT(hub_descriptor, payload_slot, 16);
HUB_AT(hub_descriptor, payload_generation, 20);
HUB_AT(hub_descriptor, payload_offset, 24);
HUB_AT(hub_descriptor, payload_len, 28);
HUB_AT(hub_descriptor, inline_payload, 32);

_Static_assert(sizeof(struct hub_channel_entry) == 16, "channel entry");

_Static_assert(sizeof(struct hub_size_class_header) == 64, "header of a class");
HUB_AT(hub_size_class_header, slots_per_extent, 4);
HUB_AT(hub_size_class_header, extent_count, 8);
HUB_AT(hub_size_class_header, free_head, 16);
HUB_AT(hub_size_class_header, extent_offsets, 24);

_Static_assert(sizeof(struct hub_peer_class) == 16, "class of a peer block");
HUB_AT(hub_peer_class, wanted, 8);
HUB_AT(hub_peer_class, granted, 12);

_Static_assert(sizeof(struct hub_extent_header) == 64, "header of an extent");
HUB_AT(hub_extent_header, size_class, 8);
HUB_AT(hub_extent_header, extent, 12);
HUB_AT(hub_extent_header, slot_count, 16);
HUB_AT(hub_extent_header, slot_size, 20);
HUB_AT(hub_extent_header, meta_offset, 24);
HUB_AT(hub_extent_header, data_offset, 32);
HUB_AT(hub_extent_header, size, 40);

_Static_assert(sizeof(struct hub_slot_meta) == 16, "record of a slot");
HUB_AT(hub_slot_meta, state, 4);
HUB_AT(hub_slot_meta, owner_peer, 8);
HUB_AT(hub_slot_meta, next_free, 12);

#endif
