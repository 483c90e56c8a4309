/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/call/chains.h"
#include "tests/unit/link/pair.h"

#define OWN 7 /* what a guest calls a chain that it began */

/* The linker puts it before calloc: the allocation with the number `refuse` fails. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static unsigned refuse;

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse != 0 && --refuse == 0 ? NULL : __real_calloc(count, size);
}

struct bench {
    struct host_call host;
    struct host_life a, b;
    struct pair pair; /* the link of b */
};

static struct bench *open_bench(void)
{
    struct bench *bench = test_calloc(1, sizeof *bench);
    struct host_life *const lives[] = {&bench->a, &bench->b};
    struct hub_limits limits = pair_limits();

    pair_open(&bench->pair, &limits, 0);
    bench->host.chains = host_chains_first();
    for (int i = 0; i < 2; i++) {
        hub_list_init(&lives[i]->chains.begun);
        hub_list_init(&lives[i]->chains.seats);
        lives[i]->connection.calls = bench->pair.host.connection.calls;
    }
    return bench;
}

/* All its seats were left. */
static void close_bench(struct bench *bench)
{
    assert_true(hub_list_empty(&bench->a.chains.begun) && hub_list_empty(&bench->a.chains.seats));
    assert_true(hub_list_empty(&bench->b.chains.begun) && hub_list_empty(&bench->b.chains.seats));
    pair_close(&bench->pair);
    test_free(bench);
}

static struct host_chain_seat *reserve(struct bench *bench, struct host_life *life, uint64_t value)
{
    const struct host_chain_claim claim = {life, value};
    struct host_chain_seat *seat = host_chains_reserve(&bench->host, &claim);

    assert_non_null(seat);
    return seat;
}

/* Is what this guest names `value` the chain of `seat`? */
static bool leads_to(struct bench *bench, struct host_life *life, uint64_t value,
                     const struct host_chain_seat *seat)
{
    struct host_chain_seat *other = reserve(bench, life, value);
    bool same = other->chain == seat->chain;

    host_chains_leave(&other);
    assert_null(other);
    return same;
}

/* r[verify sec.call.chain] */
static void the_first_number_is_even_and_another_one_each_time(void **state)
{
    uint64_t differ = 0, first = host_chains_first();

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t next = host_chains_first();

        assert_true(next % 2 == 0 && next < UINT64_C(1) << 42);
        differ |= next ^ first;
    }
    assert_true(differ != 0);
}

/* r[verify sec.call.chain] */
static void a_request_of_no_chain_begins_one_of_an_even_number(void **state)
{
    struct bench *bench = open_bench();
    struct host_chain_seat *one = reserve(bench, &bench->a, 0), *two = reserve(bench, &bench->a, 0);

    (void)state;
    assert_ptr_not_equal(one->chain, two->chain);
    assert_true(one->chain->id % 2 == 0 && two->chain->id > one->chain->id);
    assert_true(two->chain->id % 2 == 0);
    assert_null(one->chain->origin);
    assert_true(host_chains_take(one, &bench->a) == one->chain->id);
    host_chains_leave(&one);
    host_chains_leave(&two);
    host_chains_leave(&two); /* there is none */
    close_bench(bench);
}

/* r[verify sec.call.chain] */
static void only_its_origin_knows_a_chain_by_the_number_it_chose(void **state)
{
    struct bench *bench = open_bench();
    struct host_chain_seat *there = reserve(bench, &bench->a, OWN);
    struct host_chain_seat *back = reserve(bench, &bench->a, OWN);
    uint64_t id;

    (void)state;
    assert_ptr_equal(there->chain, back->chain);
    id = host_chains_take(there, &bench->b);
    assert_true(id == there->chain->id && id != OWN);
    assert_true(host_chains_take(back, &bench->a) == OWN);
    assert_false(leads_to(bench, &bench->b, OWN, there));
    assert_false(leads_to(bench, &bench->a, OWN + 2, there));
    host_chains_leave(&there);
    assert_true(leads_to(bench, &bench->a, OWN, back));
    host_chains_leave(&back);
    back = reserve(bench, &bench->a, OWN);
    assert_true(back->chain->id > id);
    host_chains_leave(&back);
    close_bench(bench);
}

/* r[verify sec.call.chain] */
static void a_number_that_was_guessed_leads_nowhere(void **state)
{
    struct bench *bench = open_bench();
    struct host_chain_seat *seat = reserve(bench, &bench->a, OWN);
    uint64_t id = seat->chain->id;

    (void)state;
    assert_false(leads_to(bench, &bench->b, id, seat));
    assert_true(host_chains_take(seat, &bench->b) == id);
    assert_true(leads_to(bench, &bench->b, id, seat));
    host_chains_untake(seat);
    assert_false(leads_to(bench, &bench->b, id, seat));
    assert_true(host_chains_take(seat, &bench->b) == id);
    host_chains_leave(&seat);
    close_bench(bench);
}

/* r[verify cluster.hold.chain] */
static void a_chain_runs_where_it_began_and_in_each_container_that_answers_it(void **state)
{
    struct host_container one = {.handle = 1}, two = {.handle = 2};
    struct bench *bench = open_bench();
    struct host_chain_seat *seat = reserve(bench, &bench->a, OWN);
    struct host_chain_claim claim = {&bench->b, 0};
    struct host_chain begins;

    (void)state;
    assert_true(host_chains_run_in(seat->chain, &bench->a, &one));
    assert_false(host_chains_run_in(seat->chain, &bench->b, &one));
    seat->container = &one;
    (void)host_chains_take(seat, &bench->b);
    assert_true(host_chains_run_in(seat->chain, &bench->b, &one));
    assert_false(host_chains_run_in(seat->chain, &bench->b, &two));
    assert_null(host_chains_look(&claim, &begins));
    claim.value = seat->chain->id;
    assert_ptr_equal(host_chains_look(&claim, &begins), seat->chain);
    claim.value++;
    assert_ptr_equal(host_chains_look(&claim, &begins), &begins);
    assert_true(host_chains_run_in(&begins, &bench->b, &two));
    assert_false(host_chains_run_in(&begins, &bench->a, &two));
    host_chains_leave(&seat);
    close_bench(bench);
}

static uint64_t begin_call(struct bench *bench, struct hub_answer *answer)
{
    static const uint8_t head = 0;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {&head, 1}},
                                  .deadline_ns = HUB_NEVER,
                                  .answer = answer};
    uint64_t number = 0;

    assert_int_equal(hub_calls_begin(bench->pair.host.connection.calls, &call, &number), 0);
    return number;
}

static void answer_call(struct bench *bench)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_connection *guest = &bench->pair.guest.connection;
    struct hub_request *request;

    assert_true(hub_link_sweep(guest->link, 8) > 0);
    request = hub_inbound_calls_next(guest->served, NULL, NULL);
    assert_non_null(request);
    assert_int_equal(hub_inbound_calls_answer(guest->served, request, &ok, request->arguments), 0);
}

/* Before its end is told. r[verify sec.call.chain] */
static void with_the_answer_a_guest_is_in_the_chain_no_more(void **state)
{
    struct bench *bench = open_bench();
    struct host_chain_seat *seat = reserve(bench, &bench->a, OWN);
    uint64_t id = host_chains_take(seat, &bench->b), number;
    struct hub_answer answer = {0};

    (void)state;
    number = begin_call(bench, &answer);
    host_chains_note(seat, number);
    assert_true(leads_to(bench, &bench->b, id, seat));
    answer_call(bench);
    assert_true(leads_to(bench, &bench->b, id, seat));
    assert_true(hub_link_sweep(bench->pair.host.connection.link, 8) > 0);
    assert_false(leads_to(bench, &bench->b, id, seat));
    assert_int_equal(hub_calls_wait(bench->pair.host.connection.calls, number, false), 0);
    hub_responses_fini(&answer);
    host_chains_leave(&seat);
    close_bench(bench);
}

static void a_life_that_has_ended_is_in_no_chain(void **state)
{
    struct bench *bench = open_bench();
    struct host_chain_seat *seat = reserve(bench, &bench->a, OWN);
    struct host_chain_seat *back = reserve(bench, &bench->a, OWN), *late;
    uint64_t id = host_chains_take(seat, &bench->b);

    (void)state;
    host_chains_forget(&bench->a);
    host_chains_forget(&bench->b);
    assert_null(seat->chain->origin);
    assert_true(hub_list_empty(&bench->b.chains.seats));
    assert_true(host_chains_take(back, &bench->a) == id);
    host_chains_leave(&back);
    assert_false(leads_to(bench, &bench->b, id, seat));
    bench->a.death.settled = true; /* nothing is forgotten for it again */
    late = reserve(bench, &bench->a, OWN);
    assert_ptr_not_equal(late->chain, seat->chain);
    assert_null(late->chain->origin);
    host_chains_leave(&late);
    host_chains_leave(&seat);
    close_bench(bench);
}

static void without_memory_there_is_no_seat_and_nothing_is_left(void **state)
{
    struct bench *bench = open_bench();
    const struct host_chain_claim claim = {&bench->a, OWN};
    struct host_chain_seat *seat;

    (void)state;
    for (unsigned n = 1; n <= 2; n++) {
        refuse = n;
        rapahub_clear_error();
        assert_null(host_chains_reserve(&bench->host, &claim));
        assert_int_equal(refuse, 0);
        assert_int_equal(rapahub_last_error()->code, RAPAHUB_ENOMEM);
        assert_true(hub_list_empty(&bench->a.chains.begun));
    }
    seat = reserve(bench, &bench->a, OWN);
    refuse = 1;
    assert_null(host_chains_reserve(&bench->host, &claim));
    assert_int_equal(seat->chain->seats, 1);
    host_chains_leave(&seat);
    close_bench(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_number_is_even_and_another_one_each_time),
        cmocka_unit_test(a_request_of_no_chain_begins_one_of_an_even_number),
        cmocka_unit_test(only_its_origin_knows_a_chain_by_the_number_it_chose),
        cmocka_unit_test(a_chain_runs_where_it_began_and_in_each_container_that_answers_it),
        cmocka_unit_test(a_number_that_was_guessed_leads_nowhere),
        cmocka_unit_test(with_the_answer_a_guest_is_in_the_chain_no_more),
        cmocka_unit_test(a_life_that_has_ended_is_in_no_chain),
        cmocka_unit_test(without_memory_there_is_no_seat_and_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
