/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/state/state_latch.h"

#include <inttypes.h>

#include <rapahub/error.h>

#define BUFFER(latest)  ((uint32_t)((latest)&0xFF))
#define VERSION(latest) ((latest) >> 8)

static struct hub_region_buffer *buffer_at(const struct hub_state_latch *latch, uint32_t index)
{
    return (struct hub_region_buffer *)(void *)(latch->buffers + (size_t)index * latch->stride);
}

static struct hub_a64 *value_of(struct hub_region_buffer *buffer)
{
    return (struct hub_a64 *)(void *)(buffer + 1);
}

static int fail_index(uint32_t index, uint32_t count)
{
    return rapahub_fail(RAPAHUB_ECORRUPT, "region.state.latch",
                        "the latest value is in buffer %" PRIu32 " of %" PRIu32, index, count);
}

/* A version that a dead writer had begun was never named: it is begun anew. The buffer is marked
 * before its bytes change, so a reader that still copies the version which was there finds out. */
int hub_state_latch_write(const struct hub_state_latch *latch, const void *data, size_t size)
{
    struct hub_region_latch *body = latch->body;
    uint64_t latest = hub_load_relaxed64(&body->latest), version = VERSION(latest) + 1;
    struct hub_region_buffer *buffer;
    uint32_t next;

    if (BUFFER(latest) >= latch->count)
        return fail_index(BUFFER(latest), latch->count);
    if (version > HUB_STATE_VERSION_MAX)
        return rapahub_fail(RAPAHUB_ERETIRED, "region.retired",
                            "the versions of the state are used up");
    next = BUFFER(latest) + 1 < latch->count ? BUFFER(latest) + 1 : 0;
    buffer = buffer_at(latch, next);
    hub_publish64(&buffer->seq, 2 * version - 1);
    hub_fence(&body->changed_flag);
    hub_store_relaxed(&buffer->len, (uint32_t)size);
    hub_atomic_write_racing(value_of(buffer), data, size);
    hub_publish64(&buffer->seq, 2 * version);
    hub_publish64(&body->latest, version << 8 | next);
    return 0;
}

/* Before a buffer is marked for a later version, a later one than its own was named as the latest:
 * if it has another mark and the latest is the same, this was not our writer. */
static int explain(const struct hub_state_latch *latch, uint64_t latest)
{
    return hub_observe64(&latch->body->latest) != latest
               ? RAPAHUB_EAGAIN
               : rapahub_fail(RAPAHUB_ECORRUPT, "region.state.latch",
                              "buffer %" PRIu32 " does not have the version %" PRIu64
                              " that is named as the latest",
                              BUFFER(latest), VERSION(latest));
}

static int check_length(const struct hub_state_latch *latch, uint32_t len, size_t room)
{
    if (len > latch->value_bytes)
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.state.torn",
                            "the value has %" PRIu32 " bytes, at most %" PRIu32 " fit", len,
                            latch->value_bytes);
    return len <= room ? 0
                       : rapahub_fail(RAPAHUB_EMSGSIZE, "region.state.torn",
                                      "the value has %" PRIu32 " bytes, and there is room for %zu",
                                      len, room);
}

int hub_state_latch_try(const struct hub_state_latch *latch, void *to, size_t room, size_t *size,
                        uint64_t *version)
{
    uint64_t latest = hub_observe64(&latch->body->latest), whole = 2 * VERSION(latest);
    struct hub_region_buffer *buffer;
    uint32_t len;
    int r;

    if (BUFFER(latest) >= latch->count)
        return fail_index(BUFFER(latest), latch->count);
    if (whole == 0)
        return RAPAHUB_EEMPTY;
    buffer = buffer_at(latch, BUFFER(latest));
    if (hub_observe64(&buffer->seq) != whole)
        return explain(latch, latest);
    len = hub_load_relaxed(&buffer->len);
    if (len <= latch->value_bytes && len <= room)
        hub_atomic_copy_racing(to, value_of(buffer), len);
    hub_fence_loads();
    if (hub_observe64(&buffer->seq) != whole)
        return explain(latch, latest);
    r = check_length(latch, len, room);
    if (r != RAPAHUB_ECORRUPT) {
        *size = len;
        *version = VERSION(latest);
    }
    return r;
}
