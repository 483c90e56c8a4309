/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/holders/copy_links.h"

#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/core/dispatch.h"

int cluster_copy_links_create(const struct cluster_copy_links_parts *parts,
                              struct cluster_copy_links **out)
{
    struct cluster_copy_links *links = calloc(1, sizeof *links);
    int status;

    *out = links;
    if (!links)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for copies on other nodes");
    links->core = parts->core;
    links->links = parts->links;
    links->disk = parts->disk;
    links->events = parts->events;
    status = cluster_copy_shipments_create(parts->core, parts->links, &links->shipments);
    if (status == 0)
        status = cluster_copy_keeper_create(parts->core, parts->links, parts->disk, &links->keeper);
    if (status == 0)
        status =
            cluster_copy_fetches_create(parts->core, parts->links, parts->disk, &links->fetches);
    return status;
}

void cluster_copy_links_release(struct cluster_copy_links **links)
{
    if (*links) {
        cluster_copy_fetches_release(&(*links)->fetches);
        cluster_copy_keeper_release(&(*links)->keeper);
        cluster_copy_shipments_release(&(*links)->shipments);
    }
    free(*links);
    *links = NULL;
}

/* ---- the links tell ---- */

static void on_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    struct cluster_copy_links *links = user;

    (void)session, (void)boot;
    cluster_copy_shipments_up(links->shipments, node);
}

static void on_lost(void *user, uint32_t node)
{
    struct cluster_copy_links *links = user;

    cluster_copy_shipments_lost(links->shipments, node);
    cluster_copy_fetches_lost(links->fetches, node);
}

/* Where there is no room it is dropped: its node tells it again. */
static int take_held(struct cluster_copy_links *links, uint32_t from,
                     const struct cluster_body_copy_held *held)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_HELD,
                                        .node = from,
                                        .session = cluster_peer_links_session(links->links, from),
                                        .held = held};

    if (cluster_event_queue_add(links->events, &event) < 0)
        rapahub_clear_error();
    return 0;
}

static int on_frame(void *user, uint32_t from, const struct cluster_frame *header,
                    struct rapahub_bytes bytes)
{
    struct cluster_copy_links *links = user;
    struct cluster_body body;
    int status = cluster_body_read(header->type, bytes, &body);

    if (status < 0)
        return status;
    switch (header->type) {
    case CLUSTER_FRAME_COPY_PUT:
        return cluster_copy_keeper_put(links->keeper, from, &body.copy_put);
    case CLUSTER_FRAME_COPY_TAKEN:
        return cluster_copy_shipments_taken(links->shipments, from, &body.copy_taken);
    case CLUSTER_FRAME_COPY_SEAL:
        return cluster_copy_keeper_seal(links->keeper, from, &body.copy_seal);
    case CLUSTER_FRAME_COPY_SEALED:
        return cluster_copy_fetches_sealed(links->fetches, from, &body.copy_sealed);
    case CLUSTER_FRAME_COPY_ASK:
        return cluster_copy_keeper_ask(links->keeper, from, &body.copy_ask);
    case CLUSTER_FRAME_COPY_PIECE:
        return cluster_copy_fetches_piece(links->fetches, from, &body.copy_piece);
    default:
        return take_held(links, from, &body.copy_held);
    }
}

const struct cluster_peer_links_hooks cluster_copy_links_hooks = {on_up, on_lost, on_frame};

/* ---- the core tells ---- */

static void on_removed(void *user, struct cluster_disk_result *result)
{
    (void)user;
    if (result->status < 0)
        rapahub_log(RAPAHUB_LOG_WARN, "node", "the copy of a container that is gone stays: %s",
                    result->text);
}

/* Its owner removes what it has with the container. */
static void remove_copy(const struct cluster_copy_links *links, uint64_t pool, uint32_t container)
{
    const struct cluster_dispatch *core = cluster_core_parts(links->core);

    if (cluster_local_containers_find(core->locals, pool, container))
        return;
    if (cluster_store_thread_copy_remove(
            links->disk, (struct cluster_disk_container){pool, container}, on_removed, NULL) < 0)
        rapahub_clear_error();
}

void cluster_copy_links_changed(struct cluster_copy_links *links, uint64_t pool, uint32_t container,
                                bool gone)
{
    cluster_copy_shipments_look(links->shipments, pool, container);
    if (gone)
        remove_copy(links, pool, container);
}

/* r[impl cluster.hold.held] */
void cluster_copy_links_held(struct cluster_copy_links *links, const struct cluster_effect *effect)
{
    const struct cluster_body body = {.copy_held = {.pool = effect->pool,
                                                    .container = effect->container,
                                                    .epoch = effect->epoch,
                                                    .revision = effect->revision,
                                                    .node = effect->node}};

    if (cluster_peer_links_put(links->links, (uint32_t)effect->number, CLUSTER_FRAME_COPY_HELD,
                               &body) < 0)
        rapahub_clear_error();
}

uint64_t cluster_copy_links_step(struct cluster_copy_links *links, uint64_t now_ns)
{
    uint64_t next_ns = cluster_copy_shipments_step(links->shipments, now_ns);
    uint64_t due_ns = cluster_copy_keeper_step(links->keeper, now_ns);

    next_ns = due_ns < next_ns ? due_ns : next_ns;
    due_ns = cluster_copy_fetches_step(links->fetches, now_ns);
    return due_ns < next_ns ? due_ns : next_ns;
}

void cluster_copy_links_stop(struct cluster_copy_links *links)
{
    if (!links)
        return;
    cluster_copy_shipments_stop(links->shipments);
    cluster_copy_fetches_stop(links->fetches);
}
