/* SPDX-License-Identifier: Apache-2.0 */
/* slots_classes: slots of several sizes, as links use them. */
#include "hub/base/own.h"
#include "hub/shm/slot_grants.h"
#include "hub/shm/slots_kind.h"

int hub_slots_classes_bank_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                                struct hub_slot_loan *out)
{
    return hub_slot_allocator_loan(slots->bank, peer, size, out);
}

static int bank_loan_cold(struct hub_slots *slots, uint32_t peer, size_t size,
                          struct hub_slot_loan *out)
{
    return hub_slot_allocator_loan_cold(slots->bank, peer, size, out);
}

static int purse_loan_cold(struct hub_slots *slots, uint32_t peer, size_t size,
                           struct hub_slot_loan *out)
{
    (void)peer;
    return hub_slot_cache_loan_cold(slots->purse, size, out);
}

#define PIECE 65536 /* bytes; there are few larger slots */

static size_t largest_of(const struct hub_slot_map *map)
{
    return map->of[map->count - 1].slot_size;
}

static size_t piece_of(const struct hub_slot_map *map)
{
    uint32_t c = map->count - 1;

    while (c > 0 && map->of[c].slot_size > PIECE)
        c--;
    return map->of[c].slot_size;
}

static size_t bank_largest(const struct hub_slots *slots)
{
    return largest_of(&slots->bank->map);
}

static size_t bank_piece(const struct hub_slots *slots)
{
    return piece_of(&slots->bank->map);
}

static void bank_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_allocator_drop(slots->bank, slot);
}

static bool bank_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    return hub_slot_allocator_ready(slots->bank, peer, size);
}

static int bank_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return hub_slot_allocator_accept(in->own->bank, in->peer, descriptor, to);
}

static int bank_copy(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to)
{
    return hub_slot_class_copy(&in->own->bank->map, part, to);
}

static int bank_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_grants_free(in->own->bank, slot);
}

int hub_slots_classes_bank_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot)
{
    return hub_slot_grants_give_back(in->own->bank, slot);
}

static void halves(struct hub_a64 *head, struct hub_a32 *out[2])
{
    out[0] = (struct hub_a32 *)(void *)head;
    out[1] = out[0] + 1;
}

/* Half of the guest's slots, counting no more than its share. The words live as long as the
 * allocator. */
static UNCHECKED const struct hub_a32 *bank_holds(const struct hub_slots_in *in, uint32_t slot,
                                                  struct hub_a32 *constant)
{
    return slot >> 24 < in->own->bank->map.count ? &in->own->bank->of[slot >> 24].may_hold[in->peer]
                                                 : constant;
}

int hub_slots_classes_bank_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                                struct hub_slot_held *out, const uint8_t **data)
{
    return hub_slot_allocator_show(in->own->bank, in->peer, descriptor, out, data);
}

static void bank_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    halves(&hub_slot_class_peer(&in->own->bank->map, in->peer, slot >> 24)->free_head, out);
}

static uint32_t bank_take_back(struct hub_slots *slots, uint32_t peer)
{
    return hub_slot_grants_reclaim(slots->bank, peer);
}

static void bank_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    hub_slot_allocator_count(slots->bank, out);
}

static void bank_fini(struct hub_slots *slots)
{
    hub_slot_allocator_fini(slots->bank);
    hub_memory_release(&slots->bank);
}

int hub_slots_classes_purse_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                                 struct hub_slot_loan *out)
{
    (void)peer;
    return hub_slot_cache_loan(slots->purse, size, out);
}

static size_t purse_largest(const struct hub_slots *slots)
{
    return largest_of(&slots->purse->map);
}

static size_t purse_piece(const struct hub_slots *slots)
{
    return piece_of(&slots->purse->map);
}

static void purse_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_cache_drop(slots->purse, slot);
}

static bool purse_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    (void)peer;
    return hub_slot_cache_ready(slots->purse, size);
}

static void purse_rest(struct hub_slots *slots)
{
    hub_slot_cache_rest(slots->purse);
}

static int purse_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return hub_slot_cache_accept(in->own->purse, descriptor, to);
}

static int purse_copy(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to)
{
    return hub_slot_class_copy(&in->own->purse->map, part, to);
}

static int purse_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_cache_free(in->own->purse, slot);
}

int hub_slots_classes_purse_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot)
{
    return hub_slot_cache_give_back(in->own->purse, slot);
}

/* Half of the slots that the host has for each guest. */
static const struct hub_a32 *purse_holds(const struct hub_slots_in *in, uint32_t slot,
                                         struct hub_a32 *constant)
{
    const struct hub_slot_map *map = &in->own->purse->map;
    uint32_t c = slot >> 24;

    if (c < map->count)
        hub_store_relaxed(constant, hub_slot_class_share(map, c, in->own->purse->guests_max) / 2);
    return constant;
}

int hub_slots_classes_purse_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                                 struct hub_slot_held *out, const uint8_t **data)
{
    return hub_slot_cache_show(in->own->purse, descriptor, out, data);
}

static void purse_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    halves(&in->own->purse->map.of[slot >> 24].header->free_head, out);
}

static void purse_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    uint32_t free = hub_slot_cache_free_count(slots->purse);

    *out = (struct hub_slot_counts){.total = free, .free = free};
}

static void purse_fini(struct hub_slots *slots)
{
    hub_slot_cache_fini(slots->purse);
    hub_memory_release(&slots->purse);
}

const struct hub_slots_kind hub_slots_classes_bank = {
    .loan = hub_slots_classes_bank_loan,
    .loan_cold = bank_loan_cold,
    .largest = bank_largest,
    .piece = bank_piece,
    .drop = bank_drop,
    .ready = bank_ready,
    .take = bank_take,
    .copy = bank_copy,
    .release = bank_release,
    .give_back = hub_slots_classes_bank_give_back,
    .holds = bank_holds,
    .show = hub_slots_classes_bank_show,
    .words = bank_words,
    .take_back = bank_take_back,
    .count = bank_count,
    .fini = bank_fini,
};
const struct hub_slots_kind hub_slots_classes_purse = {
    .loan = hub_slots_classes_purse_loan,
    .loan_cold = purse_loan_cold,
    .largest = purse_largest,
    .piece = purse_piece,
    .drop = purse_drop,
    .ready = purse_ready,
    .rest = purse_rest,
    .take = purse_take,
    .copy = purse_copy,
    .release = purse_release,
    .give_back = hub_slots_classes_purse_give_back,
    .holds = purse_holds,
    .show = hub_slots_classes_purse_show,
    .words = purse_words,
    .count = purse_count,
    .fini = purse_fini,
};
