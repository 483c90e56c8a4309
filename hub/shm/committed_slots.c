/* SPDX-License-Identifier: Apache-2.0 */
/* committed_slots: each step is at most as large as a large slot, because other threads wait for
 * the lock meanwhile. */
#include "hub/shm/committed_slots.h"

#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/shm/commit.h"

#define PATIENCE   HUB_SECOND /* after there was no space */
#define STEP_BYTES (UINT32_C(256) << 10)
#define AT_FIRST   (UINT32_C(128) << 10) /* bytes of each class, for a guest that attaches */
#define WHY_MAX    256

void hub_committed_slots_add(struct hub_slot_allocator *allocator, struct hub_slot_ref first,
                             uint32_t count)
{
    struct hub_slot_allocator_class *of = &allocator->of[first.size_class];

    for (uint32_t i = count; i-- > 0;)
        of->reserve[of->in_reserve++] = hub_slot_ref_pack(
            (struct hub_slot_ref){first.size_class, first.extent, first.index + i});
}

static int take(struct hub_slot_allocator *allocator, uint32_t c, uint32_t count)
    REQUIRES(allocator->lock)
{
    struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t from = allocator->map.of[c].per_extent - of->untaken;
    int r;

    if (count > of->untaken)
        count = of->untaken;
    r = hub_commit_slots(allocator->growth.file, &allocator->map.places.of[c], from, count);
    if (r < 0)
        return r;
    of->untaken -= count;
    hub_committed_slots_add(allocator, (struct hub_slot_ref){c, 0, from}, count);
    return 0;
}

/* The part of a class for the host or one guest, if all have the same. */
static uint32_t side(const struct hub_slot_allocator *allocator, uint32_t c)
{
    return allocator->map.of[c].per_extent / (allocator->guests_max + 1);
}

int hub_committed_slots_open(struct hub_slot_allocator *allocator)
{
    int r = 0;

    for (uint32_t c = 0; c < allocator->map.count && r == 0; c++) {
        allocator->of[c].in_reserve = 0;
        allocator->of[c].untaken = allocator->map.of[c].per_extent;
        r = take(allocator, c, side(allocator, c));
    }
    return r;
}

static uint32_t step(const struct hub_slot_allocator *allocator, uint32_t c)
{
    uint32_t count = STEP_BYTES / allocator->map.of[c].slot_size;

    return count > 0 ? count : 1;
}

bool hub_committed_slots_may(const struct hub_slot_allocator *allocator, uint32_t c)
{
    return allocator->of[c].untaken > 0 &&
           (allocator->of[c].no_room_before_ns == 0 ||
            hub_clock_left(allocator->of[c].no_room_before_ns) == 0);
}

/* Commits `count` slots, or at least one if there is no space for all. */
static bool try_take(struct hub_slot_allocator *allocator, uint32_t c, uint32_t count)
    REQUIRES(allocator->lock)
{
    if (!hub_committed_slots_may(allocator, c))
        return false;
    if (take(allocator, c, count) == 0 || (count > 1 && take(allocator, c, 1) == 0))
        return true;
    allocator->of[c].no_room_before_ns = hub_clock_after(PATIENCE);
    rapahub_log(RAPAHUB_LOG_WARN, "slots", "no more slots of %u bytes: %s",
                allocator->map.of[c].slot_size, rapahub_last_error()->text);
    return false;
}

bool hub_committed_slots_more(struct hub_slot_allocator *allocator, uint32_t c)
{
    return try_take(allocator, c, step(allocator, c));
}

bool hub_committed_slots_may_wait(struct hub_slot_allocator *allocator)
{
    uint64_t untaken = 0;
    bool ample;

    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = 0; c < allocator->map.count; c++)
        untaken += (uint64_t)allocator->of[c].untaken * allocator->map.of[c].slot_size;
    ample = untaken > 0 && hub_commit_is_ample(allocator->growth.file, untaken);
    hub_mutex_unlock(&allocator->lock);
    return ample;
}

uint32_t hub_committed_slots_first(const struct hub_slot_allocator *allocator, uint32_t c, bool few)
{
    uint32_t share = hub_slot_class_share(&allocator->map, c, allocator->guests_max);
    uint32_t most = AT_FIRST / allocator->map.of[c].slot_size;

    if (!few)
        return share;
    if (c == 0 && most == 0)
        most = 1;
    return share < most ? share : most;
}

/* Says whether the guest is attached or attaching: every such guest has a slot of the smallest
 * class. */
static bool is_here(const struct hub_slot_allocator *allocator, uint32_t peer)
    REQUIRES(allocator->lock)
{
    return allocator->of[0].granted[peer] > 0;
}

/* Returns the slots granted to guests. Before a guest gets its whole share at once, it adds the
 * slots that the present guests still lack of theirs, so that the newcomer does not use slots
 * promised to them. */
static uint32_t owed(const struct hub_slot_allocator *allocator, uint32_t c, bool few)
    REQUIRES(allocator->lock)
{
    const struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t share = hub_slot_class_share(&allocator->map, c, allocator->guests_max),
             sum = of->granted_sum;

    for (uint32_t peer = 1; !few && peer <= allocator->guests_max; peer++)
        if (is_here(allocator, peer) && of->granted[peer] < share)
            sum += share - of->granted[peer];
    return sum;
}

/* Returns the slots to commit so that `more` can be granted beyond those owed, and the host's part
 * remains. */
static uint32_t lacking(const struct hub_slot_allocator *allocator, uint32_t c, uint32_t owed,
                        uint32_t more) REQUIRES(allocator->lock)
{
    const struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t wanted = side(allocator, c) + owed + more, there = of->total - of->untaken;
    uint32_t count = wanted > there ? wanted - there : 0;

    if (of->in_reserve + count < more)
        count = more - of->in_reserve;
    return count < of->untaken ? count : of->untaken;
}

/* Without space, the host keeps half of its part, and at least one slot. */
static uint32_t kept(const struct hub_slot_allocator *allocator, uint32_t c)
{
    uint32_t half = side(allocator, c) / 2;

    return half > 0 ? half : 1;
}

/* If no slot is left to commit, or guests may have no more of this class without another extent,
 * the host does not hold back either. */
bool hub_committed_slots_spare(struct hub_slot_allocator *allocator, uint32_t c)
{
    uint32_t count = lacking(allocator, c, allocator->of[c].granted_sum, 1);

    return count == 0 || try_take(allocator, c, count) ||
           allocator->of[c].in_reserve > kept(allocator, c);
}

static uint32_t lacking_for_guest(const struct hub_slot_allocator *allocator, uint32_t c, bool few)
    REQUIRES(allocator->lock)
{
    return lacking(allocator, c, owed(allocator, c, few),
                   hub_committed_slots_first(allocator, c, few));
}

static uint64_t lacking_bytes(struct hub_slot_allocator *allocator, bool few)
{
    uint64_t sum = 0;

    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = 0; c < allocator->map.count; c++)
        sum += (uint64_t)lacking_for_guest(allocator, c, few) * allocator->map.of[c].slot_size;
    hub_mutex_unlock(&allocator->lock);
    return sum;
}

/* Returns the number of committed slots, 0 if no more are needed, or -ENOSPC. */
static int share_step(struct hub_slot_allocator *allocator, uint32_t c, bool few)
{
    uint32_t count, most = step(allocator, c);
    int r = 0;

    hub_mutex_lock(&allocator->lock);
    count = lacking_for_guest(allocator, c, few);
    if (count > most)
        count = most;
    if (count > 0)
        r = take(allocator, c, count);
    hub_mutex_unlock(&allocator->lock);
    return r < 0 ? r : (int)count;
}

static int refuse(int r, uint64_t wanted)
{
    char why[WHY_MAX];

    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    return rapahub_fail(r, "hub.file.room",
                        "the slots of one guest more take %" PRIu64 " bytes: %s", wanted, why);
}

/* r[impl hub.file.room] */
int hub_committed_slots_share(struct hub_slot_allocator *allocator, bool few)
{
    uint64_t wanted = lacking_bytes(allocator, few);

    for (uint32_t c = 0; c < allocator->map.count; c++) {
        int r;

        do
            r = share_step(allocator, c, few);
        while (r > 0);
        if (r < 0)
            return refuse(r, wanted);
    }
    return 0;
}
