/* SPDX-License-Identifier: Apache-2.0 */
/* A host whose lease is over: no call of a managed container begins, whichever way it came and
 * wherever it was when the lease ended. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/hosting.h"
#include "tests/support/clock_page.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"

#define WARM   3 /* calls by a stub after which it knows the way */
#define NEVER  UINT64_MAX
#define SECOND UINT64_C(1000000000)

static const struct rapahub_container_id plain = {.pool = {3, 0}};

static uint64_t boot_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static int start_managed(struct hosting *on, const char *module, enum rapahub_trust trust,
                         struct rapahub_container_id id)
{
    const struct rapahub_container_options container = {
        .id = id, .pool_name = "test", .managed = true};
    const struct rapahub_guest_options guest = {
        .chimod = module, .trust = trust, .container = &container};

    return rapahub_host_spawn(on->host, &guest, &on->guest);
}

static void open_managed(struct hosting *on, const char *module, enum rapahub_trust trust)
{
    open_host(on, (struct rapahub_host_options){0});
    assert_done(start_managed(on, module, trust, here));
}

static void end_lease(struct hosting *on)
{
    rapahub_host_lease(on->host, boot_ns());
}

static int count_up(struct hosting *on, struct rapahub_container_id target, int64_t *total)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_i64, &rapahub_type_i64, NULL};
    static uint64_t id;
    const int64_t one = 1;
    const void *const arguments[] = {&one, NULL};
    const struct rapahub_call call = {.target = target,
                                      .method = "add",
                                      .types = types,
                                      .arguments = arguments,
                                      .method_id = &id};

    return rapahub_host_call(on->host, &call, total);
}

static int echo(struct hosting *on, const char *text, size_t size, struct rapahub_loan *loan)
{
    static uint64_t id;
    struct rapahub_bytes in = {text, size}, out;
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo",
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments,
                                      .loan = loan,
                                      .method_id = &id};

    return rapahub_host_call(on->host, &call, &out);
}

/* ---- one after the other ---- */

/* r[verify hub.lease.call] r[verify hub.lease.word] */
static void nothing_is_run_after_the_end_and_all_again_after_the_next(void **state)
{
    struct hosting on;
    int64_t total = 0;

    (void)state;
    open_managed(&on, MODULE("counter"), RAPAHUB_TRUST_STANDARD);
    for (int64_t i = 1; i <= WARM; i++)
        assert_done(count_up(&on, here, &total));
    end_lease(&on);
    for (int i = 0; i < WARM; i++)
        assert_refused(count_up(&on, here, &total), RAPAHUB_EFENCED, "lease");
    assert_string_equal(rapahub_last_error()->rule, "hub.lease.call");
    rapahub_host_lease(on.host, boot_ns() + 1000 * SECOND);
    for (int64_t i = 1; i <= WARM; i++) {
        assert_done(count_up(&on, here, &total));
        assert_int_equal(total, WARM + i);
    }
    rapahub_host_lease(on.host, 0);
    assert_refused(count_up(&on, here, &total), RAPAHUB_EFENCED, "lease");
    rapahub_host_lease(on.host, NEVER);
    assert_done(count_up(&on, here, &total));
    assert_int_equal(total, 2 * WARM + 1);
    close_host(&on);
}

static void a_container_that_is_not_managed_needs_no_lease(void **state)
{
    struct hosting on;
    int64_t total = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, MODULE("counter"), plain, NULL));
    assert_done(start_managed(&on, MODULE("counter"), RAPAHUB_TRUST_STANDARD, here));
    rapahub_host_lease(on.host, 0);
    for (int64_t i = 1; i <= WARM; i++)
        assert_done(count_up(&on, plain, &total));
    assert_int_equal(total, WARM);
    assert_int_equal(count_up(&on, here, &total), RAPAHUB_EFENCED);
    close_host(&on);
}

/* Two in one guest: each call names its container. */
static void neighbours_in_one_guest_are_told_apart(void **state)
{
    const struct rapahub_container_options second = {.id = plain, .pool_name = "test"};
    struct hosting on;
    int64_t total = 0;

    (void)state;
    open_managed(&on, MODULE("counter"), RAPAHUB_TRUST_TRUSTED);
    assert_done(rapahub_host_add_container(on.host, on.guest, &second));
    rapahub_host_lease(on.host, 0);
    for (int i = 0; i < WARM; i++) {
        assert_int_equal(count_up(&on, here, &total), RAPAHUB_EFENCED);
        assert_done(count_up(&on, plain, &total));
    }
    assert_int_equal(total, WARM);
    close_host(&on);
}

static void find(void *user, const struct rapahub_guest_status *status)
{
    ((struct hosting *)user)->guest = status->guest;
}

/* Begins it in the new life of its guest, which needs no lease. */
static int begin_again(struct hosting *on)
{
    const struct rapahub_container_options container = {
        .id = here, .pool_name = "test", .managed = true};

    assert_done(rapahub_host_guests(on->host, find, on));
    return rapahub_host_begin(on->host, on->guest, &container, RAPAHUB_BEGIN_RESTART, NULL);
}

static void a_new_life_is_under_the_same_lease(void **state)
{
    struct hosting on;
    int64_t total = 0;

    (void)state;
    open_managed(&on, MODULE("counter"), RAPAHUB_TRUST_STANDARD);
    rapahub_host_lease(on.host, 0);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_done(begin_again(&on));
    assert_int_equal(count_up(&on, here, &total), RAPAHUB_EFENCED);
    rapahub_host_lease(on.host, NEVER);
    assert_done(count_up(&on, here, &total));
    close_host(&on);
}

/* It is saved and moved away by a host that has lost it. */
static void lifecycle_goes_on_without_a_lease(void **state)
{
    struct rapahub_sink *sink = NULL;
    struct hosting on;
    size_t size = 0;

    (void)state;
    open_managed(&on, MODULE("counter"), RAPAHUB_TRUST_STANDARD);
    rapahub_host_lease(on.host, 0);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_done(rapahub_sink_of_memory(1 << 20, &sink));
    assert_done(rapahub_host_save(on.host, here, sink));
    assert_non_null(rapahub_sink_data(sink, &size));
    assert_true(size > 0);
    rapahub_sink_destroy(sink);
    assert_done(rapahub_host_remove_container(on.host, here));
    close_host(&on);
}

static void raw_bytes_and_loans_are_refused(void **state)
{
    struct rapahub_loan loan;
    struct hosting on;

    (void)state;
    open_managed(&on, CALC, RAPAHUB_TRUST_TRUSTED);
    for (int i = 0; i < WARM; i++)
        assert_done(echo(&on, "abc", 3, NULL));
    rapahub_host_lease(on.host, boot_ns() + 1000 * SECOND);
    for (int i = 0; i < WARM; i++)
        assert_done(echo(&on, "abc", 3, NULL));
    assert_done(rapahub_host_loan(on.host, here, 8192, &loan));
    rapahub_host_lease(on.host, 0);
    assert_int_equal(echo(&on, "abc", 3, NULL), RAPAHUB_EFENCED);
    assert_int_equal(echo(&on, loan.data, 8192, &loan), RAPAHUB_EFENCED);
    rapahub_host_drop_loan(on.host, &loan);
    rapahub_host_lease(on.host, NEVER);
    assert_done(echo(&on, "abc", 3, NULL));
    close_host(&on);
}

/* The guest that calls gets the same code; its host looks. */
static void a_guest_that_calls_is_told(void **state)
{
    const uint32_t pool = 1;
    const int64_t number = 4;
    const void *const arguments[] = {&pool, &number, NULL};
    const struct rapahub_call call = {
        .target = plain, .method = "ask(u32, i64) -> i64", .arguments = arguments};
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_managed(&on, MODULE("caller"), RAPAHUB_TRUST_STANDARD);
    assert_done(start(&on, MODULE("caller"), plain, NULL));
    assert_done(rapahub_host_call(on.host, &call, &result));
    assert_int_equal(result, 8);
    rapahub_host_lease(on.host, 0);
    assert_int_equal(rapahub_host_call(on.host, &call, &result), RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_last_error()->application, RAPAHUB_EFENCED);
    close_host(&on);
}

static void a_call_with_a_stream_is_refused(void **state)
{
    struct rapahub_source *source = NULL;
    const void *arguments[] = {&source, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "drain(source) -> u64", .arguments = arguments};
    uint64_t size = 0;
    struct hosting on;

    (void)state;
    open_managed(&on, MODULE("flow"), RAPAHUB_TRUST_STANDARD);
    rapahub_host_lease(on.host, 0);
    assert_done(rapahub_source_of_memory("", 0, &source));
    assert_int_equal(rapahub_host_call(on.host, &call, &size), RAPAHUB_EFENCED);
    rapahub_source_destroy(source);
    rapahub_host_lease(on.host, NEVER);
    assert_done(rapahub_source_of_memory("", 0, &source));
    assert_done(rapahub_host_call(on.host, &call, &size));
    assert_int_equal(size, 0);
    rapahub_source_destroy(source);
    close_host(&on);
}

/* ---- on its way when the lease ends ---- */

struct done {
    unsigned count, ok, fenced;
    int status;
};

static void note(void *user, int status, const void *result)
{
    struct done *done = user;

    (void)result;
    done->count++;
    done->ok += status == 0;
    done->fenced += status == RAPAHUB_EFENCED;
    done->status = status;
}

static int begin_hold(struct hosting *on, uint32_t ms, struct done *done)
{
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "hold(u32)", .arguments = arguments};

    return rapahub_host_call_async(on->host, &call, note, done, NULL);
}

static int begin_raw(struct hosting *on, struct done *done)
{
    static uint64_t id;
    const struct rapahub_bytes in = {"abc", 3};
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo",
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments,
                                      .method_id = &id};

    return rapahub_host_call_async(on->host, &call, note, done, NULL);
}

/* The first runs, the others wait in the guest: their host looked before the end, as a thread does
 * that is stopped between its look and the call. r[verify hub.lease.call] */
static void what_waits_in_the_guest_at_the_end_is_not_run(void **state)
{
    struct done first = {0}, others = {0};
    struct hosting on;

    (void)state;
    open_managed(&on, CALC, RAPAHUB_TRUST_STANDARD);
    assert_done(begin_hold(&on, 300, &first));
    pause_ms(100);
    for (int i = 0; i < 10; i++)
        assert_done(begin_hold(&on, 1, &others));
    rapahub_host_lease(on.host, boot_ns());
    assert_true(until(&on, &others.count, 10));
    assert_int_equal(first.count, 1);
    assert_int_equal(first.status, 0); /* it had begun: its answer comes late, and comes */
    assert_int_equal(others.fenced, 10);
    close_host(&on);
}

/* A call that knows the way takes a shorter one here, but not after the lease has changed. The
 * guest is busy meanwhile, so what is refused at once is refused here. r[verify hub.lease.call] */
static void raw_bytes_on_their_way_are_not_run(void **state)
{
    static uint64_t id;
    const struct rapahub_bytes in = {"abc", 3};
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo",
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments,
                                      .timeout_ns = SECOND / 5,
                                      .method_id = &id};
    struct done first = {0}, raw = {0};
    struct rapahub_bytes out;
    struct hosting on;

    (void)state;
    open_managed(&on, CALC, RAPAHUB_TRUST_TRUSTED);
    for (int i = 0; i < WARM; i++)
        assert_done(rapahub_host_call(on.host, &call, &out));
    assert_done(begin_hold(&on, 1500, &first));
    pause_ms(100);
    assert_done(begin_raw(&on, &raw));
    rapahub_host_lease(on.host, 0);
    assert_int_equal(rapahub_host_call(on.host, &call, &out), RAPAHUB_EFENCED);
    assert_int_equal(first.count, 0);
    assert_true(until(&on, &raw.count, 1));
    assert_int_equal(first.status, 0);
    assert_int_equal(raw.status, RAPAHUB_EFENCED);
    close_host(&on);
}

/* The end comes by time, without a word of the host. r[verify hub.lease.clock] */
static void the_end_comes_by_the_clock_alone(void **state)
{
    struct done first = {0}, others = {0};
    struct hosting on;

    (void)state;
    open_managed(&on, CALC, RAPAHUB_TRUST_TRUSTED);
    rapahub_host_lease(on.host, boot_ns() + SECOND / 5);
    assert_done(begin_hold(&on, 400, &first));
    assert_done(begin_hold(&on, 1, &others));
    assert_true(until(&on, &others.count, 1));
    assert_int_equal(first.status, 0);
    assert_int_equal(others.status, RAPAHUB_EFENCED);
    close_host(&on);
}

/* Renewed while they wait: a lease is the host's, no call carries one. */
static void what_waits_in_the_guest_is_run_if_the_lease_was_renewed(void **state)
{
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_managed(&on, CALC, RAPAHUB_TRUST_STANDARD);
    rapahub_host_lease(on.host, boot_ns() + SECOND / 10);
    assert_done(begin_hold(&on, 200, &done));
    for (int i = 0; i < 3; i++)
        assert_done(begin_hold(&on, 1, &done));
    rapahub_host_lease(on.host, boot_ns() + 1000 * SECOND);
    assert_true(until(&on, &done.count, 4));
    assert_int_equal(done.ok, 4);
    close_host(&on);
}

/* Its host holds the call back, and looks at the lease again when it goes on. */
static void a_call_that_is_held_is_not_run_if_the_lease_is_over_by_then(void **state)
{
    struct done done = {0};
    struct hosting on;

    (void)state;
    open_managed(&on, CALC, RAPAHUB_TRUST_STANDARD);
    assert_done(rapahub_host_hold(on.host, here, true));
    assert_done(begin_hold(&on, 1, &done));
    rapahub_host_lease(on.host, 0);
    assert_done(rapahub_host_hold(on.host, here, false));
    assert_true(until(&on, &done.count, 1));
    assert_int_equal(done.status, RAPAHUB_EFENCED);
    assert_done(rapahub_host_hold(on.host, here, true));
    rapahub_host_lease(on.host, NEVER);
    assert_done(begin_hold(&on, 1, &done));
    assert_done(rapahub_host_hold(on.host, here, false));
    assert_true(until(&on, &done.count, 2));
    assert_int_equal(done.status, 0);
    close_host(&on);
}

/* ---- a machine that was suspended ---- */

/* A guest that reads the page's clock: guests get no LD_PRELOAD from their host. */
static void write_wrapper(char *path, size_t size, const char *page)
{
    FILE *file;

    snprintf(path, size, "/tmp/lease-guest-%d", (int)getpid());
    file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\nASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=%s %s=%s exec %s \"$@\"\n",
            MODULE("clock_page"), CLOCK_PAGE_FILE, page, PROCESS_LIBEXEC("rapahub/rapahub-guest"));
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

/* The time passes while calls wait in the guest, and no timer of the host runs meanwhile.
 * r[verify hub.lease.clock] */
static void a_lease_ends_while_the_machine_is_suspended(void **state)
{
    struct done first = {0}, others = {0};
    struct hosting on;
    char path[64];

    (void)state;
    write_wrapper(path, sizeof path, clock_page_open());
    open_host(&on, (struct rapahub_host_options){.guest_program = path});
    assert_done(start_managed(&on, CALC, RAPAHUB_TRUST_STANDARD, here));
    rapahub_host_lease(on.host, boot_ns() + 1000 * SECOND);
    assert_done(begin_hold(&on, 200, &first));
    pause_ms(100);
    assert_done(begin_hold(&on, 1, &others));
    clock_page_leap((int64_t)(2000 * SECOND));
    assert_true(until(&on, &others.count, 1));
    assert_int_equal(first.status, 0);
    assert_int_equal(others.status, RAPAHUB_EFENCED);
    clock_page_leap(-(int64_t)(2000 * SECOND));
    assert_done(begin_hold(&on, 1, &others));
    assert_true(until(&on, &others.count, 2));
    assert_int_equal(others.status, 0);
    close_host(&on);
    unlink(path);
    clock_page_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_run_after_the_end_and_all_again_after_the_next),
        cmocka_unit_test(a_container_that_is_not_managed_needs_no_lease),
        cmocka_unit_test(neighbours_in_one_guest_are_told_apart),
        cmocka_unit_test(a_new_life_is_under_the_same_lease),
        cmocka_unit_test(lifecycle_goes_on_without_a_lease),
        cmocka_unit_test(raw_bytes_and_loans_are_refused),
        cmocka_unit_test(a_guest_that_calls_is_told),
        cmocka_unit_test(a_call_with_a_stream_is_refused),
        cmocka_unit_test(what_waits_in_the_guest_at_the_end_is_not_run),
        cmocka_unit_test(raw_bytes_on_their_way_are_not_run),
        cmocka_unit_test(the_end_comes_by_the_clock_alone),
        cmocka_unit_test(what_waits_in_the_guest_is_run_if_the_lease_was_renewed),
        cmocka_unit_test(a_call_that_is_held_is_not_run_if_the_lease_is_over_by_then),
        cmocka_unit_test(a_lease_ends_while_the_machine_is_suspended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
