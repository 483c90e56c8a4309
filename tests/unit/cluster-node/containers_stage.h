/* SPDX-License-Identifier: Apache-2.0 */
/* containers_stage: container 0 of a pool, in a guest that is ready, beside a host that the test
 * plays: its steps are noted, and end when the test says so. */
#ifndef TESTS_UNIT_CLUSTER_NODE_CONTAINERS_STAGE_H
#define TESTS_UNIT_CLUSTER_NODE_CONTAINERS_STAGE_H

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "cluster/base/ids.h"
#include "cluster/node/guests/container_beginning.h"
#include "cluster/node/guests/container_copies.h"
#include "cluster/node/guests/container_removal.h"
#include "cluster/node/guests/container_rows.h"
#include "hub/base/clock.h"
#include "tests/unit/cluster-core/pool_records.h"

#define CONTAINERS_POOL  UINT64_C(0x0000010000000000)
#define CONTAINERS_TOKEN cluster_ids_token(0, 1, 0)
#define CONTAINERS_BEGIN 5 /* the id of the effect BEGIN */

#define CONTAINERS __attribute__((unused))

enum containers_step { HOST_BEGIN, HOST_PLUG, HOST_UNPLUG, HOST_SAVE, HOST_CHANGES, HOST_REMOVE };

static struct {
    struct cluster_container_rows rows;
    struct cluster_guest guest;
    struct cluster_pool_records *pools;
    struct cluster_event_queue *events;
    struct pool_records records;
    struct { /* the step that the host has not ended; there is one at most */
        bool open;
        enum containers_step kind;
        struct rapahub_step step;
        struct rapahub_pieces pieces; /* of its state, if it has one */
    } asked;
    int refuses; /* what the next step is refused with; 0: it begins */
    bool held;
    bool no_memory; /* for events */
} containers_stage;

int __real_cluster_event_queue_add(struct cluster_event_queue *queue,
                                   const struct cluster_event *event);
int __wrap_cluster_event_queue_add(struct cluster_event_queue *queue,
                                   const struct cluster_event *event);
int __wrap_cluster_event_queue_add(struct cluster_event_queue *queue,
                                   const struct cluster_event *event)
{
    return containers_stage.no_memory ? rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an event")
                                      : __real_cluster_event_queue_add(queue, event);
}

CONTAINERS static int containers_take_step(enum containers_step kind,
                                           const struct rapahub_step *step)
{
    int status = containers_stage.refuses;

    assert_false(containers_stage.asked.open);
    containers_stage.refuses = 0;
    if (status < 0)
        return rapahub_fail(status, "", "the host refuses it");
    containers_stage.asked.open = true;
    containers_stage.asked.kind = kind;
    containers_stage.asked.step = *step;
    if (step->state)
        containers_stage.asked.pieces = *step->state;
    return 0;
}

int __wrap_rapahub_host_begin_async(struct rapahub_host *host, const struct rapahub_step *step,
                                    struct rapahub_guest_id guest,
                                    const struct rapahub_container_options *options,
                                    enum rapahub_begin how);
int __wrap_rapahub_host_begin_async(struct rapahub_host *host, const struct rapahub_step *step,
                                    struct rapahub_guest_id guest,
                                    const struct rapahub_container_options *options,
                                    enum rapahub_begin how)
{
    (void)host;
    (void)guest;
    (void)how;
    assert_true(options->managed);
    return containers_take_step(HOST_BEGIN, step);
}

int __wrap_rapahub_host_plug_async(struct rapahub_host *host, const struct rapahub_step *step,
                                   bool plugged);
int __wrap_rapahub_host_plug_async(struct rapahub_host *host, const struct rapahub_step *step,
                                   bool plugged)
{
    (void)host;
    return containers_take_step(plugged ? HOST_PLUG : HOST_UNPLUG, step);
}

int __wrap_rapahub_host_save_async(struct rapahub_host *host, const struct rapahub_step *step);
int __wrap_rapahub_host_save_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    (void)host;
    return containers_take_step(HOST_SAVE, step);
}

int __wrap_rapahub_host_load_changes_async(struct rapahub_host *host,
                                           const struct rapahub_step *step);
int __wrap_rapahub_host_load_changes_async(struct rapahub_host *host,
                                           const struct rapahub_step *step)
{
    (void)host;
    return containers_take_step(HOST_CHANGES, step);
}

int __wrap_rapahub_host_remove_async(struct rapahub_host *host, const struct rapahub_step *step);
int __wrap_rapahub_host_remove_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    (void)host;
    return containers_take_step(HOST_REMOVE, step);
}

int __wrap_rapahub_host_hold(struct rapahub_host *host, struct rapahub_container_id target,
                             bool held);
int __wrap_rapahub_host_hold(struct rapahub_host *host, struct rapahub_container_id target,
                             bool held)
{
    (void)host;
    (void)target;
    containers_stage.held = held;
    return 0;
}

/* The host has been asked for this step, and ends it. */
CONTAINERS static void containers_end_step(enum containers_step kind, int status)
{
    const struct rapahub_step step = containers_stage.asked.step;

    assert_true(containers_stage.asked.open);
    assert_int_equal(containers_stage.asked.kind, kind);
    containers_stage.asked.open = false;
    if (status < 0)
        rapahub_fail(status, "", "the step has failed");
    step.on_done(step.user, status, NULL);
}

/* Returns the next event that the core is told, or NULL; those that wake the node are left out. */
CONTAINERS static const struct cluster_event *containers_next(void)
{
    const struct cluster_event *event = cluster_event_queue_take(containers_stage.events);

    while (event && event->kind == CLUSTER_EVENT_TICK) {
        cluster_event_queue_done(containers_stage.events);
        event = cluster_event_queue_take(containers_stage.events);
    }
    return event;
}

CONTAINERS static void containers_told_nothing(void)
{
    assert_null(containers_next());
}

CONTAINERS static void containers_told(uint8_t kind, uint64_t id, int status)
{
    const struct cluster_event *event = containers_next();

    assert_non_null(event);
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->id, id);
    assert_int_equal(event->status, status);
    cluster_event_queue_done(containers_stage.events);
}

/* The core cannot be told: the node is to end. */
CONTAINERS static void containers_lost(void)
{
    assert_true(cluster_event_queue_has_lost(containers_stage.events));
}

CONTAINERS static int containers_open(void **state)
{
    const struct pool_records_pool kv = {
        .name = "kv", .containers = 1, .durability = CLUSTER_DURABILITY_ACKED};
    struct cluster_container_rows_parts parts = {.folders = "folders", .node = 1};
    uint8_t value[65536];
    struct hub_writer writer;

    (void)state;
    memset(&containers_stage, 0, sizeof containers_stage);
    assert_int_equal(cluster_pool_records_create(1, &containers_stage.pools), 0);
    (void)pool_records_of(&kv, &containers_stage.records);
    hub_writer_init(&writer, value, sizeof value);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_POOL, &containers_stage.records.read),
                     0);
    assert_int_equal(cluster_pool_records_put(containers_stage.pools, CONTAINERS_POOL,
                                              (struct rapahub_bytes){value, writer.size}),
                     0);
    assert_int_equal(cluster_event_queue_create(&containers_stage.events), 0);
    parts.pools = containers_stage.pools;
    parts.events = containers_stage.events;
    assert_int_equal(cluster_container_rows_init(&containers_stage.rows, &parts), 0);
    containers_stage.guest =
        (struct cluster_guest){.state = CLUSTER_GUEST_READY, .incarnation = 1, .users = 2};
    return 0;
}

CONTAINERS static int containers_close(void **state)
{
    (void)state;
    cluster_container_copies_fini(&containers_stage.rows);
    cluster_container_rows_fini(&containers_stage.rows);
    cluster_event_queue_release(&containers_stage.events);
    cluster_pool_records_release(&containers_stage.pools);
    return 0;
}

CONTAINERS static struct cluster_container_row *containers_row(void)
{
    return cluster_container_rows_get(&containers_stage.rows, CONTAINERS_POOL, 0);
}

/* The core wants it to begin, and all that it waits for is there. */
CONTAINERS static struct cluster_container_row *containers_begin(uint64_t id)
{
    struct cluster_container_row *row = containers_row();

    row->begin = id;
    row->token = CONTAINERS_TOKEN;
    row->deadline_ns = hub_clock_after(60 * HUB_SECOND);
    row->has_folder = row->has_copies = row->has_newest = row->held = true;
    row->guest = &containers_stage.guest;
    cluster_container_rows_move(row, CLUSTER_CONTAINER_STEP_WAITING);
    cluster_container_beginning_try(row);
    return row;
}

/* It has begun. */
CONTAINERS static struct cluster_container_row *containers_serve(void)
{
    struct cluster_container_row *row = containers_begin(CONTAINERS_BEGIN);

    containers_end_step(HOST_BEGIN, 0);
    containers_told(CLUSTER_EVENT_BEGUN, CONTAINERS_BEGIN, 0);
    assert_int_equal(row->state, CLUSTER_CONTAINER_STEP_UP);
    return row;
}

#endif
