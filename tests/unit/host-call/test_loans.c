/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/call/loans.h"
#include "tests/support/faults.h"
#include "tests/unit/host-call/floor.h"

#define SIZE 500

static struct rapahub_loan take(struct stage *stage)
{
    struct rapahub_loan loan;

    assert_int_equal(host_loans_take(&stage->host, stage_here, SIZE, &loan), 0);
    return loan;
}

static uint32_t users_of(const struct stage *stage)
{
    return hub_observe(&stage->life.users);
}

static struct rapahub_bytes all_of(const struct rapahub_loan *loan)
{
    return (struct rapahub_bytes){loan->data, loan->size};
}

static struct host_route route_of(struct stage *stage)
{
    return (struct host_route){.container = stage->container, .life = &stage->life, .name = "kv"};
}

/* r[verify hub.loan.align] */
static void a_loan_begins_at_a_line_and_holds_its_life_until_it_is_dropped(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan = take(stage);

    (void)state;
    assert_int_equal((uintptr_t)loan.data % 64, 0);
    assert_true(loan.size >= SIZE);
    assert_int_equal(users_of(stage), 1);
    host_loans_drop(&stage->host, &loan);
    assert_null(loan.data);
    assert_int_equal(users_of(stage), 0);
    host_loans_drop(&stage->host, &loan);
    assert_int_equal(users_of(stage), 0);
    floor_close(stage);
}

/* The record is another loan's by then. */
static void a_copy_of_a_dropped_loan_names_nothing(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan = take(stage), copy = loan, next;
    struct host_route route = route_of(stage);
    struct rapahub_bytes last = all_of(&copy);
    struct hub_loan *slot;

    (void)state;
    host_loans_drop(&stage->host, &loan);
    next = take(stage);
    assert_true(next.handle[0] == copy.handle[0]);
    assert_int_equal(host_loans_find(&copy, &route, &last, &slot), RAPAHUB_EINVAL);
    host_loans_drop(&stage->host, &copy);
    assert_int_equal(users_of(stage), 1);
    host_loans_drop(&stage->host, &next);
    floor_close(stage);
}

static void without_a_free_slot_nobody_waits_and_nothing_is_held(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loans[8];
    uint32_t count = 0;
    int r;

    (void)state;
    while ((r = host_loans_take(&stage->host, stage_here, SIZE, &loans[count])) == 0)
        count++;
    assert_int_equal(r, -EAGAIN);
    assert_non_null(strstr(rapahub_last_error()->text, "kv has no slot for 500 bytes"));
    assert_null(loans[count].data);
    assert_in_range(count, 1, 4);
    assert_int_equal(users_of(stage), count);
    host_loans_drop(&stage->host, &loans[0]);
    loans[0] = take(stage);
    while (count > 0)
        host_loans_drop(&stage->host, &loans[--count]);
    floor_close(stage);
}

/* Nothing of it is left, so that a caller may try as often as it likes. */
static void a_loan_that_no_message_can_carry_is_refused(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan = take(stage), first = loan;

    (void)state;
    host_loans_drop(&stage->host, &loan);
    assert_int_equal(host_loans_take(&stage->host, stage_here, 2000, &loan), -EMSGSIZE);
    assert_int_equal(host_loans_take(&stage->host, floor_service, SIZE, &loan), RAPAHUB_ENOENT);
    assert_null(loan.data);
    assert_int_equal(users_of(stage), 0);
    loan = take(stage);
    assert_true(loan.handle[0] == first.handle[0]);
    host_loans_drop(&stage->host, &loan);
    floor_close(stage);
}

static void a_loan_for_a_guest_that_is_not_ready_in_time_is_refused(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan;

    (void)state;
    stage->guest.state = HOST_GUEST_STARTING;
    stage->look = -EAGAIN;
    stage->host.process.options.call_timeout_ns = 1;
    assert_int_equal(host_loans_take(&stage->host, stage_here, SIZE, &loan), RAPAHUB_ETIMEDOUT);
    assert_int_equal(users_of(stage), 0);
    floor_close(stage);
}

static void a_loan_for_a_service_is_memory_of_this_process(void **state)
{
    const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};
    struct stage *stage = floor_open();
    struct host_container *service = floor_offer(stage, methods, NULL);
    struct host_route route = {.container = service, .name = "host"};
    struct hub_loan *slot = (struct hub_loan *)(void *)&route;
    struct rapahub_bytes last;
    struct rapahub_loan loan;

    (void)state;
    assert_int_equal(host_loans_take(&stage->host, floor_service, 3000, &loan), 0);
    assert_int_equal((uintptr_t)loan.data % 64, 0);
    memset(loan.data, 0x5a, loan.size);
    last = all_of(&loan);
    assert_int_equal(host_loans_find(&loan, &route, &last, &slot), 0);
    assert_null(slot);
    host_loans_drop(&stage->host, &loan);
    floor_close(stage);
}

/* r[verify hub.loan.align] */
static void only_the_start_of_a_loan_in_the_present_life_can_be_sent(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan = take(stage);
    struct host_route route = route_of(stage);
    struct rapahub_bytes last = all_of(&loan);
    struct host_life next = {.users = {0}};
    struct hub_loan *slot;

    (void)state;
    assert_int_equal(host_loans_find(&loan, &route, &last, &slot), 0);
    assert_ptr_equal(slot->data, loan.data);
    assert_ptr_equal(host_loans_of(&loan, &stage->life, &last), slot);
    last.size++;
    assert_int_equal(host_loans_find(&loan, &route, &last, &slot), RAPAHUB_EINVAL);
    last = (struct rapahub_bytes){(char *)loan.data + 1, 1};
    assert_int_equal(host_loans_find(&loan, &route, &last, &slot), RAPAHUB_EINVAL);
    assert_null(host_loans_of(&loan, &stage->life, &last));
    last = all_of(&loan);
    route.life = &next;
    assert_int_equal(host_loans_find(&loan, &route, &last, &slot), RAPAHUB_ESTALE);
    assert_null(host_loans_of(&loan, &next, &last));
    host_loans_drop(&stage->host, &loan);
    floor_close(stage);
}

/* As the sender does. */
static void send(struct stage *stage, struct rapahub_loan *loan)
{
    struct rapahub_bytes last = all_of(loan);
    struct hub_loan *slot = host_loans_of(loan, &stage->life, &last);

    hub_loan_drop(stage->life.connection.link, slot);
    assert_null(slot->data);
}

static void a_loan_that_was_not_sent_is_still_lent(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan = take(stage);

    (void)state;
    assert_null(host_loans_inherit(&stage->host,
                                   host_caller_get(&HOST_REGISTRY(&stage->host)->callers), &loan));
    host_loans_settle(&stage->host, &loan);
    assert_non_null(loan.data);
    assert_int_equal(users_of(stage), 1);
    send(stage, &loan);
    host_loans_settle(&stage->host, &loan);
    assert_null(loan.data);
    assert_int_equal(users_of(stage), 0);
    floor_close(stage);
}

static void the_hold_of_a_sent_loan_passes_to_the_call(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan = take(stage);
    struct host_life *life;

    (void)state;
    send(stage, &loan);
    life = host_loans_inherit(&stage->host, host_caller_get(&HOST_REGISTRY(&stage->host)->callers),
                              &loan);
    assert_ptr_equal(life, &stage->life);
    assert_null(loan.data);
    assert_int_equal(users_of(stage), 1);
    host_loans_drop(&stage->host, &loan);
    assert_int_equal(users_of(stage), 1);
    host_life_drop(life);
    floor_close(stage);
}

/* floor_close sees that no life is held. */
static void the_end_of_the_host_drops_all_loans(void **state)
{
    struct stage *stage = floor_open();

    (void)state;
    (void)take(stage);
    (void)take(stage);
    assert_int_equal(users_of(stage), 2);
    floor_close(stage);
}

static void without_memory_there_is_no_loan(void **state)
{
    struct stage *stage = floor_open();
    struct rapahub_loan loan;

    (void)state;
    assert_non_null(host_caller_get(&HOST_REGISTRY(&stage->host)->callers));
    faults_arm(FAULTS_calloc, 1);
    assert_int_equal(host_loans_take(&stage->host, stage_here, SIZE, &loan), RAPAHUB_ENOMEM);
    assert_true(faults_disarm());
    assert_null(loan.data);
    assert_int_equal(users_of(stage), 0);
    loan = take(stage);
    host_loans_drop(&stage->host, &loan);
    floor_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loan_begins_at_a_line_and_holds_its_life_until_it_is_dropped),
        cmocka_unit_test(a_copy_of_a_dropped_loan_names_nothing),
        cmocka_unit_test(without_a_free_slot_nobody_waits_and_nothing_is_held),
        cmocka_unit_test(a_loan_that_no_message_can_carry_is_refused),
        cmocka_unit_test(a_loan_for_a_guest_that_is_not_ready_in_time_is_refused),
        cmocka_unit_test(a_loan_for_a_service_is_memory_of_this_process),
        cmocka_unit_test(only_the_start_of_a_loan_in_the_present_life_can_be_sent),
        cmocka_unit_test(a_loan_that_was_not_sent_is_still_lent),
        cmocka_unit_test(the_hold_of_a_sent_loan_passes_to_the_call),
        cmocka_unit_test(the_end_of_the_host_drops_all_loans),
        cmocka_unit_test(without_memory_there_is_no_loan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
