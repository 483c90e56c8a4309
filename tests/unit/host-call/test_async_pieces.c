/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/call/async_pieces.h"
#include "host/call/call.h"
#include "hub/call/responses.h"
#include "tests/support/testing.h"

#define SOME 100

/* As much of a host as pieces need; the calling thread owns it. */
static struct host_call *open_host(void)
{
    struct host_call *host = test_malloc(sizeof *host);

    memset(host, 0, sizeof *host);
    host_threads_init(&host->process.owner.threads);
    assert_int_equal(host_asyncs_open(&host->asyncs), 0);
    return host;
}

static void close_host(struct host_call *host)
{
    host_asyncs_close(&host->asyncs);
    host_threads_fini(&host->process.owner.threads);
    test_free(host);
}

static bool is_known(struct host_call *host, uint64_t number)
{
    bool known;

    hub_mutex_lock(&host->asyncs.lock);
    known = host_async_table_find(&host->asyncs.table, number) != NULL;
    hub_mutex_unlock(&host->asyncs.lock);
    return known;
}

static void numbers_are_found_and_never_used_again(void **state)
{
    struct host_call *host = open_host();
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < SOME; i++) {
        struct host_async *async = host_async_pieces_take(host);
        uint64_t number = async->number;

        assert_true(number != 0 && number != last);
        assert_true(is_known(host, number));
        host_async_pieces_free(async);
        assert_false(is_known(host, number));
        last = number;
    }
    close_host(host);
}

/* Except for its host, the buffer of answers, and the memory after it. */
static void one_that_was_used_is_as_a_new_one(void **state)
{
    const struct host_chain_claim none = {NULL, 0};
    struct host_call *host = open_host();
    struct host_async *async = host_async_pieces_take(host), *again;

    (void)state;
    async->marks = malloc(1);
    async->owned = malloc(1);
    async->data = malloc(1);
    async->seat = host_chains_reserve(host, &none);
    assert_non_null(async->seat);
    async->container = (struct host_container *)async;
    async->life = (struct host_life *)async;
    async->call = 1;
    async->cancelled = async->foreign = async->full = async->held = async->mine = true;
    assert_true(hub_responses_grow(&async->answer, 255));
    host_async_pieces_free(async);
    again = host_async_pieces_take(host);
    assert_ptr_equal(again, async);
    assert_true(!again->marks && !again->owned && !again->data && !again->fini);
    assert_true(!again->container && !again->life && !again->seat && again->call == 0);
    assert_false(again->cancelled || again->foreign || again->full || again->held || again->mine);
    assert_int_equal(again->answer.capacity, 256);
    host_async_pieces_free(again);
    close_host(host);
}

static void a_large_buffer_is_not_kept(void **state)
{
    struct host_call *host = open_host();
    struct host_async *async = host_async_pieces_take(host);

    (void)state;
    assert_true(hub_responses_grow(&async->answer, 4095));
    host_async_pieces_free(async);
    async = host_async_pieces_take(host);
    assert_null(async->answer.memory);
    assert_int_equal(async->answer.capacity, 0);
    host_async_pieces_free(async);
    close_host(host);
}

static struct host_async *count_fini_of;
static int fini_count;

static void count_fini(struct host_async *async)
{
    fini_count += async == count_fini_of;
}

/* It has ended once; only its number is found until then. */
static void what_ends_in_a_turn_leaves_the_table_with_it(void **state)
{
    struct host_call *host = open_host();
    struct host_async *async = host_async_pieces_take(host);
    uint64_t number = async->number;

    (void)state;
    fini_count = 0;
    count_fini_of = async;
    async->fini = count_fini;
    host->process.owner.depth = 1;
    host_async_pieces_free(async);
    assert_int_equal(fini_count, 1);
    assert_true(is_known(host, number));
    host_async_pieces_settle(host);
    assert_false(is_known(host, number));
    host->process.owner.depth = 0;
    host_async_pieces_settle(host);
    assert_int_equal(fini_count, 1);
    close_host(host);
}

/* So that a turn without an end does not keep all. */
static void many_that_end_in_a_turn_leave_before_it_is_over(void **state)
{
    struct host_call *host = open_host();
    struct host_async *all[SOME];
    uint64_t first;
    uint32_t known = 0;

    (void)state;
    for (int i = 0; i < SOME; i++)
        all[i] = host_async_pieces_take(host);
    first = all[0]->number;
    host->process.owner.depth = 1;
    for (int i = 0; i < SOME; i++)
        host_async_pieces_free(all[i]);
    assert_false(is_known(host, first));
    for (struct host_async *async = host->asyncs.over; async; async = async->next)
        known++;
    assert_int_equal(known, host->asyncs.over_count);
    assert_true(known < SOME);
    host_async_pieces_settle(host);
    assert_null(host->asyncs.over);
    close_host(host);
}

/* Even those that the owner has taken before it needs them. */
static void a_full_table_refuses_and_takes_again_what_ended(void **state)
{
    struct host_call *host = open_host();
    struct host_async **all = test_malloc(HOST_ASYNC_TABLE_OWN * sizeof(struct host_async *));

    (void)state;
    for (int i = 0; i < HOST_ASYNC_TABLE_OWN; i++) {
        all[i] = host_async_pieces_take(host);
        assert_non_null(all[i]);
    }
    assert_null(host_async_pieces_take(host));
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EBUSY);
    host_async_pieces_free(all[7]);
    all[7] = host_async_pieces_take(host);
    assert_non_null(all[7]);
    for (int i = 0; i < HOST_ASYNC_TABLE_OWN; i++)
        host_async_pieces_free(all[i]);
    assert_int_equal(host->asyncs.table.spare_count, HUB_CALLS_MAX);
    test_free(all);
    close_host(host);
}

static bool enter(struct host_call *host, struct host_async *async)
{
    bool entered;

    hub_mutex_lock(&host->asyncs.lock);
    entered = host_async_table_enter(&host->asyncs.table, async);
    hub_mutex_unlock(&host->asyncs.lock);
    return entered;
}

static void leave(struct host_call *host, struct host_async *async)
{
    hub_mutex_lock(&host->asyncs.lock);
    host_async_table_leave(&host->asyncs.table, async);
    hub_mutex_unlock(&host->asyncs.lock);
}

/* r[verify sec.call.share] */
static void requests_of_guests_take_no_place_of_the_host(void **state)
{
    const int most = HOST_ASYNC_TABLE_MAX - HOST_ASYNC_TABLE_OWN;
    struct host_call *host = open_host();
    struct host_async *all = test_calloc((size_t)most + 1, sizeof *all);
    struct host_async **own = test_malloc(HOST_ASYNC_TABLE_OWN * sizeof(struct host_async *));

    (void)state;
    for (int i = 0; i <= most; i++) {
        all[i].foreign = true;
        assert_int_equal(enter(host, &all[i]), i < most);
    }
    for (int i = 0; i < HOST_ASYNC_TABLE_OWN; i++) {
        own[i] = host_async_pieces_take(host);
        assert_non_null(own[i]);
    }
    leave(host, &all[7]);
    assert_null(host_async_pieces_take(host));
    assert_true(enter(host, &all[most]));
    for (int i = 0; i <= most; i++)
        leave(host, &all[i]);
    for (int i = 0; i < HOST_ASYNC_TABLE_OWN; i++)
        host_async_pieces_free(own[i]);
    test_free(own);
    test_free(all);
    close_host(host);
}

/* r[verify sec.call.share] */
static void the_shares_of_all_guests_are_no_more_than_there_is(void **state)
{
    (void)state;
    for (uint32_t guests = 1; guests <= 255; guests++) {
        assert_true(host_async_table_share(guests) >= 64);
        assert_true(guests * host_async_table_share(guests) <= HOST_ASYNC_TABLE_GUESTS);
    }
    assert_true(HOST_ASYNC_TABLE_GUESTS < HOST_ASYNC_TABLE_MAX - HOST_ASYNC_TABLE_OWN);
}

static void *take_and_free(void *user)
{
    struct host_call *host = user;
    uintptr_t failures = 0;

    for (int i = 0; i < SOME * SOME; i++) {
        struct host_async *one = host_async_pieces_take(host), *two = host_async_pieces_take(host);

        failures += !one || !two || one == two || one->number == two->number;
        host_async_pieces_free(one);
        host_async_pieces_free(two);
    }
    return (void *)failures;
}

static void threads_share_them_with_the_owner(void **state)
{
    struct host_call *host = open_host();
    pthread_t threads[2];
    void *failures;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_free, host), 0);
    host->process.owner.depth = 1;
    assert_null(take_and_free(host));
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    close_host(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_found_and_never_used_again),
        cmocka_unit_test(one_that_was_used_is_as_a_new_one),
        cmocka_unit_test(a_large_buffer_is_not_kept),
        cmocka_unit_test(what_ends_in_a_turn_leaves_the_table_with_it),
        cmocka_unit_test(many_that_end_in_a_turn_leave_before_it_is_over),
        cmocka_unit_test(a_full_table_refuses_and_takes_again_what_ended),
        cmocka_unit_test(requests_of_guests_take_no_place_of_the_host),
        cmocka_unit_test(the_shares_of_all_guests_are_no_more_than_there_is),
        cmocka_unit_test(threads_share_them_with_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
