/* SPDX-License-Identifier: Apache-2.0 */
/* slot_stock: a step is as small as a large slot: whoever calls meanwhile waits for the lock. */
#include "hub/shm/slot_stock.h"

#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/shm/room.h"

#define PATIENCE   HUB_SECOND /* after there was no room */
#define STEP_BYTES (UINT32_C(256) << 10)
#define WHY_MAX    256

void hub_slot_stock_add(struct hub_slot_bank *bank, struct hub_slot_ref first, uint32_t count)
{
    struct hub_bank_class *of = &bank->of[first.size_class];

    for (uint32_t i = count; i-- > 0;)
        of->reserve[of->in_reserve++] = hub_slot_ref_pack(
            (struct hub_slot_ref){first.size_class, first.extent, first.index + i});
}

static int take(struct hub_slot_bank *bank, uint32_t c, uint32_t count) REQUIRES(bank->lock)
{
    struct hub_bank_class *of = &bank->of[c];
    uint32_t from = bank->map.of[c].per_extent - of->untaken;
    int r;

    if (count > of->untaken)
        count = of->untaken;
    r = hub_room_take_slots(bank->growth.file, &bank->map.places.of[c], from, count);
    if (r < 0)
        return r;
    of->untaken -= count;
    hub_slot_stock_add(bank, (struct hub_slot_ref){c, 0, from}, count);
    return 0;
}

/* Of each class as many as a guest's side has. */
static uint32_t side(const struct hub_slot_bank *bank, uint32_t c)
{
    return bank->map.of[c].per_extent / (bank->guests_max + 1);
}

int hub_slot_stock_open(struct hub_slot_bank *bank)
{
    int r = 0;

    for (uint32_t c = 0; c < bank->map.count && r == 0; c++) {
        bank->of[c].in_reserve = 0;
        bank->of[c].untaken = bank->map.of[c].per_extent;
        r = take(bank, c, side(bank, c));
    }
    return r;
}

static uint32_t step(const struct hub_slot_bank *bank, uint32_t c)
{
    uint32_t count = STEP_BYTES / bank->map.of[c].slot_size;

    return count > 0 ? count : 1;
}

bool hub_slot_stock_may(const struct hub_slot_bank *bank, uint32_t c)
{
    return bank->of[c].untaken > 0 &&
           (bank->no_room_before_ns == 0 || hub_clock_left(bank->no_room_before_ns) == 0);
}

bool hub_slot_stock_more(struct hub_slot_bank *bank, uint32_t c)
{
    if (!hub_slot_stock_may(bank, c))
        return false;
    if (take(bank, c, step(bank, c)) == 0)
        return true;
    bank->no_room_before_ns = hub_clock_after(PATIENCE);
    rapahub_log(RAPAHUB_LOG_WARN, "slots", "no more slots of %u bytes: %s",
                bank->map.of[c].slot_size, rapahub_last_error()->text);
    return false;
}

static uint32_t lacking(const struct hub_slot_bank *bank, uint32_t c) REQUIRES(bank->lock)
{
    const struct hub_bank_class *of = &bank->of[c];
    uint32_t share = hub_slot_class_share(&bank->map, c, bank->guests_max);
    uint32_t wanted = side(bank, c) + of->granted_sum + share, there = of->total - of->untaken;
    uint32_t count = wanted > there ? wanted - there : 0;

    if (of->in_reserve + count < share)
        count = share - of->in_reserve;
    return count < of->untaken ? count : of->untaken;
}

static uint64_t lacking_bytes(struct hub_slot_bank *bank)
{
    uint64_t sum = 0;

    hub_mutex_lock(&bank->lock);
    for (uint32_t c = 0; c < bank->map.count; c++)
        sum += (uint64_t)lacking(bank, c) * bank->map.of[c].slot_size;
    hub_mutex_unlock(&bank->lock);
    return sum;
}

/* How many it took: 0, there is nothing more to take; or -ENOSPC. */
static int share_step(struct hub_slot_bank *bank, uint32_t c)
{
    uint32_t count, most = step(bank, c);
    int r = 0;

    hub_mutex_lock(&bank->lock);
    count = lacking(bank, c);
    if (count > most)
        count = most;
    if (count > 0)
        r = take(bank, c, count);
    hub_mutex_unlock(&bank->lock);
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
int hub_slot_stock_share(struct hub_slot_bank *bank)
{
    uint64_t wanted = lacking_bytes(bank);

    for (uint32_t c = 0; c < bank->map.count; c++) {
        int r;

        do
            r = share_step(bank, c);
        while (r > 0);
        if (r < 0)
            return refuse(r, wanted);
    }
    return 0;
}
