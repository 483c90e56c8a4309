/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/node_peering.h"

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/boot/boot_node.h"
#include "cluster/node/peers/peer_mesh.h"

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
static int on_report(void *user, uint32_t from, const struct cluster_frame *header,
                     struct rapahub_bytes bytes)
{
    const struct cluster_runner *runner = user;
    struct cluster_body body;
    struct cluster_event event = {.kind = CLUSTER_EVENT_REPORTED, .node = from};
    int status = cluster_body_read(header->type, bytes, &body);

    if (status < 0)
        return status;
    if (runner->lead != 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.nodes.frame",
                            "node %u reports to this one, which does not lead", from);
    event.session = cluster_peer_links_session(runner->peers, from);
    event.done = &body.step_done;
    if (cluster_event_queue_add(runner->events, &event) < 0)
        rapahub_clear_error();
    return 0;
}

static const struct cluster_peer_links_hooks report_hooks = {on_up, on_lost, on_report};

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

/* ---- other nodes ---- */

void cluster_node_peering_know(struct cluster_runner *runner, const struct cluster_event *event)
{
    const struct cluster_event left = {
        .kind = CLUSTER_EVENT_PEER, .change = CLUSTER_PEER_LEFT, .node = event->node};
    int status =
        cluster_peer_mesh_take(runner->peers, event->node, event->session, event->node_record);
    int told = cluster_peer_mesh_is_gone(event->node_record)
                   ? cluster_event_queue_add(runner->events, &left)
                   : 0;

    if (status == 0)
        status = told;
    if (status == 0)
        return;
    rapahub_log(RAPAHUB_LOG_WARN, "node", "%s", rapahub_last_error()->text);
    rapahub_clear_error();
}

/* ---- begun and ended ---- */

/* r[impl cluster.peer.send] */
int cluster_node_peering_begin(struct cluster_runner *runner)
{
    const struct cluster_peering_parts parts = {
        .events = runner->events, .buffers = runner->buffers, .links = &runner->links};
    const struct cluster_renewals_parts renewal = {.links = runner->peers,
                                                   .marker = runner->boot->marker,
                                                   .identity = runner->identity,
                                                   .authority = runner->lead};
    int status = cluster_peering_create(&parts, &runner->peering);

    if (status == 0)
        status = cluster_renewals_create(&renewal, &runner->renewals);
    if (status < 0)
        return status;
    runner->links = (struct cluster_peering_links){send_frame, end_link, runner->peers};
    cluster_peer_mesh_begin(runner->peers, runner->lead);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CALLS, &call_hooks, runner->peering);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_STEPS, &report_hooks, runner);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_BLOBS, &cluster_blob_fetches_hooks,
                                runner->modules);
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CERTIFICATES, &cluster_renewals_hooks,
                                runner->renewals);
    return 0;
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
                                                 .leads = runner->lead == 0,
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
    cluster_blob_fetches_stop(runner->modules);
}
