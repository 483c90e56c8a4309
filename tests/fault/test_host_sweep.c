/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL and SIGSTOP after each instruction of a host's operations on slots of several sizes: it
 * sends, receives, grants, lends, borrows, and extends a class. Its guest meanwhile, and any new
 * one, finds an intact segment: everything published is there, and nothing else is needed. Once the
 * host is dead, its file is removed by the next sweeper. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "tests/fault/stage.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define LARGE    1400 /* bytes: of the last class */
#define NEWCOMER 2
#define SOON     (10 * HUB_SECOND)
#define SHOWN    5000 /* bytes: read where they lie */
#define STRIDE   13   /* one in so many points is a stop; a prime */

static const struct hub_message request = {HUB_REQUEST, 9, 1};

/* ---- preparations, and swept operations ---- */

static int setup_large(struct stage *stage)
{
    int r = stage_setup_pair(stage);

    stage->size = LARGE;
    return r;
}

static int setup_sent(struct stage *stage)
{
    const struct hub_parts parts = {.head = {stage->payload, LARGE}};
    int r = setup_large(stage);

    return r == 0 ? hub_link_send(stage->guest.connection.link, &request, &parts, 0) : r;
}

static int setup_dry(struct stage *stage)
{
    int r = setup_large(stage);

    if (r == 0)
        r = stage_slots_use_up(&stage->guest_pool, LARGE);
    stage_slots_want(&stage->host_pool, LARGE);
    return r;
}

static int setup_full(struct stage *stage)
{
    int r = setup_large(stage);

    return r == 0 ? stage_slots_lend_all(&stage->host_pool, LARGE) : r;
}

static int setup_dry_and_full(struct stage *stage)
{
    int r = setup_dry(stage);

    return r == 0 ? stage_slots_lend_all(&stage->host_pool, LARGE) : r;
}

static int setup_lent(struct stage *stage)
{
    int r = setup_large(stage);

    return r == 0 ? hub_loan_take(stage->host.connection.link, LARGE, &stage->loan) : r;
}

/* The guest's answer waits in the ring; it has one slot less. */
static int setup_answered(struct stage *stage)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {stage->payload, LARGE}},
                                  .deadline_ns = HUB_NEVER,
                                  .answer = &stage->answer,
                                  .view = true};
    struct hub_request *got;
    int r = setup_large(stage);

    if (r == 0)
        r = hub_calls_begin(stage->host.connection.calls, &call, &stage->call);
    if (r < 0 || hub_link_sweep(stage->guest.connection.link, 8) != 1)
        return -1;
    got = hub_inbound_calls_next(stage->guest.connection.served, NULL, NULL);
    return hub_inbound_calls_answer(stage->guest.connection.served, got, &ok,
                                    (struct rapahub_bytes){stage->payload, SHOWN});
}

static void send_a_loan(struct stage *stage)
{
    struct hub_loan loan;
    struct hub_parts parts = {.head = {stage->payload, 1}, .loan = &loan};

    if (hub_loan_take(stage->host.connection.link, LARGE - 1, &loan) < 0)
        abort();
    memcpy(loan.data, stage->payload + 1, LARGE - 1);
    parts.tail = (struct rapahub_bytes){loan.data, LARGE - 1};
    (void)hub_link_send(stage->host.connection.link, &request, &parts, 0);
}

static void drop_a_loan(struct stage *stage)
{
    hub_loan_drop(stage->host.connection.link, &stage->loan);
}

static void borrow(struct stage *stage)
{
    (void)hub_calls_wait(stage->host.connection.calls, stage->call, false);
    if (!stage->answer.view.link)
        abort();
    hub_responses_fini(&stage->answer);
}

static void send_a_request(struct stage *stage)
{
    const struct hub_parts parts = {.head = {stage->payload, stage->size}};

    (void)hub_link_send(stage->host.connection.link, &request, &parts, 0);
}

static void receive(struct stage *stage)
{
    (void)hub_link_sweep(stage->host.connection.link, 8);
}

static void grant(struct stage *stage)
{
    (void)hub_slots_attend(&stage->host_pool, stage->peer);
}

/* ---- the guest's findings ---- */

static int take_messages(struct stage *stage, struct sweep_point *point)
{
    int r = hub_link_sweep(stage->guest.connection.link, 8);
    const struct hub_request *got;

    if (r < 0)
        return sweep_fail(point, "the guest received %d: %s", r, rapahub_last_error()->text);
    stage->arrived += (uint32_t)r;
    got = hub_inbound_calls_next(stage->guest.connection.served, NULL, NULL);
    if (got && (got->arguments.size != LARGE - 1 ||
                memcmp(got->arguments.data, stage->payload + 1, LARGE - 1) != 0))
        return sweep_fail(point, "the message is torn");
    return 0;
}

/* Its slots of the last class, which it takes and keeps. */
static int count_slots(struct stage *stage, struct sweep_point *point, uint32_t *count)
{
    uint32_t refs[64];
    int r = 0;

    *count = 0;
    while (r == 0) {
        struct hub_slot_loan slot;

        r = hub_slots_loan(&stage->guest_pool, 1, LARGE, &slot);
        if (r == 0)
            refs[(*count)++] = slot.slot;
    }
    for (uint32_t i = 0; i < *count; i++)
        hub_slots_drop(&stage->guest_pool, refs[i]);
    return r == -EAGAIN
               ? 0
               : sweep_fail(point, "the guest got no slot: %d: %s", r, rapahub_last_error()->text);
}

/* ---- a newcomer's findings ---- */

static int map_all(const struct hub_segment *segment, const struct hub_segment_view *view,
                   struct sweep_point *point)
{
    struct hub_slots slots = {.kind = NULL};
    int r = hub_slots_init_guest(&slots, segment, view, NEWCOMER);

    for (uint32_t e = 1; e < HUB_EXTENTS_MAX && r == 0; e++) {
        const struct hub_extent_name name = {segment->geometry.classes.count - 1, e};

        r = hub_slot_arrivals_map(&slots.cache->arrivals, &slots.cache->map, name,
                                  segment->mapping.fd);
        if (r == -ENOENT)
            r = 0;
    }
    hub_slots_fini(&slots);
    return r == 0 ? 0 : sweep_fail(point, "an extent: %s", rapahub_last_error()->text);
}

static int look_as_newcomer(const struct stage *stage, struct sweep_point *point)
{
    OWN(hub_segment) struct hub_segment *segment = NULL;
    struct hub_segment_view view;
    int r;

    if (stage->memory == STAGE_PRIVATE_CLASSES)
        return 0;
    r = hub_segment_open(stage->segment->mapping.path, &segment);
    if (r == 0)
        r = hub_segment_check_peer(segment, NEWCOMER, &view);
    if (r < 0)
        return sweep_fail(point, "a newcomer is refused: %s", rapahub_last_error()->text);
    return map_all(segment, &view, point);
}

static int look(struct stage *stage, struct sweep_point *point)
{
    if (take_messages(stage, point) < 0 || count_slots(stage, point, &stage->slot) < 0)
        return -1;
    return look_as_newcomer(stage, point);
}

/* ---- the end of the host ---- */

/* A process that reads about the dead one in /proc just then keeps its memory, and with it the file
 * and the lock, for a moment longer. Another host that starts on this machine may have swept it. */
static bool is_swept(void *path)
{
    return hub_mapping_sweep_at(path) || access(path, F_OK) < 0;
}

static int sweep_file(struct stage *stage, struct sweep_point *point)
{
    char path[HUB_MAPPING_PATH_MAX];

    snprintf(path, sizeof path, "%s", stage->segment->mapping.path);
    if (hub_mapping_sweep_at(path))
        return sweep_fail(point, "the file of a living host was removed");
    stage->segment->mapping.path[0] = '\0';
    stage_teardown(stage);
    return process_until(is_swept, path, SOON) ? 0 : sweep_fail(point, "the file stays");
}

static int check(struct stage *stage, struct sweep_point *point)
{
    int r = look(stage, point);

    return r == 0 && stage->memory == STAGE_CLASSES ? sweep_file(stage, point) : r;
}

static int check_sent(struct stage *stage, struct sweep_point *point)
{
    int r = check(stage, point);

    if (r == 0 && (stage->arrived > 1 || (point->finished && stage->arrived != 1)))
        return sweep_fail(point, "%u messages arrived", stage->arrived);
    return r;
}

/* `slot` counts: the kept slots, and one that the host gave. */
static int check_one_more(struct stage *stage, struct sweep_point *point, uint32_t kept)
{
    int r = check(stage, point);

    if (r == 0 && (stage->slot < kept || (point->finished && stage->slot == kept)))
        return sweep_fail(point, "the guest has %u slots, and had %u", stage->slot, kept);
    return r;
}

static int check_received(struct stage *stage, struct sweep_point *point)
{
    return check_one_more(stage, point, 2);
}

static int check_granted(struct stage *stage, struct sweep_point *point)
{
    return check_one_more(stage, point, 0);
}

/* It was never the guest's. */
static int check_dropped(struct stage *stage, struct sweep_point *point)
{
    const struct hub_slot_meta *meta =
        hub_slot_class_meta(&stage->host_pool.allocator->map, stage->loan.slot.slot);
    uint32_t state = hub_load_relaxed(&meta->state);

    if (state != HUB_META_FREE && (state != HUB_META_ALLOCATED || point->finished))
        return sweep_fail(point, "the slot of the loan is in state %u", state);
    return check_one_more(stage, point, 2);
}

/* ---- the sweeps ---- */

static const struct stage_operation operations[] = {
    {"host: send", setup_large, send_a_request, look, check_sent, STAGE_CLASSES},
    {"host: receive", setup_sent, receive, look, check_received, STAGE_CLASSES},
    {"host: grant", setup_dry, grant, look, check_granted, STAGE_CLASSES},
    {"host: lend and send", setup_large, send_a_loan, look, check_sent, STAGE_CLASSES},
    {"host: drop a loan", setup_lent, drop_a_loan, look, check_dropped, STAGE_CLASSES},
    {"host: borrow and give back", setup_answered, borrow, look, check_received, STAGE_CLASSES},
    {"host: grow the file", setup_full, send_a_request, look, check_sent, STAGE_CLASSES},
    {"host: grow the file to grant", setup_dry_and_full, grant, look, check_granted, STAGE_CLASSES},
    {"host: grow by memory it sends", setup_full, send_a_request, look, check_sent,
     STAGE_PRIVATE_CLASSES},
};

static void sweep_all(enum sweep_mode mode, uint32_t stride)
{
    unsigned failures = 0;

    for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++)
        failures += stage_sweep(&operations[i], mode, stride) < 0;
    assert_int_equal(failures, 0);
}

/* r[verify shm.varslot.extents] r[verify hub.var.single-popper] r[verify hub.file.sweep]
 * r[verify hub.loan.align] r[verify hub.view.release] */
static void a_host_dies_at_any_instruction(void **state)
{
    (void)state;
    sweep_all(SWEEP_KILL, 1);
}

static void a_host_that_was_stopped_at_any_instruction_goes_on(void **state)
{
    sweep_all(SWEEP_STOP, *(uint32_t *)*state);
}

static void a_host_that_was_stopped_at_any_instruction_is_killed(void **state)
{
    sweep_all(SWEEP_STOP_KILL, *(uint32_t *)*state);
}

int main(int argc, char **argv)
{
    uint32_t stride = stage_stride(argc, argv, STRIDE);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_dies_at_any_instruction),
        cmocka_unit_test_prestate(a_host_that_was_stopped_at_any_instruction_goes_on, &stride),
        cmocka_unit_test_prestate(a_host_that_was_stopped_at_any_instruction_is_killed, &stride),
    };

    if (stride == 0)
        return 64;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
