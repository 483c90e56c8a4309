/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "tests/unit/host-owner/bare.h"

struct ear {
    struct host_owner *host;
    struct host_listener listener, *ends; /* the one that it forgets; NULL: none */
    unsigned heard, tells;                /* the changes that it causes itself */
};

static void on_change(void *user)
{
    struct ear *ear = user;

    ear->heard++;
    if (ear->ends)
        host_changes_forget(ear->ends);
    if (ear->tells > 0) {
        ear->tells--;
        host_changes_tell(ear->host);
    }
}

static void listen(struct host_owner *host, struct ear *ear)
{
    *ear = (struct ear){.host = host, .listener = {.on_change = on_change, .user = ear}};
    host_changes_listen(&host->changes, &ear->listener);
}

/* Says whether the loop was woken, and lets it be woken again. */
static bool was_woken(struct host_owner *host)
{
    bool woken = hub_observe(&host->loop.woken) != 0;

    assert_true(host_loop_turn(&host->loop, 0) >= 0);
    return woken;
}

static void one_change_is_heard_once_by_each(void **state)
{
    struct host_owner host;
    struct ear ears[2];

    (void)state;
    bare_open(&host);
    listen(&host, &ears[0]);
    listen(&host, &ears[1]);
    assert_int_equal(host_changes_serve(&host), 0);
    host_changes_tell(&host);
    host_changes_tell(&host);
    assert_int_equal(host_changes_serve(&host), 2);
    assert_int_equal(host_changes_serve(&host), 0);
    assert_int_equal(ears[0].heard, 1);
    assert_int_equal(ears[1].heard, 1);
    bare_close(&host);
}

static void without_a_listener_a_change_is_forgotten(void **state)
{
    struct host_owner host;
    struct ear ear;

    (void)state;
    bare_open(&host);
    host_changes_tell(&host);
    assert_int_equal(host_changes_serve(&host), 0);
    listen(&host, &ear);
    assert_int_equal(host_changes_serve(&host), 0);
    host_changes_forget(&ear.listener);
    host_changes_forget(&ear.listener);
    host_changes_tell(&host);
    assert_int_equal(host_changes_serve(&host), 0);
    assert_int_equal(ear.heard, 0);
    ear.listener = (struct host_listener){.told = false};
    host_changes_forget(&ear.listener); /* it never listened */
    bare_close(&host);
}

/* In a turn its listeners are called before it ends, so the owner need not be woken. */
static void the_loop_is_woken_unless_the_turn_goes_on(void **state)
{
    struct host_owner host;

    (void)state;
    bare_open(&host);
    host_changes_tell(&host);
    assert_true(was_woken(&host));
    host.depth = 1;
    host_changes_tell(&host);
    assert_false(was_woken(&host));
    host.depth = 0;
    bare_close(&host);
}

static void *tell(void *host)
{
    host_changes_tell(host);
    return NULL;
}

/* The owner may have passed the place in its turn where this change matters. */
static void another_thread_wakes_it_even_if_a_change_was_told(void **state)
{
    struct host_owner host;
    pthread_t thread;

    (void)state;
    bare_open(&host);
    host.depth = 1;
    host_changes_tell(&host);
    assert_int_equal(pthread_create(&thread, NULL, tell, &host), 0);
    pthread_join(thread, NULL);
    assert_true(was_woken(&host));
    host.depth = 0;
    bare_close(&host);
}

static void what_a_listener_changes_is_told_in_the_same_turn(void **state)
{
    struct host_owner host;
    struct ear ears[2];

    (void)state;
    bare_open(&host);
    host.depth = 1;
    listen(&host, &ears[0]);
    listen(&host, &ears[1]);
    ears[1].tells = 2;
    host_changes_tell(&host);
    assert_int_equal(host_changes_serve(&host), 6);
    assert_int_equal(ears[0].heard, 3);
    assert_false(was_woken(&host));
    ears[0].tells = 1000; /* that many do not hold up the turn */
    host_changes_tell(&host);
    assert_true(host_changes_serve(&host) < 100);
    assert_true(was_woken(&host));
    host.depth = 0;
    bare_close(&host);
}

static void one_may_end_any_listener(void **state)
{
    struct host_owner host;
    struct ear ears[3];

    (void)state;
    bare_open(&host);
    for (int i = 0; i < 3; i++)
        listen(&host, &ears[i]);
    ears[0].ends = &ears[1].listener;
    ears[2].ends = &ears[2].listener;
    host_changes_tell(&host);
    assert_int_equal(host_changes_serve(&host), 2);
    assert_int_equal(ears[1].heard, 0);
    host_changes_tell(&host);
    assert_int_equal(host_changes_serve(&host), 1);
    assert_int_equal(ears[0].heard, 2);
    bare_close(&host);
}

static void a_change_with_a_name_is_counted_and_heard(void **state)
{
    const char name = 0;
    struct host_owner host;
    uint32_t before;
    struct ear ear;

    (void)state;
    bare_open(&host);
    assert_false(host_changes_is_heard(&host.changes));
    listen(&host, &ear);
    assert_true(host_changes_is_heard(&host.changes));
    before = host_changes_of(&host.changes, &name);
    host_changes_tell(&host);
    assert_int_equal(host_changes_of(&host.changes, &name), before);
    host_changes_tell_of(&host, &name);
    host_changes_tell_of(&host, &name);
    assert_int_equal(host_changes_of(&host.changes, &name), before + 2);
    assert_int_equal(host_changes_serve(&host), 1);
    assert_int_equal(ear.heard, 1);
    host_changes_forget(&ear.listener);
    assert_false(host_changes_is_heard(&host.changes));
    bare_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_change_is_heard_once_by_each),
        cmocka_unit_test(without_a_listener_a_change_is_forgotten),
        cmocka_unit_test(the_loop_is_woken_unless_the_turn_goes_on),
        cmocka_unit_test(another_thread_wakes_it_even_if_a_change_was_told),
        cmocka_unit_test(what_a_listener_changes_is_told_in_the_same_turn),
        cmocka_unit_test(one_may_end_any_listener),
        cmocka_unit_test(a_change_with_a_name_is_counted_and_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
