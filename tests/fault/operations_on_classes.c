/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that differ with slots of several sizes. Whatever the guest was doing when it died,
 * the host's records say who had each slot, and all come back. */
#include "tests/fault/operations_on_classes.h"

#include "tests/fault/operations.h"

#define SMALL   40   /* bytes: class 0 */
#define LARGE   1400 /* class 2, the last */
#define CLASSES 3
#define SHARE   3 /* slots of each class for a guest in a file */

/* ---- messages ---- */

static int setup_of(struct stage *stage, uint32_t size)
{
    int r = stage_setup_pair(stage);

    stage->size = size;
    return r;
}

static int setup_first_empty(struct stage *stage)
{
    int r = setup_of(stage, SMALL);

    return r == 0 ? stage_slots_use_up(&stage->guest_pool, SMALL) : r;
}

/* All that the guest has left is a slot of an extent that it has not met. */
static int setup_granted(struct stage *stage)
{
    int r = setup_of(stage, LARGE);

    if (r == 0)
        r = stage_slots_use_up(&stage->guest_pool, LARGE);
    if (r == 0)
        r = stage_slots_grow(&stage->host_pool, LARGE);
    return r == 0 && stage_slots_grant(&stage->host_pool, LARGE) > 0 ? 0 : -1;
}

/* A message to the guest in such a slot. */
static int setup_message(struct stage *stage)
{
    static const struct hub_message message = {HUB_REQUEST, 9, 1};
    const struct hub_parts parts = {.head = {stage->payload, LARGE}};
    int r = setup_of(stage, LARGE);

    if (r == 0)
        r = stage_slots_grow(&stage->host_pool, LARGE);
    stage->slot = hub_slot_ref_pack((struct hub_slot_ref){CLASSES - 1, 1, 1}); /* the next */
    return r == 0 ? hub_link_send(stage->host.connection.link, &message, &parts, 0) : r;
}

static void receive(struct stage *stage)
{
    (void)hub_link_sweep(stage->guest.connection.link, 8);
}

static int check_received(struct stage *stage, struct sweep_point *point)
{
    const struct hub_slot_meta *meta =
        hub_slot_class_meta(&stage->host_pool.allocator->map, stage->slot);
    uint32_t state = hub_load_relaxed(&meta->state);

    if (state != HUB_META_FREE && (state != HUB_META_IN_FLIGHT || point->finished))
        return sweep_fail(point, "the slot of the message is in state %u", state);
    return stage_check_recovered(stage, point);
}

/* ---- asking for more ---- */

static int setup_dry(struct stage *stage)
{
    int r = setup_of(stage, LARGE);

    return r == 0 ? stage_slots_use_up(&stage->guest_pool, LARGE) : r;
}

/* Again, for a host that has granted something meanwhile. */
static void send_twice(struct stage *stage)
{
    const struct hub_message message = {HUB_REQUEST, 9, 1};
    const struct hub_parts parts = {.head = {stage->payload, stage->size}};

    for (int i = 0; i < 2; i++)
        (void)hub_link_send(stage->guest.connection.link, &message, &parts, 0);
}

static int look_at_asking(struct stage *stage, struct sweep_point *point)
{
    int r = stage_look_at_host(stage, point);

    return r < 0 ? r : operations_take_request(stage, point);
}

/* A guest without slots has said so; slots granted since may be in use. */
static int check_asked(struct stage *stage, struct sweep_point *point)
{
    const struct hub_peer_class *block =
        hub_slot_class_peer(&stage->host_pool.allocator->map, stage->peer, CLASSES - 1);
    bool asked = hub_load_relaxed(&block->wanted) == 1,
         granted = hub_load_relaxed(&block->granted) > SHARE;
    int n = hub_link_sweep(stage->host.connection.link, 8);

    if (n < 0 || stage->arrived + (uint32_t)n > (granted ? 1 : 0))
        return sweep_fail(point, "%d requests arrived, and %u before", n, stage->arrived);
    if (point->finished && !asked && !granted)
        return sweep_fail(point, "it ran dry, and did not say so");
    if (operations_take_request(stage, point) < 0)
        return -1;
    return stage_check_recovered(stage, point);
}

/* ---- giving back ---- */

/* Two slots of each class more than its share. */
static int setup_surplus(struct stage *stage)
{
    int r = stage_setup_pair(stage);

    for (const uint32_t *size = stage_slots_sizes(STAGE_CLASSES); *size > 0 && r == 0; size++)
        for (int i = 0; i < 2 && r == 0; i++)
            r = stage_slots_grant(&stage->host_pool, *size) == 1 ? 0 : -1;
    return r;
}

static void give_back(struct stage *stage)
{
    hub_link_rest(stage->guest.connection.link);
}

/* The counts are those that the records allow: no stray slot, never less than the share. */
static int look_at_giving(struct stage *stage, struct sweep_point *point)
{
    struct hub_slot_counts counts;

    hub_slots_count(&stage->host_pool, &counts);
    if (counts.stray != 0 || counts.granted < CLASSES * SHARE ||
        counts.granted > CLASSES * (SHARE + 2))
        return sweep_fail(point, "%u slots are granted, %llu stray", counts.granted,
                          (unsigned long long)counts.stray);
    if (point->finished && counts.granted != CLASSES * SHARE)
        return sweep_fail(point, "it has given back, and has %u slots", counts.granted);
    return point->stopped ? stage_look_at_host(stage, point) : 0;
}

static int check_given(struct stage *stage, struct sweep_point *point)
{
    int r = look_at_giving(stage, point);

    return r < 0 ? r : stage_check_recovered(stage, point);
}

/* ---- all ---- */

/* Functions that are NULL are those of the operation it is like. */
static const struct row {
    enum operation like;
    struct stage_operation own;
} rows[] = {
    {OPERATION_SEND, {"send, classes", NULL, NULL, NULL, NULL, STAGE_CLASSES}},
    {OPERATION_SEND,
     {"send, first class empty", setup_first_empty, NULL, NULL, NULL, STAGE_CLASSES}},
    {OPERATION_SEND,
     {"send in an extent of the file", setup_granted, NULL, NULL, NULL, STAGE_CLASSES}},
    {OPERATION_SEND,
     {"send in memory that was sent", setup_granted, NULL, NULL, NULL, STAGE_PRIVATE_CLASSES}},
    {OPERATION_TAKE, {"take a response, classes", NULL, NULL, NULL, NULL, STAGE_CLASSES}},
    {OPERATION_ATTACH, {"attach, classes", NULL, NULL, NULL, NULL, STAGE_CLASSES}},
    {OPERATION_SEND,
     {"run dry", setup_dry, send_twice, look_at_asking, check_asked, STAGE_CLASSES}},
    {OPERATION_SEND,
     {"give back before a sleep", setup_surplus, give_back, look_at_giving, check_given,
      STAGE_CLASSES}},
    {OPERATION_TAKE,
     {"map an extent of the file", setup_message, receive, NULL, check_received, STAGE_CLASSES}},
    {OPERATION_TAKE,
     {"map memory that was sent", setup_message, receive, NULL, check_received,
      STAGE_PRIVATE_CLASSES}},
};

bool operations_on_classes_find(unsigned i, struct stage_operation *out)
{
    const struct stage_operation *like;

    if (i >= sizeof rows / sizeof *rows)
        return false;
    like = operations_find(rows[i].like);
    *out = rows[i].own;
    out->setup = out->setup ? out->setup : like->setup;
    out->operation = out->operation ? out->operation : like->operation;
    out->look = out->look ? out->look : like->look;
    out->check = out->check ? out->check : like->check;
    return true;
}
