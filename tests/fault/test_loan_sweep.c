/* SPDX-License-Identifier: Apache-2.0 */
/* The kill sweep and the stop sweep of a guest that writes an answer into a loan, drops a loan, and
 * reads arguments where its host wrote them. The host may return slots that it borrows of the
 * answer before or after the guest is known to be dead: each slot comes back once. */
#include <stdlib.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/shm/reclaim.h"
#include "tests/fault/stage.h"
#include "tests/support/testing.h"

#define LARGE  5000 /* bytes: read where they lie */
#define MARK   16   /* bytes at both ends of it that are looked at */
#define STRIDE 13   /* one in so many points is a stop; a prime */

/* ---- preparations, and swept operations ---- */

/* The host's call waits in the ring; its slot is taken. */
static int setup_call(struct stage *stage, uint32_t size)
{
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {stage->payload, size}},
                                  .deadline_ns = HUB_NEVER,
                                  .answer = &stage->answer,
                                  .view = true};
    struct hub_slot_counts counts;
    int r = stage_setup_pair(stage);

    if (r < 0)
        return r;
    hub_slots_count(&stage->host_pool, &counts);
    stage->slot = counts.free;
    return hub_calls_begin(stage->host.connection.calls, &call, &stage->call);
}

static int setup_small_call(struct stage *stage)
{
    int r = setup_call(stage, STAGE_PAYLOAD);

    return r == 0 && hub_link_sweep(stage->guest.connection.link, 8) == 1 ? 0 : -1;
}

static int setup_large_call(struct stage *stage)
{
    int r = setup_call(stage, LARGE);

    hub_inbound_calls_let_view(stage->guest.connection.served);
    return r;
}

static int setup_lent(struct stage *stage)
{
    int r = stage_setup_pair(stage);

    if (r == 0)
        r = hub_loan_take(stage->guest.connection.link, LARGE, &stage->loan);
    stage->slot = stage->loan.slot.slot;
    return r;
}

static const struct hub_response ok = {.kind = HUB_RESPONSE_OK};

/* Answers as the SDK does with a result that a method has allocated. */
static void answer_from_a_loan(struct stage *stage)
{
    struct hub_connection *guest = &stage->guest.connection;
    struct hub_request *call = hub_inbound_calls_next(guest->served, NULL, NULL);
    struct hub_loan loan;
    struct hub_parts body = {.loan = &loan};

    if (!call || hub_loan_take(guest->link, LARGE, &loan) < 0)
        abort();
    memcpy(loan.data, stage->payload, MARK);
    memcpy(loan.data + LARGE - MARK, stage->payload + LARGE - MARK, MARK);
    body.tail = (struct rapahub_bytes){loan.data, LARGE};
    (void)hub_inbound_calls_answer_parts(guest->served, call, &ok, &body);
}

static void drop_a_loan(struct stage *stage)
{
    hub_loan_drop(stage->guest.connection.link, &stage->loan);
}

static void serve_in_place(struct stage *stage)
{
    struct hub_connection *guest = &stage->guest.connection;
    struct hub_request *call;

    (void)hub_link_sweep(guest->link, 8);
    call = hub_inbound_calls_next(guest->served, NULL, NULL);
    if (!call || !call->view.link)
        abort();
    (void)hub_inbound_calls_answer(guest->served, call, &ok,
                                   (struct rapahub_bytes){call->arguments.data, MARK});
}

/* ---- conditions ---- */

static int check_marks(const uint8_t *data, uint32_t size, const struct stage *stage,
                       struct sweep_point *point)
{
    const uint8_t *sent = stage->payload;

    if (size > LARGE)
        return memcmp(data + size - LARGE, sent, MARK) == 0 &&
                       memcmp(data + size - MARK, sent + LARGE - MARK, MARK) == 0
                   ? 0
                   : sweep_fail(point, "what was lent is torn");
    return size > MARK && memcmp(data + size - MARK, sent + 1, MARK) == 0
               ? 0
               : sweep_fail(point, "the answer of %u bytes is torn", size);
}

/* Read after the guest's death, where it lies; given back before that is known, and after all
 * was recovered. */
static int take_answer(struct stage *stage, struct sweep_point *point)
{
    struct hub_calls *calls = stage->host.connection.calls;
    struct hub_answer *answer = &stage->answer;
    int r;

    if (!hub_calls_ended(calls, stage->call))
        return point->finished ? sweep_fail(point, "it has answered, and nothing arrived") : 0;
    r = hub_calls_wait(calls, stage->call, false);
    if (r < 0 || (answer->size > HUB_VIEW_LEAST && !answer->view.link))
        return sweep_fail(point, "the call ended with %d, %u bytes, and no view", r, answer->size);
    r = check_marks(answer->view.link ? answer->view.data : answer->data, answer->size, stage,
                    point);
    if (!point->finished && point->step % 2 == 0) {
        hub_link_dead(stage->host.connection.link);
        hub_reclaim_reset(stage->segment, &stage->host_pool, stage->peer);
        hub_reclaim_empty(stage->segment, stage->peer);
    }
    hub_responses_fini(answer);
    return r;
}

static int check_answered(struct stage *stage, struct sweep_point *point)
{
    if (hub_link_sweep(stage->host.connection.link, 8) < 0)
        return sweep_fail(point, "the host received what it refuses");
    if (take_answer(stage, point) < 0)
        return -1;
    return stage_check_recovered(stage, point);
}

/* It has returned the slots it read in place before it answered; but each check has sent
 * something. */
static int check_served(struct stage *stage, struct sweep_point *point)
{
    struct hub_slot_counts counts;

    hub_slots_count(&stage->host_pool, &counts);
    if (point->finished && counts.free != stage->slot && counts.free != stage->slot - 1)
        return sweep_fail(point, "%u slots are free, and were %u", counts.free, stage->slot);
    return check_answered(stage, point);
}

static int check_dropped(struct stage *stage, struct sweep_point *point)
{
    const struct hub_slot_meta *meta =
        hub_slot_class_meta(&stage->host_pool.allocator->map, stage->slot);
    uint32_t state = hub_load_relaxed(&meta->state);

    if (state != HUB_META_FREE && (state != HUB_META_ALLOCATED || point->finished))
        return sweep_fail(point, "the slot of the loan is in state %u", state);
    return stage_check_recovered(stage, point);
}

/* ---- the sweeps ---- */

static const struct stage_operation operations[] = {
    {"answer from a loan", setup_small_call, answer_from_a_loan, stage_look_at_host, check_answered,
     STAGE_CLASSES},
    {"drop a loan", setup_lent, drop_a_loan, stage_look_at_host, check_dropped, STAGE_CLASSES},
    {"read in place and answer", setup_large_call, serve_in_place, stage_look_at_host, check_served,
     STAGE_CLASSES},
};

static void sweep_all(enum sweep_mode mode, uint32_t stride)
{
    unsigned failures = 0;

    for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++)
        failures += stage_sweep(&operations[i], mode, stride) < 0;
    assert_int_equal(failures, 0);
}

/* r[verify hub.loan.align] r[verify hub.view.release] r[verify hub.slot.hold]
 * r[verify shm.crash.recovery] */
static void a_guest_that_lends_and_borrows_dies_at_any_instruction(void **state)
{
    (void)state;
    sweep_all(SWEEP_KILL, 1);
}

/* r[verify hub.death.proof] */
static void a_guest_that_lends_and_borrows_goes_on_after_a_stop(void **state)
{
    sweep_all(SWEEP_STOP, *(uint32_t *)*state);
}

static void a_guest_that_lends_and_borrows_is_killed_after_a_stop(void **state)
{
    sweep_all(SWEEP_STOP_KILL, *(uint32_t *)*state);
}

int main(int argc, char **argv)
{
    uint32_t stride = stage_stride(argc, argv, STRIDE);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_that_lends_and_borrows_dies_at_any_instruction),
        cmocka_unit_test_prestate(a_guest_that_lends_and_borrows_goes_on_after_a_stop, &stride),
        cmocka_unit_test_prestate(a_guest_that_lends_and_borrows_is_killed_after_a_stop, &stride),
    };

    if (stride == 0)
        return 64;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
