/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are not waited for: each ends once, on the owner, whatever becomes of the guest. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define MS      UINT64_C(1000000)
#define CANCELS 2000

struct done {
    unsigned count, good;
    int status;
    int64_t sum;
    char text[256];
};

static void on_done(void *user, int status, const void *result)
{
    struct done *done = user;

    done->count++;
    done->good += status == 0;
    done->status = status;
    if (result)
        done->sum += *(const int64_t *)result;
    if (status < 0)
        snprintf(done->text, sizeof done->text, "%s", rapahub_last_error()->text);
}

static int begin(struct hosting *on, const char *method, const void *const *arguments,
                 struct done *done, struct rapahub_request_id *id)
{
    const struct rapahub_call call = {.target = here, .method = method, .arguments = arguments};

    return rapahub_host_call_async(on->host, &call, on_done, done, id);
}

static int begin_nap(struct hosting *on, uint32_t ms, struct done *done,
                     struct rapahub_request_id *id)
{
    return begin(on, "nap(u32)", (const void *const[]){&ms, NULL}, done, id);
}

static void many_calls_end_each_with_its_result(void **state)
{
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    for (int64_t i = 0; i < 500; i++)
        assert_done(
            begin(&on, "add(i64, i64) -> i64", (const void *const[]){&i, &i, NULL}, &done, NULL));
    assert_true(until(&on, &done.count, 500));
    assert_int_equal(done.good, 500);
    assert_int_equal(done.sum, 500 * 499);
    close_host(&on);
}

struct echoes {
    unsigned count, good;
    size_t sizes[64];
};

static uint8_t echo_byte(size_t size)
{
    return (uint8_t)(size * 7 + 1);
}

static void on_echo(void *user, int status, const void *result)
{
    struct echoes *echoes = user;
    size_t size = echoes->sizes[echoes->count++];
    const struct rapahub_bytes *out = result;

    echoes->good += status == 0 && out->size == size &&
                    (size == 0 || (out->data && *(const uint8_t *)out->data == echo_byte(size) &&
                                   ((const uint8_t *)out->data)[size - 1] == echo_byte(size)));
}

/* A large call uses what a small call has used, and the reverse. */
static void calls_of_all_sizes_follow_each_other(void **state)
{
    static const size_t sizes[] = {0, 60000, 1, 300, 5000, 500, 900, 1100};
    static uint8_t data[60000];
    struct echoes echoes = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    for (unsigned i = 0; i < 64; i++) {
        size_t size = echoes.sizes[i] = sizes[(i + i / 8) % 8];
        const struct rapahub_bytes in = {data, size};
        const struct rapahub_call call = {.target = here,
                                          .method = "echo(bytes) -> bytes",
                                          .arguments = (const void *const[]){&in, NULL}};

        memset(data, echo_byte(size), size);
        assert_done(rapahub_host_call_async(on.host, &call, on_echo, &echoes, NULL));
        assert_true(i % 3 != 0 || until(&on, &echoes.count, i + 1));
    }
    assert_true(until(&on, &echoes.count, 64));
    assert_int_equal(echoes.good, 64);
    close_host(&on);
}

static void a_call_that_cannot_be_made_is_refused_at_once(void **state)
{
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_refused(begin(&on, "ad", NULL, &done, NULL), RAPAHUB_ENOMETHOD, "near: add");
    assert_int_equal(done.count, 0);
    close_host(&on);
}

static void a_cancelled_call_ends_soon(void **state)
{
    struct rapahub_request_id id = {0};
    struct done done = {0};
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_calc(&on);
    assert_done(begin_nap(&on, 20000, &done, &id));
    begun = now_ms();
    rapahub_host_cancel(on.host, id);
    rapahub_host_cancel(on.host, id);
    assert_true(until(&on, &done.count, 1));
    assert_int_equal(done.status, RAPAHUB_ECANCELED);
    assert_in_range(now_ms() - begun, 0, 5000);
    rapahub_host_cancel(on.host, id); /* it has ended: harmless */
    close_host(&on);
}

static void a_deadline_ends_a_call_without_an_answer(void **state)
{
    const uint32_t ms = 20000;
    const struct rapahub_call call = {.target = here,
                                      .method = "nap(u32)",
                                      .arguments = (const void *const[]){&ms, NULL},
                                      .timeout_ns = 30 * MS};
    struct done done = {0};
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_calc(&on);
    begun = now_ms();
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(until(&on, &done.count, 1));
    assert_int_equal(done.status, RAPAHUB_ETIMEDOUT);
    assert_in_range(now_ms() - begun, 29, 5000);
    close_host(&on);
}

static void calls_open_at_a_death_end_with_its_diagnosis(void **state)
{
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    for (int i = 0; i < 100; i++)
        assert_done(begin_nap(&on, 5000, &done, NULL));
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &done.count, 100));
    assert_int_equal(done.status, RAPAHUB_EDIED);
    assert_string_equal(done.text, "the guest calc died during nap: signal SIGKILL");
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(on.told.calls_lost, 100);
    assert_int_equal(done.count, 100);
    close_host(&on);
}

static void a_call_to_a_guest_that_restarts_waits_for_it(void **state)
{
    const int64_t a = 40, b = 2;
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_done(
        begin(&on, "add(i64, i64) -> i64", (const void *const[]){&a, &b, NULL}, &done, NULL));
    assert_true(until(&on, &done.count, 1));
    assert_int_equal(done.status, 0);
    assert_int_equal(done.sum, 42);
    close_host(&on);
}

static void calls_open_at_the_end_of_the_host_end_too(void **state)
{
    const struct rapahub_supervision hasty = {.goodbye_ns = 20 * MS, .term_ns = RAPAHUB_NONE};
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, CALC, here, &hasty));
    for (int i = 0; i < 5; i++)
        assert_done(begin_nap(&on, 5000, &done, NULL));
    rapahub_host_destroy(on.host);
    assert_int_equal(done.count, 5);
    assert_int_equal(done.good, 0);
    leak_assert_none(on.leak);
}

/* on_done may call, and wait. */
struct chained {
    struct hosting *on;
    unsigned count;
    int64_t sum;
};

static void call_again(void *user, int status, const void *result)
{
    struct chained *chained = user;

    assert_int_equal(status, 0);
    (void)result;
    chained->count++;
    assert_done(add(chained->on, 20, 22, &chained->sum));
    assert_refused(rapahub_host_dispatch(chained->on->host, 0), RAPAHUB_ESTATE, "callback");
}

static void a_callback_may_call_but_not_dispatch(void **state)
{
    const int64_t a = 1, b = 2;
    const struct rapahub_call call = {.target = here,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = (const void *const[]){&a, &b, NULL}};
    struct chained chained = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    chained.on = &on;
    assert_done(rapahub_host_call_async(on.host, &call, call_again, &chained, NULL));
    assert_true(until(&on, &chained.count, 1));
    assert_int_equal(chained.sum, 42);
    close_host(&on);
}

static int offer_twice(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = 2 * number;
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(twice, offer_twice, i64, i64),
    RAPAHUB_METHOD_END,
};

static void an_offer_is_called_without_waiting(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "offer"};
    const int64_t number = 21;
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_offer(on.host, &options, methods, NULL));
    assert_done(begin(&on, "twice(i64) -> i64", (const void *const[]){&number, NULL}, &done, NULL));
    assert_int_equal(done.count, 0);
    assert_true(until(&on, &done.count, 1));
    assert_int_equal(done.sum, 42);
    close_host(&on);
}

/* Begins the same again as often as it is told of an end, as one that does not give up. */
struct stubborn {
    struct rapahub_host *host;
    unsigned begun, ended, refused;
    int status;
};

static void begin_again(void *user, int status, const void *result);

static void begin_one(struct stubborn *stubborn)
{
    static const int64_t number = 21;
    const struct rapahub_call call = {.target = here,
                                      .method = "twice(i64) -> i64",
                                      .arguments = (const void *const[]){&number, NULL}};
    int r = rapahub_host_call_async(stubborn->host, &call, begin_again, stubborn, NULL);

    stubborn->begun += r == 0;
    stubborn->refused += r == RAPAHUB_ESTALE;
}

static void begin_again(void *user, int status, const void *result)
{
    struct stubborn *stubborn = user;

    (void)result;
    stubborn->ended++;
    stubborn->status = status;
    if (stubborn->ended < 1000)
        begin_one(stubborn);
}

/* A call to an offer waits for a turn, which never comes. */
static void what_is_begun_while_the_host_ends_is_refused(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "offer"};
    struct stubborn stubborn = {0};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_offer(on.host, &options, methods, NULL));
    stubborn.host = on.host;
    begin_one(&stubborn);
    close_host(&on);
    assert_int_equal(stubborn.status, RAPAHUB_EDIED);
    assert_int_equal(stubborn.begun, 1);
    assert_int_equal(stubborn.ended, 1);
    assert_int_equal(stubborn.refused, 1);
}

struct canceller {
    struct hosting *on;
    _Atomic uint64_t number; /* number of the call to cancel */
    atomic_bool over;
};

static void *cancel_all(void *user)
{
    struct canceller *canceller = user;

    while (!atomic_load(&canceller->over)) {
        const struct rapahub_request_id id = {atomic_load(&canceller->number)};

        if (id.number != 0)
            rapahub_host_cancel(canceller->on->host, id);
    }
    return NULL;
}

/* A call to an offer waits for the owner, who looks whether it was cancelled. */
static void a_cancel_from_another_thread_ends_a_call_once(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "offer"};
    const int64_t number = 21;
    struct canceller canceller = {0};
    struct done done = {0};
    struct hosting on;
    pthread_t thread;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_offer(on.host, &options, methods, NULL));
    canceller.on = &on;
    assert_int_equal(pthread_create(&thread, NULL, cancel_all, &canceller), 0);
    for (unsigned i = 1; i <= CANCELS; i++) {
        struct rapahub_request_id id;

        assert_done(
            begin(&on, "twice(i64) -> i64", (const void *const[]){&number, NULL}, &done, &id));
        atomic_store(&canceller.number, id.number);
        assert_true(until(&on, &done.count, i));
        assert_int_equal(done.count, i);
        assert_true(done.status == 0 || done.status == RAPAHUB_ECANCELED);
    }
    atomic_store(&canceller.over, true);
    pthread_join(thread, NULL);
    close_host(&on);
}

/* How deep callbacks that call stand inside of each other. */
struct pile {
    struct hosting *on;
    unsigned count, depth, most;
};

static void call_inside(void *user, int status, const void *result)
{
    struct pile *pile = user;
    int64_t sum;

    (void)result;
    assert_int_equal(status, 0);
    if (++pile->depth > pile->most)
        pile->most = pile->depth;
    assert_done(add(pile->on, 20, 22, &sum));
    pile->depth--;
    pile->count++;
}

static void callbacks_that_call_do_not_pile_up(void **state)
{
    const int64_t a = 1;
    const struct rapahub_call call = {.target = here,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = (const void *const[]){&a, &a, NULL}};
    struct pile pile = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    pile.on = &on;
    for (int i = 0; i < 1000; i++)
        assert_done(rapahub_host_call_async(on.host, &call, call_inside, &pile, NULL));
    assert_true(until(&on, &pile.count, 1000));
    assert_in_range(pile.most, 1, 64);
    close_host(&on);
}

/* The callback's call while the owner waits for space. */
struct intruder {
    struct hosting *on;
    unsigned count;
};

static void echo_much(void *user, int status, const void *result)
{
    struct intruder *intruder = user;
    struct rapahub_bytes back;
    char text[40000];

    (void)result;
    assert_int_equal(status, 0);
    memset(text, 'b', sizeof text);
    assert_done(ask(intruder->on, "echo(bytes) -> bytes",
                    (const void *const[]){&(struct rapahub_bytes){text, sizeof text}, NULL},
                    &back));
    intruder->count++;
}

static void arguments_wait_for_space_whatever_a_callback_calls(void **state)
{
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const struct rapahub_bytes given = {text, sizeof text};
    const uint32_t ms = 50;
    const struct rapahub_call nap = {
        .target = here, .method = "nap(u32)", .arguments = (const void *const[]){&ms, NULL}};
    struct rapahub_bytes back = {NULL, 0};
    struct done done = {0};
    struct intruder intruder;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.ring_size = 4});
    assert_done(start(&on, CALC, here, NULL));
    intruder = (struct intruder){&on, 0};
    assert_done(rapahub_host_call_async(on.host, &nap, echo_much, &intruder, NULL));
    pause_ms(10); /* it runs */
    for (int i = 0; i < 3; i++)
        assert_done(begin_nap(&on, 20, &done, NULL));
    assert_done(ask(&on, "echo(bytes) -> bytes", (const void *const[]){&given, NULL}, &back));
    assert_int_equal(back.size, sizeof text);
    assert_memory_equal(back.data, text, sizeof text);
    assert_true(until(&on, &done.count, 3));
    assert_int_equal(intruder.count, 1);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_calls_end_each_with_its_result),
        cmocka_unit_test(calls_of_all_sizes_follow_each_other),
        cmocka_unit_test(a_call_that_cannot_be_made_is_refused_at_once),
        cmocka_unit_test(a_cancelled_call_ends_soon),
        cmocka_unit_test(a_deadline_ends_a_call_without_an_answer),
        cmocka_unit_test(calls_open_at_a_death_end_with_its_diagnosis),
        cmocka_unit_test(a_call_to_a_guest_that_restarts_waits_for_it),
        cmocka_unit_test(calls_open_at_the_end_of_the_host_end_too),
        cmocka_unit_test(a_callback_may_call_but_not_dispatch),
        cmocka_unit_test(an_offer_is_called_without_waiting),
        cmocka_unit_test(what_is_begun_while_the_host_ends_is_refused),
        cmocka_unit_test(a_cancel_from_another_thread_ends_a_call_once),
        cmocka_unit_test(callbacks_that_call_do_not_pile_up),
        cmocka_unit_test(arguments_wait_for_space_whatever_a_callback_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
