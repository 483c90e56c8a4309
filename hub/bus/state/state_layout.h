/* SPDX-License-Identifier: Apache-2.0 */
/* state_layout: the bytes of a region of kind STATE_V1 or STATE_LATCH after its header and leases,
 * as docs/spec/region.md has them. Words that change are atomic; the others are constant as long as
 * the region lasts, and are copied and checked when it is opened. r[impl region.geometry] */
#ifndef HUB_BUS_STATE_LAYOUT_H
#define HUB_BUS_STATE_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/atomic.h"

#define HUB_STATE_VALUE_MAX   (UINT32_C(1) << 30) /* bytes of a value */
#define HUB_STATE_BUFFERS_MIN 2
#define HUB_STATE_BUFFERS_MAX 255
#define HUB_STATE_ALIGN       UINT64_C(128) /* for each buffer, and the whole body */
#define HUB_STATE_VERSION_MAX ((UINT64_C(1) << 54) - 1)

/* STATE_V1: the value follows. */
struct hub_region_parity {
    _Alignas(
        128) struct hub_a64 seq; /* even: version * 2; odd: the next version is being written */
    uint32_t value_bytes;        /* the longest value has them */
    struct hub_a32 writer_lease; /* + 1; 0: none */
    struct hub_a32 changed_seq;  /* where readers sleep */
    struct hub_a32 changed_flag;
    struct hub_a32 len; /* bytes of the value */
};

/* STATE_LATCH: the buffers follow. */
struct hub_region_latch {
    _Alignas(128) struct hub_a64 latest; /* version << 8 | the buffer that has it */
    struct hub_a32 writer_lease;         /* + 1; 0: none */
    struct hub_a32 changed_seq;
    struct hub_a32 changed_flag;
    uint32_t buffers;
    uint32_t value_bytes;
    uint32_t buffer_stride;
    uint32_t buffers_off;
};

/* The value follows. */
struct hub_region_buffer {
    _Alignas(64) struct hub_a64 seq; /* version * 2; one less: it is being written */
    struct hub_a32 len;
    uint32_t crc32c; /* 0 */
};

#define HUB_STATE_AT(type, member, offset) \
    static_assert(offsetof(struct type, member) == (offset), #type "." #member)
HUB_STATE_AT(hub_region_parity, value_bytes, 8);
HUB_STATE_AT(hub_region_parity, writer_lease, 12);
HUB_STATE_AT(hub_region_parity, changed_seq, 16);
HUB_STATE_AT(hub_region_parity, changed_flag, 20);
HUB_STATE_AT(hub_region_parity, len, 24);
HUB_STATE_AT(hub_region_latch, writer_lease, 8);
HUB_STATE_AT(hub_region_latch, changed_seq, 12);
HUB_STATE_AT(hub_region_latch, changed_flag, 16);
HUB_STATE_AT(hub_region_latch, buffers, 20);
HUB_STATE_AT(hub_region_latch, value_bytes, 24);
HUB_STATE_AT(hub_region_latch, buffer_stride, 28);
HUB_STATE_AT(hub_region_latch, buffers_off, 32);
HUB_STATE_AT(hub_region_buffer, len, 8);
HUB_STATE_AT(hub_region_buffer, crc32c, 12);
static_assert(sizeof(struct hub_region_parity) == 128, "parity");
static_assert(sizeof(struct hub_region_latch) == 128, "latch");
static_assert(sizeof(struct hub_region_buffer) == 64, "buffer");

#endif
