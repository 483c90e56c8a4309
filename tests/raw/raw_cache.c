/* SPDX-License-Identifier: Apache-2.0 */
/* raw cache: a block has, for each class, the head of the own stack at 0, `wanted` at 8. */
#include "tests/raw/raw_cache.h"

#include <errno.h>

#include "tests/raw/raw_class.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

/* A slot on our stack must be ours, and free. */
static int check(struct raw_link *link, uint32_t c, uint32_t ref)
{
    uint8_t *record = raw_class_record(link, ref);

    return ref >> 24 == c && raw_load32(record, 8) == link->peer &&
                   raw_load32(record, 4) == RAW_FREE
               ? 0
               : -EPROTO;
}

int raw_cache_take(struct raw_link *link, uint32_t size, uint32_t *ref)
{
    uint32_t first = raw_class_select(link, size);

    if (first == link->classes->count)
        return -EMSGSIZE;
    for (uint32_t c = first; c < link->classes->count; c++) {
        int r = raw_class_pop(link, link->classes->of[c].block, ref);

        if (r != -EAGAIN)
            return r < 0 ? r : check(link, c, *ref);
    }
    raw_store32(link->base, link->classes->of[first].block + 8, 1);
    raw_wait_ring(link);
    return -EAGAIN;
}

bool raw_cache_ready(struct raw_link *link)
{
    for (uint32_t c = raw_class_select(link, link->wanted_size); c < link->classes->count; c++)
        if (raw_load64(link->base, link->classes->of[c].block) >> 32 != RAW_NO_SLOT)
            return true;
    return false;
}
