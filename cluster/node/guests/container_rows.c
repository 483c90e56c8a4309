/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_rows.h"

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"

#define CONTAINERS_MAX 4096

#define STEP(name) CLUSTER_CONTAINER_STEP_##name
const struct hub_states cluster_container_step_states = {
    "cluster.container_step",
    {[STEP(DOWN)] = {"DOWN", HUB_TO(STEP(WAITING)) | HUB_TO(STEP(ENDING)) | HUB_TO(STEP(CLEARING))},
     [STEP(WAITING)] = {"WAITING", HUB_TO(STEP(BEGINNING)) | HUB_TO(STEP(DOWN))},
     [STEP(BEGINNING)] = {"BEGINNING", HUB_TO(STEP(UP)) | HUB_TO(STEP(DOWN))},
     [STEP(UP)] = {"UP", HUB_TO(STEP(DOWN)) | HUB_TO(STEP(ENDING))},
     [STEP(ENDING)] = {"ENDING", HUB_TO(STEP(CLOSING))},
     [STEP(CLOSING)] = {"CLOSING", HUB_TO(STEP(CLEARING))},
     [STEP(CLEARING)] = {"CLEARING", 0}}};

int cluster_container_rows_init(struct cluster_container_rows *rows,
                                const struct cluster_container_rows_parts *parts)
{
    *rows = (struct cluster_container_rows){.parts = *parts};
    hub_list_init(&rows->asked);
    hub_list_init(&rows->waiting);
    hub_list_init(&rows->closing);
    hub_list_init(&rows->plugged);
    if (cluster_table_init(&rows->rows, CONTAINERS_MAX, sizeof(struct cluster_container_row)) < 0 ||
        cluster_index_init(&rows->index, CONTAINERS_MAX, hub_clock_now()) < 0)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %d containers", CONTAINERS_MAX);
    return 0;
}

void cluster_container_rows_fini(struct cluster_container_rows *rows)
{
    for (uint32_t place = 0; (place = cluster_table_after(&rows->rows, place)) != 0;) {
        struct cluster_container_row *row = cluster_table_at(&rows->rows, place);

        cluster_disk_job_free_copies(&row->load.copies);
    }
    cluster_index_fini(&rows->index);
    cluster_table_fini(&rows->rows);
}

static uint32_t hash_of(const struct cluster_container_rows *rows, uint64_t pool,
                        uint32_t container)
{
    return cluster_index_hash(&rows->index, pool, container, 0);
}

static uint32_t seek(const struct cluster_container_rows *rows, uint64_t pool, uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&rows->index, hash_of(rows, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&rows->index, &cursor)) {
        const struct cluster_container_row *row = cluster_table_at(&rows->rows, place);

        if (row->pool == pool && row->container == container)
            break;
    }
    return place;
}

struct cluster_container_row *cluster_container_rows_find(const struct cluster_container_rows *rows,
                                                          uint64_t pool, uint32_t container)
{
    uint32_t place = seek(rows, pool, container);

    return place != 0 ? cluster_table_at(&rows->rows, place) : NULL;
}

struct cluster_container_row *cluster_container_rows_get(struct cluster_container_rows *rows,
                                                         uint64_t pool, uint32_t container)
{
    struct cluster_container_row *row = cluster_container_rows_find(rows, pool, container);
    uint32_t place;

    if (row)
        return row;
    place = cluster_table_take(&rows->rows);
    if (place == 0) {
        rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds", "a node has at most %d containers",
                     CONTAINERS_MAX);
        return NULL;
    }
    row = cluster_table_at(&rows->rows, place);
    *row = (struct cluster_container_row){.rows = rows, .pool = pool, .container = container};
    hub_list_init(&row->link);
    cluster_index_put(&rows->index, hash_of(rows, pool, container), place);
    return row;
}

void cluster_container_rows_forget(struct cluster_container_row *row)
{
    struct cluster_container_rows *rows = row->rows;
    uint32_t place = seek(rows, row->pool, row->container);

    hub_list_remove(&row->link);
    cluster_index_remove(&rows->index, hash_of(rows, row->pool, row->container), place);
    cluster_table_give(&rows->rows, place);
}

void cluster_container_rows_move(struct cluster_container_row *row, enum cluster_container_step to)
{
    CHECK(hub_states_may(&cluster_container_step_states, row->state, to));
    row->state = to;
    hub_list_remove(&row->link);
    if (to == STEP(WAITING))
        hub_list_append(&row->rows->asked, &row->link);
    else if (to == STEP(CLOSING))
        hub_list_append(&row->rows->closing, &row->link);
}

struct rapahub_container_id cluster_container_rows_id(const struct cluster_container_row *row)
{
    return (struct rapahub_container_id){cluster_ids_pool_of(row->pool), row->container};
}

struct cluster_disk_container cluster_container_rows_on_disk(
    const struct cluster_container_row *row)
{
    return (struct cluster_disk_container){row->pool, row->container};
}

void cluster_container_rows_hold(const struct cluster_container_row *row, bool held)
{
    if (rapahub_host_hold(row->rows->parts.host, cluster_container_rows_id(row), held) < 0)
        rapahub_clear_error(); /* it is not there yet */
}

void cluster_container_rows_tell(struct cluster_container_row *row, struct cluster_event event)
{
    event.pool = row->pool;
    event.container = row->container;
    if (cluster_event_queue_add(row->rows->parts.events, &event) < 0)
        cluster_event_queue_lose(row->rows->parts.events);
}

void cluster_container_rows_wake(struct cluster_container_rows *rows)
{
    const struct cluster_event wake = {.kind = CLUSTER_EVENT_TICK};

    if (cluster_event_queue_add(rows->parts.events, &wake) < 0)
        cluster_event_queue_lose(rows->parts.events);
}

void cluster_container_rows_answer_begin(struct cluster_container_row *row, int status,
                                         const char *text)
{
    if (row->begin == 0)
        return;
    cluster_container_rows_tell(
        row, (struct cluster_event){.kind = CLUSTER_EVENT_BEGUN,
                                    .id = row->begin,
                                    .status = status,
                                    .covered = row->load.copies.count > 0,
                                    .text = rapahub_string_of(status < 0 ? text : "")});
    row->begin = 0;
}

void cluster_container_rows_tell_embedder(struct cluster_container_row *row, bool came)
{
    const struct cluster_container_rows_parts *parts = &row->rows->parts;

    if (row->told == came)
        return;
    row->told = came;
    if (parts->on_container)
        parts->on_container(parts->user, cluster_container_rows_id(row), row->token, came);
}

void cluster_container_rows_refuse(struct cluster_container_rows *rows, uint8_t kind, uint64_t id,
                                   int status)
{
    const struct cluster_event event = {.kind = kind, .id = id, .status = status};

    if (cluster_event_queue_add(rows->parts.events, &event) < 0)
        cluster_event_queue_lose(rows->parts.events);
}
