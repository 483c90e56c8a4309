/* SPDX-License-Identifier: Apache-2.0 */
/* raw slot: one bit a slot, 1 is free; the first four bytes of a slot are its generation. */
#include "tests/raw/raw_slot.h"

#include <errno.h>

#include "tests/raw/raw_class.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

uint32_t raw_slot_count_free(const struct raw_link *link)
{
    uint32_t count = 0;

    for (uint64_t at = 0; at < link->bitmap_size; at += 8)
        count += (uint32_t)__builtin_popcountll(raw_load64(link->base, link->out_pool + at));
    return count;
}

uint64_t raw_slot_at(const struct raw_link *link, uint64_t pool, uint32_t slot)
{
    return pool + link->bitmap_size + (uint64_t)slot * link->slot_size;
}

uint8_t *raw_slot_bytes(const struct raw_link *link, uint32_t slot)
{
    return link->base + raw_slot_at(link, link->out_pool, slot) + 4;
}

int raw_slot_take(struct raw_link *link, uint32_t *slot, uint32_t *generation)
{
    for (uint32_t i = 0; i < link->slot_count; i++) {
        uint64_t at = link->out_pool + i / 64 * 8, bit = (uint64_t)1 << i % 64;
        uint64_t word = raw_load64(link->base, at);

        while (word & bit && !raw_swap64(link->base, at, word, word & ~bit))
            word = raw_load64(link->base, at);
        if (!(word & bit))
            continue;
        at = raw_slot_at(link, link->out_pool, i);
        *generation = raw_load32(link->base, at) + 1;
        raw_store32(link->base, at, *generation);
        *slot = i;
        return 0;
    }
    return -EAGAIN;
}

int raw_slot_free(struct raw_link *link, uint32_t slot)
{
    uint64_t at = link->in_pool + slot / 64 * 8, bit = (uint64_t)1 << slot % 64;

    if (link->classes)
        return raw_class_free(link, slot);
    if (raw_set64(link->base, at, bit) & bit)
        return -EPROTO;
    raw_wait_wake(link, 0x18, at + (slot % 64 >= 32 ? 4 : 0));
    return 0;
}
