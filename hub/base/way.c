/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/way.h"

#include <string.h>

#include "hub/base/clock.h"
#include "hub/base/far.h"

#define EARLY      16  /* the first copies take turns */
#define OTHER_EACH 256 /* copies: behind so many one goes the other way */
#define TIMED_EACH 8   /* of the others */
#define WORTH      5   /* near is to take more than 5 to 4 of far, whose reader waits for memory */
#define WORTH_OF   4
#define CLIP       4 /* so often what it was may a copy take: who was interrupted took longer */
#define SLOWLY     4 /* what takes longer is believed by a part; what is quick at once */
#define MIB        (UINT64_C(1) << 20)

static bool is_other(const struct hub_way *way)
{
    return way->copies >= EARLY && way->copies % OTHER_EACH == 0;
}

bool hub_way_goes_far(const struct hub_way *way)
{
    return way->copies < EARLY ? way->copies % 2 == 1 : way->far != is_other(way);
}

bool hub_way_is_timed(const struct hub_way *way)
{
    return way->copies < EARLY || way->copies % TIMED_EACH == 0;
}

/* All that disturbs a copy makes it longer, so a short one tells most. */
static uint64_t learn(uint64_t known, uint64_t cost)
{
    if (known == 0 || cost < known)
        return cost;
    if (cost > CLIP * known)
        cost = CLIP * known;
    return known + (cost - known + SLOWLY - 1) / SLOWLY;
}

void hub_way_note(struct hub_way *way, size_t size, uint64_t ns)
{
    bool far = hub_way_goes_far(way);

    if (ns > 0 && size > 0)
        way->cost[far] = learn(way->cost[far], ns * MIB / size + 1);
    if (way->cost[0] > 0 && way->cost[1] > 0)
        way->far = WORTH_OF * way->cost[0] > WORTH * way->cost[1];
    way->copies++;
    if (way->copies == 0)
        way->copies = EARLY;
}

void hub_way_copy(struct hub_way *way, void *to, const void *from, size_t size)
{
    uint64_t begun = hub_way_is_timed(way) ? hub_clock_now() : 0;

    if (hub_way_goes_far(way))
        hub_far_stream(to, from, size);
    else
        memcpy(to, from, size);
    hub_way_note(way, size, begun > 0 ? hub_clock_now() - begun : 0);
}
