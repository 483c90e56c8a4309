/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_removal.h"

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "hub/base/clock.h"

#define FINI_NS (5 * HUB_SECOND)

#define STEP(name) CLUSTER_CONTAINER_STEP_##name

static void answer(struct cluster_container_row *row, int status, const char *text)
{
    cluster_container_rows_tell(
        row, (struct cluster_event){.kind = CLUSTER_EVENT_REMOVED,
                                    .id = row->removal,
                                    .status = status,
                                    .text = rapahub_string_of(status < 0 ? text : "")});
    cluster_container_rows_forget(row);
}

static void on_cleared(void *user, struct cluster_disk_result *result)
{
    answer(user, result->status, result->text);
}

static void on_aside(void *user, struct cluster_disk_result *result)
{
    struct cluster_container_row *row = user;

    if (result->status < 0)
        answer(row, result->status, result->text);
    else if (cluster_store_thread_copy_remove(
                 row->rows->parts.disk, cluster_container_rows_on_disk(row), on_cleared, row) < 0)
        answer(row, rapahub_last_error()->code, rapahub_last_error()->text);
}

static void clear(struct cluster_container_row *row)
{
    cluster_container_rows_move(row, STEP(CLEARING));
    if (cluster_store_thread_folder_aside(row->rows->parts.disk,
                                          cluster_container_rows_on_disk(row), on_aside, row) < 0)
        answer(row, rapahub_last_error()->code, rapahub_last_error()->text);
}

/* A guest is not closed in a callback of the host: that follows in the node's next turn. */
static void close_later(struct cluster_container_row *row)
{
    cluster_container_rows_move(row, STEP(CLOSING));
    cluster_container_rows_wake(row->rows);
}

static void on_ended(void *user, int status, const void *result)
{
    struct cluster_container_row *row = user;

    (void)status; /* its guest has died, or ends it later: it is gone either way */
    (void)result;
    row->rows->steps--;
    close_later(row);
}

static void end(struct cluster_container_row *row)
{
    const struct rapahub_step step = {.target = cluster_container_rows_id(row),
                                      .timeout_ns = FINI_NS,
                                      .on_done = on_ended,
                                      .user = row};

    cluster_container_rows_tell_embedder(row, false);
    cluster_container_rows_move(row, STEP(ENDING));
    if (row->guest->state == CLUSTER_GUEST_READY &&
        rapahub_host_remove_async(row->rows->parts.host, &step) == 0) {
        row->rows->steps++;
        return;
    }
    rapahub_clear_error();
    close_later(row);
}

void cluster_container_removal_go_on(struct cluster_container_row *row)
{
    if (row->removal == 0 || row->folder_asked || row->copies_asked ||
        (row->state != STEP(UP) && row->state != STEP(DOWN)))
        return;
    if (row->guest)
        end(row);
    else
        clear(row);
}

/* r[impl cluster.node.removed] */
void cluster_container_removal_begin(struct cluster_container_rows *rows,
                                     const struct cluster_effect *effect)
{
    struct cluster_container_row *row =
        cluster_container_rows_get(rows, effect->pool, effect->container);

    if (!row || row->removal != 0) {
        cluster_container_rows_refuse(rows, CLUSTER_EVENT_REMOVED, effect->id,
                                      row ? RAPAHUB_EBUSY : RAPAHUB_EFULL);
        return;
    }
    row->removal = effect->id;
    if (row->state == STEP(WAITING)) {
        cluster_container_rows_answer_begin(row, RAPAHUB_ECANCELED, "it is removed");
        cluster_container_rows_move(row, STEP(DOWN));
    }
    cluster_container_removal_go_on(row);
}

/* Where others use its guest too, that goes on; else `closed` comes, perhaps at once. It has come
 * already where the program of the node has closed the guest while the container ended. */
void cluster_container_removal_step(struct cluster_container_rows *rows)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&rows->closing))) {
        struct cluster_container_row *row = HUB_LIST_ITEM(link, struct cluster_container_row, link);
        struct cluster_guest *guest = row->guest;

        if (!guest || guest->users > 1) {
            row->guest = NULL;
            clear(row);
        }
        if (guest)
            cluster_guests_drop(guest);
    }
}

void cluster_container_removal_closed(struct cluster_container_row *row)
{
    row->guest = NULL;
    if (row->state == STEP(CLOSING))
        clear(row);
}
