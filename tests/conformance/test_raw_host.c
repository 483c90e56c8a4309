/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest program, with the module echo, under a host that was written from the numbers of the
 * specification: calls, and how each of the two leaves. How a guest starts, or does not, is in
 * test_raw_ticket.c. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/raw_hosting.h"
#include "tests/raw/raw_call.h"
#include "tests/support/leak.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define ECHO_I64   "i64(i64) -> i64"
#define ECHO_BYTES "bytes(bytes) -> bytes"
#define SLEEP      "sleep_ns(u64) -> void"
#define FAIL       "fail(i32, string) -> void"
#define CLOSE      0xfffffff0u /* 16 messages before an index runs over */
#define WINDOW     20          /* calls in flight */

static int begin_echo(struct raw_hosting *on, int64_t number)
{
    struct raw_postcard arguments = {.size = 0};

    raw_postcard_i64(&arguments, number);
    return raw_call_request(&on->link, ++on->id, raw_call_method(ECHO_I64), &arguments, CALL_MS);
}

static void check_echo_i64(struct raw_hosting *on, int64_t number)
{
    struct raw_postcard_rest rest;

    assert_int_equal(begin_echo(on, number), 0);
    assert_int_equal(raw_call_await(&on->link, on->id, CALL_MS, &rest), 0);
    assert_int_equal(raw_postcard_take_i64(&rest), number);
}

static void check_echo_bytes(struct raw_hosting *on, const uint8_t *bytes, size_t size)
{
    struct raw_postcard arguments = {.size = 0};
    struct raw_postcard_rest rest;
    const uint8_t *same;
    size_t got;

    raw_postcard_bytes(&arguments, bytes, size);
    assert_int_equal(
        raw_call_request(&on->link, ++on->id, raw_call_method(ECHO_BYTES), &arguments, CALL_MS), 0);
    assert_int_equal(raw_call_await(&on->link, on->id, CALL_MS, &rest), 0);
    same = raw_postcard_take_bytes(&rest, &got);
    assert_int_equal(got, size);
    assert_int_equal(rest.left, 0);
    if (size > 0)
        assert_memory_equal(same, bytes, size);
}

/* ---- calls ---- */

static void calls_of_all_sizes_are_answered(void **state)
{
    static const size_t sizes[] = {100, 255, 256, 257, 1000, 3000, 65000, 65527};
    static uint8_t bytes[65527];
    struct raw_hosting on;

    (void)state;
    raw_hosting_open(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t size = 0; size <= 70; size++)
        check_echo_bytes(&on, bytes, size);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        check_echo_bytes(&on, bytes, sizes[i]);
    raw_hosting_close(&on, 0);
}

/* Pools, but for the first, that begin at no multiple of 64, and slots that lie anywhere.
 * r[verify hub.layout.validate] r[verify shm.segment.guest-slot-offset] */
static void slots_of_odd_sizes_serve(void **state)
{
    static const struct {
        uint32_t slot_size, slot_count, most;
    } odd[] = {{72, 3, 68}, {1000, 10, 996}, {40, 6, 36}, {0, 0, 32}};
    static uint8_t bytes[1000];

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        struct raw_config config = RAW_HOST_USUAL;
        struct raw_hosting on;

        config.slot_size = odd[i].slot_size;
        config.slot_count = odd[i].slot_count;
        config.max_payload = odd[i].most;
        raw_hosting_open(&on, &config, RAW_BELL_STREAM);
        for (uint32_t size = 0; size + 5 <= odd[i].most; size += 1 + size / 40)
            for (int turn = 0; turn < 12; turn++)
                check_echo_bytes(&on, bytes, size);
        raw_hosting_close(&on, 0);
    }
}

/* Calls in a window, all answered in the order they were made. */
static void pump(struct raw_hosting *on, uint32_t count)
{
    uint32_t first = on->id + 1, sent = 0;

    for (uint32_t got = 0; got < count; got++) {
        struct raw_postcard_rest rest;
        struct raw_message message;

        while (sent < count && sent - got < WINDOW) {
            assert_int_equal(begin_echo(on, -(int64_t)sent), 0);
            sent++;
        }
        assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
        assert_int_equal(message.id, first + got);
        assert_int_equal(raw_call_result(&message, &rest), 0);
        assert_int_equal(raw_postcard_take_i64(&rest), -(int64_t)got);
    }
}

static void run_over(uint32_t ring_size, enum raw_bell bell)
{
    struct raw_config config = RAW_HOST_USUAL;
    struct raw_hosting on;

    config.ring_size = ring_size;
    config.first_index = CLOSE;
    raw_hosting_open(&on, &config, bell);
    pump(&on, 10 * ring_size);
    assert_in_range(on.link.head, 0, 0x7fffffff);
    assert_in_range(on.link.tail, 0, 0x7fffffff);
    raw_hosting_close(&on, 0);
}

/* r[verify hub.ring.indices] r[verify shm.ring.capacity] */
static void indices_run_over_their_end(void **state)
{
    (void)state;
    run_over(256, RAW_BELL_STREAM);
    run_over(64, RAW_BELL_STREAM);
}

static int fail_with(struct raw_hosting *on, int32_t code, const char *text,
                     struct raw_postcard_rest *rest)
{
    struct raw_postcard arguments = {.size = 0};

    raw_postcard_i64(&arguments, code);
    raw_postcard_string(&arguments, text);
    assert_int_equal(
        raw_call_request(&on->link, ++on->id, raw_call_method(FAIL), &arguments, CALL_MS), 0);
    return raw_call_await(&on->link, on->id, CALL_MS, rest);
}

/* r[verify call.error.unknown-method] r[verify call.error.invalid-payload]
 * r[verify call.error.user] */
static void errors_have_their_bytes(void **state)
{
    struct raw_postcard nothing = {.size = 0};
    struct raw_postcard_rest rest;
    struct raw_hosting on;
    const uint8_t *text;
    size_t size;

    (void)state;
    raw_hosting_open(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM);
    raw_call_request(&on.link, ++on.id, raw_call_method("no_such() -> void"), &nothing, CALL_MS);
    assert_int_equal(raw_call_await(&on.link, on.id, CALL_MS, &rest), 1 + RAW_UNKNOWN_METHOD);
    raw_call_request(&on.link, ++on.id, raw_call_method(ECHO_I64), &nothing, CALL_MS);
    assert_int_equal(raw_call_await(&on.link, on.id, CALL_MS, &rest), 1 + RAW_INVALID_PAYLOAD);
    raw_postcard_raw(&nothing, "\x02\x02", 2); /* a byte too many */
    raw_call_request(&on.link, ++on.id, raw_call_method(ECHO_I64), &nothing, CALL_MS);
    assert_int_equal(raw_call_await(&on.link, on.id, CALL_MS, &rest), 1 + RAW_INVALID_PAYLOAD);
    assert_int_equal(fail_with(&on, -77, "of its own", &rest), 1 + RAW_USER);
    assert_int_equal(raw_postcard_take_i64(&rest), -77);
    text = raw_postcard_take_bytes(&rest, &size);
    assert_int_equal(size, 10);
    assert_memory_equal(text, "of its own", 10);
    check_echo_i64(&on, 1); /* no error of a call harms the link */
    raw_hosting_close(&on, 0);
}

static void check_cancelled(struct raw_hosting *on, uint32_t id)
{
    struct raw_postcard_rest rest;
    struct raw_message message;

    assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
    assert_int_equal(message.id, id);
    assert_int_equal(raw_call_result(&message, &rest), 1 + RAW_CANCELLED);
}

/* The first waits in the queue, the second runs; both are answered, and an unknown id is not.
 * r[verify call.cancel.best-effort] r[verify call.cancel.message] */
static void cancelled_calls_are_answered_once(void **state)
{
    struct raw_postcard minute = {.size = 0};
    struct raw_hosting on;
    uint32_t running, queued;

    (void)state;
    raw_hosting_open(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM);
    raw_postcard_u64(&minute, UINT64_C(60000000000));
    running = ++on.id;
    raw_call_request(&on.link, running, raw_call_method(SLEEP), &minute, CALL_MS);
    queued = ++on.id;
    raw_call_request(&on.link, queued, raw_call_method(SLEEP), &minute, CALL_MS);
    raw_call_cancel(&on.link, 4711, CALL_MS);
    raw_call_cancel(&on.link, queued, CALL_MS);
    raw_call_cancel(&on.link, running, CALL_MS);
    check_cancelled(&on, queued);
    check_cancelled(&on, running);
    raw_call_cancel(&on.link, running, CALL_MS);
    check_echo_i64(&on, 9);
    raw_hosting_close(&on, 0);
}

/* ---- ends ---- */

/* r[verify shm.goodbye.host] r[verify message.goodbye.receive] */
static void a_guest_leaves_after_a_goodbye_message(void **state)
{
    struct raw_hosting on;

    (void)state;
    raw_hosting_open(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM);
    check_echo_i64(&on, 1);
    assert_int_equal(raw_call_goodbye(&on.link, "the day is over", CALL_MS), 0);
    raw_hosting_reap(&on, 0);
}

/* In Goodbye a guest still answers: the end of the waiting is not the end of the messages. */
static int receive_of_leaving(struct raw_hosting *on, struct raw_message *message)
{
    int r = -EPIPE;

    for (int i = 0; r == -EPIPE && i < CALL_MS; i++) {
        r = raw_link_receive(&on->link, CALL_MS, message);
        if (r == -EPIPE)
            pause_ms(1);
    }
    return r;
}

/* All that was asked before is answered. r[verify hub.goodbye.drain] */
static void calls_before_the_goodbye_are_answered(void **state)
{
    struct raw_hosting on;
    struct raw_message message;

    (void)state;
    raw_hosting_open(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM);
    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(begin_echo(&on, i), 0);
    raw_host_goodbye(&on.host, &on.link);
    for (int i = 0; i < WINDOW; i++) {
        assert_int_equal(receive_of_leaving(&on, &message), 0);
        assert_int_equal(message.type, RAW_RESPONSE);
    }
    raw_hosting_reap(&on, 0);
}

/* r[verify shm.doorbell.death] */
static void a_guest_ends_when_its_host_hangs_up(void **state)
{
    struct raw_hosting on;

    (void)state;
    raw_hosting_open(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM);
    check_echo_i64(&on, 1);
    close(on.link.bell);
    on.link.bell = -1;
    raw_hosting_reap(&on, 75);
}

/* A host that breaks a rule loses its guest, which says so. r[verify hub.violation] */
static void a_guest_ends_when_its_host_breaks_a_rule(void **state)
{
    const struct raw_message bad = {.type = 9, .slot = RAW_INLINE};
    uint8_t descriptor[64];
    struct raw_message message;
    struct raw_hosting on;

    (void)state;
    raw_hosting_open(&on, &(struct raw_config)RAW_HOST_USUAL, RAW_BELL_STREAM);
    raw_link_pack(&bad, descriptor);
    assert_int_equal(raw_link_send_descriptor(&on.link, descriptor, CALL_MS), 0);
    assert_int_equal(raw_link_receive(&on.link, CALL_MS, &message), 0);
    assert_int_equal(message.type, RAW_GOODBYE);
    assert_non_null(memmem(message.payload, message.length, "message.unknown-variant", 23));
    raw_hosting_reap(&on, 76);
}

/* ---- a doorbell of datagrams ---- */

/* In a process of its own, so that it can be killed; tells the guest's pid first. */
__attribute__((noreturn)) static void be_host(int to)
{
    struct raw_config config = RAW_HOST_USUAL;
    struct raw_hosting on;

    raw_hosting_open(&on, &config, RAW_BELL_DGRAM);
    pump(&on, 100);
    if (write(to, &on.program.pid, sizeof(on.program.pid)) == sizeof(on.program.pid))
        for (;;)
            pause();
    _exit(1);
}

/* r[verify shm.doorbell.optional] r[verify hub.wait.foreign] */
static void a_doorbell_of_datagrams_serves_too(void **state)
{
    (void)state;
    run_over(64, RAW_BELL_DGRAM);
}

/* The guest is ours once its host is dead, and must have ended 200 ms later. */
static void a_guest_sees_the_death_of_a_host_that_cannot_hang_up(void **state)
{
    struct leak *leak = leak_begin();
    siginfo_t info = {0};
    pid_t host, guest;
    int pipes[2];

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(pipes), 0);
    host = fork();
    if (host == 0)
        be_host(pipes[1]);
    assert_int_equal(read(pipes[0], &guest, sizeof(guest)), sizeof(guest));
    kill(host, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)host, &info, WEXITED), 0);
    assert_int_equal(raw_hosting_ends_within(guest, 200), 0);
    assert_int_equal(waitid(P_PID, (id_t)guest, &info, WEXITED), 0);
    close(pipes[0]);
    close(pipes[1]);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    leak_assert_none(leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_all_sizes_are_answered),
        cmocka_unit_test(slots_of_odd_sizes_serve),
        cmocka_unit_test(indices_run_over_their_end),
        cmocka_unit_test(errors_have_their_bytes),
        cmocka_unit_test(cancelled_calls_are_answered_once),
        cmocka_unit_test(a_guest_leaves_after_a_goodbye_message),
        cmocka_unit_test(calls_before_the_goodbye_are_answered),
        cmocka_unit_test(a_guest_ends_when_its_host_hangs_up),
        cmocka_unit_test(a_guest_ends_when_its_host_breaks_a_rule),
        cmocka_unit_test(a_doorbell_of_datagrams_serves_too),
        cmocka_unit_test(a_guest_sees_the_death_of_a_host_that_cannot_hang_up),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
