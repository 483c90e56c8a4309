/* SPDX-License-Identifier: Apache-2.0 */
/* The end of many guests at once: prompt ones, slow ones, some that do not go, and some that die
 * just when the time is over. There is one deadline; no end is lost, none is told twice. */
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define MS     UINT64_C(1000000)
#define GUESTS 64U
#define WITHIN 1000 /* ms */

enum habit { PROMPT, SLOW, STUCK, DYING, HABITS };

static enum habit habit_of(unsigned i)
{
    return i % 8 == 3 ? SLOW : i % 16 == 5 ? STUCK : i % 16 == 13 ? DYING : PROMPT;
}

struct crowd {
    struct rapahub_host *host;
    struct rapahub_supervisor *group;
    struct leak *leak;
    unsigned ready, order[GUESTS], downs[GUESTS], down;
    int32_t pids[GUESTS];
    uint64_t when[GUESTS]; /* ms, of each in `order` */
};

static void note(void *user, const struct rapahub_event *event)
{
    struct crowd *crowd = user;
    unsigned i = 0;

    if (sscanf(event->name, "g%u", &i) != 1 || i >= GUESTS)
        return;
    crowd->ready += event->kind == RAPAHUB_EVENT_READY;
    if (event->kind != RAPAHUB_EVENT_DOWN)
        return;
    crowd->downs[i]++;
    if (crowd->down >= GUESTS)
        return;
    crowd->when[crowd->down] = now_ms();
    crowd->order[crowd->down++] = i;
}

static struct rapahub_container_id container(unsigned i)
{
    return (struct rapahub_container_id){.pool = {1 + i, 0}};
}

static void put_guest(struct crowd *crowd, unsigned i)
{
    const struct rapahub_supervision how = {.goodbye_ns = 100 * MS, .term_ns = 60000 * MS};
    char name[8];
    const struct rapahub_guest_options options = {
        .chimod = CALC, .name = name, .supervision = &how};
    const struct rapahub_container_options pool = {.id = container(i), .pool_name = "test"};
    struct rapahub_child_id child;

    snprintf(name, sizeof name, "g%u", i);
    assert_done(rapahub_supervisor_add(crowd->group, &options, &child));
    assert_done(rapahub_child_add_container(crowd->host, child, &pool));
}

static void forget(void *user, int code, const void *result)
{
    (void)user;
    (void)code;
    (void)result;
}

static void begin(struct crowd *crowd, unsigned i, const char *method, const void *argument)
{
    const struct rapahub_call call = {.target = container(i),
                                      .method = method,
                                      .arguments = (const void *const[]){argument, NULL},
                                      .timeout_ns = 60000 * MS};

    assert_done(rapahub_host_call_async(crowd->host, &call, forget, NULL, NULL));
}

/* The slow ones go when they have slept; stuck ones do not receive a SIGTERM either. */
static void make_busy(struct crowd *crowd, unsigned i)
{
    static const uint32_t slow_ms = 300, stuck_ms = 60000;

    if (habit_of(i) == SLOW)
        begin(crowd, i, "hold(u32)", &slow_ms);
    else if (habit_of(i) != PROMPT)
        begin(crowd, i, "deaf(u32)", &stuck_ms);
}

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    struct crowd *crowd = user;
    unsigned i = 0;

    if (sscanf(status->name, "g%u", &i) == 1 && i < GUESTS)
        crowd->pids[i] = status->pid;
}

/* Guests up to `busy` have their habits, the others are prompt. */
static void open_crowd(struct crowd *crowd, enum rapahub_strategy strategy, unsigned busy)
{
    const struct rapahub_host_options options = {.guests_max = GUESTS,
                                                 .slot_size =
                                                     4096, /* no size classes: less memory */
                                                 .on_event = note,
                                                 .user = crowd};
    const struct rapahub_supervisor_options group = {.name = "group", .strategy = strategy};
    struct rapahub_supervisor *root = NULL;

    memset(crowd, 0, sizeof *crowd);
    crowd->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    assert_done(rapahub_host_create(&options, &crowd->host));
    assert_done(rapahub_host_supervisor(crowd->host, &root));
    assert_done(rapahub_supervisor_create(root, &group, &crowd->group));
    for (unsigned i = 0; i < GUESTS; i++)
        put_guest(crowd, i);
    for (uint64_t end = now_ms() + 50000; crowd->ready < GUESTS && now_ms() < end;)
        assert_true(rapahub_host_dispatch(crowd->host, 100) >= 0);
    assert_int_equal(crowd->ready, GUESTS);
    for (unsigned i = 0; i < busy; i++)
        make_busy(crowd, i);
    assert_done(rapahub_host_guests(crowd->host, note_pid, crowd));
    assert_true(rapahub_host_dispatch(crowd->host, 0) >= 0);
}

/* Kills its guests when the time to stop is just about over. */
struct killer {
    struct crowd *crowd;
    pthread_t thread;
};

static void *kill_at_the_end(void *user)
{
    const struct killer *killer = user;

    pause_ms(WITHIN - 1);
    for (unsigned i = 0; i < GUESTS; i++)
        if (habit_of(i) == DYING) {
            (void)kill(killer->crowd->pids[i], SIGKILL);
            pause_ms(1);
        }
    return NULL;
}

static void check_ends(const struct crowd *crowd)
{
    for (unsigned i = 0; i < GUESTS; i++)
        if (crowd->downs[i] != 1)
            fail_msg("guest %u went %u times", i, crowd->downs[i]);
}

/* r[verify supervise.stop.deadline] */
static void many_guests_go_within_one_time_and_each_end_is_told_once(void **state)
{
    static struct crowd crowd;
    struct killer killer = {.crowd = &crowd};
    uint64_t start;

    (void)state;
    open_crowd(&crowd, RAPAHUB_ONE_FOR_ONE, GUESTS);
    assert_int_equal(pthread_create(&killer.thread, NULL, kill_at_the_end, &killer), 0);
    start = now_ms();
    assert_done(rapahub_supervisor_stop(crowd.group, WITHIN * MS));
    start = now_ms() - start;
    pthread_join(killer.thread, NULL);
    check_ends(&crowd);
    assert_in_range(start, WITHIN - 1, 5 * WITHIN);
    print_message("64 guests went in %u ms, of %u\n", (unsigned)start, WITHIN);
    rapahub_host_destroy(crowd.host);
    leak_assert_none(crowd.leak);
}

/* Guests that go by themselves go from the end; from the first one on that does not, all the rest
 * goes at the end of the time, in any order. r[verify supervise.stop.order]
 * r[verify supervise.stop.deadline] */
static void those_with_an_order_go_from_behind_until_the_time_is_over(void **state)
{
    static struct crowd crowd;
    unsigned by_itself = 0;
    uint64_t end;

    (void)state;
    open_crowd(&crowd, RAPAHUB_ONE_FOR_ALL, GUESTS / 2);
    end = now_ms() + WITHIN;
    assert_done(rapahub_supervisor_stop(crowd.group, WITHIN * MS));
    check_ends(&crowd);
    for (; by_itself < GUESTS && crowd.when[by_itself] < end; by_itself++)
        assert_int_equal(crowd.order[by_itself], GUESTS - 1 - by_itself);
    assert_in_range(by_itself, GUESTS / 2, GUESTS / 2 + 2); /* 29 is the first that is stuck */
    print_message("%u of 64 went in order, %u ms before the end\n", by_itself,
                  (unsigned)(end - crowd.when[by_itself - 1]));
    rapahub_host_destroy(crowd.host);
    leak_assert_none(crowd.leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_guests_go_within_one_time_and_each_end_is_told_once),
        cmocka_unit_test(those_with_an_order_go_from_behind_until_the_time_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
