/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/detection/detector_links.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"

#define TOPIC     "detection"
#define ANSWER_NS (HUB_SECOND / 5) /* a node is told all that is known no sooner again */

/* ---- out ---- */

/* A frame that cannot be sent is dropped: the same is told later, in another way. */
static void say(const struct cluster_detector *self, uint32_t node, uint8_t type,
                const struct cluster_body *body)
{
    const struct cluster_frame header = {.type = type};
    OWN(hub_memory) uint8_t *bytes = NULL;
    struct hub_writer writer;
    int r;

    hub_writer_count(&writer);
    r = cluster_body_put(&writer, type, body);
    if (r == 0)
        bytes = malloc(writer.size + 1);
    if (!bytes)
        return;
    hub_writer_init(&writer, bytes, writer.size);
    r = cluster_body_put(&writer, type, body);
    if (r == 0)
        r = cluster_peer_links_send(self->links, node, &header,
                                    (struct rapahub_bytes){bytes, writer.size});
    explicit_bzero(bytes, writer.size); /* it may be a key */
    if (r < 0)
        rapahub_clear_error();
}

static void tell_all(const struct cluster_detector *self, uint32_t node, bool answer)
{
    struct cluster_update updates[CLUSTER_DETECTOR_MEMBERS_MAX + 1];
    uint32_t count = 0, place = 0;

    while (count < sizeof updates / sizeof *updates &&
           cluster_swim_tell(self->swim, &place, &updates[count]))
        count++;
    say(self, node, CLUSTER_FRAME_PUSH_PULL,
        &(struct cluster_body){
            .push_pull = {.answer = answer, .updates = {.of = updates, .count = count}}});
}

/* r[impl cluster.detect.pushpull] */
void cluster_detector_links_push_pull(struct cluster_detector *self, uint32_t node)
{
    uint32_t to = cluster_peer_links_session(self->links, node) != 0 ? node : self->lead;

    if (to != 0)
        tell_all(self, to, false);
}

void cluster_detector_links_probe(struct cluster_detector *self, uint32_t node, uint32_t sequence)
{
    say(self, node, CLUSTER_FRAME_LINK_PROBE,
        &(struct cluster_body){.link_probe = {.sequence = sequence}});
}

void cluster_detector_links_give_key(const struct cluster_detector *self, uint32_t node)
{
    const struct cluster_detector_keys *keys = &self->keys;

    say(self, node, CLUSTER_FRAME_DATAGRAM_KEY,
        &(struct cluster_body){
            .datagram_key = {.number = keys->number, .key = {keys->bytes, sizeof keys->bytes}}});
}

/* ---- in ---- */

/* r[impl cluster.detect.key] */
static void on_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    struct cluster_detector *self = user;

    (void)session, (void)boot;
    if (self->lead == 0)
        cluster_detector_links_give_key(self, node);
}

static void on_lost(void *user, uint32_t node)
{
    (void)user, (void)node;
}

/* Says whether the node may be told all that is known now, which costs more than to ask for it. */
static bool may_answer(struct cluster_detector *self, uint32_t node, uint64_t now_ns)
{
    struct cluster_detector_member *member = cluster_detector_members_find(&self->members, node);

    if (!member || (member->answered_ns != 0 && now_ns - member->answered_ns < ANSWER_NS))
        return false;
    member->answered_ns = now_ns;
    return true;
}

static void take_push_pull(struct cluster_detector *self, uint32_t from,
                           const struct cluster_body_push_pull *body)
{
    struct cluster_list updates = body->updates;
    uint64_t now_ns = hub_clock_now();
    struct cluster_update update;

    if (!self->swim)
        return;
    while (cluster_body_next_update(&updates, &update))
        cluster_swim_merge(self->swim, now_ns, &update);
    if (!body->answer && may_answer(self, from, now_ns))
        tell_all(self, from, true);
}

static void take_probe(struct cluster_detector *self, uint32_t from,
                       const struct cluster_body_link_probe *body)
{
    if (body->answer && self->swim)
        cluster_swim_link_answered(self->swim, hub_clock_now(), from, body->sequence);
    else if (!body->answer)
        say(self, from, CLUSTER_FRAME_LINK_PROBE,
            &(struct cluster_body){.link_probe = {.answer = true, .sequence = body->sequence}});
}

/* It may have begun to lead, and this node not have heard of it. */
static int offer(struct cluster_detector *self, uint32_t from,
                 const struct cluster_body_datagram_key *body)
{
    self->offered_by = from;
    self->offered_number = body->number;
    memcpy(self->offered, body->key.data, sizeof self->offered);
    return 0;
}

/* r[impl cluster.detect.key] */
static int take_key(struct cluster_detector *self, uint32_t from,
                    const struct cluster_body_datagram_key *body)
{
    int r;

    if (self->lead != from && self->moves)
        return offer(self, from, body);
    if (self->lead != from)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.detect.key",
                            "node %" PRIu32 " does not lead, and hands out a key", from);
    r = cluster_detector_keys_take(&self->keys, body->number, body->key.data, hub_clock_now());
    if (r < 0) {
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC,
                    "the key of datagrams is not taken, and other nodes hold this one for dead: %s",
                    rapahub_last_error()->text);
        rapahub_clear_error();
    }
    return 0;
}

static int on_frame(void *user, uint32_t from, const struct cluster_frame *header,
                    struct rapahub_bytes bytes)
{
    struct cluster_detector *self = user;
    struct cluster_body body;
    int r = cluster_body_read(header->type, bytes, &body);

    if (r < 0)
        return r;
    self->due = true;
    if (header->type == CLUSTER_FRAME_DATAGRAM_KEY)
        return take_key(self, from, &body.datagram_key);
    if (header->type == CLUSTER_FRAME_PUSH_PULL)
        take_push_pull(self, from, &body.push_pull);
    else
        take_probe(self, from, &body.link_probe);
    return 0;
}

const struct cluster_peer_links_hooks cluster_detector_links_hooks = {on_up, on_lost, on_frame};
