/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation and each system call of a host fails once: while it is made, starts a guest,
 * calls it, loses it, starts it again, stops it. Each failure is one clear error or none at all;
 * repeating the operation works; nothing leaks and nothing hangs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/host.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "tests/support/faults.h"
#include "tests/support/leak.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define STEP_NS  (2 * HUB_SECOND)
#define READY_NS (10 * HUB_SECOND)
#define LARGE    3000
#define POINTS   100000 /* far more than there are */

static const struct rapahub_container_id echo = {{7, 0}, 0};

RAPAHUB_STUB(i64, i64, i64);
RAPAHUB_STUB(bytes, bytes, bytes);

/* In which of its ways the host lives. */
enum manner { MANNER_PRIVATE, MANNER_SHARED, MANNER_THREAD, MANNERS };

struct world {
    enum manner manner;
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    struct hub_a32 ready;
    const char *wrong; /* NULL: nothing yet */
    char text[512];
};

static void on_event(void *user, const struct rapahub_event *event)
{
    struct world *world = user;

    if (event->kind != RAPAHUB_EVENT_READY)
        return;
    world->guest = event->guest;
    hub_add(&world->ready, 1);
}

/* ---- steps ---- */

static int create(struct world *world)
{
    const struct rapahub_host_options options = {
        .on_event = on_event, .user = world, .own_thread = world->manner == MANNER_THREAD};

    return rapahub_host_create(&options, &world->host);
}

static int spawn(struct world *world)
{
    const struct rapahub_supervision often = {.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                              .backoff_initial_ns = 100000,
                                              .backoff_max_ns = 100000};
    const struct rapahub_guest_options options = {
        .chimod = PROCESS_CHIMOD("echo"),
        .trust = world->manner == MANNER_SHARED ? RAPAHUB_TRUST_TRUSTED : RAPAHUB_TRUST_STANDARD,
        .supervision = &often};

    return rapahub_host_spawn(world->host, &options, &world->guest);
}

static int add_container(struct world *world)
{
    const struct rapahub_container_options options = {.id = echo, .pool_name = "faults"};

    return rapahub_host_add_container(world->host, world->guest, &options);
}

static int call(struct world *world)
{
    int64_t same = 0;
    int r = i64(world->host, echo, 41, &same);

    if (r == 0 && same != 41)
        world->wrong = "the answer is another";
    return r;
}

static int call_large(struct world *world)
{
    static const uint8_t data[LARGE] = {1, 2, 3};
    struct rapahub_bytes answer = {NULL, 0};
    int r = bytes(world->host, echo, (struct rapahub_bytes){data, LARGE}, &answer);

    if (r == 0 && (answer.size != LARGE || memcmp(answer.data, data, LARGE) != 0))
        world->wrong = "the large answer is another";
    return r;
}

/* A dispatch that failed is done again. */
static void dispatch(struct world *world)
{
    int r;

    if (world->manner == MANNER_THREAD) {
        pause_ms(1);
        return;
    }
    r = rapahub_host_dispatch(world->host, 100);
    if (r < 0 && rapahub_last_error()->code != r)
        world->wrong = "a dispatch failed without a word";
}

/* Until it is there again. */
static int kill_guest(struct world *world)
{
    uint64_t deadline = hub_clock_after(READY_NS);
    uint32_t before = hub_observe(&world->ready);
    int r = rapahub_host_kill(world->host, world->guest);

    while (r >= 0 && hub_observe(&world->ready) == before && !world->wrong) {
        dispatch(world);
        if (hub_clock_left(deadline) == 0)
            world->wrong = "it was not started again";
    }
    return r;
}

static int stop(struct world *world)
{
    return rapahub_host_stop(world->host, world->guest);
}

static const struct {
    const char *name;
    int (*run)(struct world *world);
} steps[] = {
    {"create", create},         {"spawn", spawn},     {"container", add_container}, {"call", call},
    {"call large", call_large}, {"kill", kill_guest}, {"call again", call},         {"stop", stop}};

#define STEPS (sizeof steps / sizeof *steps)

/* ---- and what must be true of it ---- */

static void note(struct world *world, size_t step, const char *what)
{
    if (world->text[0])
        return;
    snprintf(world->text, sizeof world->text, "%s: %s (last error %d: %.300s)", steps[step].name,
             what, rapahub_last_error()->code, rapahub_last_error()->text);
}

/* A step succeeds, or says why it failed and succeeds the next time. */
static bool take_step(struct world *world, size_t step)
{
    uint64_t start = hub_clock_now();
    int r;

    (void)rapahub_fail(RAPAHUB_EPERM, "", "of an earlier step");
    r = steps[step].run(world);
    if (hub_clock_now() - start > STEP_NS)
        note(world, step, "it took too long");
    if (r < 0 && !faults_fired())
        note(world, step, "it failed, and nothing else had");
    if (r < 0 && (rapahub_last_error()->code != r || !rapahub_last_error()->text[0]))
        note(world, step, "it failed without a word");
    if (r < 0)
        r = steps[step].run(world);
    if (r < 0)
        note(world, step, "it failed twice");
    if (world->wrong)
        note(world, step, world->wrong);
    return r >= 0;
}

static void live(enum manner manner, struct world *world)
{
    uint64_t start;
    size_t step = 0;

    *world = (struct world){.manner = manner};
    while (step < STEPS && take_step(world, step))
        step++;
    start = hub_clock_now();
    rapahub_host_destroy(world->host);
    if (hub_clock_now() - start > STEP_NS)
        note(world, STEPS - 1, "the host's end took too long");
}

/* A log without a fault would be full of words about faults. */
static void be_silent(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

static void check_left(struct world *world, struct leak *leak, int64_t blocks)
{
    char *left = leak_end(leak);

    if (left && !world->text[0])
        snprintf(world->text, sizeof world->text, "left behind: %.400s", left);
    free(left);
    if (blocks != 0 && !world->text[0])
        snprintf(world->text, sizeof world->text, "%d blocks of memory are left", (int)blocks);
}

/* A life, and which call of what fails in it. */
struct life {
    enum manner manner;
    enum faults_function function;
    uint64_t number;
    unsigned failures;
};

static const char *const manners[MANNERS] = {"private", "shared", "own thread"};

/* False where the fault was never reached. */
static bool live_with(struct life *life)
{
    struct leak *leak = leak_begin();
    int64_t before = faults_blocks();
    struct world world;
    bool fired;

    faults_arm(life->function, life->number);
    live(life->manner, &world);
    fired = faults_disarm();
    check_left(&world, leak, faults_blocks() - before);
    if (world.text[0])
        printf("%s %s no. %llu: %s\n", manners[life->manner], faults_names_of(life->function),
               (unsigned long long)life->number, world.text);
    life->failures += world.text[0] != '\0';
    return fired;
}

static unsigned sweep(enum manner manner, enum faults_function function)
{
    struct life life = {.manner = manner, .function = function, .number = 1};

    while (life.number < POINTS && live_with(&life))
        life.number++;
    printf("%-10s | %-18s | %5llu points | %u failures\n", manners[manner],
           faults_names_of(function), (unsigned long long)life.number - 1, life.failures);
    return life.failures;
}

static void sweep_all(enum manner manner)
{
    unsigned failures = 0;
    struct world world;

    for (int i = 0; i < 3; i++) { /* memory allocated once exists from now on */
        live(manner, &world);
        if (world.text[0])
            fail_msg("%s", world.text);
    }
    for (int function = 0; function < FAULTS_COUNT; function++)
        failures += sweep(manner, (enum faults_function)function);
    assert_int_equal(failures, 0);
}

static void everything_fails_once_beside_a_guest_with_a_segment_of_its_own(void **state)
{
    (void)state;
    sweep_all(MANNER_PRIVATE);
}

static void everything_fails_once_beside_a_guest_that_shares_its_segment(void **state)
{
    (void)state;
    sweep_all(MANNER_SHARED);
}

static void everything_fails_once_in_a_host_with_a_thread_of_its_own(void **state)
{
    (void)state;
    sweep_all(MANNER_THREAD);
}

/* Runs a single fault by manner, name and number, for debugging. */
static int run_one(char **words)
{
    struct life life = {.manner = (enum manner)(strtoul(words[0], NULL, 0) % MANNERS),
                        .number = strtoull(words[2], NULL, 0)};
    struct world world;

    live(life.manner, &world);
    while (life.function < FAULTS_COUNT - 1 &&
           strcmp(faults_names_of(life.function), words[1]) != 0)
        life.function++;
    (void)live_with(&life);
    return life.failures != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_fails_once_beside_a_guest_with_a_segment_of_its_own),
        cmocka_unit_test(everything_fails_once_beside_a_guest_that_shares_its_segment),
        cmocka_unit_test(everything_fails_once_in_a_host_with_a_thread_of_its_own),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    rapahub_log_to(be_silent, NULL, RAPAHUB_LOG_DEBUG);
    return argc > 3 ? run_one(argv + 1) : cmocka_run_group_tests(tests, NULL, NULL);
}
