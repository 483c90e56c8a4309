/* SPDX-License-Identifier: Apache-2.0 */
/* Events that look like a death and are none, and a death that does not look like one: only the
 * guest's own pidfd decides. And the processes that die with it. */
#include <errno.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define MS UINT64_C(1000000)

static void open_hinter_beating(struct hosting *on, enum rapahub_trust trust,
                                const struct rapahub_supervision *how, uint64_t heartbeat_ns)
{
    const struct rapahub_guest_options guest = {
        .chimod = MODULE("hinter"), .supervision = how, .trust = trust};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};

    open_host(on, (struct rapahub_host_options){.heartbeat_ns = heartbeat_ns});
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static void open_hinter(struct hosting *on, enum rapahub_trust trust,
                        const struct rapahub_supervision *how)
{
    open_hinter_beating(on, trust, how, 0);
}

static int32_t fork_one(struct hosting *on)
{
    int32_t pid = 0;

    assert_done(ask(on, "fork() -> i32", NULL, &pid));
    assert_true(pid > 0);
    return pid;
}

/* Ended, or an unreaped zombie. */
static bool has_ended(int32_t pid)
{
    char path[64], line[512] = "";
    FILE *file;
    const char *state;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return true;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    state = strrchr(line, ')');
    return !state || state[2] == 'Z' || state[2] == 'X';
}

static bool ends_soon(int32_t pid)
{
    for (uint64_t end = now_ms() + 2000; now_ms() < end && !has_ended(pid);)
        pause_ms(5);
    return has_ended(pid);
}

/* It has the doorbell, and so nothing hangs up when the guest dies.
 * r[verify hub.death.proof] r[verify supervise.kill-mode] */
static void a_grandchild_that_holds_the_doorbell_hides_no_death(void **state)
{
    static const enum rapahub_trust levels[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct rapahub_supervision how = {.kill_mode = i % 2 ? RAPAHUB_KILL_PROCESS
                                                                   : RAPAHUB_KILL_GROUP};
        struct hosting on;
        int32_t other, first;

        open_hinter(&on, levels[i / 2], &how);
        first = pid_of(&on);
        other = fork_one(&on);
        assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
        assert_true(until(&on, &on.told.ready, 2));
        assert_int_not_equal(pid_of(&on), first);
        if (how.kill_mode == RAPAHUB_KILL_GROUP) {
            assert_true(ends_soon(other));
        } else {
            assert_false(has_ended(other));
            assert_int_equal(kill(other, SIGKILL), 0);
        }
        close_host(&on);
    }
}

/* r[verify supervise.kill-mode] */
static void who_was_started_by_a_guest_that_goes_goes_too(void **state)
{
    struct hosting on;
    int32_t other;

    (void)state;
    open_hinter(&on, RAPAHUB_TRUST_TRUSTED, NULL);
    other = fork_one(&on);
    assert_done(rapahub_host_stop(on.host, on.guest));
    assert_true(ends_soon(other));
    close_host(&on);
}

/* A hint, which leads to a kill: then the next life has all that the first one had.
 * r[verify hub.death.proof] r[verify shm.doorbell.death] */
static void one_that_hangs_up_and_lives_is_killed_before_anything_is_repaired(void **state)
{
    struct hosting on;
    int32_t first;
    int r;

    (void)state;
    open_hinter(&on, RAPAHUB_TRUST_TRUSTED, NULL);
    first = pid_of(&on);
    r = ask(&on, "hang_up()", NULL, NULL); /* its answer may be there before the hang-up is seen */
    assert_true(r == 0 || r == RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(on.told.down, 1);
    assert_true(has_ended(first));
    assert_int_not_equal(pid_of(&on), first);
    close_host(&on);
}

/* Its beat would go on; the end of the thread is its own end. r[verify supervise.thread] */
static void one_whose_serving_thread_is_gone_ends_with_it(void **state)
{
    const struct rapahub_call end = {
        .target = here, .method = "end_thread()", .timeout_ns = 20000 * MS};
    const struct rapahub_supervision patient = {.heartbeat_misses = 5};
    struct hosting on;
    int32_t first;

    (void)state;
    open_hinter_beating(&on, RAPAHUB_TRUST_TRUSTED, &patient, 100 * MS);
    first = pid_of(&on);
    assert_int_equal(rapahub_host_call(on.host, &end, NULL), RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(on.told.down, 1);
    assert_true(has_ended(first));
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grandchild_that_holds_the_doorbell_hides_no_death),
        cmocka_unit_test(who_was_started_by_a_guest_that_goes_goes_too),
        cmocka_unit_test(one_that_hangs_up_and_lives_is_killed_before_anything_is_repaired),
        cmocka_unit_test(one_whose_serving_thread_is_gone_ends_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
