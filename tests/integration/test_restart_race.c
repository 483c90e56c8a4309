/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that arrive together after a death: there is one new life, and all of them reach it.
 *
 * The seed is printed; RAPAHUB_TEST_SEED repeats a run. RAPAHUB_TEST_ROUNDS: how many deaths.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/integration/child.h"

#define CROWD 1000   /* threads */
#define LATE  300000 /* ns, at most, after the kill */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 100
#else
#define ROUNDS 1000
#endif

static const struct rapahub_supervision at_once = {.start = RAPAHUB_START_LAZY,
                                                   .when_down = RAPAHUB_WHEN_DOWN_WAIT,
                                                   .on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                                   .backoff_initial_ns = RAPAHUB_NONE};

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void spin_ns(uint64_t ns)
{
    struct timespec start, now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((uint64_t)(now.tv_sec - start.tv_sec) * SECOND + (uint64_t)now.tv_nsec <
           (uint64_t)start.tv_nsec + ns);
}

/* A caller that calls at the same time as another, round by round. */
struct racer {
    struct lazy *lazy;
    pthread_barrier_t *line;
    uint64_t rounds, wait_ns; /* after the line */
    uint64_t lost;            /* calls that met the death itself */
    int32_t pid;              /* that answered */
    int code;
    bool over;
};

/* The first call may have been on its way when the guest died; the next one finds it dead. */
static void call_until_answered(struct racer *racer)
{
    do {
        racer->code = call(racer->lazy, here, "pid() -> i32", &racer->pid);
        racer->lost += racer->code == RAPAHUB_EDIED;
    } while (racer->code == RAPAHUB_EDIED);
}

static void *race(void *user)
{
    struct racer *racer = user;

    for (;;) {
        pthread_barrier_wait(racer->line);
        if (racer->over)
            return NULL;
        spin_ns(racer->wait_ns);
        call_until_answered(racer);
        pthread_barrier_wait(racer->line);
    }
}

/* The guest is killed, and both call a moment later: before, during or after the detection of its
 * death. */
static void run_round(struct racer racers[2], int32_t *pid, struct rapahub_child_id child,
                      unsigned short random[3])
{
    uint64_t before = status_of(racers[0].lazy, child).incarnation;

    for (int i = 0; i < 2; i++)
        racers[i].wait_ns = (uint64_t)nrand48(random) % LATE;
    assert_int_equal(kill(*pid, SIGKILL), 0);
    pthread_barrier_wait(racers[0].line);
    spin_ns(racers[0].wait_ns);
    call_until_answered(&racers[0]);
    pthread_barrier_wait(racers[0].line);
    for (int i = 0; i < 2; i++)
        assert_int_equal(racers[i].code, 0);
    /* a caller may have been answered by the old life, before the signal arrived */
    if (racers[0].pid == *pid || racers[1].pid == *pid)
        for (int i = 0; i < 2; i++)
            while (racers[i].pid == *pid)
                call_until_answered(&racers[i]);
    assert_int_equal(racers[0].pid, racers[1].pid);
    assert_int_equal(status_of(racers[0].lazy, child).incarnation, before + 1);
    *pid = racers[0].pid;
}

/* r[verify supervise.lazy] r[verify supervise.incarnation] */
static void two_callers_of_a_dead_child_make_one_life(void **state)
{
    uint64_t seed = number_of("RAPAHUB_TEST_SEED", now_ms() % 1000000);
    uint64_t rounds = number_of("RAPAHUB_TEST_ROUNDS", ROUNDS);
    struct rapahub_child_id child;
    struct racer racers[2];
    unsigned short random[3] = {1, (unsigned short)seed, (unsigned short)(seed >> 16)};
    pthread_barrier_t line;
    struct lazy lazy;
    pthread_t second;
    int32_t of;

    (void)state;
    print_message("seed %" PRIu64 "\n", seed);
    open_lazy(&lazy, true);
    child = put(&lazy, here, at_once);
    of = pid(&lazy, here);
    pthread_barrier_init(&line, NULL, 2);
    for (int i = 0; i < 2; i++)
        racers[i] = (struct racer){.lazy = &lazy, .line = &line};
    assert_int_equal(pthread_create(&second, NULL, race, &racers[1]), 0);
    for (uint64_t n = 0; n < rounds; n++)
        run_round(racers, &of, child, random);
    racers[1].over = true;
    pthread_barrier_wait(&line);
    pthread_join(second, NULL);
    pthread_barrier_destroy(&line);
    print_message("%" PRIu64 " deaths, as many new lives; %" PRIu64 " calls met one\n", rounds,
                  racers[0].lost + racers[1].lost);
    assert_int_equal(status_of(&lazy, child).restarts, rounds);
    close_host(&lazy.on);
}

/* ---- many ---- */

struct crowd {
    struct caller callers[CROWD];
    struct lazy lazy;
    struct rapahub_child_id child;
};

static void run_crowd(struct crowd *crowd, bool killed)
{
    int32_t before = killed ? pid(&crowd->lazy, here) : 0;
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)256 << 10);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd->callers[i] = (struct caller){.lazy = &crowd->lazy};
        assert_int_equal(
            pthread_create(&crowd->callers[i].thread, &small, call_once, &crowd->callers[i]), 0);
        if (killed && i == CROWD / 2)
            assert_int_equal(kill(before, SIGKILL), 0);
    }
    pthread_attr_destroy(&small);
    for (unsigned i = 0; i < CROWD; i++)
        pthread_join(crowd->callers[i].thread, NULL);
}

/* None is answered by a third one. */
static void check_crowd(const struct crowd *crowd, int32_t before, int32_t after)
{
    unsigned lost = 0;

    for (unsigned i = 0; i < CROWD; i++) {
        const struct caller *caller = &crowd->callers[i];

        if (caller->code == RAPAHUB_EDIED)
            lost++;
        else if (caller->code != 0 || (caller->pid != before && caller->pid != after))
            fail_msg("call %u: %d, answered by %d", i, caller->code, (int)caller->pid);
    }
    print_message("%u of %d calls met the death\n", lost, CROWD);
}

/* r[verify supervise.call] */
static void a_thousand_threads_at_the_moment_of_a_death_find_one_new_life(void **state)
{
    static const enum rapahub_start starts[] = {RAPAHUB_START_LAZY, RAPAHUB_START_EAGER};
    static struct crowd crowd;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct rapahub_supervision how = at_once;
        uint64_t life;
        int32_t before;

        how.start = starts[i];
        open_lazy(&crowd.lazy, true);
        crowd.child = put(&crowd.lazy, here, how);
        before = pid(&crowd.lazy, here);
        life = status_of(&crowd.lazy, crowd.child).incarnation;
        run_crowd(&crowd, true);
        check_crowd(&crowd, before, pid(&crowd.lazy, here));
        assert_int_equal(status_of(&crowd.lazy, crowd.child).incarnation, life + 1);
        close_host(&crowd.lazy.on);
    }
}

/* r[verify supervise.lazy] */
static void a_thousand_first_callers_make_one_life(void **state)
{
    static struct crowd crowd;

    (void)state;
    open_lazy(&crowd.lazy, true);
    crowd.child = put(&crowd.lazy, here, at_once);
    run_crowd(&crowd, false);
    check_crowd(&crowd, pid(&crowd.lazy, here), pid(&crowd.lazy, here));
    assert_int_equal(status_of(&crowd.lazy, crowd.child).restarts, 0);
    close_host(&crowd.lazy.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_callers_of_a_dead_child_make_one_life),
        cmocka_unit_test(a_thousand_threads_at_the_moment_of_a_death_find_one_new_life),
        cmocka_unit_test(a_thousand_first_callers_make_one_life),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
