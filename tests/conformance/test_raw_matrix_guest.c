/* SPDX-License-Identifier: Apache-2.0 */
/* Our host with raw guests of every kind: each does all there is, or is refused by a rule. Prints a
 * line for each. Indices of our host begin at 0, so that they run over is for the other matrix. */
#include <errno.h>
#include <poll.h>
#include <signal.h>

#include <rapahub/stream.h>

#include "tests/conformance/raw_stage.h"

#define WINDOW 4096
#define BURST  200 /* calls in flight: more than ring and pool hold */
#define BYTES  100 /* bytes of a payload that needs a slot */

struct mode {
    const char *name;
    bool shared;
    const char *words[5];
    const char *refused; /* by this rule */
    bool stops;          /* by SIGSTOP, in the middle */
};

static void begin(struct stage *stage, const struct mode *mode)
{
    const struct rapahub_supervision never = {.restart = RAPAHUB_RESTART_TEMPORARY};
    const struct rapahub_host_options options = {.guest_program = PROGRAM,
                                                 .on_event = on_event,
                                                 .user = stage,
                                                 .ring_size = 16,
                                                 .slot_count = 4,
                                                 .slot_size = 4096,
                                                 .credit_size = WINDOW,
                                                 .heartbeat_ns = UINT64_MAX};
    const struct rapahub_guest_options guest = {.chimod = PROCESS_CHIMOD("echo"),
                                                .plain = mode->words,
                                                .supervision = &never,
                                                .trust = mode->shared ? RAPAHUB_TRUST_TRUSTED
                                                                      : RAPAHUB_TRUST_STANDARD};
    const struct rapahub_container_options container = {.id = guest_side, .pool_name = "raw"};
    const struct rapahub_container_options offer = {.id = host_side, .pool_name = "host"};

    memset(stage, 0, sizeof(*stage));
    stage->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    check_done(rapahub_host_create(&options, &stage->host));
    check_done(rapahub_host_offer(stage->host, &offer, offered, NULL));
    check_done(rapahub_host_spawn(stage->host, &guest, &stage->guest));
    check_done(rapahub_host_add_container(stage->host, stage->guest, &container));
}

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 31 + at / 251);
}

/* ---- the actions of each side ---- */

static void call_inline(struct stage *stage)
{
    const uint64_t count = CALLS;
    const void *const arguments[] = {&count, NULL};
    int64_t sum = 0;

    for (int64_t i = 0; i < CALLS; i++)
        check_add(stage, i, i);
    check_done(ask(stage, "call_back(u64) -> i64", arguments, &sum));
    assert_int_equal(sum, (int64_t)CALLS * (CALLS + 1) / 2);
}

/* By a stub: a peer that takes part, and is awake, is asked without queues. */
static void call_one_by_one(struct stage *stage)
{
    uint64_t id = 0;

    for (int64_t i = 0; i < CALLS; i++) {
        const void *const arguments[] = {&i, &i, NULL};
        const struct rapahub_call call = {.target = guest_side,
                                          .method = "add",
                                          .types = RAPAHUB_TYPES(i64, i64, i64),
                                          .arguments = arguments,
                                          .method_id = &id};
        int64_t sum = -1;

        check_done(rapahub_host_call(stage->host, &call, &sum));
        assert_int_equal(sum, 2 * i);
    }
}

static void call_in_slots(struct stage *stage)
{
    uint8_t bytes[BYTES];

    for (int i = 0; i < CALLS; i++) {
        memset(bytes, i, sizeof(bytes));
        check_bytes(stage, "echo(bytes) -> bytes", bytes, sizeof(bytes));
        check_bytes(stage, "reflect(bytes) -> bytes", bytes, sizeof(bytes));
    }
}

struct burst {
    unsigned done, wrong;
};

static void on_burst(void *user, int status, const void *result)
{
    struct burst *burst = user;

    burst->done++;
    burst->wrong += status != 0 || ((const struct rapahub_bytes *)result)->size != BYTES;
}

/* Ring and pool are full, again and again. */
static void call_many_at_once(struct stage *stage)
{
    static const uint8_t bytes[BYTES];
    const struct rapahub_bytes value = {bytes, sizeof(bytes)};
    const void *const arguments[] = {&value, NULL};
    const struct rapahub_call call = {
        .target = guest_side, .method = "echo(bytes) -> bytes", .arguments = arguments};
    struct burst burst = {0, 0};
    unsigned begun = 0;

    while (burst.done < BURST) {
        int r = begun < BURST ? rapahub_host_call_async(stage->host, &call, on_burst, &burst, NULL)
                              : RAPAHUB_EBUSY;

        begun += r == 0;
        if (r != 0)
            check_done(rapahub_host_dispatch(stage->host, 1000));
    }
    assert_int_equal(burst.wrong, 0);
}

static void call_in_vain(struct stage *stage)
{
    static const int codes[] = {RAPAHUB_EAPPLICATION, RAPAHUB_ENOMETHOD, RAPAHUB_EARGUMENTS,
                                RAPAHUB_ECANCELED};
    const struct rapahub_call hang = {
        .target = guest_side, .method = "hang() -> void", .timeout_ns = 20000000};

    for (uint64_t i = 0; i < 4; i++) {
        const void *const arguments[] = {&i, NULL};

        assert_int_equal(ask(stage, "refuse(u64) -> void", arguments, NULL), codes[i]);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(rapahub_host_call(stage->host, &hang, NULL), RAPAHUB_ETIMEDOUT);
    check_add(stage, 20, 22);
}

/* Ten windows. */
static void stream(struct stage *stage)
{
    static uint8_t bytes[10 * WINDOW];
    const uint64_t length = sizeof(bytes);
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    uint64_t count = 0;
    const void *got;
    size_t size;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = pattern(i);
    for (int i = 0; i < 3; i++) { /* in, out, both */
        const void *const in[] = {&source, NULL}, *const out[] = {&sink, &length, NULL};
        const void *const both[] = {&source, &sink, NULL};

        check_done(rapahub_source_of_memory(bytes, sizeof(bytes), &source));
        check_done(rapahub_sink_of_memory(sizeof(bytes), &sink));
        check_done(i == 0   ? ask(stage, "drain(source) -> u64", in, &count)
                   : i == 1 ? ask(stage, "fill(sink, u64) -> void", out, NULL)
                            : ask(stage, "copy(source, sink) -> u64", both, &count));
        assert_int_equal(count, sizeof(bytes));
        got = rapahub_sink_data(sink, &size);
        assert_int_equal(size, i == 0 ? 0 : sizeof(bytes));
        if (i > 0)
            assert_memory_equal(got, bytes, sizeof(bytes));
        rapahub_source_destroy(source);
        rapahub_sink_destroy(sink);
    }
}

static void take_pid(void *user, const struct rapahub_guest_status *status)
{
    *(pid_t *)user = status->pid;
}

static pid_t pid_of(struct stage *stage)
{
    pid_t pid = 0;

    check_done(rapahub_host_guests(stage->host, take_pid, &pid));
    assert_true(pid > 0);
    return pid;
}

/* Calls that wait meanwhile are answered when it goes on. */
static void stop_and_go_on(struct stage *stage)
{
    const struct rapahub_call call = {.target = guest_side,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments =
                                          (const void *const[]){&(int64_t){1}, &(int64_t){2}, NULL},
                                      .timeout_ns = 50000000};
    int64_t sum;
    pid_t pid = pid_of(stage);

    assert_int_equal(kill(pid, SIGSTOP), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(rapahub_host_call(stage->host, &call, &sum), RAPAHUB_ETIMEDOUT);
    assert_int_equal(kill(pid, SIGCONT), 0);
    check_add(stage, 3, 4);
    assert_int_equal(stage->down, 0);
}

static void leave(struct stage *stage)
{
    assert_int_equal(ask(stage, "leave() -> void", NULL, NULL), RAPAHUB_ECLOSED);
    until(stage, &stage->down, 1);
}

/* ---- the table ---- */

static void check_refused(struct stage *stage, const struct mode *mode)
{
    int64_t sum, one = 1;
    const void *const arguments[] = {&one, &one, NULL};

    for (int i = 0; i < 50 && stage->violations == 0; i++)
        if (ask(stage, "add(i64, i64) -> i64", arguments, &sum) < 0)
            check_done(rapahub_host_dispatch(stage->host, 10));
    until(stage, &stage->violations, 1);
    assert_string_equal(stage->rule, mode->refused);
    until(stage, &stage->down, 1);
}

static void check_mode(const struct mode *mode)
{
    struct stage stage;

    begin(&stage, mode);
    if (mode->refused) {
        check_refused(&stage, mode);
    } else {
        call_inline(&stage);
        call_one_by_one(&stage);
        call_in_slots(&stage);
        call_many_at_once(&stage);
        if (mode->stops)
            stop_and_go_on(&stage);
        call_in_vain(&stage);
        stream(&stage);
        leave(&stage);
        assert_int_equal(stage.violations, 0);
    }
    rapahub_host_destroy(stage.host);
    leak_assert_none(stage.leak);
    print_message("%-8s %-52s | raw guest | %5d | %s%s\n", mode->shared ? "shared" : "private",
                  mode->name, mode->refused ? 0 : CALLS, mode->refused ? "refused: " : "ok",
                  mode->refused ? mode->refused : "");
}

static void check_all(const struct mode *modes)
{
    for (; modes->name; modes++)
        check_mode(modes);
}

/* r[verify hub.wait.ladder] r[verify shm.ring.capacity] */
static void who_takes_part(void **state)
{
    static const struct mode modes[] = {
        {.name = "takes part, bell"},
        {.name = "takes part, futex", .words = {"futex"}},
        {.name = "takes part, bell", .shared = true},
        {.name = "takes part, futex", .words = {"futex"}, .shared = true},
        {.name = "takes part, bell, slow", .words = {"slow"}},
        {.name = "takes part, bell, stopped for a while", .stops = true},
        {.name = NULL}};

    (void)state;
    check_all(modes);
}

/* r[verify hub.wait.foreign] */
static void who_takes_no_part(void **state)
{
    static const struct mode modes[] = {
        {.name = "takes no part, bell", .words = {"foreign"}},
        {.name = "takes no part, futex", .words = {"foreign", "futex"}},
        {.name = "takes no part, futex only", .words = {"foreign", "futex-only"}},
        {.name = "takes no part, never wakes", .words = {"foreign", "mute", "look"}},
        {.name = "takes no part, bell", .words = {"foreign"}, .shared = true},
        {.name = "takes no part, futex", .words = {"foreign", "futex"}, .shared = true},
        {.name = "takes no part, futex only", .words = {"foreign", "futex-only"}, .shared = true},
        {.name = "takes no part, bell, slow", .words = {"foreign", "slow"}},
        {.name = "takes no part, bell, stopped for a while", .words = {"foreign"}, .stops = true},
        {.name = "takes no part, futex only, stopped for a while",
         .words = {"foreign", "futex-only"},
         .stops = true},
        {.name = NULL}};

    (void)state;
    check_all(modes);
}

/* r[verify hub.ring.convention] */
static void whose_indices_are_modulo_the_size_of_the_ring(void **state)
{
    static const struct mode modes[] = {
        {.name = "modulo, takes no part, bell", .words = {"modulo", "foreign"}, .shared = true},
        {.name = "modulo, takes no part, futex",
         .words = {"modulo", "foreign", "futex"},
         .shared = true},
        {.name = "modulo, takes part, bell",
         .words = {"modulo"},
         .shared = true,
         .refused = "shm.ring.capacity"},
        {.name = "modulo, takes no part, bell",
         .words = {"modulo", "foreign"},
         .refused = "shm.ring.capacity"},
        {.name = "modulo, takes part, bell", .words = {"modulo"}, .refused = "shm.ring.capacity"},
        {.name = NULL}};

    (void)state;
    check_all(modes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_takes_part),
        cmocka_unit_test(who_takes_no_part),
        cmocka_unit_test(whose_indices_are_modulo_the_size_of_the_ring),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    print_message("segment  mode | role | calls each way, inline and in slots | result\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
