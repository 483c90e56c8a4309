/* SPDX-License-Identifier: Apache-2.0 */
/* slot_ref: class, extent and index of a slot in 32 bits, and the head of a stack of free slots in
 * 64. A ref read from the segment is only a number and is checked where it is used. */
#ifndef HUB_SHM_SLOT_REF_H
#define HUB_SHM_SLOT_REF_H

#include <stdint.h>

#define HUB_SLOT_REF_NONE UINT32_C(0xFFFFFFFF) /* the end of a stack */
#define HUB_SLOT_REF_BITS 22 /* bits of the index; the bits above it are the extent */

struct hub_slot_ref {
    uint32_t size_class; /* at most 15 in refs we make, 255 in refs we read */
    uint32_t extent;     /* at most 3 */
    uint32_t index;      /* at most 2^22 - 1 */
};

static inline uint32_t hub_slot_ref_pack(struct hub_slot_ref ref)
{
    return ref.size_class << 24 | ref.extent << 22 | ref.index;
}

static inline struct hub_slot_ref hub_slot_ref_unpack(uint32_t packed)
{
    return (struct hub_slot_ref){packed >> 24, packed >> 22 & 3, packed & 0x3FFFFF};
}

/* Class and extent as one number, at most 1023, and the index in the extent. */
static inline uint32_t hub_slot_ref_extent(uint32_t packed)
{
    return packed >> HUB_SLOT_REF_BITS;
}

static inline uint32_t hub_slot_ref_index(uint32_t packed)
{
    return packed & ((UINT32_C(1) << HUB_SLOT_REF_BITS) - 1);
}

/* The head of a stack: the first slot, and a tag that rises with each change, so that a head
 * which returned to an old slot is not mistaken for the one that was read.
 * r[impl shm.varslot.freelist] */
static inline uint64_t hub_slot_ref_head(uint32_t packed, uint32_t tag)
{
    return (uint64_t)packed << 32 | tag;
}

static inline uint32_t hub_slot_ref_first(uint64_t head)
{
    return (uint32_t)(head >> 32);
}

static inline uint32_t hub_slot_ref_tag(uint64_t head)
{
    return (uint32_t)head;
}

#endif
