/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/detection/detector.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/detection/detector_links.h"
#include "cluster/node/detection/detector_state.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/random.h"

#define TOPIC "detection"

const struct cluster_detector_profile cluster_detector_profiles[] = {
    {.name = "lan", CLUSTER_SWIM_LAN},
    {.name = "fast", CLUSTER_SWIM_FAST},
    {.name = "wan", CLUSTER_SWIM_WAN},
    {.name = "seed", CLUSTER_SWIM_SEED},
    {.name = NULL}};

static uint64_t wall_s(void)
{
    return hub_clock_wall() / HUB_SECOND;
}

/* ---- made and released ---- */

static int find_profile(struct cluster_detector *self, const char *name)
{
    const struct cluster_detector_profile *profile = cluster_detector_profiles;

    while (name && profile->name && strcmp(profile->name, name) != 0)
        profile++;
    self->profile = profile;
    return profile->name ? 0
                         : rapahub_fail(RAPAHUB_EINVAL, "",
                                        "detection '%.100s': lan, fast, wan or seed", name);
}

/* r[impl cluster.detect.socket] */
static int open_socket(struct cluster_detector *self, struct rapahub_string text)
{
    char copy[CLUSTER_HOST_PORT_HOST + 16];
    struct cluster_host_port where;
    struct cluster_host_port_address address;
    int r;

    if (text.size == 0)
        return 0;
    snprintf(copy, sizeof copy, "%.*s", (int)text.size, text.data);
    r = cluster_host_port_parse(copy, &where);
    if (r == 0 && !cluster_host_port_in_numbers(&where, &address))
        r = rapahub_fail(RAPAHUB_EINVAL, "", "'%.100s' is no address in numbers", copy);
    return r == 0 ? cluster_datagrams_open(&self->datagrams, &address) : r;
}

int cluster_detector_create(const struct cluster_detector_options *options,
                            struct cluster_detector **out)
{
    struct cluster_detector *self = calloc(1, sizeof *self);
    int r;

    *out = self;
    if (!self)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the detector of dead nodes");
    self->datagrams.fd = self->datagrams.epoll = -1;
    self->node = options->node;
    self->session = options->session;
    self->lead = options->lead;
    self->moves = options->moves;
    self->links = options->links;
    self->since_s = wall_s();
    self->next_ns = HUB_NEVER;
    r = find_profile(self, options->profile);
    if (r == 0)
        r = open_socket(self, options->address);
    if (r == 0)
        r = cluster_detector_keys_create(&self->keys, options->cluster, options->node,
                                         options->boot);
    if (r < 0)
        cluster_detector_release(out);
    return r;
}

void cluster_detector_release(struct cluster_detector **self)
{
    struct cluster_detector *gone = *self;

    *self = NULL;
    if (!gone)
        return;
    if (gone->begun)
        cluster_peer_links_set_user(gone->links, CLUSTER_PEER_DETECTION, NULL, NULL);
    cluster_datagrams_close(&gone->datagrams);
    cluster_detector_keys_release(&gone->keys);
    cluster_swim_release(&gone->swim);
    free(gone);
}

int cluster_detector_begin(struct cluster_detector *self)
{
    int r = self->lead == 0 ? cluster_detector_keys_make(&self->keys, hub_clock_now()) : 0;

    if (r < 0)
        return r;
    self->begun = self->due = true;
    cluster_peer_links_set_user(self->links, CLUSTER_PEER_DETECTION, &cluster_detector_links_hooks,
                                self);
    return 0;
}

int cluster_detector_fd(const struct cluster_detector *self)
{
    return self->datagrams.epoll;
}

/* ---- members ---- */

static bool is_complete(const struct cluster_detector_member *member)
{
    return member->session != 0 && member->address.size > 0;
}

/* Others may have told a later session already. */
static void enlist(struct cluster_detector *self, struct cluster_detector_member *member)
{
    if (!self->swim)
        return;
    if (!is_complete(member)) { /* no datagram could reach it, and it would seem to be dead */
        cluster_swim_forget(self->swim, member->node);
        return;
    }
    if (member->since_s == 0 ||
        cluster_swim_incarnation(self->swim, member->node).session < member->session)
        member->since_s = wall_s();
    if (cluster_swim_add(self->swim, member->node, member->session) < 0)
        rapahub_clear_error();
    self->due = true;
}

/* The detector runs once there are a key and another member: without a key no answer could come,
 * and all others would be suspected. */
static void make_swim(struct cluster_detector *self, uint64_t now_ns)
{
    const struct cluster_detector_profile *profile = self->profile;
    const struct cluster_swim_options options = {.node = self->node,
                                                 .session = self->session,
                                                 .seed = hub_random_nonce(),
                                                 .members_max = CLUSTER_DETECTOR_MEMBERS_MAX + 1,
                                                 .period_ns = profile->period_ns,
                                                 .alpha = profile->alpha,
                                                 .direct_ns = profile->direct_ns,
                                                 .indirect_ns = profile->indirect_ns,
                                                 .suspicion_ns = profile->suspicion_ns};
    uint32_t complete = 0;

    for (uint32_t i = 0; i < self->members.count; i++)
        complete += is_complete(&self->members.all[i]) ? 1 : 0;
    if (complete == 0 || self->datagrams.fd < 0 || !self->keys.has || self->left)
        return;
    if (cluster_swim_create(&options, now_ns, &self->swim) < 0) {
        rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "%s", rapahub_last_error()->text);
        rapahub_clear_error();
        cluster_datagrams_close(&self->datagrams); /* it is not tried again */
        return;
    }
    for (uint32_t i = 0; i < self->members.count; i++)
        enlist(self, &self->members.all[i]);
}

/* r[impl cluster.detect.members] */
void cluster_detector_node(struct cluster_detector *self, uint32_t node, uint64_t session,
                           const struct cluster_record_node *record)
{
    struct cluster_detector_member *member;

    if (node == self->node)
        return;
    self->changes++;
    if (!record) {
        cluster_detector_members_remove(&self->members, node);
        if (self->swim)
            cluster_swim_forget(self->swim, node);
        return;
    }
    member = cluster_detector_members_note(&self->members, node, session, record);
    if (!member) {
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "node %" PRIu32 " is not watched: at most %d are",
                    node, CLUSTER_DETECTOR_MEMBERS_MAX);
        return;
    }
    self->due = true;
    enlist(self, member);
}

static void give_to_all(const struct cluster_detector *self)
{
    for (uint32_t i = 0; i < self->members.count; i++)
        cluster_detector_links_give_key(self, self->members.all[i].node);
}

void cluster_detector_renew_key(struct cluster_detector *self)
{
    if (self->lead != 0 || !self->begun)
        return;
    if (cluster_detector_keys_make(&self->keys, hub_clock_now()) < 0) {
        rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "the key of datagrams goes on to be used: %s",
                    rapahub_last_error()->text);
        rapahub_clear_error();
        return;
    }
    give_to_all(self);
}

/* r[impl cluster.detect.key] */
int cluster_detector_set_lead(struct cluster_detector *self, uint32_t lead)
{
    int r = 0;

    self->lead = lead;
    if (!self->begun)
        return 0;
    if (lead == 0 && !self->keys.has)
        r = cluster_detector_keys_make(&self->keys, hub_clock_now());
    if (lead == 0)
        give_to_all(self);
    else if (self->offered_by == lead)
        r = cluster_detector_keys_take(&self->keys, self->offered_number, self->offered,
                                       hub_clock_now());
    self->offered_by = 0;
    self->due = true;
    return r;
}

/* ---- in ---- */

/* The number of a node costs nothing to look up; to find out whether it sealed the datagram does.
 * r[impl cluster.detect.bounds] */
static void hear(struct cluster_detector *self, uint64_t now_ns, const uint8_t *bytes, size_t size)
{
    uint8_t payload[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    struct cluster_datagram_clear clear;
    uint32_t from = 0;
    int opened;

    if (cluster_datagram_read_clear(bytes, size, &clear) == 0 && clear.node != self->node &&
        !cluster_detector_members_find(&self->members, clear.node)) {
        self->strangers++;
        return;
    }
    opened = cluster_keyring_open(self->keys.ring, bytes, size, &from, payload);
    if (opened >= 0 && self->swim)
        opened = cluster_swim_hear(self->swim, now_ns, from, payload, (size_t)opened);
    if (opened < 0)
        rapahub_clear_error();
}

static void hear_all(struct cluster_detector *self, uint64_t now_ns)
{
    uint8_t bytes[CLUSTER_DATAGRAM_MAX + 1];
    size_t size;

    cluster_datagrams_begin(&self->datagrams, now_ns);
    while ((size = cluster_datagrams_take(&self->datagrams, now_ns, bytes, sizeof bytes)) > 0)
        hear(self, now_ns, bytes, size < sizeof bytes ? size : sizeof bytes);
}

/* ---- out ---- */

static const char *const words[] = {[CLUSTER_MEMBER_ALIVE] = "alive",
                                    [CLUSTER_MEMBER_PROBE_FAILED] = "alive",
                                    [CLUSTER_MEMBER_SUSPECTED] = "suspect",
                                    [CLUSTER_MEMBER_DEAD] = "dead",
                                    [CLUSTER_MEMBER_LEFT] = "left"};

/* r[impl cluster.detect.shown] */
static void note_change(struct cluster_detector *self, const struct cluster_swim_output *change)
{
    struct cluster_detector_member *member =
        cluster_detector_members_find(&self->members, change->node);
    bool bad = change->state == CLUSTER_MEMBER_SUSPECTED || change->state == CLUSTER_MEMBER_DEAD;

    self->changes++;
    if (!member)
        return;
    member->since_s = wall_s();
    rapahub_log(bad ? RAPAHUB_LOG_WARN : RAPAHUB_LOG_INFO, TOPIC, "node %" PRIu32 " %s %s%s",
                change->node, change->state == CLUSTER_MEMBER_LEFT ? "has" : "is",
                words[change->state],
                bad ? ", as far as this node can see: its containers stay where they are" : "");
}

static void send_datagram(struct cluster_detector *self, const struct cluster_swim_output *output)
{
    const struct cluster_detector_member *member =
        cluster_detector_members_find(&self->members, output->node);
    uint8_t bytes[CLUSTER_DATAGRAM_MAX];
    int size;

    if (!member || member->address.size == 0)
        return;
    size = cluster_keyring_seal(self->keys.ring, output->data, output->size, bytes);
    if (size > 0)
        cluster_datagrams_send(&self->datagrams, &member->address, bytes, (size_t)size);
    else
        rapahub_clear_error();
}

static void carry_out(struct cluster_detector *self)
{
    struct cluster_swim_output output;

    while (cluster_swim_take(self->swim, &output))
        switch ((enum cluster_swim_output_kind)output.kind) {
        case CLUSTER_SWIM_OUTPUT_DATAGRAM:
            send_datagram(self, &output);
            break;
        case CLUSTER_SWIM_OUTPUT_LINK_PROBE:
            cluster_detector_links_probe(self, output.node, output.sequence);
            break;
        case CLUSTER_SWIM_OUTPUT_PUSH_PULL:
            cluster_detector_links_push_pull(self, output.node);
            break;
        case CLUSTER_SWIM_OUTPUT_CHANGED:
            note_change(self, &output);
            break;
        }
}

/* Others hear it from a few datagrams, which may be lost, and over the links that there are.
 * r[impl cluster.detect.leave] */
void cluster_detector_leave(struct cluster_detector *self)
{
    if (self->left)
        return;
    self->left = true;
    self->since_s = wall_s();
    if (!self->swim)
        return;
    cluster_swim_leave(self->swim);
    carry_out(self);
    for (uint32_t i = 0; i < self->members.count; i++)
        if (cluster_peer_links_session(self->links, self->members.all[i].node) != 0)
            cluster_detector_links_push_pull(self, self->members.all[i].node);
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

uint64_t cluster_detector_step(struct cluster_detector *self, uint64_t now_ns, uint64_t revision,
                               bool readable)
{
    if (!readable && !self->due && now_ns < self->next_ns)
        return self->next_ns;
    self->due = false;
    hear_all(self, now_ns);
    self->next_ns = cluster_detector_keys_step(&self->keys, now_ns);
    if (!self->swim)
        make_swim(self, now_ns);
    if (self->swim) {
        cluster_swim_set_revision(self->swim, revision);
        cluster_swim_step(self->swim, now_ns);
        carry_out(self);
        self->next_ns = least(self->next_ns, cluster_swim_next(self->swim));
    }
    self->next_ns = least(self->next_ns, cluster_datagrams_next(&self->datagrams));
    return self->next_ns;
}

/* ---- shown ---- */

bool cluster_detector_verdict(const struct cluster_detector *self, uint32_t node,
                              struct cluster_detector_verdict *out)
{
    uint32_t state = self->swim ? cluster_swim_state(self->swim, node) : 0;

    if (state == 0 && node != self->node)
        return false;
    if (state == 0) { /* there is no detector to ask */
        *out = (struct cluster_detector_verdict){
            .word = "alive", .since_s = self->since_s, .incarnation = {self->session, 0}};
        return self->datagrams.fd >= 0;
    }
    out->word = words[state];
    out->incarnation = cluster_swim_incarnation(self->swim, node);
    out->since_s = self->since_s;
    for (uint32_t i = 0; i < self->members.count; i++)
        if (self->members.all[i].node == node)
            out->since_s = self->members.all[i].since_s;
    return true;
}

uint64_t cluster_detector_changes(const struct cluster_detector *self)
{
    return self->changes;
}

bool cluster_detector_is_away(const struct cluster_detector *self, uint32_t node)
{
    uint32_t state = self->swim ? cluster_swim_state(self->swim, node) : 0;

    return state == CLUSTER_MEMBER_DEAD || state == CLUSTER_MEMBER_LEFT;
}

uint32_t cluster_detector_after(const struct cluster_detector *self, uint32_t node)
{
    uint32_t next = self->swim && self->node > node ? self->node : 0;

    for (uint32_t i = 0; self->swim && i < self->members.count; i++) {
        uint32_t other = self->members.all[i].node;

        if (other > node && (next == 0 || other < next) && cluster_swim_state(self->swim, other))
            next = other;
    }
    return next;
}

bool cluster_detector_leader_is_away(const struct cluster_detector *self)
{
    return self->lead != 0 && cluster_peer_links_session(self->links, self->lead) == 0;
}

struct cluster_detector_figures cluster_detector_figures(const struct cluster_detector *self)
{
    struct cluster_detector_figures figures = {.keys = cluster_keyring_figures(self->keys.ring),
                                               .sent = self->datagrams.sent,
                                               .unsent = self->datagrams.unsent,
                                               .strangers = self->strangers,
                                               .dropped = self->datagrams.dropped};

    if (self->datagrams.fd >= 0)
        figures.profile = self->profile->name;
    if (self->swim)
        figures.swim = cluster_swim_figures(self->swim);
    return figures;
}
