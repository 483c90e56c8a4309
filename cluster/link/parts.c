/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/parts.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define CAPACITY_FIRST ((size_t)4 * CLUSTER_FRAME_BODY_MAX)

void cluster_parts_fini(struct cluster_parts *parts)
{
    if (parts->budget && parts->capacity > 0)
        hub_budget_give(parts->budget, parts->capacity);
    free(parts->data);
    parts->data = NULL;
    parts->size = parts->capacity = 0;
    parts->open = false;
}

bool cluster_parts_begins(const struct cluster_parts *parts)
{
    return !parts->open;
}

static int refuse(const struct cluster_frame *frame, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.link.parts", "a part of a %s %s",
                        cluster_frame_name(frame->type), why);
}

/* All that the headers of the parts of a body have in common. */
static bool is_same(const struct cluster_frame *one, const struct cluster_frame *other)
{
    return one->type == other->type && one->ttl == other->ttl && one->attempt == other->attempt &&
           one->uid.origin == other->uid.origin && one->uid.number == other->uid.number &&
           one->pool == other->pool && one->container == other->container &&
           one->replica == other->replica && one->token == other->token &&
           one->revision == other->revision;
}

/* r[impl cluster.link.parts] */
static int check(const struct cluster_parts *parts, const struct cluster_frame *frame)
{
    bool first = (frame->flags & CLUSTER_FRAME_FIRST) != 0,
         more = (frame->flags & CLUSTER_FRAME_MORE) != 0;

    if (parts->open && (first || !is_same(&parts->head, frame)))
        return refuse(frame, "came before another body had ended");
    if (!parts->open && first != more)
        return refuse(frame, first ? "is the first and the last" : "has none before it");
    if (more && frame->body_size != CLUSTER_FRAME_BODY_MAX)
        return refuse(frame, "is short, and not the last");
    if (parts->size + frame->body_size > parts->most)
        return refuse(frame, "makes its body larger than it may be");
    return 0;
}

/* r[impl cluster.link.parts] */
static int reserve(struct cluster_parts *parts, size_t size)
{
    size_t capacity = parts->capacity ? parts->capacity : CAPACITY_FIRST;
    uint8_t *data;

    while (capacity < size)
        capacity *= 2;
    if (capacity == parts->capacity)
        return 0;
    if (parts->budget && !hub_budget_take(parts->budget, capacity - parts->capacity))
        return rapahub_fail(RAPAHUB_EBUDGET, "cluster.link.parts",
                            "large calls of this user have all the memory that they may have");
    data = realloc(parts->data, capacity);
    if (!data) {
        if (parts->budget)
            hub_budget_give(parts->budget, capacity - parts->capacity);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a body of %zu bytes", size);
    }
    parts->data = data;
    parts->capacity = capacity;
    return 0;
}

int cluster_parts_take(struct cluster_parts *parts, const struct cluster_frame *frame,
                       struct rapahub_bytes bytes, struct rapahub_bytes *out)
{
    int r = check(parts, frame);

    if (r < 0)
        return r;
    if (!parts->open && frame->flags == 0) {
        *out = bytes;
        return 0;
    }
    r = reserve(parts, parts->size + bytes.size);
    if (r < 0)
        return r;
    if (!parts->open)
        parts->head = *frame;
    if (bytes.size > 0)
        memcpy(parts->data + parts->size, bytes.data, bytes.size);
    parts->size += bytes.size;
    parts->open = (frame->flags & CLUSTER_FRAME_MORE) != 0;
    *out = (struct rapahub_bytes){parts->data, parts->size};
    return parts->open ? 1 : 0;
}

void cluster_parts_put_back(struct cluster_parts *parts, const struct cluster_frame *frame)
{
    if (parts->size == 0)
        return; /* it was a whole body by itself */
    parts->size -= frame->body_size;
    parts->open = true;
}

void cluster_parts_done(struct cluster_parts *parts)
{
    cluster_parts_fini(parts);
}
