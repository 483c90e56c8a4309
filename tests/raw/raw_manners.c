/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/raw/raw_manners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/raw/raw_words.h"

static uint64_t entry_of(uint32_t peer)
{
    return 128 + 64 * ((uint64_t)peer - 1);
}

static uint64_t bitmap_size(const struct raw_host *host)
{
    return ((uint64_t)host->config.slot_count + 63) / 64 * 8;
}

static void free_slots(const struct raw_host *host, uint64_t pool)
{
    for (uint32_t i = 0; i < host->config.slot_count; i++)
        raw_set64(host->base, pool + i / 64 * 8, (uint64_t)1 << i % 64);
}

/* `last_heartbeat` and the wait words are no step of the text; a new guest finds them 0 all the
 * same. */
void raw_manners_clean_up(struct raw_host *host, uint32_t peer)
{
    uint64_t entry = entry_of(peer), channels = raw_load64(host->base, entry + 48);

    raw_store32(host->base, entry, 2);
    for (unsigned i = 8; i <= 20; i += 4)
        raw_store32(host->base, entry + i, 0);
    free_slots(host, raw_load64(host->base, 48));
    free_slots(host, raw_load64(host->base, entry + 40));
    for (uint32_t i = 0; i < 4 * host->config.max_channels; i++)
        raw_store32(host->base, channels + 4 * (uint64_t)i, 0);
    raw_store64(host->base, entry + 24, 0);
    raw_store32(host->base, entry + 56, 0);
    raw_store32(host->base, entry + 60, 0);
    raw_store32(host->base, entry, 0);
}

int raw_manners_watch(struct raw_host *host, uint32_t peer, struct raw_watch *out)
{
    *out = (struct raw_watch){host, malloc(host->size), peer};
    if (!out->copy)
        return -ENOMEM;
    memcpy(out->copy, host->base, host->size);
    return 0;
}

static uint32_t differ(const struct raw_watch *watch, uint64_t at, uint64_t size)
{
    uint32_t count = 0;

    for (uint64_t i = 0; i + 4 <= size; i += 4)
        count += memcmp(watch->copy + at + i, watch->host->base + at + i, 4) != 0;
    return count;
}

uint32_t raw_manners_written(struct raw_watch *watch)
{
    const struct raw_host *host = watch->host;
    uint64_t entry = entry_of(watch->peer);
    uint64_t pool = raw_load64(host->base, entry + 40), area = raw_load64(host->base, entry + 32);
    uint64_t slots = (uint64_t)host->config.slot_count * host->config.slot_size;
    uint32_t count = differ(watch, entry, 64);

    count += differ(watch, raw_load64(host->base, 48), bitmap_size(host));
    count += differ(watch, pool, (bitmap_size(host) + 63) / 64 * 64 + slots);
    count += differ(watch, area, 2 * (uint64_t)host->config.ring_size * 64);
    count +=
        differ(watch, raw_load64(host->base, entry + 48), 16 * (uint64_t)host->config.max_channels);
    free(watch->copy);
    watch->copy = NULL;
    return count;
}
