/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/node_peering.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/boot/boot_node.h"
#include "cluster/node/boot/boot_session.h"
#include "cluster/node/peers/peer_mesh.h"
#include "hub/base/check.h"

#define REPORT_MAX 512 /* bytes; its text has at most CLUSTER_BODY_STEP_TEXT_MAX */

/* ---- calls ---- */

static int send_frame(void *user, uint32_t node, const struct cluster_frame *header,
                      struct rapahub_bytes body)
{
    return cluster_peer_links_send(user, node, header, body);
}

static void end_link(void *user, uint32_t node)
{
    cluster_peer_links_hang_up(user, node);
}

static const struct cluster_peer_links_hooks call_hooks = {cluster_peering_up, cluster_peering_lost,
                                                           cluster_peering_frame};

/* ---- reports that come ---- */

static void on_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    (void)user, (void)node, (void)session, (void)boot;
}

static void on_lost(void *user, uint32_t node)
{
    (void)user, (void)node;
}

/* Where there is no room the report is dropped: its node makes it again.
 * r[impl cluster.step.checked] */
static int take_report(struct cluster_runner *runner, uint32_t from,
                       const struct cluster_body_step_done *done)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_REPORTED,
                                        .node = from,
                                        .session = cluster_peer_links_session(runner->peers, from),
                                        .done = done};

    if (cluster_event_queue_add(runner->events, &event) < 0)
        rapahub_clear_error();
    return 0;
}

/* Its sender waits for what comes of it, so the core is told at once. The boot of a session is the
 * one in which it was begun, so the session says all. r[impl cluster.death.session] */
static int take_death(struct cluster_runner *runner, uint32_t from,
                      const struct cluster_body_death *death)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_DEATH,
                                        .node = from,
                                        .session = death->session,
                                        .change = death->final ? CLUSTER_DEATH_FINAL
                                                               : CLUSTER_DEATH_RESTARTING};

    int status = runner->hooks ? runner->hooks->tell(runner, &event)
                               : rapahub_fail(RAPAHUB_EAGAIN, "cluster.death.session",
                                              "this node is just starting");

    if (status == 0)
        rapahub_log(RAPAHUB_LOG_WARN, "node",
                    "node %u: its daemon is dead, as its warden has proven: what it had recovers%s",
                    from, death->final ? "" : ", unless it is back soon");
    return status;
}

static int on_step(void *user, uint32_t from, const struct cluster_frame *header,
                   struct rapahub_bytes bytes)
{
    struct cluster_runner *runner = user;
    struct cluster_body body;
    int status = cluster_body_read(header->type, bytes, &body);

    if (status < 0)
        return status;
    if (runner->leader.node != 0 && runner->leader.term != 0 && header->type != CLUSTER_FRAME_DEATH)
        return 0; /* which of the two knows more is open, and it is told again */
    if (runner->leader.node != 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.nodes.frame",
                            "node %u reports to this one, which does not lead", from);
    return header->type == CLUSTER_FRAME_DEATH ? take_death(runner, from, &body.death)
                                               : take_report(runner, from, &body.step_done);
}

static const struct cluster_peer_links_hooks report_hooks = {on_up, on_lost, on_step};

/* ---- reports that go ---- */

/* r[impl cluster.step.done] */
void cluster_node_peering_report(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    const struct cluster_body body = {.step_done = {.pool = effect->pool,
                                                    .container = effect->container,
                                                    .epoch = effect->epoch,
                                                    .step = effect->how,
                                                    .status = effect->status,
                                                    .text = effect->text}};
    const struct cluster_frame header = {.type = CLUSTER_FRAME_STEP_DONE};
    uint8_t bytes[REPORT_MAX];
    struct hub_writer writer;
    int status;

    hub_writer_init(&writer, bytes, sizeof bytes);
    status = cluster_body_put(&writer, header.type, &body);
    if (status == 0)
        status = cluster_peer_links_send(runner->peers, (uint32_t)effect->number, &header,
                                         (struct rapahub_bytes){bytes, writer.size});
    if (status == 0)
        return;
    rapahub_log(RAPAHUB_LOG_DEBUG, "node", "a report to node %u is dropped: %s",
                (unsigned)effect->number, rapahub_last_error()->text);
    rapahub_clear_error();
}

/* ---- the lead ---- */

/* The address of a node, as its record has it; that of a seat is the one that the folder has. */
static void note_address(struct cluster_runner *runner)
{
    const struct cluster_map_nodes_node *row = NULL;
    struct cluster_record record = {.node = {.state = 0}};
    struct rapahub_string address = {"", 0};

    if (runner->boot->folder.place.joined && runner->leader.term == 0)
        return;
    for (uint32_t i = 0; i < runner->nodes.count; i++)
        if (runner->nodes.nodes[i].node == runner->leader.node)
            row = &runner->nodes.nodes[i];
    if (row && row->record &&
        cluster_record_read(CLUSTER_KEY_NODE, (struct rapahub_bytes){row->record, row->size},
                            &record) < 0)
        rapahub_clear_error();
    if (!cluster_record_next_address(&record.node.addresses, &address))
        address.size = 0;
    if (address.size == 0 && runner->boot->folder.place.joined &&
        runner->leader.node == runner->leader.authority)
        return; /* it listens at *: the folder has where it was joined */
    snprintf(runner->leader.address, sizeof runner->leader.address, "%.*s", (int)address.size,
             address.data);
}

/* A node whose metastore is in its folder leads. Of several at one metastore the first has the
 * authority; where no record says who leads it leads, too, or the seat. */
void cluster_node_peering_find_leader(struct cluster_runner *runner, uint32_t seat)
{
    const struct cluster_data_folder *folder = &runner->boot->folder;
    const struct cluster_lead_record *record = &runner->boot->lead;
    struct cluster_leader *leader = &runner->leader;

    leader->node = !folder->place.apart || folder->node == CLUSTER_DATA_FOLDER_FIRST
                       ? 0
                       : CLUSTER_DATA_FOLDER_FIRST;
    if (folder->place.joined) {
        CHECK(seat != 0); /* the boot has heard it */
        leader->node = seat;
        snprintf(leader->address, sizeof leader->address, "%s", strchr(folder->place.url, ':') + 1);
    }
    leader->authority = leader->node;
    leader->term = record->term;
    if (record->term != 0)
        leader->node = record->node == folder->node ? 0 : record->node;
}

void cluster_node_peering_lead(struct cluster_runner *runner)
{
    const struct cluster_boot *boot = runner->boot;
    const struct cluster_boot_session how = {&boot->folder, &boot->machine, false};
    const struct cluster_leading_parts parts = {.marker = boot->marker,
                                                .nodes = &runner->nodes,
                                                .detector = runner->detector,
                                                .record = cluster_boot_session_record(&how),
                                                .node = boot->folder.node,
                                                .session = boot->session,
                                                .claims = boot->folder.place.apart &&
                                                          !boot->folder.place.joined};

    cluster_leading_begin(&runner->leading, &parts, &boot->lead);
}

/* All that knows who leads is told. */
static int tell_lead(struct cluster_runner *runner, const struct cluster_lead_record *record)
{
    const struct cluster_event event = {
        .kind = CLUSTER_EVENT_LEAD, .node = record->node, .term = record->term};
    int status = cluster_event_queue_add(runner->events, &event);

    if (status == 0 && runner->leader.node == 0)
        status = cluster_map_nodes_tell_all(&runner->nodes);
    if (status == 0)
        status = cluster_detector_set_lead(runner->detector, runner->leader.node);
    cluster_blob_fetches_set_lead(runner->modules, runner->leader.node);
    runner->known.verdicts = runner->known.held = UINT64_MAX;
    return status;
}

/* A reading that goes on lacks what only a node that leads is told of.
 * r[impl cluster.lead.follow] */
int cluster_node_peering_follow(struct cluster_runner *runner)
{
    const struct cluster_lead_record *record = &runner->leading.lead.record;
    bool leads = cluster_lead_term(&runner->leading.lead) != 0;

    if (!runner->leading.begun || record->term == runner->leader.term ||
        (leads && runner->reading.open))
        return 0;
    runner->reading.leads = leads;
    runner->leader.term = record->term;
    runner->leader.node = leads ? 0 : record->node;
    note_address(runner);
    rapahub_log(RAPAHUB_LOG_INFO, "node", "node %u leads now%s", record->node,
                leads ? ": this one" : "");
    return tell_lead(runner, record);
}

/* ---- other nodes ---- */

/* Nothing comes any more of the session that the node had. */
static bool has_ended(const struct cluster_event *event)
{
    const struct cluster_record_node *record = event->node_record;

    return cluster_peer_mesh_is_gone(record) ||
           ((record->state == CLUSTER_NODE_FENCED || record->state == CLUSTER_NODE_DRAINING) &&
            event->session == 0);
}

void cluster_node_peering_know(struct cluster_runner *runner, const struct cluster_event *event)
{
    const struct cluster_event left = {
        .kind = CLUSTER_EVENT_PEER, .change = CLUSTER_PEER_LEFT, .node = event->node};
    int status =
        cluster_peer_mesh_take(runner->peers, event->node, event->session, event->node_record);
    int told = has_ended(event) ? cluster_event_queue_add(runner->events, &left) : 0;

    if (event->node == runner->leader.node)
        note_address(runner);
    if (status == 0)
        status = told;
    if (status == 0)
        return;
    rapahub_log(RAPAHUB_LOG_WARN, "node", "%s", rapahub_last_error()->text);
    rapahub_clear_error();
}

static void hold(struct cluster_runner *runner, struct cluster_map_nodes_node *row)
{
    struct cluster_detector_verdict verdict;
    bool dead = cluster_detector_verdict(runner->detector, row->node, &verdict) &&
                strcmp(verdict.word, "dead") == 0;
    const struct cluster_event event = {.kind = CLUSTER_EVENT_HELD_DEAD,
                                        .node = row->node,
                                        .change = dead ? CLUSTER_HELD_DEAD : CLUSTER_HELD_ALIVE};

    if (dead == row->held_dead)
        return;
    if (cluster_event_queue_add(runner->events, &event) < 0) {
        rapahub_clear_error(); /* it is told with the next change */
        return;
    }
    row->held_dead = dead;
    if (dead && row->session != 0)
        rapahub_log(RAPAHUB_LOG_ERROR, "node",
                    "ALARM: EPROOF: node %u is silent, and nothing proves that it is dead: what it "
                    "has stays; if its machine is off, type `rapahub node dead %u --yes`",
                    row->node, row->node);
}

void cluster_node_peering_hold(struct cluster_runner *runner)
{
    uint64_t changes = cluster_detector_changes(runner->detector);

    if (runner->leader.node != 0 || changes == runner->known.held)
        return;
    runner->known.held = changes;
    for (uint32_t i = 0; i < runner->nodes.count; i++)
        hold(runner, &runner->nodes.nodes[i]);
}

/* ---- begun and ended ---- */

/* r[impl cluster.peer.send] */
int cluster_node_peering_begin(struct cluster_runner *runner)
{
    const struct cluster_store_place *place = &runner->boot->folder.place;
    const struct cluster_peering_parts parts = {
        .events = runner->events, .buffers = runner->buffers, .links = &runner->links};
    const struct cluster_renewals_parts renewal = {.links = runner->peers,
                                                   .marker = runner->boot->marker,
                                                   .identity = runner->identity,
                                                   .authority = runner->leader.authority};
    int status = cluster_peering_create(&parts, &runner->peering);

    if (status == 0)
        status = cluster_renewals_create(&renewal, &runner->renewals);
    if (status < 0)
        return status;
    runner->links = (struct cluster_peering_links){send_frame, end_link, runner->peers};
    cluster_peer_mesh_begin(runner->peers, place->joined ? runner->leader.authority : 0,
                            place->apart);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CALLS, &call_hooks, runner->peering);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_STEPS, &report_hooks, runner);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_BLOBS, &cluster_blob_fetches_hooks,
                                runner->modules);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CERTIFICATES, &cluster_renewals_hooks,
                                runner->renewals);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_COPIES, &cluster_copy_links_hooks,
                                runner->copies);
    return 0;
}

int cluster_node_peering_copies(struct cluster_runner *runner)
{
    const struct cluster_copy_links_parts parts = {.core = runner->core,
                                                   .links = runner->peers,
                                                   .disk = runner->disk,
                                                   .events = runner->events};

    return cluster_copy_links_create(&parts, &runner->copies);
}

/* A node that listens at no address of one machine has no detector that runs, and is not watched.
 */
int cluster_node_peering_detect(struct cluster_runner *runner,
                                const struct rapahub_node_options *options)
{
    const struct cluster_data_folder *folder = &runner->boot->folder;
    const struct cluster_detector_options how = {.cluster = folder->store.uuid,
                                                 .node = folder->node,
                                                 .boot = folder->boot,
                                                 .session = runner->boot->session,
                                                 .lead = runner->leader.node,
                                                 .moves = runner->leader.term != 0,
                                                 .profile = options->detection,
                                                 .address =
                                                     cluster_boot_node_address(options->listen),
                                                 .links = runner->peers};

    if (options->listen && how.address.size == 0)
        rapahub_log(RAPAHUB_LOG_WARN, "detection",
                    "%s: no other node finds out whether this one lives: `listen` names no address "
                    "of one machine with its port",
                    options->listen);
    return cluster_detector_create(&how, &runner->detector);
}

void cluster_node_peering_end(struct cluster_runner *runner)
{
    if (!runner->peers)
        return;
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CALLS, NULL, NULL);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_STEPS, NULL, NULL);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_BLOBS, NULL, NULL);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CERTIFICATES, NULL, NULL);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_COPIES, NULL, NULL);
    cluster_blob_fetches_stop(runner->modules);
    cluster_copy_links_stop(runner->copies);
}
