/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/session/lead.h"

#include "hub/base/check.h"

const struct hub_states cluster_lead_states = {
    "cluster.lead",
    {[CLUSTER_LEAD_FOLLOWS] = {"FOLLOWS", HUB_TO(CLUSTER_LEAD_WAITS) | HUB_TO(CLUSTER_LEAD_LEADS)},
     [CLUSTER_LEAD_WAITS] = {"WAITS", HUB_TO(CLUSTER_LEAD_FOLLOWS) | HUB_TO(CLUSTER_LEAD_CLAIMS) |
                                          HUB_TO(CLUSTER_LEAD_LEADS)},
     [CLUSTER_LEAD_CLAIMS] = {"CLAIMS", HUB_TO(CLUSTER_LEAD_FOLLOWS) | HUB_TO(CLUSTER_LEAD_LEADS)},
     [CLUSTER_LEAD_LEADS] = {"LEADS", HUB_TO(CLUSTER_LEAD_FOLLOWS)}}};

static void move(struct cluster_lead *lead, enum cluster_lead_state to)
{
    if (lead->state == (uint32_t)to)
        return;
    CHECK(hub_states_may(&cluster_lead_states, lead->state, to));
    lead->state = to;
}

static bool is_own(const struct cluster_lead *lead)
{
    return lead->record.term != 0 && lead->record.node == lead->node &&
           lead->record.session == lead->session;
}

/* The record is another one: all begins anew. */
static void follow(struct cluster_lead *lead, uint64_t now_ns)
{
    if (is_own(lead)) {
        move(lead, CLUSTER_LEAD_LEADS);
        lead->due_ns = now_ns;
    } else if (lead->state != CLUSTER_LEAD_CLAIMS) {
        move(lead, CLUSTER_LEAD_FOLLOWS);
    }
}

void cluster_lead_begin(struct cluster_lead *lead, uint32_t node, uint64_t session,
                        const struct cluster_lead_record *record, uint64_t now_ns)
{
    *lead = (struct cluster_lead){.state = CLUSTER_LEAD_FOLLOWS,
                                  .node = node,
                                  .session = session,
                                  .record = *record,
                                  .seen_ns = now_ns};
    follow(lead, now_ns);
}

/* r[impl cluster.lead.follow] */
void cluster_lead_take(struct cluster_lead *lead, const struct cluster_lead_record *record,
                       uint64_t now_ns)
{
    if (record->term <= lead->record.term)
        return;
    lead->record = *record;
    lead->seen = 0;
    lead->seen_ns = now_ns;
    follow(lead, now_ns);
}

void cluster_lead_see(struct cluster_lead *lead, uint64_t session, uint64_t put, uint64_t now_ns)
{
    uint64_t seen = session == lead->record.session ? put : 0;

    if (seen == lead->seen)
        return;
    lead->seen = seen;
    lead->seen_ns = now_ns;
    if (lead->state == CLUSTER_LEAD_WAITS)
        move(lead, CLUSTER_LEAD_FOLLOWS);
}

/* r[impl cluster.lead.gone] */
uint64_t cluster_lead_gone_ns(const struct cluster_lead *lead)
{
    return lead->seen == 0 ? lead->seen_ns : lead->seen_ns + CLUSTER_LEAD_SILENCE_NS;
}

/* ---- steps ---- */

/* r[impl cluster.lead.renew] */
static struct cluster_lead_step renew(struct cluster_lead *lead, uint64_t now_ns)
{
    if (lead->renewing || now_ns < lead->due_ns)
        return (struct cluster_lead_step){.action = CLUSTER_LEAD_NOTHING};
    lead->renewing = true;
    lead->due_ns = now_ns + CLUSTER_LEAD_RENEW_NS;
    return (struct cluster_lead_step){.action = CLUSTER_LEAD_RENEW};
}

/* The first turn is for a node that begins anew at once. r[impl cluster.lead.claim] */
struct cluster_lead_step cluster_lead_step(struct cluster_lead *lead, uint32_t rank,
                                           uint64_t now_ns)
{
    if (lead->state == CLUSTER_LEAD_LEADS)
        return renew(lead, now_ns);
    if (lead->state == CLUSTER_LEAD_FOLLOWS && now_ns >= cluster_lead_gone_ns(lead)) {
        move(lead, CLUSTER_LEAD_WAITS);
        lead->due_ns = now_ns + ((uint64_t)rank + 1) * CLUSTER_LEAD_TURN_NS;
    }
    if (lead->state != CLUSTER_LEAD_WAITS || now_ns < lead->due_ns)
        return (struct cluster_lead_step){.action = CLUSTER_LEAD_NOTHING};
    move(lead, CLUSTER_LEAD_CLAIMS);
    return (struct cluster_lead_step){.action = CLUSTER_LEAD_CLAIM,
                                      .term = lead->record.term,
                                      .other = lead->record.node,
                                      .seen = lead->seen};
}

/* Another one may have claimed it since, and be known already. */
void cluster_lead_claimed(struct cluster_lead *lead, uint64_t revision, uint64_t now_ns)
{
    const struct cluster_lead_record own = {lead->node, lead->session, revision};

    if (lead->state == CLUSTER_LEAD_CLAIMS)
        move(lead, CLUSTER_LEAD_FOLLOWS);
    cluster_lead_take(lead, &own, now_ns);
}

void cluster_lead_renewed(struct cluster_lead *lead)
{
    lead->renewing = false;
}

uint64_t cluster_lead_next(const struct cluster_lead *lead)
{
    switch (lead->state) {
    case CLUSTER_LEAD_FOLLOWS:
        return cluster_lead_gone_ns(lead);
    case CLUSTER_LEAD_CLAIMS:
        return UINT64_MAX;
    case CLUSTER_LEAD_LEADS:
        return lead->renewing ? UINT64_MAX : lead->due_ns;
    default:
        return lead->due_ns;
    }
}

uint64_t cluster_lead_term(const struct cluster_lead *lead)
{
    return lead->state == CLUSTER_LEAD_LEADS ? lead->record.term : 0;
}
