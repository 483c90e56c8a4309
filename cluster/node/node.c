/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/host.h>
#include <rapahub/log.h>
#include <rapahub/node.h>

#include "cluster/core/dispatch.h"
#include "cluster/link/orders.h"
#include "cluster/metastore/kinds/store_kinds.h"
#include "cluster/node/boot/boot_node.h"
#include "cluster/node/boot/boot_read.h"
#include "cluster/node/boot/boot_revoked.h"
#include "cluster/node/clients.h"
#include "cluster/node/node_peering.h"
#include "cluster/node/peers/seat_way.h"
#include "cluster/node/runner.h"
#include "host/socket/folders.h"
#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"

#define BODIES_MAX 131072
#define BYTES_MAX  ((uint64_t)512 << 20)
#define START_NS   (30 * HUB_SECOND) /* for the metastore to tell what it has */
#define STOP_NS    (5 * HUB_SECOND)  /* for guests to end */
#define DRAIN_NS   (10 * HUB_SECOND) /* for calls to end, and for last copies */
#define DISK_NS    (10 * HUB_SECOND)
#define TURN_MS    10
#define KEEP_LEAST HUB_SECOND
#define KEEP_MOST  (720 * 3600 * HUB_SECOND)

struct rapahub_node {
    struct rapahub_host *host;
    struct cluster_boot boot;
    struct cluster_runner runner;
    struct cluster_seat_way way; /* where the node has joined */
    char *name, *folders;
    bool booted, stopped;
    uint64_t drained_ns; /* a stop goes on until then; 0: none does */
    rapahub_on_done *on_stopped;
    void *user;
};

/* ---- it opens ---- */

static int check(const struct rapahub_node_options *options)
{
    if ((options->reserved[0] | options->reserved[1] | options->reserved[2]) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "`reserved` of the options of a node is set");
    if (!options->data)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a node needs a data folder");
    if (options->guests_max > 255)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a node has at most 255 guests");
    if (options->metastore && cluster_store_kinds_check(options->metastore) < 0)
        return RAPAHUB_ECONFIG;
    return options->metastore_keep_ns != 0 && (options->metastore_keep_ns < KEEP_LEAST ||
                                               options->metastore_keep_ns > KEEP_MOST)
               ? rapahub_fail(RAPAHUB_EINVAL, "", "a metastore keeps history for 1 s to 720 h")
               : 0;
}

/* The core reads the metastore by itself; to read it all has the log continue where that is. */
static int boot(struct rapahub_node *node, const struct rapahub_node_options *options)
{
    const struct cluster_boot_options how = {.data = options->data,
                                             .name = node->name,
                                             .metastore = options->metastore,
                                             .tls = options->metastore_tls,
                                             .ends = cluster_store_kinds,
                                             .link = &cluster_seat_way_link,
                                             .link_user = &node->way,
                                             .keep_ns = options->metastore_keep_ns,
                                             .stop_fd = options->stop_fd,
                                             .lock_fd = options->lock_fd};
    char path[PATH_MAX];
    int status = cluster_peer_links_create(&node->runner.peers);

    node->way.links = node->runner.peers;
    if (status == 0)
        status = cluster_boot_run(&how, &node->boot);
    if (status < 0)
        return status;
    node->booted = true;
    status = cluster_boot_read_all(&node->boot, NULL, NULL);
    if (status == 0)
        cluster_node_peering_find_leader(&node->runner, node->way.seat);
    if (status == 0)
        status = cluster_boot_node_activate(&node->boot, options->listen);
    if (status < 0)
        return status;
    if (!realpath(options->data, path))
        return rapahub_fail(-errno, "", "%s: it has no absolute path", options->data);
    return asprintf(&node->folders, "%s/pools", path) < 0
               ? rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a node")
               : 0;
}

static int make_base(struct rapahub_node *node)
{
    struct cluster_runner *runner = &node->runner;
    const struct cluster_limits limits = CLUSTER_LIMITS_DEFAULT;
    const struct cluster_store_thread_options disk = {.folder = &node->boot.folder,
                                                      .log = &node->boot.wal,
                                                      .machine_boot = node->boot.machine.boot};
    int status =
        cluster_core_create(&limits, node->boot.folder.node, hub_random_nonce(), &runner->core);

    if (status == 0)
        status = cluster_event_queue_create(&runner->events);
    if (status == 0)
        status = cluster_buffers_create(BODIES_MAX, BYTES_MAX, &runner->buffers);
    if (status == 0)
        status = cluster_pool_records_create(limits.pools, &runner->pools);
    if (status == 0)
        status = cluster_store_thread_start(&disk, &runner->disk);
    if (status == 0)
        status = cluster_blob_fetches_create(runner->peers, runner->disk, runner->leader.node,
                                             &runner->modules);
    return status == 0 ? cluster_node_peering_copies(runner) : status;
}

static int make_containers(struct rapahub_node *node, const struct rapahub_node_options *options)
{
    struct cluster_runner *runner = &node->runner;
    const struct cluster_container_rows_parts parts = {.host = node->host,
                                                       .disk = runner->disk,
                                                       .modules = runner->modules,
                                                       .copies = runner->copies,
                                                       .pools = runner->pools,
                                                       .events = runner->events,
                                                       .core = runner->core,
                                                       .buffers = runner->buffers,
                                                       .hooks = &cluster_runner_hooks,
                                                       .teller = runner,
                                                       .folders = node->folders,
                                                       .node = node->boot.folder.node,
                                                       .guests_max = options->guests_max,
                                                       .on_container = options->on_container,
                                                       .user = options->user};

    return cluster_container_steps_create(&parts, &runner->steps);
}

static bool is_revoked(void *user, const uint8_t *serial, size_t size)
{
    return cluster_node_identity_is_revoked(user, serial, size);
}

static const struct cluster_tls_hooks guard = {is_revoked};

static int make_identity(struct rapahub_node *node)
{
    struct cluster_runner *runner = &node->runner;
    const struct cluster_node_identity_options options = {.folder = &node->boot.folder,
                                                          .disk = runner->disk};
    int status = cluster_node_identity_create(&options, &runner->identity);

    cluster_peer_links_set_guard(runner->peers, &guard, runner->identity);
    return status == 0 ? cluster_boot_revoked_read(&node->boot, runner->identity) : status;
}

static int make_services(struct rapahub_node *node)
{
    struct cluster_runner *runner = &node->runner;
    const struct cluster_services_parts parts = {.host = node->host,
                                                 .events = runner->events,
                                                 .disk = runner->disk,
                                                 .store = node->boot.store,
                                                 .marker = node->boot.marker,
                                                 .lists = {.core = runner->core,
                                                           .pools = runner->pools,
                                                           .store = node->boot.store,
                                                           .name = node->name,
                                                           .node = node->boot.folder.node,
                                                           .boot = node->boot.folder.boot,
                                                           .session = node->boot.session,
                                                           .leader = &runner->leader,
                                                           .metastore = node->boot.folder.place.url,
                                                           .identity = runner->identity,
                                                           .detector = runner->detector,
                                                           .peers = runner->peers,
                                                           .copies = runner->copies},
                                                 .identity = runner->identity,
                                                 .backups = node->boot.folder.backups.path};

    return cluster_services_create(&parts, &runner->services);
}

static int make_router(struct rapahub_node *node)
{
    struct cluster_runner *runner = &node->runner;
    const struct cluster_router_parts parts = {.host = node->host,
                                               .core = runner->core,
                                               .events = runner->events,
                                               .buffers = runner->buffers,
                                               .pools = runner->pools,
                                               .session = node->boot.session,
                                               .node = node->boot.folder.node};

    return cluster_router_create(&parts, &runner->router);
}

/* Finds where the socket of the node is to be. */
static int find_socket(const struct rapahub_node *node, const struct rapahub_node_options *options,
                       char to[PATH_MAX])
{
    char folder[HOST_FOLDERS_PATH];
    int status = 0;

    if (options->run)
        snprintf(folder, sizeof folder, "%s", options->run);
    else
        status = host_folders_for_socket(options->group != NULL, folder);
    if (status < 0)
        return status;
    return (size_t)snprintf(to, PATH_MAX, "%s/%s" CLUSTER_ORDERS_SOCKET, folder, node->name) >=
                   PATH_MAX
               ? rapahub_fail(RAPAHUB_EINVAL, "", "%s: the path of its socket is too long", folder)
               : 0;
}

static int make_clients(struct rapahub_node *node, const struct rapahub_node_options *options)
{
    struct cluster_runner *runner = &node->runner;
    const struct cluster_store_place *place = &node->boot.folder.place;
    const struct cluster_client_router_parts parts = {
        .host = node->host,
        .core = runner->core,
        .events = runner->events,
        .router = runner->router,
        .services = runner->services,
        .identity = runner->identity,
        .marker = node->boot.marker,
        .place = place->apart && !place->joined ? place->url : NULL};
    struct cluster_clients_options how = {.node = node->boot.folder.node,
                                          .boot = node->boot.folder.boot,
                                          .cluster = node->boot.folder.store.uuid,
                                          .session = node->boot.session,
                                          .peers = runner->peers};
    char path[PATH_MAX], group[CLUSTER_CLIENT_ROUTER_GROUP], tls[PATH_MAX];
    int status = find_socket(node, options, path);

    if (status == 0 && options->group)
        status = cluster_client_router_group(options->group, group, &how);
    how.path = path;
    how.listen = options->listen;
    how.tls = tls;
    if (snprintf(tls, sizeof tls, "%s/tls", options->data) >= (int)sizeof tls)
        status = rapahub_fail(RAPAHUB_EINVAL, "", "%s: the path is too long", options->data);
    if (status == 0)
        status = cluster_client_router_create(&parts, &how, &runner->clients);
    if (status == 0)
        cluster_services_show_clients(runner->services,
                                      cluster_client_router_counts(runner->clients));
    return status;
}

/* A node that reaches a metastore by itself, and at which others can arrive, is their seat. A node
 * that joined, and whose metastore is in etcd, dials others also where none arrive. */
static int make_seat(struct rapahub_node *node, const struct rapahub_node_options *options)
{
    struct cluster_runner *runner = &node->runner;
    const struct cluster_store_place *place = &node->boot.folder.place;
    char tls[PATH_MAX];
    const struct cluster_peer_links_life life = {.node = node->boot.folder.node,
                                                 .boot = node->boot.folder.boot,
                                                 .cluster = node->boot.folder.store.uuid,
                                                 .tls = tls};
    int status;

    if (place->joined || (!options->listen &&
                          (!place->apart || node->boot.folder.node == CLUSTER_DATA_FOLDER_FIRST)))
        return 0;
    snprintf(tls, sizeof tls, "%s/tls", options->data); /* the clients have checked its length */
    status = cluster_peer_links_begin(runner->peers, &life);
    return status == 0 ? cluster_seat_service_create(node->boot.store, runner->peers, &runner->seat)
                       : status;
}

static int make(struct rapahub_node *node, const struct rapahub_node_options *options)
{
    int status = boot(node, options);

    if (status == 0)
        status = make_base(node);
    if (status == 0)
        status = make_containers(node, options);
    if (status == 0)
        status = make_identity(node);
    if (status == 0)
        status = cluster_node_peering_detect(&node->runner, options);
    if (status == 0)
        status = make_services(node);
    if (status == 0)
        status = make_router(node);
    if (status == 0)
        status = cluster_node_peering_begin(&node->runner);
    if (status == 0)
        status = make_clients(node, options);
    if (status == 0)
        status = make_seat(node, options);
    return status == 0 ? cluster_runner_begin(&node->runner, START_NS) : status;
}

int rapahub_node_open(struct rapahub_host *host, const struct rapahub_node_options *options,
                      struct rapahub_node **out)
{
    struct rapahub_node *node;
    int status = check(options);

    *out = NULL;
    if (status < 0)
        return status;
    node = calloc(1, sizeof *node);
    if (!node)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a node");
    node->host = host;
    node->runner.boot = &node->boot;
    node->runner.epoll = node->runner.timer = -1;
    node->name = strdup(options->name ? options->name : "node");
    status =
        node->name ? make(node, options) : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a node");
    if (status < 0) {
        struct rapahub_diagnosis why = *rapahub_last_error();
        char text[1024];

        snprintf(text, sizeof text, "%s", why.text);
        rapahub_node_close(node);
        return rapahub_fail(status, why.rule, "%s", text);
    }
    *out = node;
    return 0;
}

void rapahub_node_life(const struct rapahub_node *node, struct rapahub_node_life *out)
{
    const struct cluster_data_folder *folder = &node->boot.folder;
    const struct cluster_leader *leader = &node->runner.leader;

    *out = (struct rapahub_node_life){folder->node, folder->boot, node->boot.session,
                                      leader->node != 0 ? leader->address : NULL};
}

/* ---- its turns ---- */

int rapahub_node_fd(const struct rapahub_node *node)
{
    return node->runner.epoll;
}

/* Calls end first, then the copies that have them. */
static bool is_idle(const struct rapahub_node *node)
{
    return cluster_router_open(node->runner.router) == 0 &&
           cluster_copy_owner_due(cluster_core_parts(node->runner.core)->copies) == 0;
}

static void go_on_stopping(struct rapahub_node *node)
{
    rapahub_on_done *on_stopped = node->on_stopped;

    if (!on_stopped || (!is_idle(node) && hub_clock_now() < node->drained_ns))
        return;
    node->on_stopped = NULL;
    node->stopped = true;
    on_stopped(node->user, 0, NULL);
}

int rapahub_node_dispatch(struct rapahub_node *node)
{
    int status = cluster_runner_turn(&node->runner);

    if (status == 0)
        go_on_stopping(node);
    return status;
}

int rapahub_node_settle(struct rapahub_node *node)
{
    int status = cluster_runner_settle(&node->runner);

    if (status == 0)
        go_on_stopping(node);
    return status;
}

int rapahub_node_stop(struct rapahub_node *node, rapahub_on_done *on_done, void *user)
{
    const struct cluster_event stops = {.kind = CLUSTER_EVENT_STOPS};

    if (!on_done)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a stop without on_done");
    if (node->on_stopped || node->stopped)
        return rapahub_fail(RAPAHUB_ESTATE, "", "the node stops already");
    node->on_stopped = on_done;
    node->user = user;
    node->drained_ns = hub_clock_after(DRAIN_NS);
    node->runner.until_ns = node->drained_ns;
    cluster_detector_leave(node->runner.detector);
    cluster_router_drain(node->runner.router);
    cluster_copy_shipments_hurry(node->runner.copies->shipments);
    return cluster_event_queue_add(node->runner.events, &stops);
}

bool rapahub_node_leaves(const struct rapahub_node *node)
{
    return node->runner.state == CLUSTER_NODE_DRAINING || node->runner.state == CLUSTER_NODE_LEFT;
}

/* ---- it closes ---- */

/* How much of the node the host still has. */
static uint32_t left_in_host(const struct cluster_runner *runner)
{
    return (runner->router ? cluster_router_runs(runner->router) : 0) +
           (runner->steps ? cluster_container_steps_open(runner->steps) : 0);
}

/* Calls and steps in the host end with its guests, in turns of the host. */
static void finish_in_host(const struct rapahub_node *node)
{
    uint64_t until = hub_clock_after(STOP_NS);

    while (left_in_host(&node->runner) > 0 && hub_clock_now() < until)
        if (rapahub_host_dispatch(node->host, TURN_MS) < 0)
            return;
}

static void end_work(struct rapahub_node *node)
{
    struct cluster_runner *runner = &node->runner;

    cluster_runner_end(runner); /* the core is told nothing more */
    cluster_node_peering_end(runner);
    if (runner->services)
        cluster_services_show_clients(runner->services, NULL);
    if (runner->peers)
        cluster_peer_links_close_taken(runner->peers);
    cluster_seat_service_release(&runner->seat);
    cluster_client_router_close(runner->clients);
    if (runner->services)
        cluster_services_close(runner->services);
    if (runner->router)
        cluster_router_close(runner->router);
    if (runner->steps)
        cluster_container_steps_stop(runner->steps, STOP_NS);
    finish_in_host(node);
    cluster_store_thread_stop(runner->disk, true, hub_clock_after(DISK_NS));
    cluster_map_watch_end(
        &runner->watch); /* the end of the session changes the metastore once more */
    if (node->booted && node->stopped && cluster_boot_end_session(&node->boot) < 0)
        rapahub_clear_error(); /* its next life ends it */
    if (node->booted)
        cluster_boot_close(&node->boot);
    cluster_detector_release(&runner->detector);
    cluster_peer_links_release(&runner->peers);
}

void rapahub_node_close(struct rapahub_node *node)
{
    struct cluster_runner *runner;

    if (!node)
        return;
    runner = &node->runner;
    end_work(node);
    if (left_in_host(runner) > 0) {
        rapahub_log(RAPAHUB_LOG_ERROR, "node",
                    "calls of the node are still open in its host: its memory is left");
        return;
    }
    cluster_services_release(&runner->services);
    cluster_router_release(&runner->router);
    cluster_peering_release(&runner->peering);
    cluster_client_router_release(&runner->clients);
    cluster_container_steps_release(&runner->steps);
    cluster_blob_fetches_release(&runner->modules);
    cluster_renewals_release(&runner->renewals);
    cluster_copy_links_release(&runner->copies);
    cluster_node_identity_release(&runner->identity);
    cluster_pool_records_release(&runner->pools);
    cluster_buffers_release(&runner->buffers);
    cluster_event_queue_release(&runner->events);
    cluster_core_release(&runner->core);
    free(node->folders);
    free(node->name);
    free(node);
}
