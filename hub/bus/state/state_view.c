/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/state/state_view.h"

#include <inttypes.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

#define TRIES   1024
#define LONGEST (100 * HUB_MILLISECOND) /* all tries; a value may have 1 GiB */

static struct hub_state_view latch_at(uint8_t *data, uint32_t body_off,
                                      const struct hub_state_shape *shape)
{
    struct hub_region_latch *body = (void *)(data + body_off);

    return (struct hub_state_view){.latch = true,
                                   .of_latch = {.body = body,
                                                .buffers = data + shape->buffers_off,
                                                .count = shape->buffers,
                                                .stride = shape->stride,
                                                .value_bytes = shape->value_bytes},
                                   .value_bytes = shape->value_bytes,
                                   .writer_lease = &body->writer_lease,
                                   .changed_seq = &body->changed_seq,
                                   .changed_flag = &body->changed_flag};
}

struct hub_state_view hub_state_view_at(uint8_t *data, uint32_t body_off,
                                        const struct hub_state_shape *shape)
{
    struct hub_region_parity *body = (void *)(data + body_off);

    if (shape->buffers > 0)
        return latch_at(data, body_off, shape);
    return (struct hub_state_view){
        .of_parity = {.body = body, .value_bytes = shape->value_bytes, .value = (void *)(body + 1)},
        .value_bytes = shape->value_bytes,
        .writer_lease = &body->writer_lease,
        .changed_seq = &body->changed_seq,
        .changed_flag = &body->changed_flag};
}

void hub_state_view_fill(const struct hub_state_view *view, const struct hub_state_shape *shape)
{
    struct hub_region_latch *latch = view->of_latch.body;

    if (!view->latch) {
        view->of_parity.body->value_bytes = shape->value_bytes;
        return;
    }
    latch->buffers = shape->buffers;
    latch->value_bytes = shape->value_bytes;
    latch->buffer_stride = shape->stride;
    latch->buffers_off = shape->buffers_off;
}

static void empty_latch(const struct hub_state_latch *latch)
{
    hub_store_relaxed64(&latch->body->latest, 0);
    for (uint32_t i = 0; i < latch->count; i++) {
        struct hub_region_buffer *buffer = (void *)(latch->buffers + (size_t)i * latch->stride);

        hub_store_relaxed64(&buffer->seq, 0);
        hub_store_relaxed(&buffer->len, 0);
    }
}

void hub_state_view_empty(const struct hub_state_view *view)
{
    hub_store_relaxed(view->writer_lease, 0);
    hub_store_relaxed(view->changed_seq, 0);
    hub_store_relaxed(view->changed_flag, 0);
    if (view->latch) {
        empty_latch(&view->of_latch);
        return;
    }
    hub_store_relaxed64(&view->of_parity.body->seq, 0);
    hub_store_relaxed(&view->of_parity.body->len, 0);
}

int hub_state_view_write(const struct hub_state_view *view, const void *data, size_t size)
{
    if (size > view->value_bytes)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "region.state.shape",
                            "a value of %zu bytes is too long: the state has room for %" PRIu32,
                            size, view->value_bytes);
    return view->latch ? hub_state_latch_write(&view->of_latch, data, size)
                       : hub_state_parity_write(&view->of_parity, data, size);
}

static int try_once(const struct hub_state_view *view, void *to, size_t room, size_t *size,
                    uint64_t *version)
{
    return view->latch ? hub_state_latch_try(&view->of_latch, to, room, size, version)
                       : hub_state_parity_try(&view->of_parity, to, room, size, version);
}

int hub_state_view_read(const struct hub_state_view *view, void *to, size_t room, size_t *size,
                        uint64_t *version)
{
    int r = try_once(view, to, room, size, version);
    uint64_t until_ns = r == RAPAHUB_EAGAIN ? hub_clock_after(LONGEST) : 0;

    for (int i = 1; i < TRIES && r == RAPAHUB_EAGAIN && hub_clock_left(until_ns) > 0; i++) {
        hub_pause();
        r = try_once(view, to, room, size, version);
    }
    return r != RAPAHUB_EAGAIN ? r
                               : rapahub_fail(RAPAHUB_EWRITERBUSY, "region.state.reader",
                                              "no whole value in %d tries or 0.1 s: %s", TRIES,
                                              view->latch ? "the writer comes round too fast"
                                                          : "it is being written");
}
