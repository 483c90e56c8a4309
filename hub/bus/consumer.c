/* SPDX-License-Identifier: Apache-2.0 */
/* consumer: the public handle: role, wait, take back what a dead producer left, try again. */
#include "hub/bus/consumer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/region.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/bus/fanin_reader.h"
#include "hub/bus/watcher.h"

struct rapahub_consumer {
    struct hub_fanin_reader reader;
    struct hub_role role;
    size_t shown; /* by peek, and not done yet */
    struct hub_watcher *watcher;
};

static int begin(struct rapahub_consumer *consumer, struct rapahub_region *region, uint32_t index)
{
    int r = hub_role_take(region, HUB_LEASE_CONSUMER, index, &consumer->role);

    if (r < 0)
        return r;
    r = hub_fanin_reader_begin(&consumer->reader, region, index);
    if (r < 0)
        hub_role_drop(&consumer->role);
    return r;
}

/* The first consumer whose role is free. */
static int begin_any(struct rapahub_consumer *consumer, struct rapahub_region *region)
{
    uint32_t count = region->shape.fanout.consumers;
    int r = begin(consumer, region, 0);

    for (uint32_t i = 1; i < count && r == RAPAHUB_EROLETAKEN; i++)
        r = begin(consumer, region, i);
    return r;
}

/* r[impl region.again] */
static int check_index(const struct rapahub_region *region, uint32_t index)
{
    uint32_t count = region->shape.fanout.consumers ? region->shape.fanout.consumers : 1;

    return index < count || index == RAPAHUB_CONSUMER_ANY
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "region.again",
                              "the region has no consumer %" PRIu32 ": it has %" PRIu32, index,
                              count);
}

static bool is_zero(const struct rapahub_consumer_options *options)
{
    uint64_t reserved = 0;

    for (size_t i = 0; options && i < sizeof options->reserved / sizeof *options->reserved; i++)
        reserved |= options->reserved[i];
    return reserved == 0;
}

/* A handle without a role has no rings, and no region. */
static void clear(struct rapahub_consumer *consumer)
{
    *consumer = (struct rapahub_consumer){.role = {.index = consumer->role.index}};
}

int hub_consumer_resume(struct rapahub_consumer *consumer, struct rapahub_region *region,
                        const struct rapahub_consumer_options *options)
{
    uint32_t index = options ? options->index : 0;
    int r = check_index(region, index);

    if (r == 0 && hub_region_shape_is_sequencer(&region->shape))
        r = rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                         "the region is a sequencer: it has stages, and no messages");
    if (r == 0 && !is_zero(options))
        r = rapahub_fail(RAPAHUB_EINVAL, "", "reserved options of a consumer must be 0");
    if (r < 0)
        return r;
    r = index == RAPAHUB_CONSUMER_ANY ? begin_any(consumer, region)
                                      : begin(consumer, region, index);
    if (r < 0)
        clear(consumer);
    return r;
}

int rapahub_consumer_open(struct rapahub_region *region,
                          const struct rapahub_consumer_options *options,
                          struct rapahub_consumer **out)
{
    struct rapahub_consumer *consumer = calloc(1, sizeof *consumer);
    int r;

    if (!consumer)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a consumer");
    r = hub_consumer_resume(consumer, region, options);
    if (r < 0) {
        free(consumer);
        return r;
    }
    *out = consumer;
    return 0;
}

/* Where there is a watcher, it may have told of what a dead producer left. */
static int find_nothing(struct rapahub_consumer *consumer)
{
    hub_fanin_reader_rest(&consumer->reader, consumer->watcher != NULL);
    if (consumer->watcher)
        hub_watcher_arm(consumer->watcher, &consumer->reader);
    return RAPAHUB_EEMPTY;
}

/* The first message, waiting for it. */
static int next(struct rapahub_consumer *consumer, uint64_t timeout_ns, struct rapahub_message *out)
{
    struct hub_fanin_reader *reader = &consumer->reader;
    uint64_t deadline = timeout_ns ? hub_clock_after(timeout_ns) : 0;
    int r = consumer->role.region ? hub_region_await_open(consumer->role.region, deadline)
                                  : hub_role_refuse_let_go("consumer");

    if (r < 0)
        return r;
    while ((r = hub_fanin_reader_show(reader, out)) == RAPAHUB_EEMPTY) {
        r = find_nothing(consumer);
        if (timeout_ns == 0 && hub_fanin_reader_is_empty(reader))
            return r;
        r = timeout_ns == 0 ? 0 : hub_fanin_reader_wait(reader, deadline);
        if (r < 0)
            return r;
    }
    return r;
}

int rapahub_consumer_pop(struct rapahub_consumer *consumer, void *to, size_t size,
                         uint64_t timeout_ns, struct rapahub_message *out)
{
    struct rapahub_message message = {0};
    struct hub_ring_reader *ring;
    int r = next(consumer, timeout_ns, &message);

    if (r < 0)
        return r;
    ring = hub_fanin_reader_ring(&consumer->reader);
    message.skipped = ring->skipped;
    if (out)
        *out = message;
    if (message.size > size)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "region.cell",
                            "the message has %zu bytes, and there is room for %zu", message.size,
                            size);
    if (message.size > 0)
        hub_atomic_copy_bytes(to, message.data, message.size);
    if (out)
        out->data = to;
    ring->skipped = 0;
    consumer->shown = 0;
    hub_fanin_reader_take(&consumer->reader);
    return 0;
}

int rapahub_consumer_peek(struct rapahub_consumer *consumer, struct rapahub_message *list,
                          size_t max, uint64_t timeout_ns, size_t *out)
{
    size_t count = 0;
    int r = max == 0 ? 0 : next(consumer, timeout_ns, &list[0]);

    *out = 0;
    if (r < 0)
        return r;
    if (max > 0) {
        list[0].skipped = hub_fanin_reader_ring(&consumer->reader)->skipped;
        count = 1;
    }
    while (count < max && count < hub_fanin_reader_most(&consumer->reader) &&
           hub_fanin_reader_show_ahead(&consumer->reader, count, &list[count]) == 0)
        count++;
    consumer->shown = count;
    *out = count;
    return 0;
}

int rapahub_consumer_done(struct rapahub_consumer *consumer, size_t count)
{
    if (count > consumer->shown)
        return rapahub_fail(RAPAHUB_EINVAL, "region.ack",
                            "%zu messages are done, and %zu were shown", count, consumer->shown);
    consumer->shown -= count;
    if (count > 0)
        hub_fanin_reader_ring(&consumer->reader)->skipped = 0;
    while (count-- > 0)
        hub_fanin_reader_take(&consumer->reader);
    return 0;
}

void hub_consumer_count_undecodable(const struct rapahub_consumer *consumer)
{
    (void)hub_add64(&hub_region_header(consumer->role.region)->decode_errors, 1);
}

size_t hub_consumer_message_max(const struct rapahub_consumer *consumer)
{
    return hub_region_shape_message_max(&consumer->role.region->shape);
}

uint32_t rapahub_consumer_index(const struct rapahub_consumer *consumer)
{
    return consumer->role.index;
}

void rapahub_consumer_blocked(const struct rapahub_consumer *consumer,
                              struct rapahub_region_blocker *out)
{
    *out = consumer->role.region ? hub_fanin_reader_ring(&consumer->reader)->blocker
                                 : (struct rapahub_region_blocker){0};
}

int rapahub_consumer_fd(struct rapahub_consumer *consumer)
{
    int r = consumer->role.region ? 0 : hub_role_refuse_let_go("consumer");

    if (r == 0 && !consumer->watcher)
        r = hub_watcher_start(&consumer->reader, NULL, &consumer->watcher);
    return r < 0 ? r : hub_watcher_fd(consumer->watcher);
}

int hub_consumer_listen(struct rapahub_consumer *consumer, const struct hub_listener *listener)
{
    return consumer->watcher ? rapahub_fail(RAPAHUB_EBUSY, "", "the consumer is listened to")
                             : hub_watcher_start(&consumer->reader, listener, &consumer->watcher);
}

void hub_consumer_pause(struct rapahub_consumer *consumer, uint64_t until_ns)
{
    hub_watcher_pause(consumer->watcher, until_ns);
    hub_watcher_arm(consumer->watcher, &consumer->reader);
}

void hub_consumer_let_go(struct rapahub_consumer *consumer)
{
    if (!consumer || !consumer->role.region)
        return;
    hub_watcher_stop(consumer->watcher);
    hub_fanin_reader_end(&consumer->reader);
    hub_role_drop(&consumer->role);
    clear(consumer);
}

void rapahub_consumer_close(struct rapahub_consumer *consumer)
{
    hub_consumer_let_go(consumer);
    free(consumer);
}
