/* SPDX-License-Identifier: Apache-2.0 */
/* Views: arguments and results that are read where they were written. */
#include <pthread.h>

#include "tests/integration/hosting.h"

#define KIB ((size_t)1 << 10)

/* Says whether the data lies in memory that is shared with a guest. */
static bool lies_in_segment(const void *data)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    bool shared = false;
    char line[512];

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        uintptr_t first, end;

        if (sscanf(line, "%lx-%lx", &first, &end) == 2 && (uintptr_t)data >= first &&
            (uintptr_t)data < end)
            shared = strstr(line, "rapahub") != NULL;
    }
    fclose(maps);
    return shared;
}

static void open_trusting(struct hosting *on, const struct rapahub_host_options *options,
                          enum rapahub_trust trust)
{
    const struct rapahub_guest_options guest = {.chimod = CALC, .trust = trust};
    const struct rapahub_container_options container = {.id = here, .pool_name = "view"};

    open_host(on, *options);
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static const struct rapahub_host_options few = {.guests_max = 2};

static uint8_t *filled(size_t size, unsigned seed)
{
    uint8_t *data = malloc(size + 1);

    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 131 + seed);
    return data;
}

static int echo_view(struct rapahub_host *host, const uint8_t *data, size_t size,
                     struct rapahub_bytes *out)
{
    struct rapahub_bytes in = {data, size};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo(bytes) -> bytes",
                                      .arguments = (const void *const[]){&in, NULL},
                                      .view = true};

    return rapahub_host_call(host, &call, out);
}

/* Checks the result, and returns whether it was shown in place. */
static bool echo_shown(struct hosting *on, size_t size, unsigned seed)
{
    uint8_t *data = filled(size, seed);
    struct rapahub_bytes out;

    assert_done(echo_view(on->host, data, size, &out));
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
    free(data);
    return lies_in_segment(out.data);
}

/* r[verify hub.view.release] */
static void a_result_of_a_trusted_guest_is_shown_where_it_lies(void **state)
{
    struct hosting on;

    (void)state;
    open_trusting(&on, &few, RAPAHUB_TRUST_TRUSTED);
    for (unsigned i = 0; i < 200; i++) {
        assert_false(echo_shown(&on, 4000, i));
        assert_true(echo_shown(&on, 10000 + i, i));
        assert_true(echo_shown(&on, 60 * KIB, i));
    }
    for (unsigned i = 0; i < 20; i++) /* there is one slot this large, which the last result held */
        assert_true(echo_shown(&on, 900 * KIB, i));
    close_host(&on);
}

static void a_result_of_another_guest_is_copied(void **state)
{
    struct hosting on;

    (void)state;
    open_trusting(&on, &few, RAPAHUB_TRUST_STANDARD);
    for (unsigned i = 0; i < 20; i++)
        assert_false(echo_shown(&on, 60 * KIB, i));
    close_host(&on);
}

/* Methods that fail, or whose result is no bytes, are as without. */
static void what_is_no_bytes_is_as_ever(void **state)
{
    int64_t a = 1, b = 0, sum = 0;
    struct hosting on;
    struct rapahub_call call = {.target = here,
                                .method = "add(i64, i64) -> i64",
                                .arguments = (const void *const[]){&a, &b, NULL},
                                .view = true};

    (void)state;
    open_trusting(&on, &few, RAPAHUB_TRUST_TRUSTED);
    assert_done(rapahub_host_call(on.host, &call, &sum));
    assert_int_equal(sum, 1);
    call.method = "divide(i64, i64) -> i64";
    assert_refused(rapahub_host_call(on.host, &call, &sum), RAPAHUB_EAPPLICATION, "zero");
    close_host(&on);
}

static bool arguments_shown(struct hosting *on, size_t size)
{
    uint8_t *data = filled(size, 1);
    struct rapahub_bytes in = {data, size};
    bool shown = false;

    assert_done(ask(on, "shown(bytes) -> bool", (const void *const[]){&in, NULL}, &shown));
    free(data);
    return shown;
}

/* r[verify hub.view.release] */
static void a_method_reads_large_arguments_where_they_lie(void **state)
{
    static const enum rapahub_trust trusts[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};

    (void)state;
    for (unsigned t = 0; t < 2; t++) {
        struct hosting on;

        open_trusting(&on, &few, trusts[t]);
        for (unsigned i = 0; i < 100; i++) {
            assert_false(arguments_shown(&on, 4000));
            assert_true(arguments_shown(&on, 50 * KIB));
        }
        close_host(&on);
    }
}

/* With pools of one size too. */
static void slots_of_one_size_are_shown_too(void **state)
{
    const struct rapahub_host_options one = {
        .guests_max = 2, .slot_size = 64 * KIB, .slot_count = 2};
    struct hosting on;

    (void)state;
    open_trusting(&on, &one, RAPAHUB_TRUST_TRUSTED);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(echo_shown(&on, 50 * KIB, i));
        assert_true(arguments_shown(&on, 50 * KIB));
    }
    close_host(&on);
}

struct holder {
    struct rapahub_host *host;
    pthread_barrier_t *held;
    unsigned seed;
    bool shown, same;
};

/* Its result stays shown until this thread's next call. */
static void *hold(void *user)
{
    struct holder *holder = user;
    uint8_t *data = filled(50 * KIB, holder->seed);
    struct rapahub_bytes out = {NULL, 0};

    if (echo_view(holder->host, data, 50 * KIB, &out) == 0)
        holder->shown = lies_in_segment(out.data);
    pthread_barrier_wait(holder->held);
    pthread_barrier_wait(holder->held);
    holder->same = out.size == 50 * KIB && memcmp(out.data, data, out.size) == 0;
    free(data);
    return NULL;
}

/* r[verify hub.slot.hold] r[verify hub.view.release] */
static void more_than_half_of_the_slots_are_copied_and_nobody_waits(void **state)
{
    struct rapahub_host_options options = {
        .own_thread = true, .guests_max = 2, .slot_size = 64 * KIB, .slot_count = 4};
    struct holder holders[5];
    pthread_t threads[5];
    pthread_barrier_t held;
    unsigned shown = 0;
    struct hosting on;

    (void)state;
    open_trusting(&on, &options, RAPAHUB_TRUST_TRUSTED);
    assert_int_equal(pthread_barrier_init(&held, NULL, 6), 0);
    for (unsigned i = 0; i < 5; i++) {
        holders[i] = (struct holder){.host = on.host, .held = &held, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, hold, &holders[i]), 0);
    }
    pthread_barrier_wait(&held);
    for (unsigned i = 0; i < 10; i++)
        (void)echo_shown(&on, 50 * KIB, i); /* there is room for others */
    pthread_barrier_wait(&held);
    for (unsigned i = 0; i < 5; i++) {
        pthread_join(threads[i], NULL);
        assert_true(holders[i].same);
        shown += holders[i].shown;
    }
    assert_int_equal(shown, 2);
    for (unsigned i = 0; i < 20; i++) /* their threads have ended: all is given back */
        assert_true(echo_shown(&on, 50 * KIB, i));
    pthread_barrier_destroy(&held);
    close_host(&on);
}

/* r[verify hub.view.release] */
static void what_a_dead_guest_wrote_can_still_be_read(void **state)
{
    uint8_t *data = filled(60 * KIB, 3);
    struct rapahub_bytes out;
    struct hosting on;

    (void)state;
    open_trusting(&on, &(struct rapahub_host_options){.guests_max = 4}, RAPAHUB_TRUST_TRUSTED);
    on.told.ready = 0;
    {
        int32_t pid = pid_of(&on);

        assert_done(echo_view(on.host, data, 60 * KIB, &out));
        assert_true(lies_in_segment(out.data));
        assert_int_equal(kill(pid, SIGKILL), 0);
    }
    assert_true(until(&on, &on.told.ready, 1));
    assert_int_equal(out.size, 60 * KIB);
    assert_memory_equal(out.data, data, 60 * KIB);
    free(data);
    assert_true(echo_shown(&on, 60 * KIB, 4)); /* from the new life; the end of the host takes it */
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_of_a_trusted_guest_is_shown_where_it_lies),
        cmocka_unit_test(a_result_of_another_guest_is_copied),
        cmocka_unit_test(what_is_no_bytes_is_as_ever),
        cmocka_unit_test(a_method_reads_large_arguments_where_they_lie),
        cmocka_unit_test(slots_of_one_size_are_shown_too),
        cmocka_unit_test(more_than_half_of_the_slots_are_copied_and_nobody_waits),
        cmocka_unit_test(what_a_dead_guest_wrote_can_still_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
