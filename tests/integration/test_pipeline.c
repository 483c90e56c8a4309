/* SPDX-License-Identifier: Apache-2.0 */
/* Many calls under way at once: optimisations for them change nothing else. */
#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

struct done {
    unsigned count, good;
    int status;
    int64_t sum;
};

static void on_done(void *user, int status, const void *result)
{
    struct done *done = user;

    done->count++;
    done->good += status == 0;
    done->status = status;
    if (result)
        done->sum += *(const int64_t *)result;
}

static int begin(struct hosting *on, const char *method, const void *const *arguments,
                 struct done *done)
{
    const struct rapahub_call call = {.target = here, .method = method, .arguments = arguments};

    return rapahub_host_call_async(on->host, &call, on_done, done, NULL);
}

static int begin_nap(struct hosting *on, uint32_t ms, struct done *done)
{
    return begin(on, "nap(u32)", (const void *const[]){&ms, NULL}, done);
}

/* The method is known to be short, and so answers may wait for one another; not for this one.
 * r[verify hub.call.batch] */
static void answers_do_not_wait_for_a_method_that_runs_long(void **state)
{
    struct done adds = {0}, naps = {0};
    struct hosting on;
    const int64_t a = 1;

    (void)state;
    open_calc(&on);
    for (unsigned round = 1; round <= 20; round++) {
        for (unsigned i = 0; i < 32; i++)
            assert_done(
                begin(&on, "add(i64, i64) -> i64", (const void *const[]){&a, &a, NULL}, &adds));
        assert_true(until(&on, &adds.count, 32 * round));
    }
    assert_done(rapahub_host_cork(on.host, here, true)); /* they come at once */
    for (unsigned i = 0; i < 5; i++)
        assert_done(begin(&on, "add(i64, i64) -> i64", (const void *const[]){&a, &a, NULL}, &adds));
    assert_done(begin_nap(&on, 1500, &naps));
    assert_done(rapahub_host_cork(on.host, here, false));
    assert_true(until(&on, &adds.count, 645));
    assert_int_equal(naps.count, 0);
    assert_true(until(&on, &naps.count, 1));
    assert_int_equal(adds.good, 645);
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

/* From the second call on a stub's call needs no look-up, unless an older one waits for space. */
static void calls_of_a_stub_stay_in_order_where_the_ring_is_small(void **state)
{
    static const size_t sizes[] = {3, 40, 8, 5000, 24, 400};
    static uint8_t data[5000];
    struct echoes echoes = {0};
    struct hosting on;
    uint64_t id = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.ring_size = 4});
    assert_done(start(&on, CALC, here, NULL));
    for (unsigned i = 0; i < 64; i++) {
        size_t size = echoes.sizes[i] = sizes[i % 6];
        const struct rapahub_bytes in = {data, size};
        const struct rapahub_call call = {.target = here,
                                          .method = "echo",
                                          .types = RAPAHUB_TYPES(bytes, bytes),
                                          .method_id = &id,
                                          .arguments = (const void *const[]){&in, NULL}};

        memset(data, echo_byte(size), size);
        assert_done(rapahub_host_call_async(on.host, &call, on_echo, &echoes, NULL));
        if (i % 8 == 7)
            pause_ms(1); /* there is space again, and no thread has checked the waiting calls */
    }
    assert_true(until(&on, &echoes.count, 64));
    assert_int_equal(echoes.good, 64);
    close_host(&on);
}

static void a_call_of_a_stub_is_cancelled_by_its_number(void **state)
{
    const uint32_t ms[] = {0, 20000};
    struct rapahub_request_id ids[2] = {{0}, {0}};
    struct done done[2] = {{0}, {0}};
    struct hosting on;
    uint64_t id = 0, begun;

    (void)state;
    open_calc(&on);
    for (unsigned i = 0; i < 2; i++) {
        const struct rapahub_call call = {.target = here,
                                          .method = "nap",
                                          .types = RAPAHUB_TYPES(void, u32),
                                          .method_id = &id,
                                          .arguments = (const void *const[]){&ms[i], NULL}};

        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done[i], &ids[i]));
        assert_true(i == 1 || until(&on, &done[0].count, 1));
    }
    assert_true(ids[0].number != ids[1].number);
    begun = now_ms();
    rapahub_host_cancel(on.host, ids[0]); /* has ended, and its place has the other one */
    pause_ms(5);
    assert_true(rapahub_host_dispatch(on.host, 0) >= 0);
    assert_int_equal(done[1].count, 0);
    rapahub_host_cancel(on.host, ids[1]);
    assert_true(until(&on, &done[1].count, 1));
    assert_int_equal(done[1].status, RAPAHUB_ECANCELED);
    assert_in_range(now_ms() - begun, 0, 5000);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_do_not_wait_for_a_method_that_runs_long),
        cmocka_unit_test(calls_of_a_stub_stay_in_order_where_the_ring_is_small),
        cmocka_unit_test(a_call_of_a_stub_is_cancelled_by_its_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
