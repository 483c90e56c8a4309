/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/response_batch.h"

#include "hub/base/clock.h"

#define EACH   8 /* responses between two readings of the clock */
#define ENOUGH 16
#define SHORT  (10 * HUB_MICROSECOND)
#define LONG   (20 * HUB_MICROSECOND) /* for several runs that should all be short */

static uint32_t place_of(uint64_t method_id)
{
    return method_id & (GUEST_RESPONSE_BATCH_METHODS - 1);
}

__attribute__((noinline)) bool guest_response_batch_begin(struct guest_response_batch *hold,
                                                          uint64_t method_id)
{
    if (hold->trust[place_of(method_id)] == ENOUGH)
        return false;
    hold->began_ns = hub_clock_now();
    return hold->held > 0;
}

static void judge(struct guest_response_batch *hold, uint8_t *trust)
{
    bool is_short = hub_clock_now() - hold->began_ns <= SHORT;

    *trust = is_short ? (uint8_t)(*trust + 1) : 0;
}

/* Says whether the runs since the last reading of the clock were short enough for more responses to
 * be held back. If they were long, all their methods lose their trust, because it is not known
 * which of them was. */
static bool passes(struct guest_response_batch *hold)
{
    uint64_t now = hub_clock_now(), passed = now - hold->looked_ns;

    for (uint32_t i = 0; passed > LONG && i < GUEST_RESPONSE_BATCH_METHODS; i++)
        if (hold->since >> i & 1)
            hold->trust[i] = 0;
    hold->looked_ns = now;
    hold->since = 0;
    return passed <= SHORT;
}

static bool may_hold(struct guest_response_batch *hold)
{
    if (hold->held == 1) {
        hold->looked_ns = hub_clock_now();
        hold->since = 0;
        return true;
    }
    return hold->held % EACH != 0 || (passes(hold) && hold->held < GUEST_RESPONSE_BATCH_MOST);
}

__attribute__((noinline)) bool guest_response_batch_end(struct guest_response_batch *hold,
                                                        uint64_t method_id, bool waits)
{
    uint32_t place = place_of(method_id);

    hold->since |= UINT64_C(1) << place;
    if (hold->trust[place] != ENOUGH) {
        judge(hold, &hold->trust[place]);
        hold->held = 0;
        return false;
    }
    if (!waits && hold->held > 0)
        (void)passes(hold);
    hold->held += waits;
    if (waits && may_hold(hold))
        return true;
    hold->held = 0;
    return false;
}
