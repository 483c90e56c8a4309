/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_beginning.h"

#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "cluster/node/disk/container_folders.h"
#include "cluster/node/guests/container_loads.h"
#include "cluster/node/guests/container_removal.h"
#include "cluster/node/guests/params.h"
#include "cluster/node/holders/copy_links.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define FOLDER_MAX 4096
#define TEXT_MAX   256
#define FINI_NS    (5 * HUB_SECOND) /* for the end of a container that could not load */

#define STEP(name) CLUSTER_CONTAINER_STEP_##name

void cluster_container_beginning_end(struct cluster_container_row *row, int status,
                                     const char *text)
{
    cluster_container_rows_answer_begin(row, status, text);
    cluster_container_loads_drop(row);
    cluster_container_rows_move(row, status < 0 ? STEP(DOWN) : STEP(UP));
    cluster_container_removal_go_on(row);
}

static struct rapahub_step step_of(struct cluster_container_row *row, rapahub_on_done *on_done)
{
    return (struct rapahub_step){.target = cluster_container_rows_id(row),
                                 .timeout_ns = hub_clock_left(row->deadline_ns) + 1,
                                 .token = row->token,
                                 .on_done = on_done,
                                 .user = row};
}

/* ---- after its callback ---- */

/* A container that has loaded a part of its state is no use: it is removed, and begins anew. */
struct failed {
    struct cluster_container_row *row;
    int status;
    char text[TEXT_MAX];
};

static void on_removed(void *user, int status, const void *result)
{
    OWN(hub_memory) struct failed *failed = user;

    (void)result;
    failed->row->rows->steps--;
    if (status == 0) /* else it ends with its guest at the latest, and may stay plugged */
        failed->row->plugged = false;
    cluster_container_beginning_end(failed->row, failed->status, failed->text);
}

static void fail(struct cluster_container_row *row, int status)
{
    struct failed *failed = status != RAPAHUB_EDIED ? calloc(1, sizeof *failed) : NULL;
    struct rapahub_step step = step_of(row, on_removed);

    if (!failed) {
        cluster_container_beginning_end(row, status, rapahub_last_error()->text);
        return;
    }
    failed->row = row;
    failed->status = status;
    snprintf(failed->text, sizeof failed->text, "%s", rapahub_last_error()->text);
    step.timeout_ns = FINI_NS;
    step.user = failed;
    if (rapahub_host_remove_async(row->rows->parts.host, &step) == 0) {
        row->rows->steps++;
        return;
    }
    cluster_container_beginning_end(row, status, failed->text);
    free(failed);
}

/* Its guest may have died since, and may be up again without it. */
static void succeed(struct cluster_container_row *row)
{
    bool there = row->guest && row->guest->state == CLUSTER_GUEST_READY &&
                 row->guest->incarnation == row->incarnation;

    cluster_container_beginning_end(row, there ? 0 : RAPAHUB_EDIED, "its guest died");
}

static void on_unplugged(void *user, int status, const void *result)
{
    struct cluster_container_row *row = user;

    (void)result;
    row->rows->steps--;
    if (status < 0) {
        fail(row, status);
        return;
    }
    row->plugged = false;
    succeed(row);
}

/* An earlier life died while it was plugged for a copy, which lasts longer than the life. */
static void open_up(struct cluster_container_row *row)
{
    const struct rapahub_step step = step_of(row, on_unplugged);
    int status = row->plugged ? rapahub_host_plug_async(row->rows->parts.host, &step, false) : 0;

    if (status < 0)
        fail(row, status);
    else if (row->plugged)
        row->rows->steps++;
    else
        succeed(row);
}

static void load_next(struct cluster_container_row *row);

static void on_loaded(void *user, int status, const void *result)
{
    struct cluster_container_row *row = user;

    (void)result;
    row->rows->steps--;
    if (status < 0)
        fail(row, status);
    else
        load_next(row);
}

static void load_next(struct cluster_container_row *row)
{
    struct rapahub_step step = step_of(row, on_loaded);
    struct rapahub_pieces pieces;
    int status;

    if (!cluster_container_loads_next(row, &pieces)) {
        open_up(row);
        return;
    }
    step.state = &pieces;
    status = rapahub_host_load_changes_async(row->rows->parts.host, &step);
    if (status < 0)
        fail(row, status);
    else
        row->rows->steps++;
}

/* ---- its callback ---- */

static void begin_in_guest(struct cluster_container_row *row);

static void on_left_removed(void *user, int status, const void *result)
{
    struct cluster_container_row *row = user;

    (void)result;
    row->rows->steps--;
    if (status < 0) {
        cluster_container_beginning_end(row, status, rapahub_last_error()->text);
        return;
    }
    row->plugged = false;
    begin_in_guest(row);
}

/* The host has one already, which the node has given up: its guest was late with the end of it. It
 * has the id of a pool of the cluster, so it is the node's. r[impl cluster.node.left] */
static void remove_left(struct cluster_container_row *row)
{
    struct rapahub_step step = step_of(row, on_left_removed);
    int status;

    step.token = 0;
    status = rapahub_host_remove_async(row->rows->parts.host, &step);
    if (status < 0)
        cluster_container_beginning_end(row, status, rapahub_last_error()->text);
    else
        row->rows->steps++;
}

static void refuse(struct cluster_container_row *row, int status)
{
    if (status == RAPAHUB_EEXIST)
        remove_left(row);
    else
        cluster_container_beginning_end(row, status, rapahub_last_error()->text);
}

static void on_begun(void *user, int status, const void *result)
{
    struct cluster_container_row *row = user;

    (void)result;
    row->rows->steps--;
    if (status < 0) {
        refuse(row, status);
        return;
    }
    cluster_container_rows_hold(row, true);
    load_next(row);
}

static int begin_with(struct cluster_container_row *row, const struct cluster_pool_spec *spec,
                      struct rapahub_bytes params)
{
    char name[CLUSTER_KEYS_NAME_MAX + 1];
    struct rapahub_step step = step_of(row, on_begun);
    struct rapahub_pieces pieces;
    const struct rapahub_container_options options = {.id = step.target,
                                                      .pool_name = name,
                                                      .params = params,
                                                      .managed = true,
                                                      .routed = spec->durability >=
                                                                CLUSTER_DURABILITY_CHECKPOINT,
                                                      .token = row->token};

    snprintf(name, sizeof name, "%.*s", (int)spec->name.size, spec->name.data);
    step.token = 0;     /* the options have it */
    row->load.next = 0; /* with the first copy, also where it is asked once more */
    if (cluster_container_loads_next(row, &pieces))
        step.state = &pieces;
    cluster_container_rows_hold(row, true); /* where it is down here, and is known */
    row->incarnation = row->guest->incarnation;
    return rapahub_host_begin_async(row->rows->parts.host, &step, row->guest->life, &options,
                                    (enum rapahub_begin)row->how);
}

/* A life that follows another is held before its callbacks run, a first one when they have run: a
 * call that is no call of the core may be before that, in pools whose calls are not routed: those
 * without copies. Where there are copies the core must know of each call. */
static int ask_guest(struct cluster_container_row *row)
{
    const struct cluster_container_rows_parts *parts = &row->rows->parts;
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(parts->pools, row->pool);
    OWN(hub_memory) char *params = malloc(CLUSTER_PARAMS_MAX);
    char path[CLUSTER_CONTAINER_FOLDERS_PATH], folder[FOLDER_MAX];
    const struct cluster_params with = {row->container, parts->node, folder};
    int64_t size;

    if (!params)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for params");
    if (!pool)
        return rapahub_fail(RAPAHUB_ENOPOOL, "", "its pool is gone");
    cluster_container_folders_path(row->pool, row->container, path);
    snprintf(folder, sizeof folder, "%s/%s", parts->folders, path);
    size = cluster_params_fill(pool->spec.params, &with, params);
    if (size < 0)
        return (int)size;
    return begin_with(row, &pool->spec, (struct rapahub_bytes){params, (size_t)size});
}

static void begin_in_guest(struct cluster_container_row *row)
{
    int status = ask_guest(row);

    if (status < 0)
        refuse(row, status);
    else
        row->rows->steps++;
}

void cluster_container_beginning_try(struct cluster_container_row *row)
{
    if (row->state != STEP(WAITING) || !row->has_folder || !row->has_copies || !row->guest ||
        row->guest->state != CLUSTER_GUEST_READY)
        return;
    cluster_container_rows_move(row, STEP(BEGINNING));
    begin_in_guest(row);
}

/* ---- the disk ---- */

static void go_on(struct cluster_container_row *row, int status, const char *text)
{
    if (row->state != STEP(WAITING)) {
        cluster_container_removal_go_on(row);
        return;
    }
    if (status == 0) {
        status = cluster_container_beginning_ask(row);
        text = rapahub_last_error()->text;
    }
    if (status < 0)
        cluster_container_beginning_end(row, status, text);
    else
        cluster_container_beginning_try(row);
}

static void on_folder(void *user, struct cluster_disk_result *result)
{
    struct cluster_container_row *row = user;

    row->folder_asked = false;
    row->has_folder = result->status == 0;
    go_on(row, result->status, result->text);
}

static void on_aside(void *user, struct cluster_disk_result *result)
{
    struct cluster_container_row *row = user;

    row->folder_asked = false;
    go_on(row, result->status, result->text);
}

/* The state is that of the copy. The folder may have more: what calls did that no copy covers,
 * which run again where ends are acknowledged. */
static int put_folder_aside(struct cluster_container_row *row)
{
    int status;

    if (row->load.copies.count == 0 && !cluster_container_loads_are_acked(row))
        return 0;
    row->has_folder = false;
    status = cluster_store_thread_folder_aside(row->rows->parts.disk,
                                               cluster_container_rows_on_disk(row), on_aside, row);
    row->folder_asked = status == 0;
    return status;
}

/* r[impl cluster.copy.life] */
static int take_copies(struct cluster_container_row *row, struct cluster_disk_result *result)
{
    int status = cluster_container_loads_take(row, result);

    row->has_copies = status == 0;
    return status == 0 ? put_folder_aside(row) : status;
}

/* A begin that has ended meanwhile needs them no more. */
static void on_copies(void *user, struct cluster_disk_result *result)
{
    struct cluster_container_row *row = user;
    int status = 0;

    row->copies_asked = false;
    if (result->status == 0 && row->state == STEP(WAITING))
        status = take_copies(row, result);
    if (status < 0)
        go_on(row, status, rapahub_last_error()->text);
    else
        go_on(row, result->status, result->text);
}

static void on_newest(void *user, int status, const char *text)
{
    struct cluster_container_row *row = user;

    row->copies_asked = false;
    row->has_newest = status == 0;
    go_on(row, status, text);
}

/* The newest copy is on the own disk already, or comes there. */
static int fetch_newest(struct cluster_container_row *row)
{
    const struct cluster_copy_fetch_order order = {.pool = row->pool,
                                                   .container = row->container,
                                                   .token = row->token,
                                                   .deadline_ns = row->deadline_ns,
                                                   .on_done = on_newest,
                                                   .user = row};
    int status = cluster_copy_fetches_begin(row->rows->parts.copies->fetches, &order);

    row->copies_asked = status == 1;
    row->has_newest = status == 0;
    return status < 0 ? status : 0;
}

/* Requests come one by one: the folder is that of before until it is known whether there are
 * copies. */
int cluster_container_beginning_ask(struct cluster_container_row *row)
{
    struct cluster_store_thread *disk = row->rows->parts.disk;
    struct cluster_disk_container of = cluster_container_rows_on_disk(row);
    int status = 0;

    if (row->copies_asked || row->folder_asked)
        return 0;
    if (!row->has_newest)
        status = fetch_newest(row);
    if (status < 0 || row->copies_asked)
        return status;
    if (!row->has_copies) {
        status = cluster_store_thread_copy_read(disk, of, on_copies, row);
        row->copies_asked = status == 0;
    } else if (!row->has_folder) {
        status = cluster_store_thread_folder_make(disk, of, on_folder, row);
        row->folder_asked = status == 0;
    }
    return status;
}
