/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/swim.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/swim/local_health.h"
#include "cluster/core/swim/probe.h"
#include "cluster/core/swim/swim_timers.h"
#include "cluster/core/swim/verdicts.h"

#define GOSSIP_NS      UINT64_C(200000000) /* between two datagrams of news alone */
#define GOSSIP_TO      3                   /* members, each time */
#define GOSSIP_FACTOR  4                   /* news is sent so many times the logarithm */
#define PUSH_PULL_NS   UINT64_C(30000000000)
#define PUSH_PULL_EACH 32                  /* members, for which it is that often */
#define STALL_NS       UINT64_C(500000000) /* how late its owner may be */
#define TIMERS_EACH    1                   /* each member has one */
#define TIMERS_OTHER   (CLUSTER_RELAYS_MAX + 8)
#define PERIOD_MAX     UINT64_C(60000000000)
#define ALPHA_MAX      16u

struct cluster_swim {
    struct cluster_verdicts verdicts;
    struct cluster_probes probes;
    struct cluster_swim_outputs outputs;
    struct hub_random random;
    uint64_t stalled_ns;   /* the owner's clock less that of this object */
    uint64_t contact_ns;   /* before it no further exchange with one that is held for dead */
    uint64_t revision;     /* the map's */
    uint64_t gossip_timer; /* for the next news; 0: not set */
    uint64_t refuted;      /* refutations for which news was sent */
    uint64_t malformed, earlier, stalls;
    uint8_t bytes[CLUSTER_DATAGRAM_PAYLOAD_MAX]; /* the datagram that was taken last */
};

/* ---- made ---- */

static bool options_are_sound(const struct cluster_swim_options *options)
{
    return options->node != 0 && cluster_ids_is_revision(options->session) &&
           options->period_ns >= STALL_NS / 5 && options->period_ns <= PERIOD_MAX &&
           options->alpha > 0 && options->alpha <= ALPHA_MAX && options->direct_ns <= PERIOD_MAX &&
           options->indirect_ns <= PERIOD_MAX && options->members_max <= CLUSTER_MEMBERS_MAX;
}

static int open_tables(struct cluster_swim *swim, uint32_t max)
{
    int r = cluster_members_init(&swim->verdicts.members, max, hub_random_next(&swim->random));

    if (r == 0)
        r = cluster_timers_create(max * TIMERS_EACH + TIMERS_OTHER, &swim->verdicts.timers);
    return r;
}

static uint64_t set_timer(struct cluster_swim *swim, uint64_t at_ns, uint32_t kind)
{
    const struct cluster_timer timer = {at_ns, 0, kind};

    return cluster_timers_set(swim->verdicts.timers, &timer);
}

static void begin(struct cluster_swim *swim, const struct cluster_swim_options *options,
                  uint64_t now_ns)
{
    swim->verdicts.rule =
        (struct cluster_suspicion_rule){options->period_ns, options->alpha, options->suspicion_ns};
    swim->probes.rule =
        (struct cluster_probe_rule){options->period_ns, options->direct_ns, options->indirect_ns};
    swim->probes.sequence = (uint32_t)hub_random_next(&swim->random);
    swim->verdicts.self =
        cluster_members_add(&swim->verdicts.members, options->node, options->session);
    (void)set_timer(swim, now_ns + hub_random_below(&swim->random, options->period_ns),
                    CLUSTER_SWIM_PERIOD);
    (void)set_timer(swim, now_ns + hub_random_below(&swim->random, PUSH_PULL_NS),
                    CLUSTER_SWIM_PUSH_PULL);
}

int cluster_swim_create(const struct cluster_swim_options *options, uint64_t now_ns,
                        struct cluster_swim **out)
{
    struct cluster_swim *swim;
    int r;

    *out = NULL;
    if (!options_are_sound(options))
        return rapahub_fail(RAPAHUB_EINVAL, "", "no node has these options of its detector");
    swim = calloc(1, sizeof *swim);
    if (!swim)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the detector of dead nodes");
    hub_random_init(&swim->random, options->seed);
    hub_list_init(&swim->verdicts.changed);
    cluster_gossip_init(&swim->verdicts.gossip);
    swim->probes.verdicts = &swim->verdicts;
    swim->probes.outputs = &swim->outputs;
    swim->probes.random = &swim->random;
    r = open_tables(swim, options->members_max > 0 ? options->members_max : CLUSTER_MEMBERS_MAX);
    if (r == 0)
        begin(swim, options, now_ns);
    else
        cluster_swim_release(&swim);
    *out = swim;
    return r;
}

void cluster_swim_release(struct cluster_swim **swim)
{
    if (*swim) {
        cluster_members_fini(&(*swim)->verdicts.members);
        cluster_timers_release(&(*swim)->verdicts.timers);
    }
    free(*swim);
    *swim = NULL;
}

/* ---- time ---- */

/* Returns the time of this object, which stands still while its owner does not run it. A stall also
 * says that this node is slow. r[impl cluster.swim.stall] */
static uint64_t time_of(struct cluster_swim *swim, uint64_t now_ns)
{
    uint64_t due_ns = cluster_swim_next(swim);

    if (now_ns > due_ns && now_ns - due_ns > STALL_NS) {
        swim->stalled_ns += now_ns - due_ns;
        swim->stalls++;
        swim->verdicts.health = cluster_local_health_worse(swim->verdicts.health);
    }
    return now_ns - swim->stalled_ns;
}

uint64_t cluster_swim_next(const struct cluster_swim *swim)
{
    return cluster_timers_next(swim->verdicts.timers) + swim->stalled_ns;
}

/* ---- news ---- */

/* r[impl cluster.swim.gossip] */
static void send_news(struct cluster_swim *swim)
{
    struct cluster_member *members[GOSSIP_TO];
    const struct cluster_members_drawn which = {.state = CLUSTER_MEMBER_SUSPECTED,
                                                .but = swim->verdicts.self->id};
    uint32_t count =
        cluster_members_draw(&swim->verdicts.members, &swim->random, &which, members, GOSSIP_TO);

    for (uint32_t i = 0; i < count; i++) {
        const struct cluster_swim_sent sent = {.kind = CLUSTER_SWIM_OUTPUT_DATAGRAM,
                                               .type = CLUSTER_DATAGRAM_GOSSIP,
                                               .uncounted = i + 1 < count,
                                               .node = members[i]->id};

        cluster_swim_outputs_add(&swim->outputs, &sent);
    }
}

/* A refutation of this node's own death is not put off. */
static void see_to_gossip(struct cluster_swim *swim, uint64_t own_ns)
{
    if (swim->refuted != swim->verdicts.refuted) {
        swim->refuted = swim->verdicts.refuted;
        send_news(swim);
    }
    if (swim->gossip_timer != 0 || swim->verdicts.gossip.count == 0)
        return;
    swim->gossip_timer = set_timer(swim, own_ns + GOSSIP_NS, CLUSTER_SWIM_GOSSIP);
}

static void push_pull_with(struct cluster_swim *swim, uint32_t node)
{
    const struct cluster_swim_sent sent = {.kind = CLUSTER_SWIM_OUTPUT_PUSH_PULL, .node = node};

    cluster_swim_outputs_add(&swim->outputs, &sent);
}

/* r[impl cluster.swim.pushpull] */
static void push_pull(struct cluster_swim *swim, uint64_t own_ns)
{
    struct cluster_member *member;
    const struct cluster_members_drawn which = {.state = CLUSTER_MEMBER_PROBE_FAILED,
                                                .but = swim->verdicts.self->id};
    uint32_t present = swim->verdicts.members.present;
    uint32_t factor = 1;

    if (present > PUSH_PULL_EACH)
        factor = 1 + (cluster_suspicion_log2(present) + 65535) / 65536 - 5;
    (void)set_timer(swim, own_ns + factor * PUSH_PULL_NS, CLUSTER_SWIM_PUSH_PULL);
    if (cluster_members_draw(&swim->verdicts.members, &swim->random, &which, &member, 1) == 1)
        push_pull_with(swim, member->id);
}

/* ---- from outside ---- */

int cluster_swim_add(struct cluster_swim *swim, uint32_t node, uint64_t session)
{
    if (node == 0 || !cluster_ids_is_revision(session))
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.swim.members", "no node has these numbers");
    return cluster_verdicts_add(&swim->verdicts, node, session);
}

static void close_relays_of(struct cluster_swim *swim, uint32_t node)
{
    for (uint32_t i = 0; i < CLUSTER_RELAYS_MAX; i++) {
        struct cluster_relay *relay = &swim->probes.relays.all[i];

        if (relay->sequence != 0 && (relay->target == node || relay->asker == node)) {
            (void)cluster_timers_clear(swim->verdicts.timers, relay->timer);
            relay->sequence = 0;
        }
    }
}

void cluster_swim_forget(struct cluster_swim *swim, uint32_t node)
{
    close_relays_of(swim, node);
    cluster_verdicts_forget(&swim->verdicts, node);
}

/* The sender speaks for itself: what it says of its own life is news like any other. */
static void hear_sender(struct cluster_swim *swim, uint64_t own_ns,
                        const struct cluster_member *from, const struct cluster_datagram *datagram)
{
    const struct cluster_update update = {from->id, datagram->session, datagram->refutations,
                                          from->id, CLUSTER_DATAGRAM_ALIVE};

    if (from->state == CLUSTER_MEMBER_DEAD && own_ns >= swim->contact_ns) {
        swim->contact_ns = own_ns + swim->probes.rule.period_ns;
        push_pull_with(swim, from->id);
    }
    cluster_verdicts_hear(&swim->verdicts, own_ns, &update, false);
}

/* r[impl cluster.swim.datagram] */
int cluster_swim_hear(struct cluster_swim *swim, uint64_t now_ns, uint32_t from,
                      const uint8_t *payload, size_t size)
{
    uint64_t own_ns = time_of(swim, now_ns);
    const struct cluster_member *member = cluster_members_find(&swim->verdicts.members, from);
    struct cluster_datagram datagram;
    int r = cluster_datagram_read(payload, size, &datagram);

    if (r < 0) {
        swim->malformed++;
        return r;
    }
    if (!member || member == swim->verdicts.self) {
        swim->verdicts.unknown++;
        return 0;
    }
    if (datagram.session < member->session) {
        swim->earlier++;
        return 0;
    }
    hear_sender(swim, own_ns, member, &datagram);
    for (uint32_t i = 0; i < datagram.updates_count; i++)
        cluster_verdicts_hear(&swim->verdicts, own_ns, &datagram.updates[i], false);
    cluster_probe_hear(&swim->probes, own_ns, from, &datagram);
    see_to_gossip(swim, own_ns);
    return 0;
}

void cluster_swim_link_answered(struct cluster_swim *swim, uint64_t now_ns, uint32_t node,
                                uint32_t sequence)
{
    cluster_probe_link_answered(&swim->probes, time_of(swim, now_ns), node, sequence);
}

static void do_due(struct cluster_swim *swim, const struct cluster_timer *timer, uint64_t own_ns)
{
    struct cluster_verdicts *verdicts = &swim->verdicts;

    switch ((enum cluster_swim_timer)timer->kind) {
    case CLUSTER_SWIM_SUSPICION:
        cluster_verdicts_due(verdicts, own_ns,
                             cluster_table_at(&verdicts->members.rows, (uint32_t)timer->number));
        break;
    case CLUSTER_SWIM_PERIOD:
        cluster_probe_period(&swim->probes, own_ns);
        break;
    case CLUSTER_SWIM_DIRECT:
        cluster_probe_ask_others(&swim->probes, own_ns);
        break;
    case CLUSTER_SWIM_INDIRECT:
        cluster_probe_fail(&swim->probes, own_ns);
        break;
    case CLUSTER_SWIM_RELAY:
        cluster_probe_relay_due(&swim->probes, own_ns, (uint32_t)timer->number);
        break;
    case CLUSTER_SWIM_GOSSIP:
        swim->gossip_timer = 0;
        send_news(swim);
        break;
    case CLUSTER_SWIM_PUSH_PULL:
        push_pull(swim, own_ns);
        break;
    }
}

void cluster_swim_step(struct cluster_swim *swim, uint64_t now_ns)
{
    uint64_t own_ns = time_of(swim, now_ns);
    struct cluster_timer timer;

    while (cluster_timers_take(swim->verdicts.timers, own_ns, &timer))
        do_due(swim, &timer, own_ns);
    see_to_gossip(swim, own_ns);
}

/* ---- to outside ---- */

/* A member in doubt hears of it first, so that it can refute. r[impl cluster.swim.probe] */
static size_t write_datagram(struct cluster_swim *swim, const struct cluster_swim_sent *sent)
{
    const struct cluster_verdicts *verdicts = &swim->verdicts;
    const struct cluster_member *to = cluster_members_find(&verdicts->members, sent->node);
    struct cluster_datagram datagram = {.type = sent->type,
                                        .health = verdicts->health,
                                        .sequence = sent->sequence,
                                        .target = sent->target,
                                        .refutations = verdicts->self->refutations,
                                        .session = verdicts->self->session,
                                        .revision = swim->revision};
    uint32_t limit = 0;

    if (to && (to->state == CLUSTER_MEMBER_SUSPECTED || to->state == CLUSTER_MEMBER_DEAD))
        datagram.updates[datagram.updates_count++] = cluster_gossip_update(to);
    if (!sent->uncounted)
        limit = cluster_suspicion_log10_up(verdicts->members.present + 1, GOSSIP_FACTOR);
    cluster_gossip_fill(&swim->verdicts.gossip, limit, &datagram);
    return cluster_datagram_write(&datagram, swim->bytes);
}

static bool take_changed(struct cluster_swim *swim, struct cluster_swim_output *out)
{
    struct hub_list *link = hub_list_pop(&swim->verdicts.changed);
    const struct cluster_member *member;

    if (!link)
        return false;
    member = HUB_LIST_ITEM(link, struct cluster_member, changed);
    *out = (struct cluster_swim_output){.kind = CLUSTER_SWIM_OUTPUT_CHANGED,
                                        .node = member->id,
                                        .state = member->state,
                                        .session = member->session};
    return true;
}

bool cluster_swim_take(struct cluster_swim *swim, struct cluster_swim_output *out)
{
    struct cluster_swim_sent sent;

    if (take_changed(swim, out))
        return true;
    if (!cluster_swim_outputs_take(&swim->outputs, &sent))
        return false;
    *out = (struct cluster_swim_output){
        .kind = sent.kind, .node = sent.node, .sequence = sent.sequence, .data = swim->bytes};
    if (sent.kind == CLUSTER_SWIM_OUTPUT_DATAGRAM)
        out->size = write_datagram(swim, &sent);
    return true;
}

bool cluster_swim_tell(const struct cluster_swim *swim, uint32_t *place, struct cluster_update *out)
{
    const struct cluster_member *member = cluster_members_after(&swim->verdicts.members, *place);

    if (!member)
        return false;
    *place = member->place;
    *out = cluster_gossip_update(member);
    return true;
}

void cluster_swim_merge(struct cluster_swim *swim, uint64_t now_ns,
                        const struct cluster_update *update)
{
    uint64_t own_ns = time_of(swim, now_ns);

    cluster_verdicts_hear(&swim->verdicts, own_ns, update, true);
    see_to_gossip(swim, own_ns);
}

/* The owner may end before the next news is due. */
void cluster_swim_leave(struct cluster_swim *swim)
{
    cluster_verdicts_leave(&swim->verdicts);
    send_news(swim);
}

void cluster_swim_set_revision(struct cluster_swim *swim, uint64_t revision)
{
    swim->revision = revision;
}

uint32_t cluster_swim_state(const struct cluster_swim *swim, uint32_t node)
{
    const struct cluster_member *member = cluster_members_find(&swim->verdicts.members, node);

    return member ? member->state : 0;
}

struct cluster_swim_incarnation cluster_swim_incarnation(const struct cluster_swim *swim,
                                                         uint32_t node)
{
    const struct cluster_member *member = cluster_members_find(&swim->verdicts.members, node);

    return member ? (struct cluster_swim_incarnation){member->session, member->refutations}
                  : (struct cluster_swim_incarnation){0, 0};
}

struct cluster_swim_figures cluster_swim_figures(const struct cluster_swim *swim)
{
    const struct cluster_verdicts *verdicts = &swim->verdicts;

    return (struct cluster_swim_figures){.members = verdicts->members.rows.count,
                                         .news = verdicts->gossip.count,
                                         .health = verdicts->health,
                                         .probes = swim->probes.begun,
                                         .failed_directly = swim->probes.failed_directly,
                                         .failed = swim->probes.failed,
                                         .refuted = verdicts->refuted,
                                         .unknown = verdicts->unknown,
                                         .impossible = verdicts->impossible,
                                         .malformed = swim->malformed,
                                         .earlier = swim->earlier,
                                         .stalls = swim->stalls,
                                         .stalled_ns = swim->stalled_ns,
                                         .lost = swim->outputs.lost};
}
