/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/state/state_shape.h"

#include <inttypes.h>

#define VALUE_BYTES 1024
#define BUFFERS     2
#define BODY_BYTES  UINT64_C(128)

static_assert(sizeof(struct hub_region_parity) == BODY_BYTES, "parity");
static_assert(sizeof(struct hub_region_latch) == BODY_BYTES, "latch");

static int refuse(const char *what, uint32_t given, const char *allowed)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "%s may not be %" PRIu32 ": %s", what, given, allowed);
}

static uint64_t align(uint64_t size)
{
    return (size + HUB_STATE_ALIGN - 1) & ~(HUB_STATE_ALIGN - 1);
}

static uint32_t stride_of(uint32_t value_bytes)
{
    return (uint32_t)align(sizeof(struct hub_region_buffer) + value_bytes);
}

int hub_state_shape_make(const struct rapahub_region_options *options, struct hub_state_shape *out)
{
    bool latch = options->kind == RAPAHUB_REGION_STATE_LATCH;

    *out = (struct hub_state_shape){.value_bytes =
                                        options->value_bytes ? options->value_bytes : VALUE_BYTES,
                                    .buffers = !latch             ? 0
                                               : options->buffers ? options->buffers
                                                                  : BUFFERS};
    if (out->value_bytes > HUB_STATE_VALUE_MAX)
        return refuse("the bytes of a value", options->value_bytes, "at most 2^30");
    if (!latch && options->buffers != 0)
        return refuse("the number of buffers", options->buffers,
                      "they are an option of regions of kind STATE_LATCH");
    if (latch && (out->buffers < HUB_STATE_BUFFERS_MIN || out->buffers > HUB_STATE_BUFFERS_MAX))
        return refuse("the number of buffers", options->buffers, "2 to 255");
    if (options->cells != 0 || options->cell_bytes != 0 || options->head_batch != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "a state has one value, and no cells: give `value_bytes`");
    if (latch)
        out->stride = stride_of(out->value_bytes);
    return 0;
}

int hub_state_shape_refuse(const struct rapahub_region_options *options)
{
    return (options->value_bytes | options->buffers) == 0
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "",
                              "the bytes of a value and the number of buffers are options of "
                              "regions of kind STATE_V1 and STATE_LATCH");
}

void hub_state_shape_place(uint32_t body_off, struct hub_state_shape *shape)
{
    if (shape->buffers > 0)
        shape->buffers_off = body_off + (uint32_t)BODY_BYTES;
}

uint64_t hub_state_shape_bytes(const struct hub_state_shape *shape)
{
    return BODY_BYTES + (shape->buffers > 0 ? (uint64_t)shape->buffers * shape->stride
                                            : align(shape->value_bytes));
}

static bool numbers_hold(const struct hub_state_shape *s, uint32_t body_off, bool latch)
{
    if (s->value_bytes < 1 || s->value_bytes > HUB_STATE_VALUE_MAX)
        return false;
    return !latch ||
           (s->buffers >= HUB_STATE_BUFFERS_MIN && s->buffers <= HUB_STATE_BUFFERS_MAX &&
            s->stride == stride_of(s->value_bytes) && s->buffers_off == body_off + BODY_BYTES);
}

bool hub_state_shape_read(const uint8_t *data, uint32_t body_off, bool latch,
                          struct hub_state_shape *out)
{
    union {
        struct hub_region_parity parity;
        struct hub_region_latch latch;
        uint64_t words[BODY_BYTES / 8];
    } copy;

    hub_copy_in(copy.words, (const void *)(data + body_off), BODY_BYTES / 8);
    if (latch)
        *out = (struct hub_state_shape){.value_bytes = copy.latch.value_bytes,
                                        .buffers = copy.latch.buffers,
                                        .stride = copy.latch.buffer_stride,
                                        .buffers_off = copy.latch.buffers_off};
    else
        *out = (struct hub_state_shape){.value_bytes = copy.parity.value_bytes};
    return numbers_hold(out, body_off, latch);
}
