/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/pending.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"

struct row {
    struct cluster_pending_question question;
    uint64_t id;
};

struct cluster_pending {
    struct cluster_table rows;
    uint64_t asked; /* counts up; the upper half of an id, whose lower half is the place */
};

int cluster_pending_create(uint32_t max, struct cluster_pending **out)
{
    *out = calloc(1, sizeof **out);
    if (*out && cluster_table_init(&(*out)->rows, max, sizeof(struct row)) == 0)
        return 0;
    cluster_pending_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u questions", max);
}

void cluster_pending_release(struct cluster_pending **pending)
{
    if (*pending)
        cluster_table_fini(&(*pending)->rows);
    free(*pending);
    *pending = NULL;
}

uint64_t cluster_pending_add(struct cluster_pending *pending,
                             const struct cluster_pending_question *question)
{
    uint32_t place = cluster_table_take(&pending->rows);
    struct row *row;

    if (place == 0)
        return 0;
    row = cluster_table_at(&pending->rows, place);
    *row = (struct row){*question, ++pending->asked << 32 | place};
    return row->id;
}

bool cluster_pending_find(const struct cluster_pending *pending, uint64_t id, uint32_t kind,
                          uint64_t *subject)
{
    uint32_t place = (uint32_t)id;
    const struct row *row;

    if (!cluster_table_has(&pending->rows, place))
        return false;
    row = cluster_table_at(&pending->rows, place);
    if (row->id != id || row->question.kind != kind)
        return false;
    *subject = row->question.subject;
    return true;
}

bool cluster_pending_end(struct cluster_pending *pending, uint64_t id, uint32_t kind,
                         uint64_t *subject)
{
    if (!cluster_pending_find(pending, id, kind, subject))
        return false;
    cluster_table_give(&pending->rows, (uint32_t)id);
    return true;
}

uint32_t cluster_pending_count(const struct cluster_pending *pending)
{
    return pending->rows.count;
}

uint32_t cluster_pending_space(const struct cluster_pending *pending)
{
    return pending->rows.max - pending->rows.count;
}
