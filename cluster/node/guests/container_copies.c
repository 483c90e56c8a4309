/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_copies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>
#include <rapahub/stream.h>

#include "cluster/node/disk/copy_jobs.h"
#include "cluster/node/holders/copy_links.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define DRAIN_NS   HUB_SECOND
#define UNPLUG_NS  (5 * HUB_SECOND) /* also after the copy was late */
#define AGAIN_NS   (100 * HUB_MILLISECOND)
#define FIRST_SIZE ((size_t)4096)
#define STATE_MAX  ((size_t)RAPAHUB_STATE_MAX + 4096) /* with the head of a state */
#define TEXT_MAX   256

#define STEP(name) CLUSTER_CONTAINER_STEP_##name

/* A copy under way. The container may be gone, or in another life, before it has ended. */
struct copying {
    struct cluster_container_rows *rows;
    uint64_t pool, id, token, seq, deadline_ns;
    uint32_t container;
    bool whole, acked;
    bool on_disk; /* of this node */
    bool writes,
        ships;       /* the disk has it, and other holders, and have not said that they keep it */
    uint32_t joined; /* a node that joins the holders keeps it; 0: none does */
    int status;      /* the first failure */
    char text[TEXT_MAX];
    uint8_t *state;
    size_t size, room;
    struct rapahub_pieces pieces;
    struct hub_list link; /* in `plugged` of the rows */
    uint64_t again_ns;    /* then it is unplugged again */
};

/* The row of the container, in whatever life it is; the second one: if it is in this one. */
static struct cluster_container_row *any_row(const struct copying *copying)
{
    return cluster_container_rows_find(copying->rows, copying->pool, copying->container);
}

static struct cluster_container_row *row_of(const struct copying *copying)
{
    struct cluster_container_row *row = any_row(copying);

    return row && row->token == copying->token ? row : NULL;
}

/* ---- its end ---- */

static bool has_joined(const struct copying *copying)
{
    return copying->joined != copying->rows->parts.node || copying->on_disk;
}

static void tell(const struct copying *copying, struct cluster_event event)
{
    event.id = copying->id;
    event.pool = copying->pool;
    event.container = copying->container;
    event.number = copying->seq;
    event.token = copying->token;
    event.node = has_joined(copying) ? copying->joined : 0;
    if (cluster_event_queue_add(copying->rows->parts.events, &event) < 0)
        cluster_event_queue_lose(copying->rows->parts.events);
}

static void end(struct copying *copying)
{
    const struct cluster_container_row *row = row_of(copying);

    tell(copying, (struct cluster_event){
                      .kind = CLUSTER_EVENT_COPIED,
                      .status = copying->status,
                      .whole = row && row->saves_wholly,
                      .state_size = row ? row->state_size : 0,
                      .changes_size = row ? row->changes_size : 0,
                      .text = rapahub_string_of(copying->status < 0 ? copying->text : "")});
    free(copying->state);
    free(copying);
}

static void note(struct copying *copying, int status, const char *text)
{
    if (status >= 0 || copying->status < 0)
        return;
    copying->status = status;
    snprintf(copying->text, sizeof copying->text, "%s", text);
}

/* All that keep copies of the container have it, or one does not. */
static void end_if_kept(struct copying *copying)
{
    if (!copying->writes && !copying->ships)
        end(copying);
}

/* ---- to the disk ---- */

static void on_written(void *user, struct cluster_disk_result *result)
{
    struct copying *copying = user;
    struct cluster_container_row *row = row_of(copying);

    note(copying, result->status, result->text);
    if (result->whole)
        note(copying, RAPAHUB_ESTALE, "the disk has no copy that these changes follow");
    if (row && result->status == 0 && !result->whole) {
        row->changes_size = copying->whole ? 0 : row->changes_size + copying->size;
        row->state_size = copying->whole ? copying->size : row->state_size;
    }
    copying->on_disk = result->status == 0 && !result->whole;
    copying->writes = false;
    end_if_kept(copying);
}

/* ---- to other holders ---- */

static void on_shipped(void *user, const struct cluster_copy_shipment_end *shipped)
{
    struct copying *copying = user;

    note(copying, shipped->status, shipped->text);
    copying->joined = shipped->joined;
    copying->ships = false;
    end_if_kept(copying);
}

/* They get it before the disk does, which frees it. */
static int ship(struct copying *copying, const struct cluster_copy *copy)
{
    const struct cluster_copy_shipment_order order = {.pool = copying->pool,
                                                      .container = copying->container,
                                                      .copy = *copy,
                                                      .deadline_ns = copying->deadline_ns,
                                                      .on_done = on_shipped,
                                                      .user = copying};
    int status = cluster_copy_shipments_begin(copying->rows->parts.copies->shipments, &order);

    copying->ships = status == 1;
    return status < 0 ? status : 0;
}

static void find_body(void *user, uint64_t number, struct rapahub_bytes *out)
{
    *out = cluster_buffers_bytes(user, number);
}

/* Counts the bytes of the calls that it covers, then writes them. */
static int write_calls(const struct copying *copying, struct rapahub_bytes *out)
{
    const struct cluster_container_rows_parts *parts = &copying->rows->parts;
    const struct cluster_durability_copy copy = {copying->id, copying->whole};
    OWN(hub_memory) uint8_t *memory = NULL;
    struct hub_writer writer;
    int status;

    hub_writer_count(&writer);
    status = cluster_core_covered(parts->core, &copy, &writer, find_body, parts->buffers);
    if (status < 0)
        return status;
    memory = malloc(writer.size + 1);
    if (!memory)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the calls of a copy");
    hub_writer_init(&writer, memory, writer.size);
    status = cluster_core_covered(parts->core, &copy, &writer, find_body, parts->buffers);
    if (status == 0)
        *out = (struct rapahub_bytes){TAKE(memory), writer.size};
    return status;
}

static int write_copy(struct copying *copying, const struct cluster_container_row *row)
{
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(copying->rows->parts.pools, copying->pool);
    struct cluster_copy copy = {.token = copying->token,
                                .seq = copying->seq,
                                .base_token = copying->whole ? 0 : copying->token,
                                .base_seq = copying->whole ? 0 : copying->seq - 1,
                                .state = {copying->state, copying->size}};
    int status = copying->acked ? write_calls(copying, &copy.dedup) : 0;

    if (status == 0 && !pool)
        status = rapahub_fail(RAPAHUB_ENOPOOL, "", "its pool is gone");
    if (status == 0) {
        copy.state_version = pool->manifest.state_version;
        status = ship(copying, &copy);
    }
    if (status == 0)
        status =
            cluster_copy_jobs_write(copying->rows->parts.disk, cluster_container_rows_on_disk(row),
                                    &copy, on_written, copying);
    copying->writes = status == 0;
    if (status == 0)
        copying->state = NULL; /* the disk frees it */
    else
        free((void *)(uintptr_t)copy.dedup.data);
    return status;
}

/* The state is taken: calls go on, also where their release came meanwhile, if need be to the next
 * life; and it goes to the disk. A container that is being removed has no copies any more. */
static void finish(struct copying *copying)
{
    struct cluster_container_row *row = any_row(copying);

    if (row && row->copying == copying) {
        row->copying = NULL;
        if (row->state == STEP(UP))
            cluster_container_rows_hold(row, row->held);
    }
    row = row_of(copying);
    if (copying->status == 0 && (!row || row->removal != 0))
        note(copying, RAPAHUB_ECANCELED, "the container is removed");
    if (copying->status == 0)
        note(copying, write_copy(copying, row), rapahub_last_error()->text);
    if (copying->status < 0)
        end_if_kept(copying);
    else
        tell(copying, (struct cluster_event){.kind = CLUSTER_EVENT_SAVED});
}

/* ---- out of the guest ---- */

static int take_piece(void *user, void *data, size_t size)
{
    struct copying *copying = user;
    size_t room = copying->room > 0 ? copying->room : FIRST_SIZE;
    uint8_t *more;

    if (size > STATE_MAX - copying->size)
        return rapahub_fail(-EMSGSIZE, "", "a state has at most 1 GiB");
    while (room < copying->size + size)
        room *= 2;
    more = room > copying->room ? realloc(copying->state, room) : copying->state;
    if (!more)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a state of %zu bytes", room);
    copying->state = more;
    copying->room = room;
    if (size > 0)
        memcpy(more + copying->size, data, size);
    copying->size += size;
    return 0;
}

static struct rapahub_step step_of(struct copying *copying, rapahub_on_done *on_done)
{
    return (struct rapahub_step){.target = {cluster_ids_pool_of(copying->pool), copying->container},
                                 .timeout_ns = hub_clock_left(copying->deadline_ns) + 1,
                                 .token = copying->token,
                                 .on_done = on_done,
                                 .user = copying};
}

static int begin(struct copying *copying, int status)
{
    if (status == 0)
        copying->rows->steps++;
    else
        note(copying, status, rapahub_last_error()->text);
    return status;
}

/* The result of a step that has ended. */
static int ended(struct copying *copying, int status)
{
    copying->rows->steps--;
    note(copying, status, rapahub_last_error()->text);
    return status;
}

/* With a guest that has died it stays plugged: its next life is unplugged before it serves. */
static bool is_over(const struct copying *copying)
{
    const struct cluster_container_row *row = row_of(copying);

    return copying->status == RAPAHUB_EDIED || !row || row->state != STEP(UP);
}

/* Nothing else would unplug it, and calls that went on would end with that. */
static void unplug_later(struct copying *copying)
{
    copying->again_ns = hub_clock_after(AGAIN_NS);
    hub_list_append(&copying->rows->plugged, &copying->link);
    cluster_container_rows_wake(copying->rows);
}

static void on_unplugged(void *user, int status, const void *result)
{
    struct copying *copying = user;
    struct cluster_container_row *row = any_row(copying);

    (void)result;
    if (ended(copying, status) == 0 && row)
        row->plugged = false;
    if (status == 0 || is_over(copying))
        finish(copying);
    else
        unplug_later(copying);
}

static void unplug(struct copying *copying)
{
    struct rapahub_step step = step_of(copying, on_unplugged);

    step.timeout_ns = UNPLUG_NS;
    if (is_over(copying))
        finish(copying);
    else if (begin(copying, rapahub_host_plug_async(copying->rows->parts.host, &step, false)) < 0)
        unplug_later(copying);
}

uint64_t cluster_container_copies_step(struct cluster_container_rows *rows, uint64_t now_ns)
{
    uint64_t next_ns = HUB_NEVER;

    HUB_LIST_EACH (&rows->plugged, link) {
        struct copying *copying = HUB_LIST_ITEM(link, struct copying, link);

        if (copying->again_ns <= now_ns || is_over(copying)) {
            hub_list_remove(link);
            unplug(copying);
        } else if (copying->again_ns < next_ns) {
            next_ns = copying->again_ns;
        }
    }
    return next_ns;
}

void cluster_container_copies_fini(struct cluster_container_rows *rows)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&rows->plugged))) {
        struct copying *copying = HUB_LIST_ITEM(link, struct copying, link);

        free(copying->state);
        free(copying);
    }
}

static void on_saved(void *user, int status, const void *result)
{
    struct copying *copying = user;

    (void)result;
    (void)ended(copying, status);
    unplug(copying);
}

static void on_plugged(void *user, int status, const void *result)
{
    struct copying *copying = user;
    struct cluster_container_row *row = any_row(copying);
    struct rapahub_step step = step_of(copying, on_saved);

    (void)result;
    step.state = &copying->pieces;
    (void)ended(copying, status);
    if (row && (status == 0 || status == RAPAHUB_ETIMEDOUT)) /* its guest may be late with it */
        row->plugged = true;
    if (status == RAPAHUB_ETIMEDOUT)
        unplug(copying);
    else if (status < 0)
        finish(copying);
    else if (begin(copying, rapahub_host_save_async(copying->rows->parts.host, &step)) < 0)
        unplug(copying);
}

static void plug(struct copying *copying)
{
    const struct rapahub_step step = step_of(copying, on_plugged);

    if (begin(copying, rapahub_host_plug_async(copying->rows->parts.host, &step, true)) < 0)
        finish(copying);
}

static void on_drained(void *user, int status, const void *result)
{
    struct copying *copying = user;

    (void)result;
    if (ended(copying, status) < 0)
        finish(copying);
    else
        plug(copying);
}

/* The core lets its calls wait. In an acknowledged pool there are no others. */
static void take_all(struct copying *copying, const struct cluster_container_row *row)
{
    struct rapahub_step step = step_of(copying, on_drained);

    copying->whole = true;
    if (copying->acked) {
        plug(copying);
        return;
    }
    cluster_container_rows_hold(row, true);
    if (step.timeout_ns > DRAIN_NS)
        step.timeout_ns = DRAIN_NS;
    if (begin(copying, rapahub_host_drain_async(copying->rows->parts.host, &step)) < 0)
        finish(copying);
}

/* A module that saves no changes says so. */
static bool has_no_changes(int status)
{
    return status == RAPAHUB_EAPPLICATION && rapahub_last_error()->application == RAPAHUB_ESTATE;
}

/* No call runs in an acknowledged pool, so that all of the state is taken instead. Else the core
 * asks for that next, and lets calls wait. */
static void on_changes(void *user, int status, const void *result)
{
    struct copying *copying = user;
    struct cluster_container_row *row = row_of(copying);

    if (row && has_no_changes(status))
        row->saves_wholly = true;
    if (row && has_no_changes(status) && copying->acked) {
        copying->rows->steps--;
        take_all(copying, row);
        return;
    }
    if (ended(copying, status) == 0)
        copying->whole = *(const bool *)result;
    finish(copying);
}

static void take_changes(struct copying *copying)
{
    struct rapahub_step step = step_of(copying, on_changes);

    step.state = &copying->pieces;
    if (begin(copying, rapahub_host_save_changes_async(copying->rows->parts.host, &step)) < 0)
        finish(copying);
}

static int check(const struct cluster_container_row *row, const struct cluster_effect *effect)
{
    if (!row || row->token != effect->token || row->state != STEP(UP) || row->removal != 0)
        return RAPAHUB_ESTALE;
    return row->copying ? RAPAHUB_EBUSY : 0;
}

static struct copying *make(struct cluster_container_rows *rows,
                            const struct cluster_effect *effect)
{
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(rows->parts.pools, effect->pool);
    struct copying *copying = calloc(1, sizeof *copying);

    if (!copying)
        return NULL;
    *copying = (struct copying){.rows = rows,
                                .pool = effect->pool,
                                .container = effect->container,
                                .id = effect->id,
                                .token = effect->token,
                                .seq = effect->number,
                                .deadline_ns = effect->at_ns,
                                .acked = pool && pool->spec.durability == CLUSTER_DURABILITY_ACKED,
                                .pieces = {take_piece, copying}};
    return copying;
}

/* r[impl cluster.node.copies] */
void cluster_container_copies_begin(struct cluster_container_rows *rows,
                                    const struct cluster_effect *effect)
{
    struct cluster_container_row *row =
        cluster_container_rows_find(rows, effect->pool, effect->container);
    int status = check(row, effect);
    struct copying *copying = status == 0 ? make(rows, effect) : NULL;

    if (!copying) {
        cluster_container_rows_refuse(rows, CLUSTER_EVENT_COPIED, effect->id,
                                      status < 0 ? status : RAPAHUB_ENOMEM);
        return;
    }
    row->copying = copying;
    if (effect->how == CLUSTER_COPY_CHANGES && !(row->saves_wholly && copying->acked))
        take_changes(copying);
    else
        take_all(copying, row);
}
