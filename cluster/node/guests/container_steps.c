/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_steps.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/node/guests/container_beginning.h"
#include "cluster/node/guests/container_copies.h"
#include "cluster/node/guests/container_removal.h"
#include "cluster/node/holders/copy_links.h"
#include "hub/base/clock.h"

#define STEP(name) CLUSTER_CONTAINER_STEP_##name

struct cluster_container_steps {
    struct cluster_container_rows rows;
    struct cluster_guests *guests;
};

/* ---- a container begins ---- */

/* A guest that is not started again is, once, for each container that is to begin in it. */
static int ask_for_guest(struct cluster_container_steps *steps, struct cluster_container_row *row)
{
    if (row->guest) {
        cluster_guests_revive(row->guest);
        return 0;
    }
    row->guest = cluster_guests_take(steps->guests, row->pool, row->container);
    if (!row->guest)
        return rapahub_last_error()->code;
    return row->guest->state == CLUSTER_GUEST_FAILED
               ? rapahub_fail(row->guest->status, "", "%s", row->guest->text)
               : 0;
}

static void wait_for_guest(struct cluster_container_steps *steps, struct cluster_container_row *row)
{
    int status = cluster_container_beginning_ask(row);

    hub_list_append(&steps->rows.waiting, &row->link);
    if (status == 0)
        status = ask_for_guest(steps, row);
    if (row->state != STEP(WAITING))
        return; /* the guest has failed meanwhile, which was told */
    if (status < 0)
        cluster_container_beginning_end(row, status, rapahub_last_error()->text);
    else
        cluster_container_beginning_try(row);
}

/* r[impl cluster.node.begins] */
void cluster_container_steps_begin(struct cluster_container_steps *steps,
                                   const struct cluster_effect *effect)
{
    struct cluster_container_row *row =
        cluster_container_rows_get(&steps->rows, effect->pool, effect->container);

    if (!row || row->state != STEP(DOWN) || row->removal != 0) {
        cluster_container_rows_refuse(&steps->rows, CLUSTER_EVENT_BEGUN, effect->id,
                                      row ? RAPAHUB_ESTATE : RAPAHUB_EFULL);
        return;
    }
    row->begin = effect->id;
    row->deadline_ns = effect->at_ns;
    row->token = effect->token;
    row->how = effect->how;
    row->has_copies = row->has_newest = !effect->copy;
    cluster_copy_shipments_cancel(steps->rows.parts.copies->shipments, row->pool, row->container);
    row->held = true;
    cluster_container_rows_move(row, STEP(WAITING));
    cluster_container_rows_wake(&steps->rows);
}

void cluster_container_steps_hold(struct cluster_container_steps *steps,
                                  const struct cluster_effect *effect, bool held)
{
    struct cluster_container_row *row =
        cluster_container_rows_find(&steps->rows, effect->pool, effect->container);

    if (!row)
        return;
    row->held = held;
    if (held || !row->copying)
        cluster_container_rows_hold(row, held);
    if (!held && row->state == STEP(UP))
        cluster_container_rows_tell_embedder(row, true);
}

void cluster_container_steps_remove(struct cluster_container_steps *steps,
                                    const struct cluster_effect *effect)
{
    cluster_container_removal_begin(&steps->rows, effect);
}

void cluster_container_steps_copy(struct cluster_container_steps *steps,
                                  const struct cluster_effect *effect)
{
    cluster_container_copies_begin(&steps->rows, effect);
}

/* ---- their guests ---- */

static void each_of(struct cluster_container_steps *steps, const struct cluster_guest *guest,
                    void (*visit)(struct cluster_container_row *row))
{
    for (uint32_t place = 0; (place = cluster_table_after(&steps->rows.rows, place)) != 0;) {
        struct cluster_container_row *row = cluster_table_at(&steps->rows.rows, place);

        if (row->guest == guest)
            visit(row);
    }
}

/* A container that is beginning ends so by itself. */
static void guest_is_down(struct cluster_container_row *row)
{
    if (row->state != STEP(UP))
        return;
    cluster_container_rows_tell_embedder(row, false);
    cluster_container_rows_move(row, STEP(DOWN));
    cluster_container_rows_tell(row, (struct cluster_event){.kind = CLUSTER_EVENT_CONTAINER,
                                                            .change = CLUSTER_CONTAINER_DOWN});
}

static void guest_has_failed(struct cluster_container_row *row)
{
    if (row->state == STEP(WAITING))
        cluster_container_beginning_end(row, row->guest->status, row->guest->text);
}

static void guest_is_closed(struct cluster_container_row *row)
{
    guest_is_down(row);
    if (row->state == STEP(WAITING))
        cluster_container_beginning_end(row, RAPAHUB_EDIED, "its guest was closed");
    cluster_container_removal_closed(row);
}

static void on_ready(void *user, struct cluster_guest *guest)
{
    each_of(user, guest, cluster_container_beginning_try);
}

static void on_down(void *user, struct cluster_guest *guest)
{
    each_of(user, guest, guest_is_down);
}

static void on_failed(void *user, struct cluster_guest *guest)
{
    each_of(user, guest, guest_has_failed);
}

static void on_closed(void *user, struct cluster_guest *guest)
{
    each_of(user, guest, guest_is_closed);
}

static const struct cluster_guests_hooks hooks = {on_ready, on_down, on_failed, on_closed};

/* ---- made, stepped, released ---- */

int cluster_container_steps_create(const struct cluster_container_rows_parts *parts,
                                   struct cluster_container_steps **out)
{
    struct cluster_container_steps *steps = calloc(1, sizeof *steps);
    const struct cluster_guests_parts of_guests = {
        .host = parts->host,
        .disk = parts->disk,
        .modules = parts->modules,
        .pools = parts->pools,
        .guests_max = parts->guests_max > 0 ? parts->guests_max : CLUSTER_GUESTS_MAX,
        .hooks = &hooks,
        .user = steps};
    int status;

    *out = steps;
    if (!steps)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the containers of a node");
    status = cluster_container_rows_init(&steps->rows, parts);
    if (status == 0)
        status = cluster_guests_create(&of_guests, &steps->guests);
    if (status < 0)
        cluster_container_steps_release(out);
    return status;
}

void cluster_container_steps_stop(struct cluster_container_steps *steps, uint64_t timeout_ns)
{
    cluster_guests_stop(steps->guests, timeout_ns);
}

void cluster_container_steps_release(struct cluster_container_steps **steps)
{
    if (*steps) {
        cluster_guests_release(&(*steps)->guests);
        cluster_container_copies_fini(&(*steps)->rows);
        cluster_container_rows_fini(&(*steps)->rows);
    }
    free(*steps);
    *steps = NULL;
}

int cluster_container_steps_fd(const struct cluster_container_steps *steps)
{
    return cluster_guests_fd(steps->guests);
}

uint64_t cluster_container_steps_step(struct cluster_container_steps *steps, uint64_t now_ns,
                                      bool readable)
{
    uint64_t next = cluster_container_copies_step(&steps->rows, now_ns);
    uint64_t again_ns = cluster_guests_look_again(steps->guests, now_ns);
    struct hub_list *link;

    if (readable && cluster_guests_step(steps->guests) < 0)
        rapahub_clear_error(); /* the supervisor is gone: so are its guests */
    cluster_container_removal_step(&steps->rows);
    while ((link = hub_list_pop(&steps->rows.asked)))
        wait_for_guest(steps, HUB_LIST_ITEM(link, struct cluster_container_row, link));
    HUB_LIST_EACH (&steps->rows.waiting, place) {
        struct cluster_container_row *row =
            HUB_LIST_ITEM(place, struct cluster_container_row, link);

        if (row->deadline_ns <= now_ns)
            cluster_container_beginning_end(row, RAPAHUB_ETIMEDOUT,
                                            "its guest was not ready in time");
        else if (row->deadline_ns < next)
            next = row->deadline_ns;
    }
    return again_ns < next ? again_ns : next;
}

uint32_t cluster_container_steps_open(const struct cluster_container_steps *steps)
{
    return steps->rows.steps;
}
