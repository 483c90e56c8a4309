/* SPDX-License-Identifier: Apache-2.0 */
/* A guest forks without end, fills memory, leaks descriptors, floods the log, each under limits:
 * the calls of another guest take at most twice as long as without it, in the same run, and the
 * host has as many descriptors as before. The best of some rounds counts, because a machine has
 * other things to do.
 *
 * A test run by root acts as another user for it: root has no limit of processes.
 */
#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/child.h"

#define USER    54321 /* an otherwise unused user */
#define MEASURE 300   /* ms, of one measurement */
#define ROUNDS  10    /* rounds, the best of which counts */
#define CALLS   200000
#define NOISE   (300 * UINT64_C(1000)) /* ns: of this many more nothing follows */
#define MIB     (UINT64_C(1) << 20)

static bool own_user; /* all processes of that user belong to this test */

struct stage {
    struct hosting on;
    struct rapahub_guest_id greedy;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void open_stage(struct stage *stage, const struct rapahub_limits *limits)
{
    const struct rapahub_container_options beside = {.id = other, .pool_name = "greedy"};
    const struct rapahub_guest_options greedy = {.chimod = MODULE("hog"), .limits = limits};

    open_host(&stage->on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&stage->on, CALC, here, NULL));
    assert_done(rapahub_host_spawn(stage->on.host, &greedy, &stage->greedy));
    assert_done(rapahub_host_add_container(stage->on.host, stage->greedy, &beside));
}

static int in_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Returns a time that 99 of a hundred calls to the modest guest did not exceed. */
static uint64_t measure(struct stage *stage)
{
    static uint64_t took[CALLS];
    uint64_t end = now_ns() + MEASURE * MS;
    size_t count = 0;
    int64_t sum;

    for (uint64_t now = now_ns(), then; now < end && count < CALLS; now = then) {
        assert_done(add(&stage->on, 1, 2, &sum));
        then = now_ns();
        took[count++] = then - now;
    }
    qsort(took, count, sizeof *took, in_order);
    return took[count * 99 / 100];
}

static unsigned descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static uint64_t measure_beside(struct stage *stage, const char *method)
{
    const struct rapahub_call call = {.target = other, .method = method};
    struct ending ending = {0};
    struct rapahub_request_id id;
    uint64_t took;

    assert_done(rapahub_host_call_async(stage->on.host, &call, on_done, &ending, &id));
    took = measure(stage);
    assert_int_equal(__atomic_load_n(&ending.count, __ATOMIC_ACQUIRE), 0); /* it was there */
    rapahub_host_cancel(stage->on.host, id);
    for (uint64_t end = now_ms() + 10000;
         __atomic_load_n(&ending.count, __ATOMIC_ACQUIRE) == 0 && now_ms() < end;)
        pause_ms(1);
    assert_int_equal(ending.count, 1);
    return took;
}

static void check(const char *method, const struct rapahub_limits *limits)
{
    struct stage stage;
    uint64_t quiet, beside;
    unsigned before;
    bool good = false;

    for (unsigned round = 0; round < ROUNDS && !good; round++) {
        open_stage(&stage, limits);
        (void)measure(&stage);
        before = descriptors();
        quiet = measure(&stage);
        beside = measure_beside(&stage, method);
        good = beside <= 2 * quiet + NOISE;
        print_message("%s: %llu us of quiet, %llu us beside\n", method,
                      (unsigned long long)quiet / 1000, (unsigned long long)beside / 1000);
        assert_int_equal(descriptors(), before);
        close_host(&stage.on);
    }
    assert_true(good);
}

/* r[verify supervise.limits] */
static void a_fork_bomb_is_no_worry_to_the_others(void **state)
{
    (void)state;
    if (!own_user)
        skip(); /* with another user's processes the limit counts them all */
    check("bomb()", &(const struct rapahub_limits){.processes = 64});
}

/* r[verify supervise.limits] */
static void nor_is_one_that_fills_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they map terabytes */
#endif
    check("memory()", &(const struct rapahub_limits){.data_bytes = 128 * MIB});
}

/* r[verify supervise.limits] */
static void nor_is_one_that_leaks_descriptors(void **state)
{
    (void)state;
    check("descriptors()", &(const struct rapahub_limits){.descriptors = 64});
}

/* r[verify supervise.log.flood] */
static void nor_is_one_that_floods_the_log(void **state)
{
    (void)state;
    check("log()", NULL);
}

/* Continues as another user, if that is allowed; returns in the child only. */
static void become_nobody(void)
{
    int status = 1;
    pid_t child;

    if (geteuid() != 0)
        return;
    child = fork();
    if (child != 0) {
        if (child < 0 || waitpid(child, &status, 0) != child)
            exit(1);
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    own_user = setgroups(0, NULL) == 0 && setresgid(USER, USER, USER) == 0 &&
               setresuid(USER, USER, USER) == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_bomb_is_no_worry_to_the_others),
        cmocka_unit_test(nor_is_one_that_fills_memory),
        cmocka_unit_test(nor_is_one_that_leaks_descriptors),
        cmocka_unit_test(nor_is_one_that_floods_the_log),
    };

    become_nobody();
    if (!own_user)
        print_message("greed: fork bomb skipped: it takes a user of its own\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
