/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/boot_lead.h"
#include "cluster/node/boot/boot_session.h"
#include "cluster/node/boot/boot_store.h"
#include "hub/base/clock.h"

#define WAIT_NS     (30 * HUB_SECOND)
#define END_WAIT_NS (3 * HUB_SECOND) /* for a metastore that may be away: the next life ends it */

static struct cluster_store_wait wait_of(const struct cluster_boot *boot)
{
    return (struct cluster_store_wait){.store = boot->store,
                                       .marker = boot->marker,
                                       .wait_ns = boot->wait_ns,
                                       .stop_fd = boot->stop_fd,
                                       .url = boot->folder.place.url,
                                       .opened = boot->opened};
}

/* ---- in order ---- */

static int end_guests(struct cluster_boot *boot)
{
    struct cluster_guest_records records;

    cluster_guest_records_init(&records, &boot->folder.root, boot->machine.boot);
    return cluster_guest_records_end_all(&records, hub_clock_after(boot->wait_ns), &boot->killed);
}

static int replay(struct cluster_boot *boot)
{
    boot->log = (struct cluster_segments){
        .folder = boot->folder.wal, .node = boot->folder.node, .boot = boot->folder.boot + 1};
    memcpy(boot->log.uuid, boot->folder.uuid, sizeof boot->log.uuid);
    return cluster_log_map_read(&boot->map, &boot->log);
}

/* Certificates for a seat are the node's own. */
static int find_tls(const struct cluster_boot *boot, const char *given, char to[PATH_MAX])
{
    const struct cluster_data_folder *folder = &boot->folder;
    const char *name = folder->place.joined ? CLUSTER_DATA_FOLDER_TLS : CLUSTER_DATA_FOLDER_ETCD;
    int size = given && !folder->place.joined
                   ? snprintf(to, PATH_MAX, "%s", given)
                   : snprintf(to, PATH_MAX, "%s/%s", folder->root.path, name);

    return size < PATH_MAX
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "", "%s: the path is too long", folder->root.path);
}

/* A metastore that this folder has seen is not made anew where it is missing. */
static int open_store(struct cluster_boot *boot, const struct cluster_boot_options *options)
{
    char tls[PATH_MAX];
    const struct cluster_metastore_options how = {.create = boot->folder.store.revision == 0,
                                                  .keep_ns = options->keep_ns,
                                                  .link = options->link,
                                                  .link_user = options->link_user,
                                                  .tls = tls,
                                                  .node = boot->folder.node,
                                                  .boot = boot->folder.boot,
                                                  .cluster = boot->folder.store.uuid};
    int r;

    if (boot->folder.place.joined && !options->link)
        return rapahub_fail(RAPAHUB_ENOTSUP, "cluster.join.folder",
                            "%s: this node has joined a cluster, and its metastore is that of "
                            "another node (%s)",
                            boot->folder.root.path, boot->folder.place.url);
    r = find_tls(boot, options->tls, tls);
    if (r == 0)
        r = cluster_metastore_open(options->ends, boot->folder.place.url, &how, &boot->store);
    if (r < 0)
        return r;
    return cluster_marker_open(
        boot->store, cluster_txn_client(boot->folder.node, boot->folder.boot), &boot->marker);
}

/* The seat is waited for: the links say what is wrong with it. r[impl cluster.join.waits] */
static int await_seat(const struct cluster_boot *boot)
{
    const struct cluster_store_wait wait = wait_of(boot);
    uint64_t rev;
    int r = RAPAHUB_ETIMEDOUT;

    while (boot->folder.place.joined && r == RAPAHUB_ETIMEDOUT)
        r = cluster_store_wait_sync(&wait, &rev);
    return boot->folder.place.joined ? r : 0;
}

/* Gives the uuid of the cluster. */
static int check_store(struct cluster_boot *boot, const struct cluster_boot_options *options,
                       struct cluster_data_folder_store *store)
{
    uint64_t seen = boot->folder.store.revision;
    struct cluster_store_wait wait = wait_of(boot);
    int r;

    if (boot->map.revision > seen)
        seen = boot->map.revision;
    r = cluster_boot_store_check_age(&wait, seen, &boot->opened);
    if (r < 0)
        return r;
    wait.opened = boot->opened;
    return cluster_boot_store_set_up(&wait, &boot->folder, options->name ? options->name : "node",
                                     boot->opened, store->uuid);
}

/* The session is the highest revision that is seen, for now. */
static int change_session(struct cluster_boot *boot, bool adopt,
                          struct cluster_data_folder_store *store)
{
    const struct cluster_store_wait wait = wait_of(boot);
    const struct cluster_boot_session how = {&boot->folder, &boot->machine, adopt};
    int r = cluster_boot_session_end_old(&wait, &how);

    if (r == 0)
        r = cluster_boot_session_begin(&wait, &how, &boot->session);
    if (r == 0 && boot->folder.place.apart && !boot->folder.place.joined)
        r = cluster_boot_lead_claim(&wait, boot->folder.node, boot->session);
    if (r < 0)
        return r;
    boot->generation = cluster_ids_generation(boot->session);
    store->revision = boot->session;
    return cluster_data_folder_note_store(&boot->folder, store);
}

/* r[impl cluster.boot.order] */
static int run(const struct cluster_boot_options *options, struct cluster_boot *boot)
{
    const struct cluster_data_folder_options how = {
        .files = options->files,
        .path = options->data,
        .lock_fd = options->lock_fd > 0 ? options->lock_fd : -1,
        .metastore = options->metastore};
    struct cluster_data_folder_store store;
    int r = cluster_machine_read(&boot->machine);

    if (r == 0)
        r = cluster_data_folder_open(&boot->folder, &how);
    if (r == 0)
        r = end_guests(boot);
    if (r == 0)
        r = replay(boot);
    if (r == 0)
        r = cluster_data_folder_count_boot(&boot->folder);
    if (r == 0)
        r = open_store(boot, options);
    if (r == 0)
        r = await_seat(boot);
    if (r == 0)
        r = check_store(boot, options, &store);
    return r == 0 ? change_session(boot, options->adopt, &store) : r;
}

int cluster_boot_run(const struct cluster_boot_options *options, struct cluster_boot *out)
{
    int r;

    *out = (struct cluster_boot){.wait_ns = options->wait_ns > 0 ? options->wait_ns : WAIT_NS,
                                 .stop_fd = options->stop_fd};
    r = run(options, out);
    if (r < 0)
        cluster_boot_close(out);
    return r;
}

int cluster_boot_end_session(struct cluster_boot *boot)
{
    struct cluster_store_wait wait = wait_of(boot);
    struct cluster_data_folder_store store = boot->folder.store;
    int r;

    if (boot->folder.place.apart && wait.wait_ns > END_WAIT_NS)
        wait.wait_ns = END_WAIT_NS;
    wait.stop_fd = -1;
    r = cluster_boot_session_end(&wait, boot->folder.node, boot->session, &store.revision);

    return r == 0 ? cluster_data_folder_note_store(&boot->folder, &store) : r;
}

void cluster_boot_close(struct cluster_boot *boot)
{
    cluster_metastore_close(boot->store);
    cluster_marker_close(boot->marker);
    cluster_log_map_release(&boot->map);
    cluster_data_folder_close(&boot->folder);
    boot->store = NULL;
    boot->marker = NULL;
}
