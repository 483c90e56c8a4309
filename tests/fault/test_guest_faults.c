/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation and each call of the system of a guest fails once: it starts or says why not,
 * answers or says why not, and never crashes, hangs or breaks a rule. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/host.h>

#include "hub/base/clock.h"
#include "tests/support/faults.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define PROGRAM TEST_PREFIX "/tests/faulty-guest"
#define AGAIN   (5 * HUB_SECOND) /* within this it works again */
#define LARGE   3000
#define POINTS  100000

static const struct rapahub_container_id echo = {{7, 0}, 0};

RAPAHUB_STUB(i64, i64, i64);
RAPAHUB_STUB(bytes, bytes, bytes);

struct world {
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    char text[512]; /* the fault; or "" */
};

static void note(struct world *world, const char *what, const char *detail)
{
    if (!world->text[0])
        snprintf(world->text, sizeof world->text, "%s: %.400s", what, detail);
}

static void on_event(void *user, const struct rapahub_event *event)
{
    struct world *world = user;

    if (event->kind == RAPAHUB_EVENT_VIOLATION)
        note(world, "it broke a rule", event->rule);
    if (event->kind == RAPAHUB_EVENT_DOWN && strstr(event->cause, "signal"))
        note(world, "it crashed", event->cause);
}

static int spawn(struct world *world)
{
    const struct rapahub_supervision often = {.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                              .backoff_initial_ns = 100000,
                                              .backoff_max_ns = 100000};
    const struct rapahub_guest_options options = {.chimod = PROCESS_CHIMOD("echo"),
                                                  .supervision = &often};

    return rapahub_host_spawn(world->host, &options, &world->guest);
}

static int add_container(struct world *world)
{
    const struct rapahub_container_options options = {.id = echo, .pool_name = "faults"};
    int r = rapahub_host_add_container(world->host, world->guest, &options);

    return r == RAPAHUB_EEXIST ? 0 : r; /* it began, and the answer was lost */
}

static int call(struct world *world)
{
    int64_t same = 0;
    int r = i64(world->host, echo, 41, &same);

    if (r == 0 && same != 41)
        note(world, "call", "the answer is another");
    return r;
}

static int call_large(struct world *world)
{
    static const uint8_t data[LARGE] = {1, 2, 3};
    struct rapahub_bytes answer = {NULL, 0};
    int r = bytes(world->host, echo, (struct rapahub_bytes){data, LARGE}, &answer);

    if (r == 0 && (answer.size != LARGE || memcmp(answer.data, data, LARGE) != 0))
        note(world, "large call", "the answer is another");
    return r;
}

/* Its life may have ended by itself meanwhile. */
static int stop(struct world *world)
{
    int r = rapahub_host_stop(world->host, world->guest);

    return r == RAPAHUB_ESTALE ? 0 : r;
}

static const struct {
    const char *name;
    int (*run)(struct world *world);
} steps[] = {{"spawn", spawn},           {"container", add_container}, {"call", call},
             {"call large", call_large}, {"call again", call},         {"stop", stop}};

#define STEPS (sizeof steps / sizeof *steps)

static void find_guest(void *user, const struct rapahub_guest_status *status)
{
    ((struct world *)user)->guest = status->guest;
}

/* It says why it failed, and works again soon. */
static bool take_step(struct world *world, size_t step)
{
    uint64_t deadline = hub_clock_after(AGAIN);
    int r;

    do {
        (void)rapahub_fail(RAPAHUB_EPERM, "", "of an earlier step");
        r = steps[step].run(world);
        if (r < 0 && (rapahub_last_error()->code != r || !rapahub_last_error()->text[0]))
            note(world, steps[step].name, "it failed without a word");
        if (r < 0 && rapahub_host_dispatch(world->host, 10) >= 0 && step > 0)
            (void)!rapahub_host_guests(world->host, find_guest, world);
    } while (r < 0 && hub_clock_left(deadline) > 0);
    if (r < 0 || hub_clock_left(deadline) == 0)
        note(world, steps[step].name, rapahub_last_error()->text);
    return r >= 0;
}

static void live(struct world *world)
{
    const struct rapahub_host_options options = {
        .guest_program = PROGRAM, .on_event = on_event, .user = world};
    size_t step = 0;

    *world = (struct world){.host = NULL};
    if (rapahub_host_create(&options, &world->host) < 0)
        note(world, "create", rapahub_last_error()->text);
    while (world->host && step < STEPS && take_step(world, step))
        step++;
    rapahub_host_destroy(world->host);
}

static void be_silent(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

/* False where the fault was not met. */
static bool live_with(enum faults_function function, uint64_t number, unsigned *failures)
{
    struct leak *leak = leak_begin();
    struct world world;
    char path[64], met[80], *left;
    FILE *file;

    snprintf(path, sizeof path, "/tmp/rapahub-fault-%d", (int)getpid());
    snprintf(met, sizeof met, "%s.met", path);
    file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "%u %llu\n", (unsigned)function, (unsigned long long)number);
    assert_int_equal(fclose(file), 0);
    live(&world);
    left = leak_end(leak);
    if (left)
        note(&world, "left behind", left);
    free(left);
    if (world.text[0])
        printf("%s no. %llu: %s\n", faults_names_of(function), (unsigned long long)number,
               world.text);
    *failures += world.text[0] != '\0';
    return unlink(met) == 0 || world.text[0];
}

static unsigned sweep(enum faults_function function)
{
    unsigned failures = 0;
    uint64_t number = 1;

    while (number < POINTS && failures < 5 && live_with(function, number, &failures))
        number++;
    printf("guest      | %-18s | %5llu points | %u failures\n", faults_names_of(function),
           (unsigned long long)number - 1, failures);
    return failures;
}

static void each_allocation_and_each_system_call_of_a_guest_fails_once(void **state)
{
    unsigned failures = 0;

    (void)state;
    for (int function = 0; function < FAULTS_COUNT; function++)
        failures += sweep((enum faults_function)function);
    assert_int_equal(failures, 0);
}

/* Runs a single fault by name and number, for debugging. */
static int run_one(char **words)
{
    unsigned failures = 0;

    for (int function = 0; function < FAULTS_COUNT; function++)
        if (strcmp(faults_names_of((enum faults_function)function), words[0]) == 0)
            (void)live_with((enum faults_function)function, strtoull(words[1], NULL, 0), &failures);
    return failures != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_and_each_system_call_of_a_guest_fails_once),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    rapahub_log_to(be_silent, NULL, RAPAHUB_LOG_DEBUG);
    return argc > 2 ? run_one(argv + 1) : cmocka_run_group_tests(tests, NULL, NULL);
}
