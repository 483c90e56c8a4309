/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of free slots: two threads push what they have read, and one pops it to write it anew. */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/shm/slot_class.h"
#include "tests/unit/ordering/ordering.h"

#define EACH 3 /* slots that one thread pushes */

struct rig {
    struct hub_geometry geometry;
    uint8_t *memory;
    struct hub_slot_map map;
    struct hub_a64 head;
    struct hub_a32 payloads[2 * EACH]; /* stand for those of the slots */
    uint32_t popped;
};

static void begin(void *user)
{
    const struct hub_limits limits = {.payload_max = 64,
                                      .credit_size = 1024,
                                      .guests_max = 1,
                                      .ring_size = 4,
                                      .slot_size = 64,
                                      .slot_count = 12,
                                      .channels_max = 4};
    struct rig *rig = user;

    *rig = (struct rig){.head = {hub_slot_ref_head(HUB_SLOT_REF_NONE, 0)}};
    if (hub_geometry_compute(&limits, &rig->geometry) < 0)
        abort();
    rig->memory = aligned_alloc(64, rig->geometry.total_size);
    if (!rig->memory)
        abort();
    memset(rig->memory, 0, rig->geometry.total_size);
    hub_size_classes_format(&rig->geometry.classes, 1, rig->memory);
    hub_slot_class_init(&rig->map, &rig->geometry, rig->memory);
    weak_data(rig->payloads, sizeof rig->payloads);
    weak_data(hub_slot_class_meta(&rig->map, 0), 2 * EACH * sizeof(struct hub_slot_meta));
}

static void end(void *user)
{
    struct rig *rig = user;

    weak_expect(rig->popped == (UINT32_C(1) << 2 * EACH) - 1, "a slot is lost");
    hub_slot_class_fini(&rig->map);
    free(rig->memory);
}

static void read_and_push(struct rig *rig, uint32_t from)
{
    for (uint32_t ref = from; ref < from + EACH; ref++) {
        (void)hub_load_relaxed(&rig->payloads[ref]);
        weak_expect(hub_slot_class_push(hub_slot_class_meta(&rig->map, ref), &rig->head, ref),
                    "the head changes for ever");
    }
}

static void push_lower(void *user)
{
    read_and_push(user, 0);
}

static void push_upper(void *user)
{
    read_and_push(user, EACH);
}

static void write_what_came(struct rig *rig, uint32_t ref)
{
    weak_expect(ref < 2 * EACH && (rig->popped & 1U << ref) == 0, "another slot, or one twice");
    rig->popped |= 1U << ref;
    hub_store_relaxed(&rig->payloads[ref], 1);
}

static void pop_some(void *user)
{
    struct rig *rig = user;

    while (rig->popped != (1U << 2 * EACH) - 1 && weak_goes_on()) {
        uint32_t refs[HUB_SLOT_ROUND];
        int count = hub_slot_class_pop(&rig->map, &rig->head, 0, refs);

        weak_expect(count > 0 || count == -EAGAIN, "the stack is refused");
        for (int i = 0; i < count; i++)
            write_what_came(rig, refs[i]);
    }
}

/* The host takes the whole stack, and follows the links itself. */
static void pop_all(void *user)
{
    struct rig *rig = user;

    while (rig->popped != (1U << 2 * EACH) - 1 && weak_goes_on()) {
        uint32_t ref = hub_slot_class_pop_all(&rig->head);

        while (ref != HUB_SLOT_REF_NONE) {
            write_what_came(rig, ref);
            ref = hub_load_relaxed(&hub_slot_class_meta(&rig->map, ref)->next_free);
        }
    }
}

/* r[verify shm.varslot.freeing] r[verify shm.varslot.allocation] */
static void what_is_pushed_is_popped_with_its_link_and_read_by_nobody(void **state)
{
    const struct weak_plan plan = {
        .begin = begin, .threads = {push_lower, push_upper, pop_some}, .end = end};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

static void a_whole_stack_is_taken_with_its_links(void **state)
{
    const struct weak_plan plan = {
        .begin = begin, .threads = {push_lower, push_upper, pop_all}, .end = end};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_pushed_is_popped_with_its_link_and_read_by_nobody),
        cmocka_unit_test(a_whole_stack_is_taken_with_its_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
