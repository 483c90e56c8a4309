/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that the host did not start: they come by a path, are called as any other, and go; and the
 * host finds out, whatever way they go. */
#include <fcntl.h>

#include "tests/integration/visiting.h"

#define CALLS 100

/* ---- it comes, and serves ---- */

static void see_status(void *user, const struct rapahub_guest_status *status)
{
    *(struct rapahub_guest_status *)user = *status;
    assert_string_equal(status->name, "calc");
    assert_string_equal(status->state, "ready");
}

/* r[verify shm.guest.attach] r[verify shm.host.poll-peers] r[verify shm.doorbell.optional] */
static void a_guest_that_came_by_itself_is_called_as_any_other(void **state)
{
    struct rapahub_guest_status status = {.pid = 0};
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    int64_t sum = 0;

    (void)state;
    open_small(&on);
    take_in(&on, &anonymous_guest);
    for (int64_t i = 0; i < CALLS; i++) {
        assert_done(add(&on, i, 2 * i, &sum));
        assert_int_equal(sum, 3 * i);
    }
    assert_int_equal(pid_of(&on), anonymous_guest.process.pid);
    assert_done(rapahub_host_guests(on.host, see_status, &status));
    assert_true(status.anonymous);
    assert_int_equal(status.pid, anonymous_guest.process.pid);
    assert_int_equal(on.told.ready, 0);
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    assert_int_equal(end_of(&anonymous_guest), 0);
    assert_done(rapahub_host_dispatch(on.host, 0));
    assert_int_equal(on.told.down, 1);
    assert_int_equal(rapahub_host_quarantined(on.host), 0);
    close_host(&on);
}

/* r[verify supervise.unsupervised] */
static void a_guest_that_came_by_itself_is_nobody_s_child(void **state)
{
    struct rapahub_guest_id guest;
    struct rapahub_child_id child;
    struct anonymous_guest anonymous_guest;
    struct hosting on;

    (void)state;
    open_small(&on);
    take_in(&on, &anonymous_guest);
    guest = on.told.guest;
    assert_refused(rapahub_child_of(on.host, guest, &child), RAPAHUB_EUNSUPERVISED,
                   "calc came by itself");
    assert_int_equal(pid_of(&on), anonymous_guest.process.pid);
    assert_done(rapahub_host_stop(on.host, guest));
    assert_int_equal(end_of(&anonymous_guest), 0);
    assert_int_equal(rapahub_child_of(on.host, guest, &child), RAPAHUB_ESTALE);
    close_host(&on);
}

static int asked_back(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = -number;
    return 0;
}

static const struct rapahub_method offered[] = {
    RAPAHUB_METHOD(twice, asked_back, i64, i64),
    RAPAHUB_METHOD_END,
};

/* The host hears of a call of such a guest by looking. */
static void it_calls_out_as_any_other(void **state)
{
    const struct rapahub_container_options offer = {.id = {.pool = {2, 0}}, .pool_name = "host"};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const uint32_t pool = 2;
    const int64_t number = 7;
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_small(&on);
    assert_done(rapahub_host_offer(on.host, &offer, offered, NULL));
    send_anonymous_guest(&anonymous_guest, rapahub_host_path(on.host), MODULE("caller"));
    assert_done(rapahub_host_add_container(on.host, await_anonymous_guest(&on), &container));
    assert_done(
        ask(&on, "ask(u32, i64) -> i64", (const void *const[]){&pool, &number, NULL}, &result));
    assert_int_equal(result, -7);
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    assert_int_equal(end_of(&anonymous_guest), 0);
    close_host(&on);
}

/* ---- it goes ---- */

struct ends {
    unsigned done, failed;
};

static void on_done(void *user, int status, const void *result)
{
    struct ends *ends = user;

    (void)result;
    ends->done++;
    ends->failed += status != 0;
}

static void begin_calls(struct hosting *on, struct ends *ends, int count)
{
    const uint32_t ms = 1;
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "nap(u32) -> void", .arguments = arguments};

    *ends = (struct ends){0, 0};
    for (int i = 0; i < count; i++)
        assert_done(rapahub_host_call_async(on->host, &call, on_done, ends, NULL));
}

/* r[verify shm.guest.detach] r[verify hub.goodbye.drain] r[verify shm.goodbye.guest]
 * r[verify hub.death.recycle] */
static void one_that_is_asked_to_go_answers_everything_first(void **state)
{
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    struct ends ends;

    (void)state;
    open_small(&on);
    for (int i = 0; i < 5; i++) {
        take_in(&on, &anonymous_guest);
        begin_calls(&on, &ends, 50);
        process_kill(&anonymous_guest.process, SIGTERM);
        assert_true(until(&on, &on.told.down, (unsigned)i + 1));
        assert_int_equal(ends.done, 50);
        assert_int_equal(ends.failed, 0);
        assert_int_equal(on.told.calls_lost, 0);
        assert_non_null(strstr(on.told.text, "down calc detached: terminated; "));
        assert_int_equal(end_of(&anonymous_guest), 0);
        assert_int_equal(on.told.guest.epoch, i + 1);
        assert_int_equal(on.told.guest.peer, 1); /* the same entry each time */
        on.told.size = 0;
    }
    close_host(&on);
}

/* r[verify hub.death.proof] r[verify shm.crash.recovery] r[verify shm.death.process-handle] */
static void one_that_is_killed_is_proven_dead_and_its_place_used_again(void **state)
{
    struct rapahub_guest_id guest;
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    struct ends ends;
    int64_t sum;

    (void)state;
    open_small(&on);
    for (int i = 0; i < 5; i++) {
        guest = take_in(&on, &anonymous_guest);
        assert_int_equal(guest.peer, 1);
        assert_int_equal(guest.epoch, i + 1);
        begin_calls(&on, &ends, 20);
        process_kill(&anonymous_guest.process, SIGKILL);
        assert_true(until(&on, &on.told.down, (unsigned)i + 1));
        while (ends.done < 20)
            assert_done(rapahub_host_dispatch(on.host, 100));
        assert_true(on.told.calls_lost <= 20);
        assert_int_equal(add(&on, 1, 2, &sum), RAPAHUB_ENOENT);
        assert_int_equal(rapahub_host_stop(on.host, guest), RAPAHUB_ESTALE);
        assert_int_equal(end_of(&anonymous_guest), 1000 + SIGKILL);
    }
    close_host(&on);
}

/* r[verify shm.crash.host-owned] */
static void a_call_in_it_ends_when_it_dies(void **state)
{
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    uint64_t start;

    (void)state;
    open_small(&on);
    take_in(&on, &anonymous_guest);
    start = now_ms();
    assert_int_equal(ask(&on, "crash() -> void", NULL, NULL), RAPAHUB_EDIED);
    assert_true(now_ms() - start < 5000);
    assert_int_equal(end_of(&anonymous_guest), 1000 + SIGSEGV);
    assert_true(until(&on, &on.told.down, 1));
    assert_int_equal(on.told.calls_lost, 1);
    close_host(&on);
}

/* It is killed by a host that is not its parent, and whose child it is gets its status. */
static void a_host_kills_what_it_did_not_start(void **state)
{
    struct anonymous_guest anonymous_guest;
    struct hosting on;

    (void)state;
    open_small(&on);
    assert_done(rapahub_host_kill(on.host, take_in(&on, &anonymous_guest)));
    assert_true(until(&on, &on.told.down, 1));
    assert_int_equal(end_of(&anonymous_guest), 1000 + SIGKILL);
    close_host(&on);
}

/* r[verify shm.goodbye.host] r[verify shm.goodbye.host-atomic] */
static void all_go_when_the_host_does(void **state)
{
    struct anonymous_guest anonymous_guests[3];
    struct hosting on;

    (void)state;
    open_small(&on);
    for (int i = 0; i < 3; i++) {
        send_anonymous_guest(&anonymous_guests[i], rapahub_host_path(on.host), CALC);
        await_anonymous_guest(&on);
    }
    rapahub_host_destroy(on.host);
    for (int i = 0; i < 3; i++)
        assert_int_equal(end_of(&anonymous_guests[i]), 0);
    assert_int_equal(on.told.down, 3);
    leak_assert_none(on.leak);
}

/* There is no hang-up and no signal: the host is asked for its lock. */
static bool is_attached(void *user)
{
    const char *path = user;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint32_t words[15] = {0}; /* the last is host_wait of entry 1: the host has taken it in */
    ssize_t n = pread(fd, words, sizeof words, 128 + 4);

    close(fd);
    return n == sizeof words && words[14] != 0;
}

/* r[verify hub.file.lock] r[verify hub.wait.bound] */
static void a_guest_whose_host_is_killed_ends_soon(void **state)
{
    struct leak *leak = leak_begin();
    struct other_host other;
    struct anonymous_guest anonymous_guest;
    uint64_t start;

    (void)state;
    start_other_host(&other);
    leak_adopt(leak, other.pid);
    send_anonymous_guest(&anonymous_guest, other.path, CALC);
    assert_true(process_until(is_attached, other.path, 10 * SECOND));
    kill_other_host(&other);
    start = now_ms();
    assert_int_equal(end_of(&anonymous_guest), 75);
    assert_true(now_ms() - start < 2000);
    unlink(other.path);
    leak_assert_none(leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_that_came_by_itself_is_called_as_any_other),
        cmocka_unit_test(a_guest_that_came_by_itself_is_nobody_s_child),
        cmocka_unit_test(it_calls_out_as_any_other),
        cmocka_unit_test(one_that_is_asked_to_go_answers_everything_first),
        cmocka_unit_test(one_that_is_killed_is_proven_dead_and_its_place_used_again),
        cmocka_unit_test(a_call_in_it_ends_when_it_dies),
        cmocka_unit_test(a_host_kills_what_it_did_not_start),
        cmocka_unit_test(all_go_when_the_host_does),
        cmocka_unit_test(a_guest_whose_host_is_killed_ends_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
