/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/effects.h"

#include <stddef.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/memory.h"

struct row {
    struct cluster_effect effect;
    struct cluster_peer_frame frame;
    uint8_t body[CLUSTER_EFFECTS_BODY_MAX];
};

struct cluster_effects_queue {
    uint32_t max, first, count; /* a ring */
    uint32_t reserved;          /* places */
    uint32_t taken;             /* the first of these were handed out; their bodies are in use */
    struct row rows[];
};

static size_t size_of(uint32_t max)
{
    return sizeof(struct cluster_effects_queue) + max * sizeof(struct row);
}

int cluster_effects_create(uint32_t max, struct cluster_effects_queue **out)
{
    CHECK(max > CLUSTER_EFFECTS_MAX);
    *out = hub_memory_sparse(size_of(max));
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u effects", max);
    (*out)->max = max;
    return 0;
}

void cluster_effects_release(struct cluster_effects_queue **queue)
{
    if (*queue)
        hub_memory_free_sparse(*queue, size_of((*queue)->max));
    *queue = NULL;
}

uint32_t cluster_effects_space(const struct cluster_effects_queue *queue)
{
    return queue->max - queue->count - queue->reserved;
}

void cluster_effects_reserve(struct cluster_effects_queue *queue, uint32_t places)
{
    CHECK(places <= cluster_effects_space(queue));
    queue->reserved += places;
}

void cluster_effects_unreserve(struct cluster_effects_queue *queue, uint32_t places)
{
    CHECK(places <= queue->reserved);
    queue->reserved -= places;
}

void cluster_effects_add(struct cluster_effects_queue *queue, const struct cluster_effect *effect)
{
    struct row *row = &queue->rows[(queue->first + queue->count) % queue->max];

    CHECK(cluster_effects_space(queue) > 0 && effect->body.size <= sizeof row->body &&
          effect->text.size <= sizeof row->body - effect->body.size);
    row->effect = *effect;
    if (effect->frame) {
        row->frame = *effect->frame;
        row->effect.frame = &row->frame;
    }
    row->effect.body.data = row->body;
    row->effect.text.data = (const char *)row->body + effect->body.size;
    if (effect->body.size > 0)
        memcpy(row->body, effect->body.data, effect->body.size);
    if (effect->text.size > 0)
        memcpy(row->body + effect->body.size, effect->text.data, effect->text.size);
    queue->count++;
}

/* r[impl cluster.core.room] */
bool cluster_effects_take(struct cluster_effects_queue *queue, uint64_t now_ns,
                          struct cluster_effects *out)
{
    bool more;

    queue->first = (queue->first + queue->taken) % queue->max;
    queue->count -= queue->taken;
    if (queue->count == 0)
        queue->first = 0; /* the memory of before is used again */
    more = queue->count > CLUSTER_EFFECTS_MAX;
    queue->taken = more ? CLUSTER_EFFECTS_MAX - 1 : queue->count;
    for (out->count = 0; out->count < queue->taken; out->count++)
        out->effects[out->count] = queue->rows[(queue->first + out->count) % queue->max].effect;
    if (more)
        out->effects[out->count++] =
            (struct cluster_effect){.kind = CLUSTER_EFFECT_TIMER, .at_ns = now_ns};
    return more;
}
