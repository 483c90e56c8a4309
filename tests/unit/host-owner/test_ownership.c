/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <rapahub/error.h>

#include "host/owner/ownership.h"
#include "tests/unit/host-owner/bare.h"

struct asked {
    struct host_owner *host;
    bool is_owner;
    int code;
    char text[128];
};

static void *ask(void *user)
{
    struct asked *asked = user;

    asked->is_owner = host_ownership_is_owner(asked->host);
    asked->code = host_ownership_check(asked->host);
    snprintf(asked->text, sizeof asked->text, "%s", rapahub_last_error()->text);
    return NULL;
}

static struct asked ask_on_another_thread(struct host_owner *host)
{
    struct asked asked = {.host = host};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, ask, &asked), 0);
    pthread_join(thread, NULL);
    return asked;
}

static void only_the_owner_may_change_the_life_of_guests(void **state)
{
    struct host_owner host;
    struct asked other;

    (void)state;
    bare_open(&host);
    assert_true(host_ownership_is_owner(&host));
    assert_int_equal(host_ownership_check(&host), 0);
    other = ask_on_another_thread(&host);
    assert_false(other.is_owner);
    assert_int_equal(other.code, RAPAHUB_ESTATE);
    assert_string_equal(other.text, "only the thread that owns the host may do this");
    bare_close(&host);
}

static void a_callback_may_not_even_on_the_owner(void **state)
{
    struct host_owner host;

    (void)state;
    bare_open(&host);
    host.callbacks = 1;
    assert_true(host_ownership_is_owner(&host));
    assert_int_equal(host_ownership_check(&host), RAPAHUB_ESTATE);
    assert_string_equal(rapahub_last_error()->text, "a callback may call containers, and no more");
    host.callbacks = 0;
    assert_int_equal(host_ownership_check(&host), 0);
    bare_close(&host);
}

/* The page with its number is zero there. r[verify hub.host.fork] */
static void a_forked_child_owns_nothing_on_any_thread(void **state)
{
    struct host_owner host;
    struct asked other;

    (void)state;
    bare_open(&host);
    host.registry.callers.number = 0;
    host.callbacks = 1;
    assert_int_equal(host_ownership_check(&host), RAPAHUB_ESTATE);
    assert_string_equal(rapahub_last_error()->rule, "hub.host.fork");
    other = ask_on_another_thread(&host);
    assert_int_equal(other.code, RAPAHUB_ESTATE);
    assert_string_equal(other.text, "a forked child has no host");
    bare_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_owner_may_change_the_life_of_guests),
        cmocka_unit_test(a_callback_may_not_even_on_the_owner),
        cmocka_unit_test(a_forked_child_owns_nothing_on_any_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
