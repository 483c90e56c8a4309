/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that do not come to a good end: the call ends with its cause, and nothing is left. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/integration/streaming.h"
#include "tests/support/pause.h"

/* r[verify channeling.reset] */
static void a_method_may_have_enough(void **state)
{
    unsigned char *memory;
    struct rapahub_source *source = pattern_source(500000, &memory);
    struct hosting on;
    uint64_t first;

    (void)state;
    open_flow(&on, small);
    for (int i = 0; i < 100; i++) { /* more than there are channels: all come back */
        assert_done(ask(&on, "peek(source) -> u64", (const void *const[]){&source, NULL}, &first));
    }
    rapahub_source_destroy(source);
    free(memory);
    close_host(&on);
}

static void a_method_that_fails_tells_its_own_reason(void **state)
{
    struct rapahub_sink *sink;
    struct rapahub_source *source;
    unsigned char *memory;
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    for (int i = 0; i < 100; i++) {
        source = pattern_source(500000, &memory);
        assert_done(rapahub_sink_of_memory(1000, &sink));
        assert_refused(
            ask(&on, "fail(source, sink)", (const void *const[]){&source, &sink, NULL}, NULL),
            RAPAHUB_EAPPLICATION, "enough of it");
        rapahub_source_destroy(source);
        rapahub_sink_destroy(sink);
        free(memory);
    }
    close_host(&on);
}

static void a_sink_that_is_full_is_the_cause(void **state)
{
    const uint64_t size = 100000;
    struct rapahub_sink *sink;
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    assert_done(rapahub_sink_of_memory(5000, &sink));
    assert_refused(ask(&on, "fill(sink, u64)", (const void *const[]){&sink, &size, NULL}, NULL),
                   RAPAHUB_EMSGSIZE, "5000 bytes");
    rapahub_sink_destroy(sink);
    drain(&on, 100000); /* the guest and its channels are well */
    close_host(&on);
}

static void a_guest_that_dies_ends_its_streams(void **state)
{
    struct rapahub_source *source;
    unsigned char *memory;
    struct hosting on;

    (void)state;
    open_host(&on, small);
    assert_done(start(&on, FLOW, here, NULL));
    source = pattern_source(500000, &memory);
    assert_refused(ask(&on, "die(source)", (const void *const[]){&source, NULL}, NULL),
                   RAPAHUB_EDIED, "flow");
    rapahub_source_destroy(source);
    free(memory);
    close_host(&on);
}

/* A source that never gives anything: the call ends, and its thread with it. */
static void nothing_that_moves_for_too_long_ends_the_call(void **state)
{
    struct rapahub_source *source;
    struct hosting on;
    int in[2];

    (void)state;
    open_flow(&on, small);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_done(rapahub_source_of_fd(in[0], &source));
    const struct rapahub_call call = {.target = here,
                                      .method = "drain(source) -> u64",
                                      .arguments = (const void *const[]){&source, NULL},
                                      .timeout_ns = 100000000};
    uint64_t count;

    assert_int_equal(rapahub_host_call(on.host, &call, &count), RAPAHUB_ETIMEDOUT);
    rapahub_source_destroy(source);
    close(in[0]);
    close(in[1]);
    drain(&on, 100000);
    close_host(&on);
}

struct done {
    unsigned count;
    int status;
    uint64_t result;
};

static void on_done(void *user, int status, const void *result)
{
    struct done *done = user;

    done->count++;
    done->status = status;
    done->result = result ? *(const uint64_t *)result : 0;
}

static void it_is_cancelled_as_any_call(void **state)
{
    struct rapahub_request_id id;
    struct rapahub_source *source;
    struct done done = {0};
    struct hosting on;
    int in[2];

    (void)state;
    open_flow(&on, small);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_done(rapahub_source_of_fd(in[0], &source));
    const struct rapahub_call call = {.target = here,
                                      .method = "drain(source) -> u64",
                                      .arguments = (const void *const[]){&source, NULL}};

    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, &id));
    assert_done(rapahub_host_dispatch(on.host, 20));
    rapahub_host_cancel(on.host, id);
    assert_true(until(&on, &done.count, 1));
    assert_int_equal(done.status, RAPAHUB_ECANCELED);
    rapahub_source_destroy(source);
    close(in[0]);
    close(in[1]);
    close_host(&on);
}

/* No more threads can be made, or again. */
static void set_stack_size(size_t size)
{
    pthread_attr_t attributes;

    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, size), 0);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
}

static void without_threads_there_is_a_refusal_and_nothing_is_sent_twice(void **state)
{
    struct rapahub_request_id id;
    struct rapahub_source *source;
    struct done done = {0};
    unsigned char *memory;
    uint64_t count = 7;
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    source = pattern_source(3, &memory);
    const struct rapahub_call call = {.target = here,
                                      .method = "drain(source) -> u64",
                                      .arguments = (const void *const[]){&source, NULL}};

    set_stack_size((size_t)1 << 47);
    assert_int_equal(rapahub_host_call_async(on.host, &call, on_done, &done, &id), RAPAHUB_ENOMEM);
    assert_int_equal(rapahub_host_call(on.host, &call, &count), RAPAHUB_ENOMEM);
    set_stack_size((size_t)8 << 20);
    assert_done(rapahub_host_call(on.host, &call, &count));
    assert_int_equal(count, 3);
    rapahub_source_destroy(source);
    free(memory);
    close_host(&on);
}

/* The method is done; its output is more than an unread pipe holds. */
static void begin_to_fill(struct hosting *on, struct rapahub_sink **sink, struct done *done,
                          struct rapahub_request_id *id)
{
    const uint64_t size = 7000; /* two elements */
    const struct rapahub_call call = {.target = here,
                                      .method = "fill(sink, u64)",
                                      .timeout_ns = UINT64_C(3600000000000),
                                      .arguments = (const void *const[]){sink, &size, NULL}};

    assert_done(rapahub_host_call_async(on->host, &call, on_done, done, id));
    for (int i = 0; i < 20; i++)
        assert_true(rapahub_host_dispatch(on->host, 20) >= 0);
    assert_int_equal(done->count, 0);
}

static void what_is_not_taken_for_long_can_be_cancelled(void **state)
{
    struct rapahub_request_id id;
    struct rapahub_sink *sink;
    struct done done = {0};
    struct hosting on;
    int out[2];

    (void)state;
    for (int destroy = 0; destroy < 2; destroy++) {
        done = (struct done){0};
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_true(fcntl(out[1], F_SETPIPE_SZ, 4096) > 0); /* a page */
        assert_done(rapahub_sink_of_fd(out[1], &sink));
        open_flow(&on, small);
        begin_to_fill(&on, &sink, &done, &id);
        if (destroy == 0) {
            rapahub_host_cancel(on.host, id);
            assert_true(until(&on, &done.count, 1));
            close_host(&on);
        } else {
            close_host(&on);
            assert_int_equal(done.count, 1);
        }
        assert_int_equal(done.status, RAPAHUB_ECANCELED);
        rapahub_sink_destroy(sink);
        close(out[0]);
        close(out[1]);
    }
}

static void kill_it(void *user, const struct rapahub_guest_status *status)
{
    (void)user;
    if (status->pid > 0)
        kill(status->pid, SIGKILL);
}

/* The guest has died, and is not started again for long. */
static void open_flow_that_is_away(struct hosting *on)
{
    const struct rapahub_supervision how = {.when_down = RAPAHUB_WHEN_DOWN_WAIT,
                                            .backoff_first = true,
                                            .backoff_initial_ns = UINT64_C(3600000000000),
                                            .backoff_max_ns = UINT64_C(3600000000000),
                                            .period_ns = RAPAHUB_FOREVER,
                                            .jitter = RAPAHUB_JITTER_NONE};

    open_host(on, small);
    assert_done(start(on, FLOW, here, &how));
    assert_true(until(on, &on->told.ready, 1));
    assert_done(rapahub_host_guests(on->host, kill_it, NULL));
    assert_true(until(on, &on->told.down, 1));
}

/* r[verify hub.call.once] */
static void what_waits_for_its_guest_can_be_cancelled(void **state)
{
    const uint64_t size = 7000;
    struct rapahub_request_id id;
    struct rapahub_sink *sink;
    struct hosting on;

    (void)state;
    for (int destroy = 0; destroy < 2; destroy++) {
        const struct rapahub_call call = {.target = here,
                                          .method = "fill(sink, u64)",
                                          .timeout_ns = UINT64_C(3600000000000),
                                          .arguments = (const void *const[]){&sink, &size, NULL}};
        struct done done = {0};

        assert_done(rapahub_sink_of_memory(10000, &sink));
        open_flow_that_is_away(&on);
        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, &id));
        for (int i = 0; i < 10; i++)
            assert_true(rapahub_host_dispatch(on.host, 20) >= 0);
        assert_int_equal(done.count, 0);
        if (destroy == 0) {
            rapahub_host_cancel(on.host, id);
            assert_true(until(&on, &done.count, 1));
        }
        close_host(&on);
        assert_int_equal(done.count, 1);
        /* The end of a host stops its guests, and cancels its calls: a call ends with either. */
        if (destroy == 0 || done.status != RAPAHUB_ESTOPPED)
            assert_int_equal(done.status, RAPAHUB_ECANCELED);
        rapahub_sink_destroy(sink);
    }
}

static void a_stream_that_is_missing_is_refused(void **state)
{
    struct rapahub_source *none = NULL;
    struct hosting on;
    uint64_t count;

    (void)state;
    open_flow(&on, small);
    assert_refused(ask(&on, "drain(source) -> u64", (const void *const[]){&none, NULL}, &count),
                   RAPAHUB_EARGUMENTS, "a source is missing");
    close_host(&on);
}

/* A thread's record of its calls, each of which ended. */
struct caller {
    struct hosting *on;
    unsigned whole, broken, wrong;
    const bool *stop;
};

static void *drain_until_told(void *user)
{
    struct caller *caller = user;
    unsigned char *memory;
    struct rapahub_source *source = pattern_source(200000, &memory);

    while (!__atomic_load_n(caller->stop, __ATOMIC_RELAXED)) {
        uint64_t count = 0;
        int r;

        rapahub_source_destroy(source);
        assert_done(rapahub_source_of_memory(memory, 200000, &source));
        r = ask(caller->on, "drain(source) -> u64", (const void *const[]){&source, NULL}, &count);
        caller->whole += r == 0 && count == 200000;
        caller->wrong += r == 0 && count != 200000;
        caller->broken += r < 0;
    }
    rapahub_source_destroy(source);
    free(memory);
    return NULL;
}

/* The last death may not have been noticed yet, or the next life not be there. */
static void drain_in_the_next_life(struct hosting *on)
{
    uint64_t end = now_ms() + 10000;
    int r;

    do
        r = try_drain(on, 100000);
    while ((r == RAPAHUB_EDIED || r == RAPAHUB_ESTALE || r == RAPAHUB_ERESTARTING) &&
           now_ms() < end);
    assert_done(r);
}

/* r[verify hub.call.once] */
static void guests_that_are_killed_break_streams_and_nothing_else(void **state)
{
    const struct rapahub_supervision patient = {
        .restarts_max = 200, .backoff_initial_ns = 1000000, .backoff_max_ns = 1000000};
    struct rapahub_host_options options = small;
    struct caller callers[4];
    pthread_t threads[4];
    bool stop = false;
    unsigned whole = 0, broken = 0;
    struct hosting on;

    (void)state;
    options.own_thread = true;
    open_host(&on, options);
    assert_done(start(&on, FLOW, here, &patient));
    for (int i = 0; i < 4; i++) {
        callers[i] = (struct caller){.on = &on, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, drain_until_told, &callers[i]), 0);
    }
    for (int i = 0; i < 40; i++) {
        assert_done(rapahub_host_guests(on.host, kill_it, NULL));
        pause_ms(10 + i % 7);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
        whole += callers[i].whole;
        broken += callers[i].broken;
    }
    assert_true(whole > 0);
    assert_true(broken > 0);
    assert_done(rapahub_host_guests(on.host, kill_it, NULL));
    drain_in_the_next_life(&on);
    close_host(&on);
}

static void note_epoch(void *user, const struct rapahub_guest_status *status)
{
    *(uint32_t *)user = status->guest.epoch;
}

/* Its channels are unknown, which is no fault of the caller. */
static void a_guest_may_ask_for_a_container_that_is_not_there(void **state)
{
    uint32_t before = 0, after = 0;
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    assert_done(rapahub_host_guests(on.host, note_epoch, &before));
    for (int i = 0; i < 40; i++) /* more often than it has ids */
        assert_int_equal(copy(&on, "relay(source, sink, u32) -> u64", 20000), RAPAHUB_EAPPLICATION);
    assert_done(rapahub_host_guests(on.host, note_epoch, &after));
    assert_int_equal(before, after);
    assert_done(start(&on, FLOW, there, NULL));
    assert_done(copy(&on, "relay(source, sink, u32) -> u64", 20000));
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_may_have_enough),
        cmocka_unit_test(a_method_that_fails_tells_its_own_reason),
        cmocka_unit_test(a_sink_that_is_full_is_the_cause),
        cmocka_unit_test(a_guest_that_dies_ends_its_streams),
        cmocka_unit_test(nothing_that_moves_for_too_long_ends_the_call),
        cmocka_unit_test(it_is_cancelled_as_any_call),
        cmocka_unit_test(without_threads_there_is_a_refusal_and_nothing_is_sent_twice),
        cmocka_unit_test(what_is_not_taken_for_long_can_be_cancelled),
        cmocka_unit_test(what_waits_for_its_guest_can_be_cancelled),
        cmocka_unit_test(a_stream_that_is_missing_is_refused),
        cmocka_unit_test(a_guest_may_ask_for_a_container_that_is_not_there),
        cmocka_unit_test(guests_that_are_killed_break_streams_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
