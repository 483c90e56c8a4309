/* SPDX-License-Identifier: Apache-2.0 */
/* slots_pool: slots of one size, as links use them. */
#include "hub/shm/slots_kind.h"

static size_t pool_largest(const struct hub_slots *slots)
{
    return slots->pool.slot_size - slots->kind->start;
}

static int pool_loan(struct hub_slots *slots, uint32_t peer, size_t size, struct hub_slot_loan *out)
{
    int r = hub_slot_pool_loan(&slots->pool, peer, &out->slot, &out->generation);

    (void)size;
    if (r < 0)
        return r;
    out->data = hub_slot_pool_payload(&slots->pool, out->slot);
    out->room = pool_largest(slots);
    out->meta = NULL;
    return 0;
}

static void pool_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_pool_drop(&slots->pool, slot);
}

static bool pool_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    (void)size;
    return hub_slot_pool_ready(&slots->pool, peer);
}

static void pool_rest(struct hub_slots *slots)
{
    hub_slot_pool_return_cache(&slots->pool);
}

static int pool_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return to ? hub_slot_reader_copy(&in->reader, descriptor, to)
              : hub_slot_reader_check(&in->reader, descriptor);
}

static int pool_copy(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to)
{
    return hub_slot_reader_copy_part(&in->reader, part, to);
}

static int pool_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_reader_free(&in->reader, slot);
}

static const struct hub_a32 *pool_holds(const struct hub_slots_in *in, uint32_t slot,
                                        struct hub_a32 *constant)
{
    (void)slot;
    hub_store_relaxed(constant, in->reader.count / 2);
    return constant;
}

static int pool_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                     struct hub_slot_held *out, const uint8_t **data)
{
    int r = hub_slot_reader_check(&in->reader, descriptor);

    if (r < 0)
        return r;
    *data = hub_slot_reader_payload(&in->reader, descriptor);
    out->slot = descriptor->payload_slot;
    return 0;
}

static int pool_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot)
{
    return hub_slot_reader_free(&in->reader, slot->slot);
}

static void pool_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    out[0] = hub_slot_reader_word(&in->reader, slot);
    out[1] = hub_slot_reader_word(&in->reader, 0);
}

static uint32_t pool_take_back(struct hub_slots *slots, uint32_t peer)
{
    return hub_slot_pool_reclaim(&slots->pool, peer);
}

static void pool_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    *out = (struct hub_slot_counts){.total = slots->pool.count,
                                    .free = hub_slot_pool_free_count(&slots->pool),
                                    .stray = hub_slot_pool_stray_bits(&slots->pool)};
}

static void pool_fini(struct hub_slots *slots)
{
    hub_slot_pool_fini(&slots->pool);
}

const struct hub_slots_kind hub_slots_pool_kind = {
    .start = sizeof(uint32_t), /* after the generation */
    .loan = pool_loan,
    .largest = pool_largest,
    .piece = pool_largest,
    .drop = pool_drop,
    .ready = pool_ready,
    .rest = pool_rest,
    .take = pool_take,
    .copy = pool_copy,
    .release = pool_release,
    .give_back = pool_give_back,
    .holds = pool_holds,
    .show = pool_show,
    .words = pool_words,
    .take_back = pool_take_back,
    .count = pool_count,
    .fini = pool_fini,
};
