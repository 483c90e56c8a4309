/* SPDX-License-Identifier: Apache-2.0 */
/* Small calls of bytes to bytes, one after the other: what they carry, how they end, and what else
 * happens meanwhile. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define RAWS    MODULE("raws")
#define ROUNDS  40 /* rounds of each call: the first ones go the long way */
#define THREADS 8
#define CALLS   1500
#define KILLS   10
#define KILLED  20000

enum method { SAME, SIZED, LENT, WASTED, NOTHING, REFUSE, LINGER, THROUGH, COUNT, METHODS };

static const char *const names[METHODS] = {"same",   "sized",  "lent",    "wasted", "nothing",
                                           "refuse", "linger", "through", "count"};
static uint64_t ids[METHODS];

static int call_there(struct rapahub_host *host, struct rapahub_container_id target,
                      enum method method, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call = {.target = target,
                                      .method = names[method],
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments,
                                      .method_id = &ids[method]};

    *out = (struct rapahub_bytes){"lost", 4};
    return rapahub_host_call(host, &call, out);
}

static int call(struct hosting *on, enum method method, struct rapahub_bytes in,
                struct rapahub_bytes *out)
{
    return call_there(on->host, here, method, in, out);
}

static enum rapahub_waiting adapt = RAPAHUB_WAIT_ADAPT, poll_on = RAPAHUB_WAIT_POLL;

static cpu_set_t all_cpus;

static void note_guest(void *user, const struct rapahub_guest_status *status)
{
    *(int *)user = status->pid;
}

static void pin(int pid, size_t cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(pid, sizeof one, &one), 0);
}

/* This thread and the guest are on two CPUs, where there are two: else no call goes directly. */
static void keep_apart(struct hosting *on)
{
    size_t first = 0, last = CPU_SETSIZE - 1;
    int pid = 0;

    assert_int_equal(sched_getaffinity(0, sizeof all_cpus, &all_cpus), 0);
    while (!CPU_ISSET(first, &all_cpus))
        first++;
    while (!CPU_ISSET(last, &all_cpus))
        last--;
    assert_done(rapahub_host_guests(on->host, note_guest, &pid));
    if (first == last || pid <= 0)
        return;
    pin(pid, first);
    pin(0, last);
}

static void be_anywhere(void)
{
    assert_int_equal(sched_setaffinity(0, sizeof all_cpus, &all_cpus), 0);
}

/* Each test runs both ways: without sleepers nearly all calls go directly. */
static void open_raws(struct hosting *on, void **state)
{
    memset(ids, 0, sizeof ids);
    open_host(on, (struct rapahub_host_options){.waiting = *(enum rapahub_waiting *)*state});
    assert_done(start(on, RAWS, here, NULL));
    keep_apart(on);
}

static void close_raws(struct hosting *on)
{
    be_anywhere();
    close_host(on);
}

static bool is_filled(struct rapahub_bytes bytes, size_t size, int with)
{
    bool same = bytes.size == size;

    for (size_t i = 0; same && i < size; i++)
        same = ((const uint8_t *)bytes.data)[i] == with;
    return same;
}

static void echo_each_size(struct hosting *on)
{
    struct rapahub_bytes out;
    uint8_t data[200];

    for (size_t size = 0; size < sizeof data; size++) {
        memset(data, (int)size, sizeof data);
        assert_done(call(on, SAME, (struct rapahub_bytes){data, size}, &out));
        assert_true(is_filled(out, size, (int)size));
        assert_done(call(on, SIZED, (struct rapahub_bytes){data, size % 35}, &out));
        assert_true(is_filled(out, size % 35 ? size : 0, (int)size));
    }
}

/* 28 and 29 are the last that stand in a descriptor, of 30 and more there is a slot. */
static void results_of_any_size_come_back(void **state)
{
    struct hosting on;

    open_raws(&on, state);
    for (int n = 0; n < 3; n++)
        echo_each_size(&on);
    close_raws(&on);
}

/* The memory of the last result is not written before the arguments are sent. */
static void the_last_result_may_be_the_next_argument(void **state)
{
    const char text[] = "the same again and again";
    struct rapahub_bytes bytes = {text, sizeof text};
    struct hosting on;

    open_raws(&on, state);
    for (int i = 0; i < 1000; i++) {
        assert_done(call(&on, SAME, bytes, &bytes));
        assert_int_equal(bytes.size, sizeof text);
        assert_memory_equal(bytes.data, text, sizeof text);
    }
    close_raws(&on);
}

static void a_result_stays_until_the_next_call(void **state)
{
    struct rapahub_bytes out;
    struct hosting on;

    open_raws(&on, state);
    for (int i = 0; i < ROUNDS; i++) {
        uint8_t in[2] = {20, (uint8_t)i};

        assert_done(call(&on, SIZED, (struct rapahub_bytes){in, 2}, &out));
        assert_done(rapahub_host_dispatch(on.host, 0));
        assert_true(is_filled(out, 20, i));
    }
    assert_done(call(&on, NOTHING, out, &out));
    assert_int_equal(out.size, 0);
    close_raws(&on);
}

/* With four slots one that was not given back would be missing soon. */
static void memory_that_was_lent_for_a_small_result_is_free_again(void **state)
{
    const struct rapahub_host_options few = {.guests_max = 2,
                                             .ring_size = 8,
                                             .slot_size = 16384,
                                             .slot_count = 4,
                                             .waiting = *(enum rapahub_waiting *)*state};
    struct rapahub_bytes out;
    struct hosting on;

    memset(ids, 0, sizeof ids);
    open_host(&on, few);
    assert_done(start(&on, RAWS, here, NULL));
    keep_apart(&on);
    for (int i = 0; i < 5 * ROUNDS; i++) {
        uint8_t in[2] = {(uint8_t)(i % 40), (uint8_t)i};

        assert_done(call(&on, LENT, (struct rapahub_bytes){in, 2}, &out));
        assert_true(is_filled(out, in[0], in[1]));
        assert_done(call(&on, WASTED, (struct rapahub_bytes){in, 2}, &out));
        assert_true(is_filled(out, in[0], in[1]));
    }
    close_raws(&on);
}

static void a_failure_is_told_with_its_text(void **state)
{
    struct rapahub_bytes out;
    struct hosting on;

    open_raws(&on, state);
    for (int i = 0; i < ROUNDS; i++) {
        assert_refused(call(&on, REFUSE, (struct rapahub_bytes){"12345", 5}, &out),
                       RAPAHUB_EAPPLICATION, "refused 5 bytes");
        assert_int_equal(rapahub_last_error()->application, RAPAHUB_EINVAL);
        assert_done(call(&on, SAME, (struct rapahub_bytes){"12345", 5}, &out));
        assert_int_equal(out.size, 5);
    }
    close_raws(&on);
}

/* The caller goes at its deadline; the method sees that, and the next one runs. */
static void a_method_sees_that_nobody_waits_any_more(void **state)
{
    const struct rapahub_bytes in = {"x", 1};
    const struct rapahub_call order = {.target = here,
                                       .method = "linger",
                                       .types = RAPAHUB_TYPES(bytes, bytes),
                                       .arguments = (const void *const[]){&in, NULL},
                                       .method_id = &ids[LINGER],
                                       .timeout_ns = 20000000};
    struct rapahub_bytes out;
    struct hosting on;
    uint64_t begun;

    open_raws(&on, state);
    for (int i = 0; i < 8; i++) {
        assert_done(call(&on, SAME, in, &out));
        begun = now_ms();
        assert_int_equal(rapahub_host_call(on.host, &order, &out), RAPAHUB_ETIMEDOUT);
        assert_done(call(&on, SAME, in, &out));
        assert_in_range(now_ms() - begun, 19, 3000);
    }
    close_raws(&on);
}

static int offer_back(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    const uint8_t other[2] = {17, 3};
    struct hosting *on = self;
    static uint8_t copy[128];
    struct rapahub_bytes nested;
    int r;

    memcpy(copy, in.data, in.size);
    *out = (struct rapahub_bytes){copy, in.size};
    r = call(on, SIZED, (struct rapahub_bytes){other, 2}, &nested);
    return r == 0 && !is_filled(nested, 17, 3) ? RAPAHUB_EINVAL : r;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(back, offer_back, bytes, bytes),
    RAPAHUB_METHOD_END,
};

/* Method, offer, method: the one that runs first is answered last, with its own arguments. */
static void a_method_calls_out_and_is_called_meanwhile(void **state)
{
    const struct rapahub_container_options offer = {.id = {.pool = {9, 0}}, .pool_name = "offer"};
    struct rapahub_bytes out;
    struct hosting on;

    open_raws(&on, state);
    assert_done(rapahub_host_offer(on.host, &offer, methods, &on));
    for (int i = 0; i < 3 * ROUNDS; i++) {
        uint8_t in[64];

        memset(in, i, sizeof in);
        assert_done(call(&on, THROUGH, (struct rapahub_bytes){in, (size_t)i % 50 + 1}, &out));
        assert_true(is_filled(out, (size_t)i % 50 + 1, i));
        assert_done(call(&on, SAME, (struct rapahub_bytes){in, 3}, &out));
        assert_true(is_filled(out, 3, i));
    }
    close_raws(&on);
}

/* The first has no handle and the second has: each has its own. */
static void each_container_has_its_own_calls(void **state)
{
    const struct rapahub_container_id other = {.pool = {2, 0}};
    const struct rapahub_container_options options = {.id = other, .pool_name = "other"};
    const struct rapahub_bytes in = {"ab", 2};
    struct rapahub_bytes out;
    struct hosting on;

    open_raws(&on, state);
    assert_done(rapahub_host_add_container(on.host, on.guest, &options));
    for (int i = 0; i < ROUNDS; i++) {
        assert_done(call(&on, SAME, in, &out));
        assert_done(call(&on, SAME, in, &out));
        for (int n = 0; n < 3; n++) /* the second of them notes the place */
            assert_done(call_there(on.host, other, SAME, in, &out));
        assert_true(out.size == 2 && memcmp(out.data, "ab", 2) == 0);
    }
    assert_done(call(&on, COUNT, in, &out));
    assert_true(is_filled(out, 1, 2 * ROUNDS));
    assert_done(call_there(on.host, other, COUNT, in, &out));
    assert_true(is_filled(out, 1, 3 * ROUNDS));
    close_raws(&on);
}

struct caller {
    struct hosting *on;
    pthread_t thread;
    int seed, wrong, failed;
};

static void *call_often(void *user)
{
    struct caller *caller = user;
    uint8_t data[4000];

    for (int i = 0; i < CALLS; i++) {
        size_t size = i % 5 == 0 ? (size_t)i * 7 % sizeof data : (size_t)i % 31;
        struct rapahub_bytes out;

        memset(data, caller->seed + i, sizeof data);
        if (call(caller->on, SAME, (struct rapahub_bytes){data, size}, &out) != 0)
            caller->failed++;
        else if (!is_filled(out, size, (uint8_t)(caller->seed + i)))
            caller->wrong++;
    }
    return NULL;
}

/* Each polling thread fills a CPU, and there are two. */
static void threads_mix_small_and_large_calls(void **state)
{
    int threads = *(enum rapahub_waiting *)*state == RAPAHUB_WAIT_POLL ? 2 : THREADS;
    struct caller callers[THREADS];
    struct hosting on;

    open_raws(&on, state);
    be_anywhere();
    for (int i = 0; i < threads; i++) {
        callers[i] = (struct caller){.on = &on, .seed = 31 * i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].failed, 0);
        assert_int_equal(callers[i].wrong, 0);
    }
    close_raws(&on);
}

struct killer {
    _Atomic int pid;
    atomic_bool over;
    atomic_uint kills;
};

static void *kill_often(void *user)
{
    struct killer *killer = user;

    while (!atomic_load(&killer->over)) {
        int pid = atomic_exchange(&killer->pid, 0);

        if (pid > 0 && kill(pid, SIGKILL) == 0)
            killer->kills++;
        pause_ms(7);
    }
    return NULL;
}

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    if (strcmp(status->state, "ready") == 0)
        atomic_store(&((struct killer *)user)->pid, status->pid);
}

/* By the thread that owns the host. r[verify hub.call.once] */
static void calls_in_a_row_outlive_kills(void **state)
{
    const struct rapahub_supervision often = {.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                              .backoff_initial_ns = 100000,
                                              .backoff_max_ns = 100000};
    unsigned answered = 0, ended = 0;
    struct killer killer = {.kills = 0};
    struct hosting on;
    pthread_t thread;

    memset(ids, 0, sizeof ids);
    open_host(&on, (struct rapahub_host_options){.waiting = *(enum rapahub_waiting *)*state});
    assert_done(start(&on, RAWS, here, &often));
    assert_int_equal(pthread_create(&thread, NULL, kill_often, &killer), 0);
    while (answered < KILLED || killer.kills < KILLS) {
        uint8_t in[20];
        struct rapahub_bytes out;
        int r;

        memset(in, (int)answered, sizeof in);
        r = call(&on, SAME, (struct rapahub_bytes){in, sizeof in}, &out);
        answered += r == 0;
        ended++;
        assert_true(r == 0 || r == RAPAHUB_EDIED || r == RAPAHUB_ESTALE ||
                    r == RAPAHUB_ERESTARTING || r == RAPAHUB_ECLOSED);
        assert_true(r != 0 || is_filled(out, sizeof in, (uint8_t)in[0]));
        if (r != 0)
            assert_done(rapahub_host_dispatch(on.host, 1));
        if (ended % 500 == 0)
            assert_done(rapahub_host_guests(on.host, note_pid, &killer));
    }
    atomic_store(&killer.over, true);
    pthread_join(thread, NULL);
    print_message("%u calls, %u answered, %u kills\n", ended, answered, killer.kills);
    close_host(&on);
}

#define BOTH_WAYS(test) \
    cmocka_unit_test_prestate(test, &adapt), cmocka_unit_test_prestate(test, &poll_on)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(results_of_any_size_come_back),
        BOTH_WAYS(the_last_result_may_be_the_next_argument),
        BOTH_WAYS(a_result_stays_until_the_next_call),
        BOTH_WAYS(memory_that_was_lent_for_a_small_result_is_free_again),
        BOTH_WAYS(a_failure_is_told_with_its_text),
        BOTH_WAYS(a_method_sees_that_nobody_waits_any_more),
        BOTH_WAYS(a_method_calls_out_and_is_called_meanwhile),
        BOTH_WAYS(each_container_has_its_own_calls),
        BOTH_WAYS(threads_mix_small_and_large_calls),
        BOTH_WAYS(calls_in_a_row_outlive_kills),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
