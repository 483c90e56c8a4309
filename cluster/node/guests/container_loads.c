/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_loads.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/wire/copy_calls.h"
#include "hub/base/own.h"

/* ---- the calls that they cover ---- */

struct numbers {
    uint64_t *of; /* answers that the core does not keep by itself */
    uint32_t count;
};

static void drop_numbers(const struct cluster_container_row *row, const struct numbers *numbers)
{
    for (uint32_t i = 0; i < numbers->count; i++)
        cluster_buffers_drop(row->rows->parts.buffers, numbers->of[i]);
}

static int keep_answers(const struct cluster_container_row *row, struct cluster_list calls,
                        struct numbers *numbers)
{
    struct cluster_copy_calls_call call;
    struct cluster_payload_body body;
    int status = 0;

    while (status == 0 && cluster_copy_calls_next_call(&calls, &call)) {
        if (call.lost || call.answer.size <= CLUSTER_EFFECTS_BODY_MAX)
            continue;
        status = cluster_buffers_keep(row->rows->parts.buffers, call.answer, &body);
        if (status == 0)
            numbers->of[numbers->count++] = body.number;
    }
    return status;
}

static int tell_calls(const struct cluster_container_row *row, const struct cluster_copy *copy,
                      const struct numbers *numbers)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_RESTORED,
                                        .pool = row->pool,
                                        .container = row->container,
                                        .token = copy->token,
                                        .number = copy->seq,
                                        .whole = copy->base_token == 0,
                                        .calls = copy->dedup,
                                        .numbers = numbers->of,
                                        .numbers_count = numbers->count};

    return row->rows->parts.hooks->tell(row->rows->parts.teller, &event);
}

/* Where the core refuses them, answers that were kept for it are not needed. */
static int restore(const struct cluster_container_row *row, const struct cluster_copy *copy)
{
    struct cluster_copy_calls calls;
    OWN(hub_memory) uint64_t *of = NULL;
    struct numbers numbers = {.count = 0};
    int status = cluster_copy_calls_read(copy->dedup, &calls);

    if (status < 0)
        return status;
    of = calloc(calls.calls.count > 0 ? calls.calls.count : 1, sizeof *of);
    if (!of)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the calls of a copy");
    numbers.of = of;
    status = keep_answers(row, calls.calls, &numbers);
    if (status == 0)
        status = tell_calls(row, copy, &numbers);
    if (status < 0)
        drop_numbers(row, &numbers);
    return status;
}

bool cluster_container_loads_are_acked(const struct cluster_container_row *row)
{
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(row->rows->parts.pools, row->pool);

    return pool && pool->spec.durability == CLUSTER_DURABILITY_ACKED;
}

int cluster_container_loads_take(struct cluster_container_row *row,
                                 struct cluster_disk_result *result)
{
    int status = 0;

    cluster_container_loads_drop(row);
    row->load.copies = result->copies;
    result->copies = (struct cluster_disk_copies){NULL, 0};
    for (size_t i = 0;
         status == 0 && cluster_container_loads_are_acked(row) && i < row->load.copies.count; i++)
        status = restore(row, &row->load.copies.of[i]);
    return status;
}

void cluster_container_loads_drop(struct cluster_container_row *row)
{
    cluster_disk_job_free_copies(&row->load.copies);
    row->load = (struct cluster_container_load){.next = 0};
}

/* ---- their bytes ---- */

static int hand_out(void *user, void *data, size_t size)
{
    struct cluster_container_row *row = user;
    const struct rapahub_bytes *state = &row->load.copies.of[row->load.next - 1].state;
    size_t left = state->size - row->load.at;

    if (size > left)
        size = left;
    if (size > 0)
        memcpy(data, (const uint8_t *)state->data + row->load.at, size);
    row->load.at += size;
    return (int)size;
}

/* r[impl cluster.node.copies] */
bool cluster_container_loads_next(struct cluster_container_row *row, struct rapahub_pieces *out)
{
    if (row->load.next == row->load.copies.count)
        return false;
    row->load.next++;
    row->load.at = 0;
    *out = (struct rapahub_pieces){hand_out, row};
    return true;
}
