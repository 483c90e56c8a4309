/* SPDX-License-Identifier: Apache-2.0 */
/* raw class: slots of several sizes, chapter "slots of several sizes" of the specification: their
 * places, their stacks, the extents that are added. The operations of host and guest are in
 * raw_allocator and raw_cache. */
#ifndef TESTS_RAW_RAW_CLASS_H
#define TESTS_RAW_RAW_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/raw/raw_link.h"

#define RAW_NO_SLOT    0xFFFFFFFFu
#define RAW_OWN_MEMORY UINT64_MAX

enum raw_slot_state { RAW_FREE, RAW_ALLOCATED, RAW_IN_FLIGHT };

/* This side's record of a slot, independent of the segment's contents. */
struct raw_note {
    uint32_t seen; /* generation that was accepted last */
    bool accepted;
    enum { RAW_AWAY, RAW_OURS, RAW_USED } place; /* host: granted, in reserve, sent; guest: any */
};

struct raw_extent {
    uint8_t *memory; /* NULL: not mapped */
    size_t own;      /* bytes of a mapping of its own */
    int sent;        /* descriptor that came for it, or -1 */
    struct raw_note *notes;
};

struct raw_class {
    uint32_t slot_size, per_extent;
    uint64_t header, block; /* offsets of its header, and of what the guest has of it */
    struct raw_extent extents[4];
    uint32_t *reserve, in_reserve; /* for a host */
    uint32_t granted;
};

struct raw_classes {
    uint32_t count;
    bool grows; /* a host adds extents where it has none in reserve */
    struct raw_class of[16];
};

/* Reads and checks the classes of link->base, if it has any: 0, -EPROTO, -ENOMEM. */
int raw_class_init(struct raw_link *link, uint32_t peers);
void raw_class_fini(struct raw_link *link);

uint64_t raw_class_records_size(uint32_t slots);
uint64_t raw_class_extent_size(const struct raw_class *of);

/* Uses `memory` as extent `extent` from now on; `own` bytes of it are unmapped at the end. */
int raw_class_add(struct raw_class *of, uint32_t extent, uint8_t *memory, size_t own);

/* The record of a slot, its note, its first byte. An extent that is not mapped yet is looked for in
 * the file and in the doorbell; NULL where there is no such slot, or its extent cannot be. */
uint8_t *raw_class_record(struct raw_link *link, uint32_t ref);
struct raw_note *raw_class_note(struct raw_link *link, uint32_t ref);
uint8_t *raw_class_bytes(struct raw_link *link, uint32_t ref);

/* Keeps the descriptor of an extent that came by the doorbell, or closes what is none. */
void raw_class_keep(struct raw_link *link, int fd);

/* Returns the smallest class that holds `size`; link->classes->count if there is none. */
uint32_t raw_class_select(const struct raw_link *link, uint32_t size);

/* Puts a slot on the stack whose head is at offset `head`. */
void raw_class_push(struct raw_link *link, uint64_t head, uint32_t ref);

/* Takes the first of a stack, which stays where `*ref` is RAW_NO_SLOT; takes all of it. */
int raw_class_pop(struct raw_link *link, uint64_t head, uint32_t *ref);
uint32_t raw_class_pop_all(struct raw_link *link, uint64_t head);

/* ---- operations of either side, in its own role ---- */

/* A slot for `size` bytes, its generation raised. -EAGAIN; -EPROTO if it cannot be. */
int raw_class_take(struct raw_link *link, uint32_t size, uint32_t *ref, uint32_t *generation);
void raw_class_sent(struct raw_link *link, uint32_t ref);

/* Says whether there is a slot for link->wanted_size bytes, or may be one. */
bool raw_class_ready(struct raw_link *link);

/* Checks what a descriptor says of a slot, and copies the payload: 0 or -EPROTO. */
int raw_class_accept(struct raw_link *link, struct raw_message *message);

/* Gives a slot of the other side back. */
int raw_class_free(struct raw_link *link, uint32_t ref);

#endif
