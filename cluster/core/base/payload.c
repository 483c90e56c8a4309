/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/payload.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"
#include "hub/base/check.h"

#define SMALL   64 /* bytes of most bodies */
#define CLASSES 2

struct row {
    uint64_t number, size;
    uint32_t users;  /* 0: it is to be dropped outside */
    uint32_t next;   /* place of the next that is to be dropped */
    uint8_t bytes[]; /* its class says how many */
};

static const size_t class_bytes[CLASSES] = {SMALL, CLUSTER_EFFECTS_BODY_MAX};

/* A place has its class in its lowest bit, above it the place in the table of that. */
struct cluster_payload {
    struct cluster_table rows[CLASSES];
    struct cluster_effects_queue *effects;
    uint32_t first, last; /* to be dropped: the queue of effects was full */
};

int cluster_payload_create(uint32_t max, struct cluster_effects_queue *effects,
                           struct cluster_payload **out)
{
    int status = 0;

    *out = calloc(1, sizeof **out);
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u bodies", max);
    (*out)->effects = effects;
    for (uint32_t class = 0; class < CLASSES && status == 0; class ++)
        status =
            cluster_table_init(&(*out)->rows[class], max, sizeof(struct row) + class_bytes[class]);
    if (status < 0)
        cluster_payload_release(out);
    return status;
}

void cluster_payload_release(struct cluster_payload **payload)
{
    for (uint32_t class = 0; *payload && class < CLASSES; class ++)
        cluster_table_fini(&(*payload)->rows[class]);
    free(*payload);
    *payload = NULL;
}

static uint32_t class_of(const struct cluster_payload_body *body)
{
    return body->number == 0 && body->bytes.size > SMALL;
}

static struct row *row_of(const struct cluster_payload *payload, uint32_t place)
{
    return cluster_table_at(&payload->rows[place % CLASSES], place / CLASSES);
}

/* r[impl cluster.core.payload] */
uint32_t cluster_payload_keep(struct cluster_payload *payload,
                              const struct cluster_payload_body *body)
{
    uint32_t class = class_of(body), place;
    struct row *row;

    CHECK(body->number != 0 || body->bytes.size <= class_bytes[class]);
    place = cluster_table_take(&payload->rows[class]);
    if (place == 0)
        return 0;
    row = cluster_table_at(&payload->rows[class], place);
    row->number = body->number;
    row->size = body->number != 0 ? body->size : body->bytes.size;
    row->users = 1;
    if (body->number == 0 && body->bytes.size > 0)
        memcpy(row->bytes, body->bytes.data, body->bytes.size);
    return place * CLASSES + class;
}

uint32_t cluster_payload_keep_text(struct cluster_payload *payload, const char *text)
{
    size_t size = strnlen(text, CLUSTER_EFFECTS_BODY_MAX);

    return cluster_payload_keep(
        payload, &(struct cluster_payload_body){.bytes = {text, size}, .size = size});
}

void cluster_payload_retain(struct cluster_payload *payload, uint32_t place)
{
    struct row *row = row_of(payload, place);

    CHECK(row->users < UINT32_MAX);
    row->users++;
}

static void give(struct cluster_payload *payload, uint32_t place)
{
    cluster_table_give(&payload->rows[place % CLASSES], place / CLASSES);
}

static void say_dropped(struct cluster_payload *payload, uint32_t place)
{
    const struct cluster_effect effect = {.kind = CLUSTER_EFFECT_DROP,
                                          .payload = row_of(payload, place)->number};

    cluster_effects_add(payload->effects, &effect);
    give(payload, place);
}

void cluster_payload_drop(struct cluster_payload *payload, uint32_t place)
{
    struct row *row = row_of(payload, place);

    CHECK(row->users > 0);
    if (--row->users > 0)
        return;
    if (row->number == 0) {
        give(payload, place);
        return;
    }
    *(payload->last != 0 ? &row_of(payload, payload->last)->next : &payload->first) = place;
    payload->last = place;
    cluster_payload_say_dropped(payload);
}

void cluster_payload_say_dropped(struct cluster_payload *payload)
{
    while (payload->first != 0 && cluster_effects_space(payload->effects) > CLUSTER_EFFECTS_MAX) {
        uint32_t place = payload->first;

        payload->first = row_of(payload, place)->next;
        if (payload->first == 0)
            payload->last = 0;
        say_dropped(payload, place);
    }
}

struct cluster_payload_body cluster_payload_body(const struct cluster_payload *payload,
                                                 uint32_t place)
{
    const struct row *row = row_of(payload, place);

    return (struct cluster_payload_body){
        .bytes = {row->bytes, row->number != 0 ? 0 : (size_t)row->size},
        .number = row->number,
        .size = row->size};
}

uint64_t cluster_payload_weight(const struct cluster_payload_body *body)
{
    return sizeof(struct row) + (body->number != 0 ? body->size : 0) + class_bytes[class_of(body)];
}

uint32_t cluster_payload_count(const struct cluster_payload *payload)
{
    return payload->rows[0].count + payload->rows[1].count;
}
