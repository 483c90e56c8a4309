/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/way.h"

#include <string.h>

#include "hub/base/clock.h"
#include "hub/base/streaming_copy.h"

/* Numbers of copies. A row of a stream on trial first fills a cache: the first half of the row is
 * not timed. */
#define ALONE_TRIAL    8
#define ALONE_BETWEEN  2040
#define ALONE_TIMED    1
#define ALONE_EACH     4
#define STREAM_TRIAL   192
#define STREAM_BETWEEN 8064
#define STREAM_TIMED   96
#define STREAM_EACH    192

/* A cost counts as at most CLIP times the known one: an interrupted copy takes longer. A higher
 * cost moves the known one by one SLOWLY-th of the difference; a lower one replaces it. */
#define CLIP   4
#define SLOWLY 4
#define MIB    (UINT64_C(1) << 20)

_Static_assert(STREAM_BETWEEN % STREAM_EACH == 0 && ALONE_BETWEEN % ALONE_EACH == 0,
               "a row ends when copies that are timed together do");

/* Weights of the kinds, in eighths of the cost that the sender measures. The reader of a streaming
 * copy waits for memory, and memory that was used longest ago displaces other data from the cache
 * that all CPUs share. */
static const uint8_t weights[HUB_WAY_KINDS] = {8, 10, 9};

void hub_way_init_alone(struct hub_way *way)
{
    *way = (struct hub_way){.kinds = HUB_WAY_FAR + 1,
                            .trial = ALONE_TRIAL,
                            .between = ALONE_BETWEEN,
                            .timed = ALONE_TIMED,
                            .timed_of = ALONE_EACH};
}

void hub_way_init_stream(struct hub_way *way, bool cold)
{
    *way = (struct hub_way){.kinds = cold ? HUB_WAY_KINDS : HUB_WAY_FAR + 1,
                            .trial = STREAM_TRIAL,
                            .between = STREAM_BETWEEN,
                            .timed = STREAM_TIMED,
                            .timed_of = STREAM_EACH};
}

enum hub_way_kind hub_way_next(const struct hub_way *way)
{
    return (enum hub_way_kind)way->now;
}

static bool is_on_trial(const struct hub_way *way)
{
    return !way->settled || way->now != way->pays;
}

/* The first and the last of the copies that are timed together. */
static bool is_first(const struct hub_way *way)
{
    return way->at % way->timed_of == way->timed_of - way->timed;
}

static bool is_last(const struct hub_way *way)
{
    return way->at % way->timed_of == way->timed_of - 1;
}

bool hub_way_is_timed(const struct hub_way *way)
{
    return is_first(way) || is_last(way);
}

/* Updates a known cost. Every disturbance makes a copy longer, so a short time is the most
 * reliable. */
static uint64_t learn(uint64_t known, uint64_t cost)
{
    if (known == 0 || cost < known)
        return cost;
    if (cost > CLIP * known)
        cost = CLIP * known;
    return known + (cost - known + SLOWLY - 1) / SLOWLY;
}

static uint8_t cheapest(const struct hub_way *way)
{
    uint8_t best = 0;

    for (uint8_t kind = 1; kind < way->kinds; kind++)
        if (way->cost[kind] * weights[kind] < way->cost[best] * weights[best])
            best = kind;
    return best;
}

/* Begins the next row. At first each kind is tried once; after that a row on trial and a long row
 * of the cheapest kind alternate. */
static void begin_row(struct hub_way *way)
{
    bool trial = way->settled && way->now == way->pays;

    way->at = 0;
    if (!way->settled && way->now + 1 < way->kinds) {
        way->now++;
        return;
    }
    way->settled = true;
    if (trial) {
        way->tried = (uint8_t)((way->tried + 1) % way->kinds);
        if (way->tried == way->pays)
            way->tried = (uint8_t)((way->tried + 1) % way->kinds);
        way->now = way->tried;
    } else {
        way->now = way->pays = cheapest(way);
    }
}

static void time_copy(struct hub_way *way, size_t size, uint64_t begun_ns, uint64_t ended_ns)
{
    if (is_first(way)) {
        way->begun_ns = begun_ns;
        way->bytes = 0;
    }
    way->bytes += size;
    if (is_last(way) && ended_ns > way->begun_ns && way->bytes > 0)
        way->cost[way->now] =
            learn(way->cost[way->now], (ended_ns - way->begun_ns) * MIB / way->bytes + 1);
}

void hub_way_note(struct hub_way *way, size_t size, uint64_t begun_ns, uint64_t ended_ns)
{
    time_copy(way, size, begun_ns, ended_ns);
    way->at++;
    if (way->at >= (is_on_trial(way) ? way->trial : way->between))
        begin_row(way);
}

void hub_way_copy(struct hub_way *way, void *to, const void *from, size_t size)
{
    bool timed = hub_way_is_timed(way);
    uint64_t begun = timed ? hub_clock_now() : 0;

    if (way->now == HUB_WAY_FAR)
        hub_streaming_copy_stream(to, from, size);
    else
        memcpy(to, from, size);
    hub_way_note(way, size, begun, timed ? hub_clock_now() : 0);
}
