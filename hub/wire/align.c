/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/align.h"

#include <stdint.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/atomic.h"

#define LEAST 256 /* bytes of memory */

_Static_assert(RAPAHUB_BYTES_ALIGN == HUB_LINE, "the largest begins at a line");

/* The values of a message. */
struct message {
    const struct rapahub_type *const *types;
    char *values;
    const size_t *places;
};
struct views {
    const struct rapahub_bytes *largest;
    size_t size; /* bytes of the copies so far */
    uint8_t *to; /* destination of the next copy */
};
typedef void view_function(struct views *views, struct rapahub_bytes *bytes);

void hub_align_fini(struct hub_align *memory)
{
    free(memory->data);
    *memory = (struct hub_align){0};
}

bool hub_align_concerns(const struct rapahub_type *type)
{
    if (type->kind != RAPAHUB_KIND_RECORD)
        return type->kind == RAPAHUB_KIND_BYTES;
    for (const struct rapahub_member *member = type->members; member->name; member++)
        if (hub_align_concerns(member->type))
            return true;
    return false;
}

/* Visits each `bytes` within the value. The recursion is as deep as the decoding was. */
static void each_of(const struct rapahub_type *type, void *value, view_function *visit,
                    struct views *views)
{
    if (type->kind == RAPAHUB_KIND_BYTES)
        visit(views, value);
    if (type->kind != RAPAHUB_KIND_RECORD)
        return;
    for (const struct rapahub_member *member = type->members; member->name; member++)
        each_of(member->type, (char *)value + member->offset, visit, views);
}

static void each(const struct message *message, view_function *visit, struct views *views)
{
    for (size_t i = 0; message->types[i]; i++)
        each_of(message->types[i], message->values + message->places[i], visit, views);
}

static void find_largest(struct views *views, struct rapahub_bytes *bytes)
{
    if (!views->largest || bytes->size > views->largest->size)
        views->largest = bytes;
}

static bool is_elsewhere(const struct views *views, const struct rapahub_bytes *bytes)
{
    uintptr_t align = bytes == views->largest ? RAPAHUB_BYTES_ALIGN : RAPAHUB_BYTES_ALIGN_OTHERS;

    return (uintptr_t)bytes->data % align != 0;
}

/* Each copy occupies whole cache lines. */
static size_t room_of(size_t size)
{
    return (size + HUB_LINE - 1) / HUB_LINE * HUB_LINE;
}

static void count(struct views *views, struct rapahub_bytes *bytes)
{
    if (is_elsewhere(views, bytes))
        views->size += room_of(bytes->size);
}

/* Empty bytes need no memory of their own. */
static void move(struct views *views, struct rapahub_bytes *bytes)
{
    static const _Alignas(HUB_LINE) uint8_t nothing[HUB_LINE];

    if (!is_elsewhere(views, bytes))
        return;
    if (bytes->size == 0) {
        bytes->data = nothing;
        return;
    }
    hub_atomic_copy_bytes(views->to + views->size, bytes->data, bytes->size);
    bytes->data = views->to + views->size;
    views->size += room_of(bytes->size);
}

static bool reserve(struct hub_align *memory, size_t size)
{
    size_t capacity = memory->capacity ? memory->capacity : LEAST;

    if (size <= memory->capacity)
        return true;
    while (capacity < size)
        capacity *= 2;
    hub_align_fini(memory);
    memory->data = hub_line_alloc(capacity);
    memory->capacity = memory->data ? capacity : 0;
    return memory->data != NULL;
}

int hub_align_values(const struct rapahub_type *const *types, void *values, const size_t *places,
                     struct hub_align *memory)
{
    const struct message message = {types, values, places};
    struct views views = {0};

    each(&message, find_largest, &views);
    each(&message, count, &views);
    if (!reserve(memory, views.size))
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %zu bytes", views.size);
    views.size = 0;
    views.to = memory->data;
    each(&message, move, &views);
    return 0;
}

int hub_align_move(struct rapahub_bytes *bytes, struct hub_align *memory)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_bytes, NULL};
    static const size_t at_start[] = {0};

    return hub_align_values(types, bytes, at_start, memory);
}
