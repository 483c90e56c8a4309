/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/lead/leading.h"

#include <inttypes.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/boot/store_keys.h"
#include "hub/base/clock.h"

#define TOPIC    "node"
#define AGAIN_NS (HUB_SECOND / 2) /* where the metastore takes no transaction now */

static const struct cluster_key lead_key = {.kind = CLUSTER_KEY_LEAD};

static struct cluster_key session_key(uint32_t node)
{
    return (struct cluster_key){.kind = CLUSTER_KEY_SESSION, .node = node};
}

void cluster_leading_begin(struct cluster_leading *self, const struct cluster_leading_parts *parts,
                           const struct cluster_lead_record *record)
{
    struct cluster_lead_record heard = self->lead.record; /* by the watch, since */

    self->parts = *parts;
    self->begun = true;
    cluster_lead_begin(&self->lead, parts->node, parts->session,
                       heard.term > record->term ? &heard : record, hub_clock_now());
}

/* A record that is not sound is of a later release. */
void cluster_leading_take(struct cluster_leading *self, const struct cluster_pair *pair)
{
    struct cluster_lead_record heard = {.term = pair->mod_rev};
    struct cluster_record record;

    if (cluster_record_read(CLUSTER_KEY_LEAD, pair->value, &record) < 0) {
        rapahub_clear_error();
        return;
    }
    heard.node = record.lead.node;
    heard.session = record.lead.session;
    if (self->begun)
        cluster_lead_take(&self->lead, &heard, hub_clock_now());
    else
        self->lead.record = heard;
}

/* ---- out ---- */

static void on_claimed(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                       size_t count)
{
    struct cluster_leading *self = user;

    (void)gets, (void)count;
    cluster_lead_claimed(&self->lead, status == CLUSTER_TXN_OK ? rev : 0, hub_clock_now());
}

static void on_renewed(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                       size_t count)
{
    struct cluster_leading *self = user;

    (void)status, (void)rev, (void)gets, (void)count;
    cluster_lead_renewed(&self->lead);
}

/* r[impl cluster.lead.claim] */
static int claim(struct cluster_leading *self, const struct cluster_lead_step *step)
{
    const struct cluster_leading_parts *parts = &self->parts;
    const struct cluster_record record = {.lead = {parts->node, parts->session}};
    const struct cluster_key own_key = session_key(parts->node), of = session_key(step->other);
    struct cluster_store_keys_put lead, own, other;
    int r = cluster_store_keys_build(&lead_key, &record, &lead);

    if (r == 0)
        r = cluster_store_keys_build(&own_key, NULL, &own);
    if (r == 0 && step->seen != 0)
        r = cluster_store_keys_build(&of, NULL, &other);
    if (r < 0)
        return r;
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "node %" PRIu32 ", which led, is %s: this node is to lead",
                step->other, step->seen == 0 ? "in this session no more" : "silent");
    return cluster_marker_submit(
        parts->marker,
        &(struct cluster_txn){
            .compares =
                (struct cluster_compare[]){
                    {.kind = CLUSTER_CREATE_EQ, .key = own.key_bytes, .rev = parts->session},
                    {.kind = CLUSTER_MOD_EQ, .key = lead.key_bytes, .rev = step->term},
                    {.kind = CLUSTER_MOD_EQ, .key = other.key_bytes, .rev = step->seen}},
            .compares_count = step->seen != 0 ? 3 : 2,
            .then = &(struct cluster_write){CLUSTER_PUT, lead.key_bytes, lead.value_bytes},
            .then_count = 1},
        on_claimed, self);
}

/* r[impl cluster.lead.renew] */
static int renew(struct cluster_leading *self)
{
    struct cluster_leading_parts *parts = &self->parts;
    const struct cluster_key key = session_key(parts->node);
    struct cluster_record record = {.session = parts->record};
    struct cluster_store_keys_put own;
    int r;

    record.session.seq = ++parts->record.seq;
    r = cluster_store_keys_build(&key, &record, &own);
    if (r < 0)
        return r;
    return cluster_marker_submit(
        parts->marker,
        &(struct cluster_txn){
            .compares = &(struct cluster_compare){.kind = CLUSTER_CREATE_EQ,
                                                  .key = own.key_bytes,
                                                  .rev = parts->session},
            .compares_count = 1,
            .then = &(struct cluster_write){CLUSTER_PUT, own.key_bytes, own.value_bytes},
            .then_count = 1},
        on_renewed, self);
}

/* ---- steps ---- */

/* A node whose turn is before that of this one: it has a session, and as far as this one sees it
 * lives. */
static bool is_before(const struct cluster_leading *self, const struct cluster_map_nodes_node *row)
{
    struct cluster_record record;

    if (row->node >= self->parts.node || row->session == 0 || !row->record ||
        (row->node == self->lead.record.node && row->session == self->lead.record.session) ||
        cluster_detector_is_away(self->parts.detector, row->node))
        return false;
    if (cluster_record_read(CLUSTER_KEY_NODE, (struct rapahub_bytes){row->record, row->size},
                            &record) < 0) {
        rapahub_clear_error();
        return false;
    }
    return record.node.state == CLUSTER_NODE_ACTIVE;
}

static uint32_t rank_of(const struct cluster_leading *self)
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < self->parts.nodes->count; i++)
        rank += is_before(self, &self->parts.nodes->nodes[i]);
    return rank;
}

static void see(struct cluster_leading *self, uint64_t now_ns)
{
    const struct cluster_map_nodes *nodes = self->parts.nodes;

    for (uint32_t i = 0; i < nodes->count; i++)
        if (nodes->nodes[i].node == self->lead.record.node)
            cluster_lead_see(&self->lead, nodes->nodes[i].session, nodes->nodes[i].session_revision,
                             now_ns);
}

static int carry_out(struct cluster_leading *self, const struct cluster_lead_step *step)
{
    switch (step->action) {
    case CLUSTER_LEAD_CLAIM:
        return claim(self, step);
    case CLUSTER_LEAD_RENEW:
        return renew(self);
    default:
        return 0;
    }
}

uint64_t cluster_leading_step(struct cluster_leading *self, uint64_t now_ns)
{
    struct cluster_lead_step step;
    uint64_t next_ns;

    if (!self->begun || self->lead.record.term == 0 || !self->parts.claims)
        return HUB_NEVER;
    see(self, now_ns);
    step = cluster_lead_step(&self->lead,
                             now_ns < cluster_lead_next(&self->lead) ? 0 : rank_of(self), now_ns);
    if (carry_out(self, &step) < 0) { /* it was not taken: like one that did not happen */
        rapahub_clear_error();
        cluster_lead_claimed(&self->lead, 0, now_ns);
        cluster_lead_renewed(&self->lead);
        return now_ns + AGAIN_NS;
    }
    next_ns = cluster_lead_next(&self->lead);
    return next_ns == UINT64_MAX ? HUB_NEVER : next_ns;
}
