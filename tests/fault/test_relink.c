/* SPDX-License-Identifier: Apache-2.0 */
/* Publishers and subscribers with roles that are killed again and again, also at every stage of the
 * building of their next links: what was published is given to each subscriber once and in order,
 * and each guest comes back with its roles.
 *
 * A round publishes, kills, and kills the next life of the victim after a while, which is another
 * one in each round: so the kills go from the start of the process over the building of each role
 * to READY and beyond.
 *
 * RAPAHUB_TEST_ROUNDS: how many; 60.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/integration/linking.h"

#define EACH    3     /* messages before a death, and after */
#define STEP_US 7919  /* from one life's length to the next, */
#define SPAN_US 20000 /* within this */
#define ROUNDS  60

enum { PUBLISHER = 1, FIRST, SECOND, GUESTS };

struct stage {
    struct hosting on;
    struct rapahub_guest_id guests[GUESTS];
    uint64_t sent, next[GUESTS];
    unsigned early, late; /* second deaths before READY, and after */
};

static const struct rapahub_role publishes[] = {
    {.name = "out", .region = "news", .kind = RAPAHUB_REGION_ROLE_PRODUCER},
    {.name = "board", .region = "board", .kind = RAPAHUB_REGION_ROLE_WRITER},
    {.name = NULL}};
static const struct rapahub_role subscribes[] = {
    {.name = "in",
     .region = "news",
     .kind = RAPAHUB_REGION_ROLE_CONSUMER,
     .index = RAPAHUB_ROLE_ANY},
    {.name = "view", .region = "board", .kind = RAPAHUB_REGION_ROLE_READER},
    {.name = NULL}};

static unsigned rounds(void)
{
    const char *given = getenv("RAPAHUB_TEST_ROUNDS");

    return given ? (unsigned)strtoul(given, NULL, 10) : ROUNDS;
}

static void open_stage(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    open_host(&stage->on, (struct rapahub_host_options){0});
    make_region(&stage->on, "news",
                (struct rapahub_host_region_options){
                    .region = {.kind = RAPAHUB_REGION_FANOUT, .cells = 256, .consumers = 2},
                    .route = true});
    make_region(
        &stage->on, "board",
        (struct rapahub_host_region_options){.region = {.kind = RAPAHUB_REGION_STATE_LATCH}});
    assert_done(start_with(&stage->on, FIRST, "first", subscribes, &stage->guests[FIRST]));
    assert_done(start_with(&stage->on, SECOND, "second", subscribes, &stage->guests[SECOND]));
    assert_done(
        start_with(&stage->on, PUBLISHER, "publisher", publishes, &stage->guests[PUBLISHER]));
}

static void publish(struct stage *stage)
{
    for (unsigned i = 0; i < EACH; i++, stage->sent++) {
        uint64_t value = stage->sent;

        assert_done(push_to(&stage->on, PUBLISHER, value));
        assert_done(
            ask_of(&stage->on, PUBLISHER, "set(u64)", (const void *const[]){&value, NULL}, NULL));
    }
}

static void take_all(struct stage *stage, uint32_t number)
{
    while (stage->next[number] < stage->sent)
        assert_int_equal(number_of(&stage->on, number, "pop() -> i64"), stage->next[number]++);
    assert_int_equal(number_of(&stage->on, number, "get() -> i64"), stage->sent - 1);
    assert_int_equal(number_of(&stage->on, number, "index_of() -> i64"), number - FIRST);
}

struct seen {
    const char *name;
    int32_t pid;
    bool ready;
};

static void see(void *user, const struct rapahub_guest_status *status)
{
    struct seen *seen = user;

    if (strcmp(status->name, seen->name) == 0) {
        seen->pid = status->pid;
        seen->ready = strcmp(status->state, "ready") == 0;
    }
}

static struct seen look(struct stage *stage, uint32_t number)
{
    static const char *const names[] = {"", "publisher", "first", "second"};
    struct seen seen = {.name = names[number]};

    assert_done(rapahub_host_guests(stage->on.host, see, &seen));
    return seen;
}

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Waits for a process of the guest other than `before`. */
static int32_t next_process(struct stage *stage, uint32_t number, int32_t before)
{
    uint64_t end = now_ms() + 20000;
    int32_t pid = before;

    while ((pid == before || pid == 0) && now_ms() < end) {
        assert_true(rapahub_host_dispatch(stage->on.host, 1) >= 0);
        pid = look(stage, number).pid;
    }
    assert_true(pid != before && pid != 0);
    return pid;
}

static void kill_now(struct stage *stage, uint32_t number, uint64_t after_us)
{
    int32_t pid = look(stage, number).pid;
    uint64_t end;

    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    pid = next_process(stage, number, pid);
    end = now_us() + after_us;
    while (now_us() < end)
        assert_true(rapahub_host_dispatch(stage->on.host, 0) >= 0);
    if (look(stage, number).ready)
        stage->late++;
    else
        stage->early++;
    (void)kill(pid, SIGKILL);
    (void)next_process(stage, number, pid);
}

static void await_ready(struct stage *stage)
{
    uint64_t end = now_ms() + 20000;
    unsigned ready = 0;

    while (ready < GUESTS - 1 && now_ms() < end) {
        assert_true(rapahub_host_dispatch(stage->on.host, 1) >= 0);
        ready = 0;
        for (uint32_t i = PUBLISHER; i < GUESTS; i++)
            ready += look(stage, i).ready;
    }
    assert_int_equal(ready, GUESTS - 1);
}

static void run(struct stage *stage, const uint32_t *victims, size_t count)
{
    for (unsigned round = 0; round < rounds(); round++) {
        publish(stage);
        for (size_t i = 0; i < count; i++)
            kill_now(stage, victims[i], (uint64_t)round * STEP_US % SPAN_US);
        await_ready(stage);
        publish(stage);
        take_all(stage, FIRST);
        take_all(stage, SECOND);
        assert_listed(&stage->on, "news",
                      "first in 0 active; second in 1 active; publisher out 0 active; ");
    }
    print_message("%u rounds: %u died before READY, %u after; %llu messages to each, 0 lost, 0 "
                  "doubled\n",
                  rounds(), stage->early, stage->late, (unsigned long long)stage->sent);
}

static void run_with(const uint32_t *victims, size_t count)
{
    struct stage stage;

    open_stage(&stage);
    run(&stage, victims, count);
    close_host(&stage.on);
}

/* r[verify supervise.role.kept] r[verify supervise.role.again] r[verify supervise.role.suspended]
 */
static void a_subscriber_dies(void **state)
{
    (void)state;
    run_with((const uint32_t[]){FIRST}, 1);
}

static void a_publisher_dies(void **state)
{
    (void)state;
    run_with((const uint32_t[]){PUBLISHER}, 1);
}

static void both_die(void **state)
{
    (void)state;
    run_with((const uint32_t[]){PUBLISHER, SECOND}, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subscriber_dies),
        cmocka_unit_test(a_publisher_dies),
        cmocka_unit_test(both_die),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
