/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include <rapahub/chimod.h>

#include "guest-sdk/current.h"
#include "guest-sdk/guest_state.h"
#include "tests/support/testing.h"

static void *look(void *user)
{
    *(struct guest **)user = guest_current();
    return NULL;
}

static void only_the_thread_that_serves_knows_its_guest(void **state)
{
    static struct guest guest;
    struct guest *seen = &guest;
    pthread_t thread;

    (void)state;
    assert_null(guest_current());
    guest_current_set(&guest);
    assert_ptr_equal(guest_current(), &guest);
    assert_int_equal(pthread_create(&thread, NULL, look, &seen), 0);
    pthread_join(thread, NULL);
    assert_null(seen);
    guest_current_set(NULL);
}

static void outside_of_a_callback_a_chimod_has_nothing(void **state)
{
    static struct guest guest;
    const struct rapahub_call call = {.method = "add"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rapahub_chimod_call(&call, NULL), RAPAHUB_ESTATE);
        assert_null(rapahub_chimod_alloc(1));
        assert_false(rapahub_chimod_cancelled());
        guest_current_set(&guest); /* it serves now, but runs nothing */
    }
    guest_current_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_thread_that_serves_knows_its_guest),
        cmocka_unit_test(outside_of_a_callback_a_chimod_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
