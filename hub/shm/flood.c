/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/flood.h"

/* WAKES_MAX: in a window, beyond those that messages explain. A host whose turn takes up to 400 us,
 * as on a slow machine, is woken as often as this before the window ends. */
#define WINDOW     (100 * HUB_MILLISECOND)
#define WAKES_MAX  250
#define EXPLAINED  4 /* wake-ups for one message: its head, tail, slot and credit */
#define DEAF_FIRST (10 * HUB_MILLISECOND)
#define DEAF_MAX   (100 * HUB_MILLISECOND)
#define CALM       HUB_SECOND /* after it, the next flood counts as the first */

static void begin_window(struct hub_flood *flood, uint64_t now, uint64_t traffic)
{
    hub_store_relaxed64(&flood->since_ns, now);
    hub_store_relaxed64(&flood->wakes, 0);
    hub_store_relaxed64(&flood->traffic, traffic);
}

static uint64_t next_span(const struct hub_flood *flood, uint64_t now)
{
    uint64_t last = hub_load_relaxed64(&flood->span_ns);

    if (last == 0 || now - hub_flood_until(flood) > CALM)
        return DEAF_FIRST;
    return 2 * last < DEAF_MAX ? 2 * last : DEAF_MAX;
}

void hub_flood_note(struct hub_flood *flood, uint64_t now, uint64_t traffic)
{
    uint64_t wakes, messages, span;

    if (hub_flood_until(flood) > now)
        return; /* this wake-up was already on its way */
    if (now - hub_load_relaxed64(&flood->since_ns) > WINDOW)
        begin_window(flood, now, traffic);
    wakes = hub_load_relaxed64(&flood->wakes) + 1;
    messages = traffic - hub_load_relaxed64(&flood->traffic);
    hub_store_relaxed64(&flood->wakes, wakes);
    if (wakes < WAKES_MAX || wakes - WAKES_MAX < EXPLAINED * messages)
        return;
    span = next_span(flood, now);
    hub_store_relaxed64(&flood->span_ns, span);
    hub_store_relaxed64(&flood->deaf_until_ns, now + span);
    hub_store_relaxed64(&flood->count, hub_load_relaxed64(&flood->count) + 1);
    begin_window(flood, now + span, traffic);
}

uint64_t hub_flood_until(const struct hub_flood *flood)
{
    return hub_load_relaxed64(&flood->deaf_until_ns);
}
