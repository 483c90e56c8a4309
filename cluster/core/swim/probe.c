/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/probe.h"

#include "cluster/core/swim/local_health.h"
#include "cluster/core/swim/swim_timers.h"

#define QUEUE_MANY     1024 /* news that wait: probes are rarer */
#define ROUND_TRIPS    3    /* that a direct probe waits for */
#define NACK_PER_CENT  80   /* the part of the asker's time after which it hears of no answer */
#define DIRECT_MOST(t) ((t) / 5 * 4)
#define FORGETS        128 /* the estimate of a round trip falls by such a part with each answer */

static uint64_t direct_ns(const struct cluster_probes *probes)
{
    uint64_t period_ns = probes->rule.period_ns, span_ns = ROUND_TRIPS * probes->round_trip_ns;

    if (probes->rule.direct_ns > 0)
        return probes->rule.direct_ns;
    if (span_ns < period_ns / 2)
        span_ns = period_ns / 2;
    return span_ns < DIRECT_MOST(period_ns) ? span_ns : DIRECT_MOST(period_ns);
}

static uint64_t indirect_ns(const struct cluster_probes *probes)
{
    return probes->rule.indirect_ns > 0 ? probes->rule.indirect_ns
                                        : probes->rule.period_ns - direct_ns(probes);
}

static uint64_t set_timer(struct cluster_probes *probes, uint64_t at_ns, uint32_t kind,
                          uint64_t number)
{
    const struct cluster_timer timer = {at_ns, number, kind};

    return cluster_timers_set(probes->verdicts->timers, &timer);
}

static uint32_t next_sequence(struct cluster_probes *probes)
{
    if (++probes->sequence == 0)
        probes->sequence = 1;
    return probes->sequence;
}

static void send(struct cluster_probes *probes, uint32_t to, uint8_t type, uint32_t sequence,
                 uint32_t target)
{
    const struct cluster_swim_sent sent = {.kind = CLUSTER_SWIM_OUTPUT_DATAGRAM,
                                           .type = type,
                                           .node = to,
                                           .sequence = sequence,
                                           .target = target};

    cluster_swim_outputs_add(probes->outputs, &sent);
}

/* ---- a probe of this node ---- */

/* Members that left are not probed; one that is held for dead is, so that it can refute. */
static struct cluster_member *next_target(struct cluster_probes *probes)
{
    const struct cluster_members *members = &probes->verdicts->members;
    uint32_t places = members->rows.top;

    for (uint32_t i = 0; i < 2 * places; i++) {
        uint32_t place = cluster_probe_order_next(&probes->order, probes->random, places);
        struct cluster_member *member;

        if (!cluster_table_has(&members->rows, place))
            continue;
        member = cluster_table_at(&members->rows, place);
        if (member != probes->verdicts->self && member->state != CLUSTER_MEMBER_LEFT)
            return member;
    }
    return NULL;
}

/* r[impl cluster.swim.probe] r[impl cluster.swim.verdict] */
void cluster_probe_begin(struct cluster_probes *probes, uint64_t now_ns)
{
    struct cluster_verdicts *verdicts = probes->verdicts;
    struct cluster_member *target = next_target(probes);
    uint64_t period_ns = cluster_local_health_span(verdicts->health, probes->rule.period_ns);

    if (verdicts->gossip.count > QUEUE_MANY)
        period_ns *= 2;
    (void)set_timer(probes, now_ns + period_ns, CLUSTER_SWIM_PERIOD, 0);
    if (!target)
        return;
    probes->open = true;
    probes->begun++;
    probes->target = target->id;
    probes->number = next_sequence(probes);
    probes->helpers_count = probes->nacks = 0;
    probes->begun_ns = now_ns;
    probes->timer =
        set_timer(probes, now_ns + cluster_local_health_span(verdicts->health, direct_ns(probes)),
                  CLUSTER_SWIM_DIRECT, 0);
    send(probes, target->id, CLUSTER_DATAGRAM_PING, probes->number, target->id);
}

void cluster_probe_period(struct cluster_probes *probes, uint64_t now_ns)
{
    probes->over_due = probes->open;
    if (!probes->open)
        cluster_probe_begin(probes, now_ns);
}

static void close(struct cluster_probes *probes, uint64_t now_ns)
{
    bool over_due = probes->over_due;

    (void)cluster_timers_clear(probes->verdicts->timers, probes->timer);
    probes->open = probes->over_due = false;
    if (over_due)
        cluster_probe_begin(probes, now_ns);
}

/* r[impl cluster.swim.probe] */
void cluster_probe_ask_others(struct cluster_probes *probes, uint64_t now_ns)
{
    struct cluster_verdicts *verdicts = probes->verdicts;
    struct cluster_member *helpers[CLUSTER_PROBE_HELPERS];
    struct cluster_member *target = cluster_members_find(&verdicts->members, probes->target);
    const struct cluster_swim_sent by_link = {.kind = CLUSTER_SWIM_OUTPUT_LINK_PROBE,
                                              .node = probes->target,
                                              .sequence = probes->number,
                                              .target = probes->target};
    const struct cluster_members_drawn which = {
        .state = CLUSTER_MEMBER_PROBE_FAILED, .but = probes->target, .nor = verdicts->self->id};

    if (!target) {
        close(probes, now_ns);
        return;
    }
    probes->failed_directly++;
    cluster_verdicts_probe_failed(verdicts, target);
    probes->helpers_count = cluster_members_draw(&verdicts->members, probes->random, &which,
                                                 helpers, CLUSTER_PROBE_HELPERS);
    for (uint32_t i = 0; i < probes->helpers_count; i++) {
        probes->helpers[i] = helpers[i]->id;
        probes->nacked[i] = false;
        send(probes, helpers[i]->id, CLUSTER_DATAGRAM_REQUEST, probes->number, target->id);
    }
    cluster_swim_outputs_add(probes->outputs, &by_link);
    probes->timer =
        set_timer(probes, now_ns + cluster_local_health_span(verdicts->health, indirect_ns(probes)),
                  CLUSTER_SWIM_INDIRECT, 0);
}

/* Where those that were asked said that they had no answer either, the fault is not here.
 * r[impl cluster.swim.health] */
void cluster_probe_fail(struct cluster_probes *probes, uint64_t now_ns)
{
    struct cluster_verdicts *verdicts = probes->verdicts;
    struct cluster_member *target = cluster_members_find(&verdicts->members, probes->target);

    probes->failed++;
    if (probes->helpers_count == 0 || probes->nacks < probes->helpers_count)
        verdicts->health = cluster_local_health_worse(verdicts->health);
    if (target)
        cluster_verdicts_suspect(verdicts, now_ns, target);
    close(probes, now_ns);
}

static void succeed(struct cluster_probes *probes, uint64_t now_ns)
{
    struct cluster_verdicts *verdicts = probes->verdicts;
    struct cluster_member *target = cluster_members_find(&verdicts->members, probes->target);

    verdicts->health = cluster_local_health_better(verdicts->health);
    if (target)
        cluster_verdicts_answered(verdicts, target);
    close(probes, now_ns);
}

static void note_round_trip(struct cluster_probes *probes, uint64_t span_ns)
{
    probes->round_trip_ns -= probes->round_trip_ns / FORGETS;
    if (span_ns > probes->round_trip_ns)
        probes->round_trip_ns = span_ns;
}

static int helper_of(const struct cluster_probes *probes, uint32_t node)
{
    for (uint32_t i = 0; i < probes->helpers_count; i++)
        if (probes->helpers[i] == node)
            return (int)i;
    return -1;
}

/* An answer counts only with the number of the probe that is under way, from its target or from one
 * that was asked. r[impl cluster.swim.probe] */
static bool is_of_probe(const struct cluster_probes *probes, uint32_t from,
                        const struct cluster_datagram *datagram)
{
    return probes->open && datagram->sequence == probes->number &&
           datagram->target == probes->target &&
           (from == probes->target || helper_of(probes, from) >= 0);
}

void cluster_probe_link_answered(struct cluster_probes *probes, uint64_t now_ns, uint32_t node,
                                 uint32_t sequence)
{
    if (probes->open && probes->target == node && probes->number == sequence)
        succeed(probes, now_ns);
}

/* ---- for others ---- */

/* r[impl cluster.swim.relay] */
static void relay(struct cluster_probes *probes, uint64_t now_ns, uint32_t asker,
                  const struct cluster_datagram *asked)
{
    struct cluster_relay *relay;
    uint64_t span_ns = cluster_local_health_span(asked->health, indirect_ns(probes));

    if (asked->target == probes->verdicts->self->id || asked->target == asker ||
        !cluster_members_find(&probes->verdicts->members, asked->target))
        return;
    relay = cluster_relays_take(&probes->relays, next_sequence(probes));
    if (!relay)
        return;
    relay->asker = asker;
    relay->target = asked->target;
    relay->asked = asked->sequence;
    relay->timer = set_timer(probes, now_ns + span_ns * NACK_PER_CENT / 100, CLUSTER_SWIM_RELAY,
                             (uint64_t)(relay - probes->relays.all));
    send(probes, relay->target, CLUSTER_DATAGRAM_PING, relay->sequence, relay->target);
}

void cluster_probe_relay_due(struct cluster_probes *probes, uint64_t now_ns, uint32_t at)
{
    struct cluster_relay *relay = &probes->relays.all[at];

    (void)now_ns;
    send(probes, relay->asker, CLUSTER_DATAGRAM_NACK, relay->asked, relay->target);
    relay->sequence = 0;
}

static void answer(struct cluster_probes *probes, uint64_t now_ns, uint32_t from,
                   const struct cluster_datagram *datagram)
{
    struct cluster_relay *relay = cluster_relays_find(&probes->relays, datagram->sequence, from);

    if (is_of_probe(probes, from, datagram)) {
        if (probes->helpers_count == 0)
            note_round_trip(probes, now_ns - probes->begun_ns);
        succeed(probes, now_ns);
    } else if (relay && datagram->target == from) {
        send(probes, relay->asker, CLUSTER_DATAGRAM_ACK, relay->asked, relay->target);
        (void)cluster_timers_clear(probes->verdicts->timers, relay->timer);
        relay->sequence = 0;
    }
}

static void note_nack(struct cluster_probes *probes, uint32_t from,
                      const struct cluster_datagram *datagram)
{
    int at = helper_of(probes, from);

    if (!is_of_probe(probes, from, datagram) || at < 0 || probes->nacked[at])
        return;
    probes->nacked[at] = true;
    probes->nacks++;
}

void cluster_probe_hear(struct cluster_probes *probes, uint64_t now_ns, uint32_t from,
                        const struct cluster_datagram *datagram)
{
    switch (datagram->type) {
    case CLUSTER_DATAGRAM_PING:
        if (datagram->target == probes->verdicts->self->id)
            send(probes, from, CLUSTER_DATAGRAM_ACK, datagram->sequence, datagram->target);
        break;
    case CLUSTER_DATAGRAM_ACK:
        answer(probes, now_ns, from, datagram);
        break;
    case CLUSTER_DATAGRAM_REQUEST:
        relay(probes, now_ns, from, datagram);
        break;
    case CLUSTER_DATAGRAM_NACK:
        note_nack(probes, from, datagram);
        break;
    default:
        break;
    }
}
