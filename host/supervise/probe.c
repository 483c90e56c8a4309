/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/probe.h"

#include "hub/base/clock.h"

/* delay when there is no space for the question, or the answer is about to come */
#define AGAIN (10 * HUB_MILLISECOND)

static bool is_on(const struct host_probe *probe)
{
    return probe->how.period_ns != 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void rest(struct host_probe *probe)
{
    probe->due_ns = probe->judge_ns = HUB_NEVER;
    probe->open = probe->missed = probe->last = false;
}

static void start(struct host_probe *probe, uint64_t now)
{
    if (is_on(probe))
        probe->due_ns = now;
}

/* r[impl supervise.probe.startup] */
void host_probe_begin(struct host_probe_set *set, const struct rapahub_supervision *how,
                      uint64_t now)
{
    *set = (struct host_probe_set){.serves = how->ready != RAPAHUB_READY_PROBE};
    set->all[HOST_PROBE_STARTUP].how = how->startup;
    set->all[HOST_PROBE_LIVENESS].how = how->liveness;
    set->all[HOST_PROBE_READINESS].how = how->readiness;
    host_probe_end(set);
    start(&set->all[HOST_PROBE_STARTUP], now);
    if (is_on(&set->all[HOST_PROBE_STARTUP]))
        return;
    start(&set->all[HOST_PROBE_LIVENESS], now);
    start(&set->all[HOST_PROBE_READINESS], now);
}

void host_probe_end(struct host_probe_set *set)
{
    for (int i = 0; i < HOST_PROBE_KINDS; i++)
        rest(&set->all[i]);
}

/* ---- time ---- */

/* Before a probe fails for lateness there is a last look for its answer: the host itself may have
 * been late. */
static enum host_probe_step next(struct host_probe *probe, uint64_t now)
{
    if (probe->due_ns <= now)
        return HOST_PROBE_ASK;
    if (probe->judge_ns > now)
        return HOST_PROBE_REST;
    if (probe->last)
        return HOST_PROBE_MISS;
    probe->last = true;
    probe->judge_ns = now + AGAIN;
    return HOST_PROBE_LOOK;
}

enum host_probe_step host_probe_next(struct host_probe_set *set, uint64_t now,
                                     enum host_probe_kind *kind)
{
    for (int i = 0; i < HOST_PROBE_KINDS; i++) {
        enum host_probe_step step = next(&set->all[i], now);

        *kind = (enum host_probe_kind)i;
        if (step != HOST_PROBE_REST)
            return step;
    }
    return HOST_PROBE_REST;
}

uint64_t host_probe_due(const struct host_probe_set *set)
{
    uint64_t due = HUB_NEVER;

    for (int i = 0; i < HOST_PROBE_KINDS; i++)
        due = lesser(due, lesser(set->all[i].due_ns, set->all[i].judge_ns));
    return due;
}

uint64_t host_probe_interval(const struct host_probe_set *set)
{
    uint64_t interval = HUB_NEVER;

    for (int i = 0; i < HOST_PROBE_KINDS; i++)
        if (is_on(&set->all[i]))
            interval =
                lesser(interval, lesser(set->all[i].how.period_ns, set->all[i].how.timeout_ns));
    return interval;
}

void host_probe_forgive(struct host_probe_set *set, uint64_t now)
{
    for (int i = 0; i < HOST_PROBE_KINDS; i++) {
        struct host_probe *probe = &set->all[i];

        probe->failures = 0;
        probe->last = false;
        if (probe->judge_ns != HUB_NEVER)
            probe->judge_ns = now + probe->how.timeout_ns;
    }
}

/* ---- questions and answers ---- */

void host_probe_asked(struct host_probe_set *set, enum host_probe_kind kind, bool sent,
                      uint64_t now)
{
    struct host_probe *probe = &set->all[kind];

    if (probe->judge_ns == HUB_NEVER) {
        probe->begun_ns = now;
        probe->judge_ns = now + probe->how.timeout_ns;
    }
    probe->open = sent;
    probe->due_ns = sent ? HUB_NEVER : now + AGAIN;
}

/* r[impl supervise.probe.startup] */
static enum host_probe_news pass_startup(struct host_probe_set *set, uint64_t now)
{
    set->all[HOST_PROBE_STARTUP].how.period_ns = 0;
    rest(&set->all[HOST_PROBE_STARTUP]);
    start(&set->all[HOST_PROBE_LIVENESS], now);
    start(&set->all[HOST_PROBE_READINESS], now);
    if (set->serves || is_on(&set->all[HOST_PROBE_READINESS]))
        return HOST_PROBE_NONE;
    set->serves = true;
    return HOST_PROBE_SERVES;
}

static enum host_probe_news pass(struct host_probe_set *set, enum host_probe_kind kind,
                                 uint64_t now)
{
    struct host_probe *probe = &set->all[kind];

    probe->failures = 0;
    if (probe->successes < probe->how.success)
        probe->successes++;
    if (probe->successes < probe->how.success)
        return HOST_PROBE_NONE;
    if (kind == HOST_PROBE_STARTUP)
        return pass_startup(set, now);
    if (kind == HOST_PROBE_LIVENESS || set->serves)
        return HOST_PROBE_NONE;
    set->serves = true;
    return HOST_PROBE_SERVES;
}

/* A failing probe has only the effect of its own kind. r[impl supervise.probe.liveness]
 * r[impl supervise.probe.readiness] */
static enum host_probe_news fail(struct host_probe_set *set, enum host_probe_kind kind)
{
    struct host_probe *probe = &set->all[kind];

    probe->successes = 0;
    if (probe->failures < probe->how.failure)
        probe->failures++;
    if (probe->failures < probe->how.failure)
        return HOST_PROBE_NONE;
    if (kind != HOST_PROBE_READINESS)
        return HOST_PROBE_STUCK;
    if (!set->serves)
        return HOST_PROBE_NONE;
    set->serves = false;
    return HOST_PROBE_DEGRADED;
}

enum host_probe_news host_probe_answered(struct host_probe_set *set, enum host_probe_kind kind,
                                         bool well, uint64_t now)
{
    struct host_probe *probe = &set->all[kind];
    uint64_t due = probe->begun_ns + probe->how.period_ns;
    bool missed = probe->missed;

    if (!probe->open)
        return HOST_PROBE_NONE;
    rest(probe);
    probe->due_ns = due > now ? due : now;
    if (missed)
        return HOST_PROBE_NONE;
    return well ? pass(set, kind, now) : fail(set, kind);
}

/* The question stays open: a guest that does not answer gets no further questions, and fails once
 * in each period. r[impl supervise.probe.open] */
enum host_probe_news host_probe_missed(struct host_probe_set *set, enum host_probe_kind kind,
                                       uint64_t now)
{
    struct host_probe *probe = &set->all[kind];

    probe->last = false;
    probe->missed = probe->open;
    probe->judge_ns = now + probe->how.period_ns;
    return fail(set, kind);
}
