/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "host/call/caller.h"
#include "tests/support/slow_end.h"
#include "tests/unit/host-call/floor.h"

static void *use(void *user)
{
    struct host_caller *caller = host_caller_get(user);
    struct host_buffer buffer = {0};
    bool taken = caller && host_caller_take(caller, 1000, &buffer);

    host_caller_give(&buffer);
    return taken ? caller : NULL;
}

static void each_thread_has_its_own_until_it_ends(void **state)
{
    struct host_callers callers = {0};
    struct host_caller *own;
    pthread_t thread;
    void *other;

    (void)state;
    assert_int_equal(host_caller_open(&callers), 0);
    own = host_caller_get(&callers);
    assert_ptr_equal(host_caller_get(&callers), own);
    pthread_create(&thread, NULL, use, &callers);
    pthread_join(thread, &other);
    assert_non_null(other);
    assert_ptr_not_equal(other, own);
    assert_ptr_equal(callers.all.next, &own->link);
    assert_ptr_equal(callers.all.previous, &own->link);
    host_caller_close(&callers);
}

/* AddressSanitizer and valgrind see what is used after that. */
static void a_thread_may_end_while_its_host_is_closed(void **state)
{
    struct host_callers *callers = calloc(1, sizeof *callers);
    pthread_t thread;

    (void)state;
    assert_non_null(callers);
    assert_int_equal(host_caller_open(callers), 0);
    thread = slow_end_begin(use, callers);
    host_caller_close(callers);
    free(callers);
    slow_end_finish(thread);
}

static void the_larger_buffer_is_kept(void **state)
{
    struct host_callers callers = {0};
    struct host_buffer outer, inner;
    struct host_caller *caller;

    (void)state;
    assert_int_equal(host_caller_open(&callers), 0);
    caller = host_caller_get(&callers);
    assert_true(host_caller_take(caller, 10, &outer));
    assert_true(host_caller_take(caller, 100, &inner)); /* a call inside of a call */
    inner.data[99] = outer.data[9] = 1;
    assert_ptr_not_equal(inner.data, outer.data);
    host_caller_give(&inner);
    host_caller_give(&inner);
    host_caller_give(&outer);
    assert_int_equal(caller->buffer.capacity, 100);
    assert_true(host_caller_take(caller, 5, &outer));
    assert_int_equal(outer.capacity, 100);
    host_caller_give(&outer);
    host_caller_close(&callers);
}

/* A call inside of a call must not write where the outer one's answer goes. */
static void answers_of_nested_calls_are_apart(void **state)
{
    struct host_callers callers = {0};
    struct hub_answer outer, inner;
    struct host_caller *caller;
    const uint8_t *shown;

    (void)state;
    assert_int_equal(host_caller_open(&callers), 0);
    caller = host_caller_get(&callers);
    outer = host_caller_answer(caller);
    assert_true(hub_responses_grow(&outer, 8));
    inner = host_caller_answer(caller);
    assert_null(inner.memory);
    assert_true(hub_responses_grow(&inner, 8));
    host_caller_show(caller, &inner);
    shown = outer.data;
    host_caller_show(caller, &outer);
    assert_ptr_equal(caller->shown.data, shown);
    assert_null(outer.data);
    inner = host_caller_answer(caller); /* the buffer of the one before is used again */
    assert_non_null(inner.data);
    host_caller_show(caller, &inner);
    host_caller_close(&callers);
}

/* An argument that lies there must be copied before anything else is called. */
static void what_a_result_shows_is_known(void **state)
{
    static uint8_t elsewhere[8];
    struct host_callers callers = {0};
    struct hub_answer answer;
    struct host_caller *caller;
    struct rapahub_bytes moved;
    size_t end;

    (void)state;
    assert_int_equal(host_caller_open(&callers), 0);
    caller = host_caller_get(&callers);
    assert_false(host_caller_lends(caller, elsewhere));
    answer = (struct hub_answer){0};
    assert_true(hub_responses_grow(&answer, 8));
    end = answer.capacity + HUB_LINE; /* wherever in its first line it begins */
    host_caller_show(caller, &answer);
    assert_true(host_caller_lends(caller, caller->shown.memory + end - 1));
    assert_false(host_caller_lends(caller, caller->shown.memory + end));
    moved = (struct rapahub_bytes){&"moved"[1], 4};
    assert_int_equal(hub_align_bytes(&moved, &caller->shown.aligned), 0);
    assert_true(host_caller_lends(caller, moved.data));
    assert_false(host_caller_lends(caller, elsewhere));
    assert_true(hub_responses_grow(&caller->quick, 4));
    assert_true(host_caller_lends(caller, caller->quick.data));
    caller->shown.view = (struct hub_view){.data = elsewhere, .size = 8, .link = (void *)caller};
    assert_true(host_caller_lends(caller, elsewhere + 7));
    caller->shown.view = (struct hub_view){.link = NULL};
    host_caller_close(&callers);
}

/* A thread that frees a life, or waits until a container is drained, checks it. */
static void who_is_inside_is_counted_until_it_leaves(void **state)
{
    struct host_life *life = (void *)(uintptr_t)64, *other = (void *)(uintptr_t)128;
    struct host_container *container = (void *)(uintptr_t)192, *empty = (void *)(uintptr_t)256;
    struct host_callers callers = {0};
    struct host_caller *own;

    (void)state;
    assert_int_equal(host_caller_open(&callers), 0);
    own = host_caller_get(&callers);
    host_caller_set_place(own, life, container, 1);
    assert_int_equal(host_caller_inside_life(&callers, life), 0);
    host_caller_enter(own);
    assert_true(host_caller_is_inside(own));
    assert_int_equal(host_caller_inside_life(&callers, life), 1);
    assert_int_equal(host_caller_inside_life(&callers, other), 0);
    assert_int_equal(host_caller_inside_container(&callers, container), 1);
    assert_int_equal(host_caller_inside_container(&callers, empty), 0);
    host_caller_leave(own);
    assert_int_equal(host_caller_inside_life(&callers, life), 0);
    assert_int_equal(host_caller_inside_container(&callers, container), 0);
    host_caller_close(&callers);
}

/* Until then it is the guest's memory that is shown. */
static void the_life_of_a_result_is_held_until_another_is_shown(void **state)
{
    struct stage *stage = floor_open();
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(&stage->host)->callers);

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct hub_view view = {.data = (const uint8_t *)"result", .size = 6};

        host_life_hold(&stage->life);
        host_caller_show_view(caller, &view, &stage->life);
        assert_int_equal(hub_observe(&stage->life.users), 1);
        assert_true(host_caller_shows(caller));
    }
    host_caller_hide(caller);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    assert_false(host_caller_shows(caller));
    floor_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_own_until_it_ends),
        cmocka_unit_test(a_thread_may_end_while_its_host_is_closed),
        cmocka_unit_test(the_larger_buffer_is_kept),
        cmocka_unit_test(answers_of_nested_calls_are_apart),
        cmocka_unit_test(what_a_result_shows_is_known),
        cmocka_unit_test(who_is_inside_is_counted_until_it_leaves),
        cmocka_unit_test(the_life_of_a_result_is_held_until_another_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
