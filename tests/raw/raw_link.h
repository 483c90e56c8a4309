/* SPDX-License-Identifier: Apache-2.0 */
/* raw link: one side of a link, as guest or as host, in its simplest form: one thread, one message
 * at a time, every index and tail published at once, slots taken one bit at a time.
 */
#ifndef TESTS_RAW_RAW_LINK_H
#define TESTS_RAW_RAW_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_INLINE 0xFFFFFFFFu /* payload_slot of a message that has no slot */

enum raw_type {
    RAW_REQUEST = 1,
    RAW_RESPONSE = 2,
    RAW_CANCEL = 3,
    RAW_DATA = 4,
    RAW_CLOSE = 5,
    RAW_RESET = 6,
    RAW_GOODBYE = 7
};

/* How this side sleeps until the other has published something. */
enum raw_sleep {
    RAW_SLEEP_BELL,  /* polls the doorbell; without one as RAW_SLEEP_FUTEX */
    RAW_SLEEP_FUTEX, /* the wait word, or as a foreign peer the word that was published */
    RAW_SLEEP_LOOK   /* neither: looks every millisecond */
};

struct raw_behaviour { /* zero: a peer that takes part in the wait protocol */
    bool foreign;      /* leaves its wait word 0, and knows the seed's four futex words only */
    bool modulo;       /* keeps its indices modulo ring_size, and masks what it reads */
    bool tolerant;     /* keeps them free-running, and masks what it reads */
    bool never_rings;  /* the doorbell */
    bool never_wakes;  /* a futex */
    bool keeps_slots;  /* raw_link_receive leaves a slot to raw_slot_free */
    enum raw_sleep sleep;
    uint32_t offset; /* offset of a payload in its slot, where it fits there */
};

/* A message with the fields of its descriptor. */
struct raw_message {
    uint8_t type, flags;
    uint32_t id;
    uint64_t method;
    uint32_t slot, generation, offset, length;
    const uint8_t *payload; /* received: until the next receive */
};

struct raw_classes;

struct raw_link {
    uint8_t *base; /* start of the segment */
    size_t size;   /* bytes of the mapping */
    bool host;
    uint32_t peer;  /* id of the guest, on either side */
    uint32_t epoch; /* at attach or reserve */
    uint64_t entry; /* its peer entry */
    uint32_t ring_size, slot_size, slot_count;
    uint64_t out_ring, in_ring;   /* first descriptor */
    uint64_t out_pool, in_pool;   /* bitmap; slots lie `bitmap_size` after it */
    uint64_t out_head, out_tail;  /* words of the ring this side writes to */
    uint64_t in_head, in_tail;    /* and of the one it reads */
    uint64_t own_wait, peer_wait; /* wait words */
    uint64_t bitmap_size;
    uint32_t head, tail; /* own indices, as published */
    int bell;            /* own end of the doorbell, or -1 */
    bool mapped;         /* base is this link's own mapping */
    int file;            /* the segment's file, if it may grow; -1: it does not */
    struct raw_behaviour behaviour;
    uint8_t *received;  /* payload of the last message */
    uint64_t credit_at; /* if waiting for credit: the counter, and the value to reach */
    uint32_t credit_wanted;
    struct raw_classes *classes; /* slots of several sizes; NULL: pools of one size */
    uint32_t wanted_size;        /* if waiting for a slot: its bytes */
};

/* Fills in all but bell, epoch and indices from the header and the entry of `peer`, which must lie
 * inside `size` bytes: 0 or -EPROTO. raw_link_fini releases and unmaps what is its own. */
int raw_link_init(struct raw_link *link, uint8_t *base, size_t size, uint32_t peer);
void raw_link_fini(struct raw_link *link);

/* Takes over the indices that stand in the entry. */
void raw_link_read_indices(struct raw_link *link);

/* Sends type, flags, id, method and payload; `slot` and the others are chosen. Payloads above 32
 * bytes go into a slot. 0; -ETIMEDOUT if there was no space or slot; -EMSGSIZE; -EPROTO if an index
 * of the other side cannot be. */
int raw_link_send(struct raw_link *link, const struct raw_message *message, int timeout_ms);

/* The same with any 64 bytes as the descriptor, whatever they say. */
int raw_link_send_descriptor(struct raw_link *link, const uint8_t descriptor[64], int timeout_ms);

/* Packs the fields as they are, and the first 32 bytes of the payload if the slot is RAW_INLINE. */
void raw_link_pack(const struct raw_message *message, uint8_t descriptor[64]);

/* Puts a descriptor into the ring without publishing it, and publishes what was put. */
int raw_link_put(struct raw_link *link, const uint8_t descriptor[64]);
void raw_link_publish(struct raw_link *link);

/* The next message, its payload copied, its slot freed. 0; -ETIMEDOUT; -EPROTO if it breaks a rule;
 * -EPIPE if the other side is gone: doorbell hung up, or goodbye and nothing left to read. */
int raw_link_receive(struct raw_link *link, int timeout_ms, struct raw_message *out);

/* How many messages wait to be received; -EPROTO as above. */
int raw_link_ready(struct raw_link *link);

/* Says whether the other side said goodbye: host_goodbye, or the entry is not Attached (nor
 * Reserved). */
bool raw_link_left(const struct raw_link *link);

#endif
