/* SPDX-License-Identifier: Apache-2.0 */
/* producer: the public handle: role, policy, wait, try again. */
#include "hub/bus/producer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/sequencer.h>

#include "hub/base/clock.h"
#include "hub/bus/bus_wait.h"
#include "hub/bus/mpsc.h"
#include "hub/bus/reap.h"
#include "hub/bus/resume.h"
#include "hub/bus/role.h"
#include "hub/bus/sequencer/sequencer_claim.h"
#include "hub/bus/spsc.h"

#define BACKOFF_FIRST HUB_MICROSECOND
#define BACKOFF_MOST  HUB_MILLISECOND

struct rapahub_producer {
    struct hub_ring_view view;
    struct hub_role role;
    struct hub_role_counterpart consumer; /* or the router of FANOUT, or the slowest stage */
    struct hub_sequencer_claimer
        claimer;     /* SEQUENCER, which has no ring: its view has the sleeps */
    uint32_t wanted; /* positions that a claim waits for */
    uint32_t message_max;
    struct hub_a64 *intent; /* in its lease; NULL: no leases, or no other producer */
    enum rapahub_on_full on_full;
    bool single; /* its ring has no other producer: SPSC, FANIN */
    bool spins;
    uint64_t tail; /* `single` only */
    uint64_t dropped;
};

static int check_options(const struct rapahub_region *region,
                         const struct rapahub_producer_options *options)
{
    uint64_t reserved = 0;

    for (size_t i = 0; i < sizeof options->reserved / sizeof *options->reserved; i++)
        reserved |= options->reserved[i];
    if (reserved != 0 || (unsigned)options->on_full > RAPAHUB_ON_FULL_FAIL)
        return rapahub_fail(RAPAHUB_EINVAL, "region.edge",
                            "an option of the producer is not valid");
    if (options->on_full == RAPAHUB_ON_FULL_DROP && hub_region_shape_is_sequencer(&region->shape))
        return rapahub_fail(RAPAHUB_EINVAL, "region.edge",
                            "a producer of a sequencer has no message to drop: choose another "
                            "policy");
    if (options->on_full == RAPAHUB_ON_FULL_BLOCK &&
        !hub_region_shape_has(&region->shape, HUB_CAP_WAKE_FUTEX))
        return rapahub_fail(RAPAHUB_EINVAL, "region.edge",
                            "the region has no wakes, so a producer cannot block: choose another "
                            "policy");
    return 0;
}

static int begin_sequencer(struct rapahub_producer *producer, struct rapahub_region *region)
{
    int r = hub_role_take(region, HUB_LEASE_PRODUCER, 0, &producer->role);

    if (r < 0)
        return r;
    producer->spins = true;
    producer->view.not_empty = hub_region_sequencer_cursor(region);
    producer->view.not_full = hub_region_sequencer_space(region);
    producer->consumer = (struct hub_role_counterpart){
        .region = region, .role = HUB_LEASE_CONSUMER, .index = RAPAHUB_STAGE_NONE};
    producer->claimer.view = region->sequencer;
    if (hub_region_shape_claims(&region->shape) && producer->role.lease != HUB_LEASE_NONE)
        producer->claimer.intent = &hub_region_lease_at(region, producer->role.lease)->intent;
    hub_sequencer_claim_begin(&producer->claimer);
    return 0;
}

static int begin(struct rapahub_producer *producer, struct rapahub_region *region, uint32_t index)
{
    int r;

    if (hub_region_shape_is_sequencer(&region->shape))
        return begin_sequencer(producer, region);
    producer->view = region->view;
    if (region->shape.kind == HUB_REGION_FANIN)
        producer->view = hub_region_ring_view(region->mapping.data, &region->shape, index);
    producer->single = !hub_region_shape_claims(&region->shape);
    producer->spins = true;
    producer->message_max = hub_region_shape_message_max(&region->shape);
    producer->consumer =
        (struct hub_role_counterpart){.region = region, .role = HUB_LEASE_CONSUMER};
    if (region->shape.kind == HUB_REGION_FANOUT)
        producer->consumer.role = HUB_LEASE_ROUTER;
    r = hub_role_take(region, HUB_LEASE_PRODUCER, index, &producer->role);
    if (r < 0)
        return r;
    if (!producer->single && producer->role.lease != HUB_LEASE_NONE)
        producer->intent = &hub_region_lease_at(region, producer->role.lease)->intent;
    r = producer->single ? hub_resume_tail(&producer->view, &producer->tail) : 0;
    if (r < 0)
        hub_role_drop(&producer->role);
    return r;
}

/* The first producer whose role is free; a role that is seen to be held is not tried. */
static int begin_any(struct rapahub_producer *producer, struct rapahub_region *region)
{
    int r = begin(producer, region, 0);

    for (uint32_t i = 1; i < region->shape.producers && r == RAPAHUB_EROLETAKEN; i++)
        if (!hub_role_is_held(region, HUB_LEASE_PRODUCER, i))
            r = begin(producer, region, i);
    return r;
}

/* r[impl region.again] */
static int check_index(const struct rapahub_region *region, uint32_t index)
{
    uint32_t count = region->shape.producers > 0 ? region->shape.producers : 1;

    return index < count || index == RAPAHUB_PRODUCER_ANY
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "region.again",
                              "the region has no producer %" PRIu32 ": it has %" PRIu32, index,
                              count);
}

/* A handle without a role has no ring, and no region. */
static void clear(struct rapahub_producer *producer)
{
    *producer = (struct rapahub_producer){.dropped = producer->dropped,
                                          .role = {.index = producer->role.index}};
}

int hub_producer_resume(struct rapahub_producer *producer, struct rapahub_region *region,
                        const struct rapahub_producer_options *options)
{
    int r = check_options(region, options);

    if (r == 0)
        r = check_index(region, options->index);
    if (r < 0)
        return r;
    producer->on_full = options->on_full;
    r = options->index == RAPAHUB_PRODUCER_ANY ? begin_any(producer, region)
                                               : begin(producer, region, options->index);
    if (r < 0)
        clear(producer);
    return r;
}

int rapahub_producer_open(struct rapahub_region *region,
                          const struct rapahub_producer_options *options,
                          struct rapahub_producer **out)
{
    static const struct rapahub_producer_options none;
    struct rapahub_producer *producer = calloc(1, sizeof *producer);
    int r;

    if (!producer)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a producer");
    r = hub_producer_resume(producer, region, options ? options : &none);
    if (r < 0) {
        free(producer);
        return r;
    }
    *out = producer;
    return 0;
}

static int try_push(struct rapahub_producer *producer, const void *data, size_t size)
{
    uint32_t by = producer->role.lease == HUB_LEASE_NONE ? 0 : producer->role.lease + 1;
    int r;

    if (!producer->single)
        return hub_mpsc_push(&producer->view, producer->intent, data, size, by);
    r = hub_spsc_push(&producer->view, producer->tail, data, size, by);
    producer->tail += r == 0;
    return r;
}

static bool has_room(const void *user)
{
    const struct rapahub_producer *producer = user;

    if (!producer->view.ring)
        return hub_sequencer_claim_has_room(&producer->claimer, producer->wanted);
    return producer->single ? !hub_spsc_is_full(&producer->view, producer->tail)
                            : !hub_mpsc_is_full(&producer->view);
}

/* The stage in the way is the counterpart; where that is another one now, it is looked at anew. */
static int look_at_stages(struct rapahub_producer *producer)
{
    struct hub_role_counterpart *stage = &producer->consumer;
    const struct hub_sequencer_view *view = &producer->claimer.view;
    uint32_t slowest = HUB_STAGE_NONE;
    uint64_t limit;
    int r = hub_sequencer_gate_limit(view, &limit, &slowest);
    bool died = false;

    if (slowest != stage->index) {
        stage->index = slowest;
        stage->seen = false;
    }
    if (slowest != HUB_STAGE_NONE)
        died = hub_role_counterpart_died(stage);
    hub_reap_stages(stage->region);
    if (died && view->stages[slowest].on_death == HUB_STAGE_HOLD)
        return rapahub_fail(RAPAHUB_EPEERDEAD, "region.stage.dead",
                            "the ring is full, and stage %" PRIu32
                            ", which holds it, is dead: start "
                            "it again, or evict it",
                            slowest);
    return r == RAPAHUB_ECORRUPT ? r : 0;
}

static int look_at_consumer(void *user)
{
    struct rapahub_producer *producer = user;

    if (!producer->view.ring)
        return look_at_stages(producer);
    return hub_role_counterpart_died(&producer->consumer)
               ? rapahub_fail(RAPAHUB_EPEERDEAD, "region.peer.dead",
                              "the region is full, and its %s is dead",
                              producer->consumer.role == HUB_LEASE_ROUTER ? "router" : "consumer")
               : 0;
}

static int block(struct rapahub_producer *producer, uint64_t deadline_ns)
{
    const struct hub_bus_wait wait = {.region = producer->role.region,
                                      .sleep = &producer->view.not_full,
                                      .ready = has_room,
                                      .look = look_at_consumer,
                                      .user = producer,
                                      .spins = &producer->spins};

    return hub_bus_wait_until(&wait, deadline_ns);
}

/* A producer that backs off sets no flag, so it is not woken. */
static int back_off(struct rapahub_producer *producer, uint64_t *gap, uint64_t deadline_ns)
{
    uint64_t left = hub_clock_left(deadline_ns);
    int r = hub_region_current(producer->role.region);

    if (r == 0)
        r = look_at_consumer(producer);
    if (has_room(producer))
        return 0;
    if (r == 0 && left == 0)
        return RAPAHUB_ETIMEDOUT;
    hub_clock_pause(*gap < left ? *gap : left);
    *gap = *gap < BACKOFF_MOST / 2 ? 2 * *gap : BACKOFF_MOST;
    return r;
}

/* Waits where the policy is to wait; then the caller tries again. r[impl region.edge]
 * r[impl region.stopped] */
static int wait_for_room(struct rapahub_producer *producer, uint64_t *gap, uint64_t deadline_ns)
{
    if (producer->on_full == RAPAHUB_ON_FULL_FAIL || deadline_ns == 0)
        return RAPAHUB_EFULL;
    if (producer->on_full == RAPAHUB_ON_FULL_BLOCK)
        return block(producer, deadline_ns);
    return back_off(producer, gap, deadline_ns);
}

static int push_when_there_is_room(struct rapahub_producer *producer,
                                   const struct rapahub_message *message, uint64_t timeout_ns)
{
    uint64_t gap = BACKOFF_FIRST, deadline = timeout_ns ? hub_clock_after(timeout_ns) : 0;
    int r;

    do {
        r = wait_for_room(producer, &gap, deadline);
        if (r < 0)
            return r;
        r = try_push(producer, message->data, message->size);
    } while (r == RAPAHUB_EFULL);
    return r;
}

static int refuse_message(const struct rapahub_producer *producer, size_t size)
{
    if (!producer->role.region)
        return hub_role_refuse_let_go("producer");
    if (!producer->view.ring)
        return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                            "the region is a sequencer: its positions are claimed and published");
    return rapahub_fail(RAPAHUB_EMSGSIZE, "region.cell",
                        "a message of %zu bytes: a cell of the region has room for %u", size,
                        producer->message_max);
}

int rapahub_producer_push(struct rapahub_producer *producer, const void *data, size_t size,
                          uint64_t timeout_ns)
{
    const struct rapahub_message message = {.data = data, .size = size};
    int r;

    if (size > producer->message_max || !producer->view.ring)
        return refuse_message(producer, size);
    r = try_push(producer, data, size);
    if (r == RAPAHUB_EFULL && producer->on_full == RAPAHUB_ON_FULL_DROP) {
        producer->dropped++;
        return 0;
    }
    if (r == RAPAHUB_EFULL)
        r = push_when_there_is_room(producer, &message, timeout_ns);
    if (r == 0)
        hub_sleep_wake(&producer->view.not_empty);
    return r;
}

static int check_claim(const struct rapahub_producer *producer)
{
    if (!producer->role.region)
        return hub_role_refuse_let_go("producer");
    if (!producer->view.ring)
        return 0;
    return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                        "the region has messages: only positions of a sequencer are claimed");
}

int rapahub_producer_claim(struct rapahub_producer *producer, uint32_t count, uint64_t timeout_ns,
                           uint64_t *position)
{
    uint64_t gap = BACKOFF_FIRST, deadline = timeout_ns ? hub_clock_after(timeout_ns) : 0;
    int r = check_claim(producer);

    if (r < 0)
        return r;
    producer->wanted = count;
    while ((r = hub_sequencer_claim(&producer->claimer, count, position)) == RAPAHUB_EFULL) {
        r = wait_for_room(producer, &gap, deadline);
        if (r < 0)
            return r;
    }
    return r;
}

int rapahub_producer_publish(struct rapahub_producer *producer, uint64_t position, uint32_t count)
{
    int r = check_claim(producer);

    if (r == 0)
        r = hub_sequencer_claim_publish(&producer->claimer, position, count);
    if (r == 0)
        hub_sleep_wake(&producer->view.not_empty);
    return r;
}

/* A lease goes back without an intent: what it covers must be settled before. */
static void give_up(struct rapahub_producer *producer)
{
    struct rapahub_region *region = producer->role.region;
    bool poison = hub_region_shape_has(&region->shape, HUB_CAP_POISON);

    if (producer->claimer.left == 0)
        return;
    (void)hub_add64(&hub_region_header(region)->poisoned_total,
                    hub_sequencer_claim_give_up(&producer->claimer, poison));
    hub_sleep_wake(&producer->view.not_empty);
}

uint32_t rapahub_producer_index(const struct rapahub_producer *producer)
{
    return producer->role.index;
}

uint64_t rapahub_producer_dropped(const struct rapahub_producer *producer)
{
    return producer->dropped;
}

void hub_producer_let_go(struct rapahub_producer *producer)
{
    if (!producer || !producer->role.region)
        return;
    give_up(producer);
    hub_role_drop(&producer->role);
    clear(producer);
}

void rapahub_producer_close(struct rapahub_producer *producer)
{
    hub_producer_let_go(producer);
    free(producer);
}
