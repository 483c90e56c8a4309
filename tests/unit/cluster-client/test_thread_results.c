/* SPDX-License-Identifier: Apache-2.0 */
/* Results of threads go with their thread or with the client, also when both end at once. */
#include <stdlib.h>

#include "cluster/client/thread_results.h"
#include "tests/support/slow_end.h"
#include "tests/support/testing.h"

static void *use(void *user)
{
    struct cluster_thread_result *result = cluster_thread_results_get(user);

    if (result)
        result->memory = malloc(100);
    return result;
}

static void each_thread_has_its_own_until_it_ends(void **state)
{
    struct cluster_thread_results results;
    struct cluster_thread_result *own;
    pthread_t thread;
    void *other;

    (void)state;
    assert_int_equal(cluster_thread_results_init(&results), 0);
    own = use(&results);
    assert_ptr_equal(cluster_thread_results_get(&results), own);
    assert_null(own->memory);
    assert_int_equal(pthread_create(&thread, NULL, use, &results), 0);
    assert_int_equal(pthread_join(thread, &other), 0);
    assert_non_null(other);
    assert_ptr_equal(results.all.next, &own->link);
    assert_ptr_equal(results.all.previous, &own->link);
    cluster_thread_results_fini(&results);
}

/* AddressSanitizer and valgrind see what is used after that. */
static void a_thread_may_end_while_the_client_is_closed(void **state)
{
    struct cluster_thread_results *results = malloc(sizeof *results);
    pthread_t thread;

    (void)state;
    assert_non_null(results);
    assert_int_equal(cluster_thread_results_init(results), 0);
    thread = slow_end_begin(use, results);
    cluster_thread_results_fini(results);
    free(results);
    slow_end_finish(thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_own_until_it_ends),
        cmocka_unit_test(a_thread_may_end_while_the_client_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
