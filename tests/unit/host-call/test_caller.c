/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "host/call/caller.h"
#include "tests/support/testing.h"

static void *use(void *user)
{
    struct host_caller *scratch = host_caller_get(user);
    struct host_buffer buffer = {0};
    bool taken = scratch && host_caller_take(scratch, 1000, &buffer);

    host_caller_give(&buffer);
    return taken ? scratch : NULL;
}

static void each_thread_has_its_own_until_it_ends(void **state)
{
    struct host_callers scratches = {0};
    struct host_caller *own;
    pthread_t thread;
    void *other;

    (void)state;
    assert_int_equal(host_caller_open(&scratches), 0);
    own = host_caller_get(&scratches);
    assert_ptr_equal(host_caller_get(&scratches), own);
    pthread_create(&thread, NULL, use, &scratches);
    pthread_join(thread, &other);
    assert_non_null(other);
    assert_ptr_not_equal(other, own);
    assert_ptr_equal(scratches.all.next, &own->link);
    assert_ptr_equal(scratches.all.previous, &own->link);
    host_caller_close(&scratches);
}

static void the_larger_buffer_is_kept(void **state)
{
    struct host_callers scratches = {0};
    struct host_buffer outer, inner;
    struct host_caller *scratch;

    (void)state;
    assert_int_equal(host_caller_open(&scratches), 0);
    scratch = host_caller_get(&scratches);
    assert_true(host_caller_take(scratch, 10, &outer));
    assert_true(host_caller_take(scratch, 100, &inner)); /* a call inside of a call */
    inner.data[99] = outer.data[9] = 1;
    assert_ptr_not_equal(inner.data, outer.data);
    host_caller_give(&inner);
    host_caller_give(&inner);
    host_caller_give(&outer);
    assert_int_equal(scratch->buffer.capacity, 100);
    assert_true(host_caller_take(scratch, 5, &outer));
    assert_int_equal(outer.capacity, 100);
    host_caller_give(&outer);
    host_caller_close(&scratches);
}

/* A call inside of a call must not write where the outer one's answer goes. */
static void answers_of_nested_calls_are_apart(void **state)
{
    struct host_callers scratches = {0};
    struct hub_answer outer, inner;
    struct host_caller *scratch;
    const uint8_t *shown;

    (void)state;
    assert_int_equal(host_caller_open(&scratches), 0);
    scratch = host_caller_get(&scratches);
    outer = host_caller_answer(scratch);
    assert_true(hub_responses_grow(&outer, 8));
    inner = host_caller_answer(scratch);
    assert_null(inner.memory);
    assert_true(hub_responses_grow(&inner, 8));
    host_caller_show(scratch, &inner);
    shown = outer.data;
    host_caller_show(scratch, &outer);
    assert_ptr_equal(scratch->shown.data, shown);
    assert_null(outer.data);
    inner = host_caller_answer(scratch); /* the buffer of the one before is used again */
    assert_non_null(inner.data);
    host_caller_show(scratch, &inner);
    host_caller_close(&scratches);
}

/* An argument that lies there must be copied before anything else is called. */
static void what_a_result_shows_is_known(void **state)
{
    static uint8_t elsewhere[8];
    struct host_callers scratches = {0};
    struct hub_answer answer;
    struct host_caller *scratch;
    struct rapahub_bytes moved;
    size_t end;

    (void)state;
    assert_int_equal(host_caller_open(&scratches), 0);
    scratch = host_caller_get(&scratches);
    assert_false(host_caller_lends(scratch, elsewhere));
    answer = (struct hub_answer){0};
    assert_true(hub_responses_grow(&answer, 8));
    end = answer.capacity + HUB_LINE; /* wherever in its first line it begins */
    host_caller_show(scratch, &answer);
    assert_true(host_caller_lends(scratch, scratch->shown.memory + end - 1));
    assert_false(host_caller_lends(scratch, scratch->shown.memory + end));
    moved = (struct rapahub_bytes){&"moved"[1], 4};
    assert_int_equal(hub_align_bytes(&moved, &scratch->shown.aligned), 0);
    assert_true(host_caller_lends(scratch, moved.data));
    assert_false(host_caller_lends(scratch, elsewhere));
    assert_true(hub_responses_grow(&scratch->quick, 4));
    assert_true(host_caller_lends(scratch, scratch->quick.data));
    scratch->shown.view = (struct hub_view){.data = elsewhere, .size = 8, .link = (void *)scratch};
    assert_true(host_caller_lends(scratch, elsewhere + 7));
    scratch->shown.view = (struct hub_view){.link = NULL};
    host_caller_close(&scratches);
}

/* A thread that frees a life, or waits until a container is drained, checks it. */
static void who_is_inside_is_counted_until_it_leaves(void **state)
{
    struct host_life *life = (void *)(uintptr_t)64, *other = (void *)(uintptr_t)128;
    struct host_container *container = (void *)(uintptr_t)192, *empty = (void *)(uintptr_t)256;
    struct host_callers scratches = {0};
    struct host_caller *own;

    (void)state;
    assert_int_equal(host_caller_open(&scratches), 0);
    own = host_caller_get(&scratches);
    host_caller_set_place(own, life, container, 1);
    assert_int_equal(host_caller_inside_life(&scratches, life), 0);
    host_caller_enter(own);
    assert_true(host_caller_is_inside(own));
    assert_int_equal(host_caller_inside_life(&scratches, life), 1);
    assert_int_equal(host_caller_inside_life(&scratches, other), 0);
    assert_int_equal(host_caller_inside_container(&scratches, container), 1);
    assert_int_equal(host_caller_inside_container(&scratches, empty), 0);
    host_caller_leave(own);
    assert_int_equal(host_caller_inside_life(&scratches, life), 0);
    assert_int_equal(host_caller_inside_container(&scratches, container), 0);
    host_caller_close(&scratches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_own_until_it_ends),
        cmocka_unit_test(the_larger_buffer_is_kept),
        cmocka_unit_test(answers_of_nested_calls_are_apart),
        cmocka_unit_test(what_a_result_shows_is_known),
        cmocka_unit_test(who_is_inside_is_counted_until_it_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
