/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest under raw hosts of every kind: each does all there is, or is refused. Prints a line for
 * each. */
#include <signal.h>

#include "tests/conformance/raw_streaming.h"
#include "tests/raw/raw_slot.h"
#include "tests/raw/raw_words.h"
#include "tests/support/pause.h"

#define CALLS   1000
#define IN_RING 12 /* calls under way: more than the pool has slots, nearly what the ring holds */
#define LENGTH  (10 * WINDOW)
#define SLOT    100         /* bytes of a payload that needs a slot */
#define CLOSE   0xfffffff0u /* 16 messages before an index runs over */
#define ECHO    "echo(bytes) -> bytes"
#define REFLECT "reflect(bytes) -> bytes"
#define ENDED   75 /* exit status of a guest whose host is gone */
#define REFUSED 70
#define BROKEN  76

enum habit { STEADY, SLOW, STOPS };

struct mode {
    const char *name;
    struct raw_behaviour behaviour;
    enum raw_bell bell;
    bool shared; /* a segment for two guests, in a file */
    enum habit habit;
    int refused; /* exit status of the guest */
    const char *rule;
};

/* ---- calls ---- */

static void rest(const struct mode *mode)
{
    if (mode->habit == SLOW)
        pause_ms(1);
}

static uint32_t begin(struct raw_hosting *on, const char *method, const void *bytes, size_t size)
{
    struct raw_postcard arguments = {.size = 0};

    raw_postcard_bytes(&arguments, bytes, size);
    assert_int_equal(
        raw_call_request(&on->link, ++on->id, raw_call_method(method), &arguments, CALL_MS), 0);
    return on->id;
}

static void check_same(struct raw_postcard_rest *rest, const void *bytes, size_t size)
{
    const uint8_t *same;
    size_t got;

    same = raw_postcard_take_bytes(rest, &got);
    assert_false(rest->wrong);
    assert_int_equal(got, size);
    assert_memory_equal(same, bytes, size);
}

static void call(struct raw_hosting *on, const void *bytes, size_t size)
{
    uint32_t id = begin(on, ECHO, bytes, size);
    struct raw_postcard_rest rest;

    assert_int_equal(raw_call_await(&on->link, id, CALL_MS, &rest), 0);
    check_same(&rest, bytes, size);
}

/* The guest calls back before it answers. */
static void call_back(struct raw_hosting *on, const void *bytes, size_t size)
{
    uint32_t id = begin(on, REFLECT, bytes, size);
    struct raw_postcard_rest rest;
    struct raw_message message;

    assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
    assert_int_equal(message.type, RAW_REQUEST);
    assert_true(message.method == raw_call_method(ECHO));
    rest = raw_call_arguments(&message);
    check_same(&rest, bytes, size);
    assert_int_equal(raw_call_answer_bytes(&on->link, message.id, bytes, size, CALL_MS), 0);
    assert_int_equal(raw_call_await(&on->link, id, CALL_MS, &rest), 0);
    check_same(&rest, bytes, size);
}

static void call_each_way(struct raw_hosting *on, const struct mode *mode)
{
    uint8_t bytes[SLOT];

    for (int i = 0; i < CALLS; i++) {
        memset(bytes, i, sizeof(bytes));
        call(on, bytes, 8);
        call(on, bytes, SLOT);
        call_back(on, bytes, 8);
        call_back(on, bytes, SLOT);
        rest(mode);
    }
}

/* No answer is taken before all are asked. */
static void call_many_at_once(struct raw_hosting *on)
{
    static const uint8_t bytes[20];

    for (int round = 0; round < 50; round++) {
        uint32_t first = on->id + 1;

        for (int i = 0; i < IN_RING; i++)
            begin(on, ECHO, bytes, sizeof(bytes));
        for (uint32_t i = 0; i < IN_RING; i++) {
            struct raw_message message;

            assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
            assert_int_equal(message.id, first + i);
        }
    }
}

/* Both pools have two slots: the guest must give ours back, and wait for its own. */
static void use_up_the_slots(struct raw_hosting *on)
{
    static const uint8_t bytes[2000];

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++)
            begin(on, ECHO, bytes, sizeof(bytes));
        for (int i = 0; i < 8; i++) {
            struct raw_postcard_rest rest;
            struct raw_message message;

            assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
            assert_int_equal(raw_call_result(&message, &rest), 0);
            check_same(&rest, bytes, sizeof(bytes));
        }
    }
}

static void call_in_vain(struct raw_hosting *on)
{
    struct raw_postcard code = {.size = 0};
    struct raw_postcard_rest rest;

    raw_postcard_i64(&code, -5);
    raw_call_request(&on->link, ++on->id, raw_call_method("refuse(i32) -> void"), &code, CALL_MS);
    assert_int_equal(raw_call_await(&on->link, on->id, CALL_MS, &rest), 1 + RAW_USER);
    raw_call_request(&on->link, ++on->id, raw_call_method("no_such() -> void"), NULL, CALL_MS);
    assert_int_equal(raw_call_await(&on->link, on->id, CALL_MS, &rest), 1 + RAW_UNKNOWN_METHOD);
    raw_call_request(&on->link, ++on->id, raw_call_method(ECHO), NULL, CALL_MS);
    assert_int_equal(raw_call_await(&on->link, on->id, CALL_MS, &rest), 1 + RAW_INVALID_PAYLOAD);
    raw_call_request(&on->link, ++on->id, raw_call_method("hang() -> void"), NULL, CALL_MS);
    raw_call_cancel(&on->link, on->id, CALL_MS);
    assert_int_equal(raw_call_await(&on->link, on->id, CALL_MS, &rest), 1 + RAW_CANCELLED);
}

/* ---- streams ---- */

/* Ten windows, out and in at once. */
static void stream(struct raw_hosting *on, const struct mode *mode)
{
    const uint64_t arguments[] = {2, 4};
    struct raw_reply reply = {.grants = true};
    struct raw_channel to, from;
    uint64_t at = 0;

    assert_int_equal(raw_channel_open(&on->link, 2, &to), 0);
    assert_int_equal(raw_channel_open(&on->link, 4, &from), 0);
    reply.from = &from;
    raw_request(on, &reply, COPY, arguments, 2);
    while (at < LENGTH) {
        size_t size = LENGTH - at < PIECE ? (size_t)(LENGTH - at) : PIECE;
        bool takes = raw_link_ready(&on->link) != 0;

        if (!takes && raw_channel_credit(&to) >= PIECE + 2 && raw_slot_count_free(&on->link) > 0) {
            raw_piece(&to, at, size);
            at += size;
        } else {
            int r = raw_take(on, &reply, 5);

            assert_true(r == 0 || r == -ETIMEDOUT);
        }
        rest(mode);
    }
    assert_int_equal(raw_channel_close(&to), 0);
    raw_finish(on, &reply);
    assert_int_equal(reply.value, LENGTH);
    assert_int_equal(reply.bytes, LENGTH);
    raw_until_free(on, 2);
    raw_channel_free(&on->link, 4);
}

/* Requests that came while the guest was stopped are answered when it continues. */
static void stop_and_go_on(struct raw_hosting *on)
{
    struct raw_message message;

    assert_int_equal(kill(on->program.pid, SIGSTOP), 0);
    begin(on, ECHO, "12", 2);
    assert_int_equal(raw_link_receive(&on->link, 200, &message), -ETIMEDOUT);
    assert_int_equal(kill(on->program.pid, SIGCONT), 0);
    assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
    assert_int_equal(message.id, on->id);
}

/* ---- the table ---- */

static void tell(const struct mode *mode, const char *result)
{
    print_message("%-8s %-52s | raw host | %5d | %s\n", mode->shared ? "shared" : "private",
                  mode->name, mode->refused ? 0 : CALLS, result);
}

static void check_served(struct raw_hosting *on, const struct mode *mode)
{
    call_each_way(on, mode);
    call_many_at_once(on);
    use_up_the_slots(on);
    if (mode->habit == STOPS)
        stop_and_go_on(on);
    call_in_vain(on);
    stream(on, mode);
    if (!mode->behaviour.modulo)
        assert_in_range(on->link.head, 0, 0x7fffffff);
    assert_int_equal(raw_call_goodbye(&on->link, "enough", CALL_MS), 0);
    raw_hosting_reap(on, 0);
    tell(mode, "ok");
}

/* It goes once it has seen what cannot be. */
static void check_broken(struct raw_hosting *on, const struct mode *mode)
{
    struct raw_message message = {.type = 0};
    char text[80];
    int r = 0;

    for (int i = 0; r == 0 && i < 100; i++) {
        struct raw_postcard arguments = {.size = 0};

        raw_postcard_bytes(&arguments, "12", 2);
        r = raw_call_request(&on->link, ++on->id, raw_call_method(ECHO), &arguments, 1000);
        if (r == 0)
            r = raw_link_receive(&on->link, 1000, &message);
        if (r == 0 && message.type == RAW_GOODBYE)
            break;
    }
    if (message.type == RAW_GOODBYE)
        assert_non_null(memmem(message.payload, message.length, mode->rule, strlen(mode->rule)));
    raw_hosting_reap(on, mode->refused);
    snprintf(text, sizeof(text), "refused: %s", mode->rule);
    tell(mode, text);
}

static void check_mode(const struct mode *mode)
{
    struct raw_config config = RAW_HOST_NARROW;
    struct raw_hosting on;
    int bell;

    memset(&on, 0, sizeof(on));
    on.link.behaviour = mode->behaviour;
    config.max_guests = mode->shared ? 2 : 1;
    config.file = mode->shared;
    config.first_index = mode->behaviour.modulo ? 0 : CLOSE;
    if (mode->bell == RAW_BELL_NONE) {
        raw_hosting_prepare_module(&on, &config, mode->bell, &bell, MIRROR_MODULE);
        raw_hosting_spawn(&on, bell);
        raw_hosting_reap(&on, mode->refused);
        tell(mode, "refused: shm.doorbell.socketpair");
        return;
    }
    raw_hosting_open_module(&on, &config, mode->bell, MIRROR_MODULE);
    if (mode->refused)
        check_broken(&on, mode);
    else
        check_served(&on, mode);
}

static void check_all(const struct mode *modes)
{
    for (; modes->name; modes++)
        check_mode(modes);
}

#define FOREIGN   .foreign = true
#define FUTEXONLY .sleep = RAW_SLEEP_FUTEX, .never_rings = true

/* r[verify hub.wait.ladder] r[verify hub.ring.indices] */
static void who_takes_part(void **state)
{
    static const struct mode modes[] = {
        {"takes part, STREAM", {.foreign = false}, RAW_BELL_STREAM, false, STEADY, 0, NULL},
        {"takes part, DGRAM", {.foreign = false}, RAW_BELL_DGRAM, false, STEADY, 0, NULL},
        {"takes part, futex only", {FUTEXONLY}, RAW_BELL_STREAM, false, STEADY, 0, NULL},
        {"takes part, STREAM", {.foreign = false}, RAW_BELL_STREAM, true, STEADY, 0, NULL},
        {"takes part, STREAM, slow", {.foreign = false}, RAW_BELL_STREAM, false, SLOW, 0, NULL},
        {"takes part, guest stopped", {.foreign = false}, RAW_BELL_STREAM, false, STOPS, 0, NULL},
        {"no doorbell", {.foreign = false}, RAW_BELL_NONE, false, STEADY, REFUSED, NULL},
        {.name = NULL}};

    (void)state;
    check_all(modes);
}

/* r[verify hub.wait.foreign] r[verify shm.doorbell.optional] */
static void who_takes_no_part(void **state)
{
    static const struct mode modes[] = {
        {"takes no part, STREAM", {FOREIGN}, RAW_BELL_STREAM, false, STEADY, 0, NULL},
        {"takes no part, DGRAM", {FOREIGN}, RAW_BELL_DGRAM, false, STEADY, 0, NULL},
        {"takes no part, futex only",
         {FOREIGN, FUTEXONLY},
         RAW_BELL_STREAM,
         false,
         STEADY,
         0,
         NULL},
        {"takes no part, STREAM", {FOREIGN}, RAW_BELL_STREAM, true, STEADY, 0, NULL},
        {"takes no part, STREAM, slow", {FOREIGN}, RAW_BELL_STREAM, false, SLOW, 0, NULL},
        {"takes no part, guest stopped", {FOREIGN}, RAW_BELL_STREAM, false, STOPS, 0, NULL},
        {.name = NULL}};

    (void)state;
    check_all(modes);
}

#define MODULO .modulo = true

/* r[verify hub.ring.convention] */
static void whose_indices_are_modulo_the_size_of_the_ring(void **state)
{
    static const char rule[] = "shm.ring.capacity";
    static const struct mode modes[] = {
        {"modulo, takes no part, STREAM",
         {MODULO, FOREIGN},
         RAW_BELL_STREAM,
         true,
         STEADY,
         0,
         NULL},
        {"modulo, takes no part, DGRAM", {MODULO, FOREIGN}, RAW_BELL_DGRAM, true, STEADY, 0, NULL},
        {"modulo, takes no part, futex only",
         {MODULO, FOREIGN, FUTEXONLY},
         RAW_BELL_STREAM,
         true,
         STEADY,
         0,
         NULL},
        {"modulo, takes part, STREAM", {MODULO}, RAW_BELL_STREAM, true, STEADY, BROKEN, rule},
        {"modulo, takes no part, STREAM",
         {MODULO, FOREIGN},
         RAW_BELL_STREAM,
         false,
         STEADY,
         BROKEN,
         rule},
        {.name = NULL}};

    (void)state;
    check_all(modes);
}

/* ---- a guest that comes back when its entry is another's ---- */

struct words {
    uint32_t head, tail;
    uint64_t own_pool, host_pool;
};

static struct words words_of(const struct raw_link *link)
{
    return (struct words){
        raw_load32(link->base, link->in_head), raw_load32(link->base, link->out_tail),
        raw_load64(link->base, link->in_pool), raw_load64(link->base, link->out_pool)};
}

/* It was stopped, its entry was given to another life, it goes on: it writes nothing, and ends.
 * r[verify hub.death.guard] r[verify shm.crash.epoch] */
static void a_zombie_writes_nothing(void **state)
{
    (void)state;
    for (int with_goodbye = 0; with_goodbye < 2; with_goodbye++) {
        struct raw_config config = RAW_HOST_NARROW;
        struct words before, behind;
        struct raw_hosting on;

        memset(&on, 0, sizeof(on));
        raw_hosting_open_module(&on, &config, RAW_BELL_STREAM, MIRROR_MODULE);
        assert_int_equal(kill(on.program.pid, SIGSTOP), 0);
        if (with_goodbye)
            raw_store32(on.host.base, on.link.entry, 2);
        else
            raw_store32(on.host.base, on.link.entry + 4, on.link.epoch + 1);
        before = words_of(&on.link);
        begin(&on, ECHO, "of another life", 15);
        assert_int_equal(kill(on.program.pid, SIGCONT), 0);
        assert_int_equal(raw_host_reap(&on.program, CALL_MS), ENDED);
        behind = words_of(&on.link);
        assert_int_equal(behind.head, before.head);
        assert_true(behind.own_pool == before.own_pool && behind.host_pool == before.host_pool);
        raw_hosting_release(&on);
    }
}

/* The host takes part, and does not wake the guest that waits for its answer.
 * r[verify hub.wait.bound] */
static void a_guest_that_nobody_wakes_looks_by_itself(void **state)
{
    struct raw_config config = RAW_HOST_NARROW;
    struct raw_postcard_rest rest;
    struct raw_message message;
    struct raw_hosting on;

    (void)state;
    memset(&on, 0, sizeof(on));
    raw_hosting_open_module(&on, &config, RAW_BELL_STREAM, MIRROR_MODULE);
    for (int i = 0; i < 3; i++) {
        uint32_t id = begin(&on, REFLECT, "12", 2);

        assert_int_equal(raw_link_receive(&on.link, CALL_MS, &message), 0);
        pause_ms(5); /* it is asleep by now */
        on.link.behaviour.never_wakes = on.link.behaviour.never_rings = true;
        assert_int_equal(raw_call_answer_bytes(&on.link, message.id, "12", 2, CALL_MS), 0);
        on.link.behaviour.never_wakes = on.link.behaviour.never_rings = false;
        assert_int_equal(raw_call_await(&on.link, id, 1500, &rest), 0);
        check_same(&rest, "12", 2);
    }
    raw_hosting_close(&on, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_takes_part),
        cmocka_unit_test(who_takes_no_part),
        cmocka_unit_test(whose_indices_are_modulo_the_size_of_the_ring),
        cmocka_unit_test(a_zombie_writes_nothing),
        cmocka_unit_test(a_guest_that_nobody_wakes_looks_by_itself),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    print_message("segment  mode | role | calls each way, inline and in slots | result\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
