/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/base/buffers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"

struct row {
    uint64_t number; /* counts up; the place is its lower half */
    uint8_t *data;
    size_t size;
};

struct cluster_buffers {
    struct cluster_table rows;
    uint64_t made, bytes, bytes_max;
};

int cluster_buffers_create(uint32_t most, uint64_t bytes_max, struct cluster_buffers **out)
{
    struct cluster_buffers *buffers = calloc(1, sizeof *buffers);

    *out = buffers;
    if (buffers && cluster_table_init(&buffers->rows, most, sizeof(struct row)) == 0) {
        buffers->bytes_max = bytes_max;
        return 0;
    }
    cluster_buffers_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the bodies of calls");
}

static struct row *row_at(const struct cluster_buffers *buffers, uint32_t place)
{
    return cluster_table_at(&buffers->rows, place);
}

void cluster_buffers_release(struct cluster_buffers **buffers)
{
    uint32_t place = 0;

    if (*buffers) {
        while ((place = cluster_table_after(&(*buffers)->rows, place)) != 0)
            free(row_at(*buffers, place)->data);
        cluster_table_fini(&(*buffers)->rows);
    }
    free(*buffers);
    *buffers = NULL;
}

static int refuse(const struct cluster_buffers *buffers)
{
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.node.bodies",
                        "the limit is reached of the bodies that a node keeps: %u, or %" PRIu64
                        " bytes",
                        buffers->rows.max, buffers->bytes_max);
}

/* r[impl cluster.node.bodies] */
int cluster_buffers_keep(struct cluster_buffers *buffers, struct rapahub_bytes bytes,
                         struct cluster_payload_body *out)
{
    uint32_t place;
    uint8_t *data;

    *out = (struct cluster_payload_body){.bytes = bytes, .size = bytes.size};
    if (bytes.size <= CLUSTER_EFFECTS_BODY_MAX)
        return 0;
    if (bytes.size > buffers->bytes_max - buffers->bytes ||
        buffers->rows.count == buffers->rows.max)
        return refuse(buffers);
    data = malloc(bytes.size);
    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a body of %zu bytes", bytes.size);
    memcpy(data, bytes.data, bytes.size);
    place = cluster_table_take(&buffers->rows);
    *row_at(buffers, place) = (struct row){++buffers->made << 32 | place, data, bytes.size};
    buffers->bytes += bytes.size;
    out->bytes = (struct rapahub_bytes){NULL, 0};
    out->number = row_at(buffers, place)->number;
    return 0;
}

static struct row *find(const struct cluster_buffers *buffers, uint64_t number)
{
    uint32_t place = (uint32_t)number;
    struct row *row;

    if (!cluster_table_has(&buffers->rows, place))
        return NULL;
    row = row_at(buffers, place);
    return row->number == number ? row : NULL;
}

struct rapahub_bytes cluster_buffers_bytes(const struct cluster_buffers *buffers, uint64_t number)
{
    const struct row *row = find(buffers, number);

    return row ? (struct rapahub_bytes){row->data, row->size} : (struct rapahub_bytes){NULL, 0};
}

void cluster_buffers_drop(struct cluster_buffers *buffers, uint64_t number)
{
    struct row *row = find(buffers, number);

    if (!row)
        return;
    buffers->bytes -= row->size;
    free(row->data);
    cluster_table_give(&buffers->rows, (uint32_t)number);
}

struct cluster_buffers_figures cluster_buffers_figures(const struct cluster_buffers *buffers)
{
    return (struct cluster_buffers_figures){buffers->rows.count, buffers->bytes};
}
