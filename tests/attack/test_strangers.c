/* SPDX-License-Identifier: Apache-2.0 */
/* Unmanaged guests that keep no rule: without a lock, with the pid of another process, in an
 * impossible state. Nothing is reused that one of them may still write to. */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/attack/strangers.h"
#include "tests/support/pause.h"

#define PATIENCE 10200 /* ms: more than an entry may be reserved by one that gets no further */

/* r[verify hub.death.quarantine] r[verify hub.death.proof] */
static void one_without_a_lock_is_served_and_never_taken_for_dead(void **state)
{
    struct stranger stranger;
    struct stage stage;

    (void)state;
    for (int part = 0; part <= 1; part++) {
        open_stage(&stage, BEAT);
        come(&stranger, rapahub_host_path(stage.host), 1);
        attach(&stranger);
        raw_store32(stranger.base, stranger.entry + 56, (uint32_t)part);
        until_quarantined(&stage, 1); /* it has no heart */
        assert_int_equal(state_of(&stranger), GOODBYE);
        go(&stranger); /* its end proves nothing: it held nothing */
        come(&stranger, rapahub_host_path(stage.host), 1);
        stays(&stage, &stranger, GOODBYE);
        check_neighbour(&stage);
        assert_int_equal(state_of(&stranger), GOODBYE);
        assert_int_equal(rapahub_host_quarantined(stage.host), 1);
        go(&stranger);
        close_stage(&stage);
    }
}

/* It has of the segment what this process has; or nothing, where it `leaves`. */
static pid_t start_child(struct stranger *stranger, bool leaves)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test must not leave one running */
    if (pid == 0 && leaves)
        go(stranger);
    while (pid == 0)
        pause_ms(-1);
    return pid;
}

static void reap(pid_t pid, int signal)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

/* The process it named is killed, dead and reaped, but another process still has the memory mapped.
 * r[verify hub.death.proof] r[verify hub.file.lock] */
static void a_dead_process_whose_lock_is_held_is_no_proof(void **state)
{
    struct stranger stranger;
    struct stage stage;
    pid_t child;

    (void)state;
    open_stage(&stage, BEAT);
    come(&stranger, rapahub_host_path(stage.host), 1);
    child = start_child(&stranger, false);
    lock(&stranger, F_WRLCK, child);
    attach(&stranger);
    say_locked(&stranger);
    until_state(&stage, &stranger, GOODBYE); /* by the host: it has no heart */
    reap(child, SIGKILL);
    stays(&stage, &stranger, GOODBYE);
    close(stranger.fd); /* the mapping has it still */
    stays(&stage, &stranger, GOODBYE);
    munmap(stranger.base, stranger.size);
    come(&stranger, rapahub_host_path(stage.host), 1);
    until_state(&stage, &stranger, EMPTY);
    assert_int_equal(rapahub_host_quarantined(stage.host), 0);
    go(&stranger);
    close_stage(&stage);
}

/* r[verify hub.death.proof] r[verify hub.death.recycle] */
static void a_free_lock_of_a_process_that_lives_is_no_proof(void **state)
{
    struct stranger stranger;
    struct stage stage;
    pid_t child;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    come(&stranger, rapahub_host_path(stage.host), 1);
    child = start_child(&stranger, false);
    lock(&stranger, F_WRLCK, child);
    attach(&stranger);
    say_locked(&stranger);
    UNTIL(&stage, raw_load32(stranger.base, stranger.entry + 60) != 0); /* it is taken in */
    lock(&stranger, F_UNLCK, child);
    stays(&stage, &stranger, ATTACHED);
    raw_store32(stranger.base, stranger.entry, GOODBYE);
    until_state(&stage, &stranger, EMPTY); /* it said that it goes, and has unlocked */
    assert_int_equal(kill(child, 0), 0);
    kill(child, SIGKILL);
    reap(child, SIGKILL);
    go(&stranger);
    close_stage(&stage);
}

/* False where this user may not choose numbers of processes. */
static bool fork_as(pid_t wanted, struct stranger *stranger, pid_t *pid)
{
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    char text[16];
    int size = snprintf(text, sizeof text, "%d", (int)wanted - 1);
    bool may = fd >= 0 && write(fd, text, (size_t)size) == size;

    if (fd >= 0)
        close(fd);
    *pid = may ? start_child(stranger, true) : -1;
    return may;
}

/* The process is dead, and its number belongs to another process: the death is noticed, and that
 * process is not killed. r[verify hub.death.proof] */
static void a_number_that_is_used_again_is_another_process(void **state)
{
    struct stranger stranger;
    struct stage stage;
    pid_t child, other;

    (void)state;
    open_stage(&stage, BEAT);
    come(&stranger, rapahub_host_path(stage.host), 1);
    child = start_child(&stranger, false);
    lock(&stranger, F_WRLCK, child);
    attach(&stranger);
    say_locked(&stranger);
    until_state(&stage, &stranger, GOODBYE);
    reap(child, SIGKILL);
    if (!fork_as(child, &stranger, &other) || other != child)
        print_message("the number cannot be had here\n");
    stays(&stage, &stranger, GOODBYE);
    go(&stranger);
    come(&stranger, rapahub_host_path(stage.host), 1);
    until_state(&stage, &stranger, EMPTY);
    if (other > 0) {
        assert_int_equal(kill(other, SIGTERM), 0);
        reap(other, SIGTERM);
    }
    go(&stranger);
    close_stage(&stage);
}

static void ends_by(pid_t pid, int signal)
{
    assert_int_equal(kill(pid, signal), 0);
    reap(pid, signal);
}

/* The lock was not its own: it held it for a moment, as one does that looks for a free entry, just
 * when the host looked. r[verify hub.death.proof] r[verify hub.file.lock] */
static void who_does_not_hold_the_lock_is_not_killed_for_the_entry(void **state)
{
    struct stranger stranger;
    struct stage stage;
    pid_t child;

    (void)state;
    open_stage(&stage, BEAT);
    come(&stranger, rapahub_host_path(stage.host), 1);
    child = start_child(&stranger, false);
    lock(&stranger, F_WRLCK, child);
    attach(&stranger);
    say_locked(&stranger);
    UNTIL(&stage, raw_load32(stranger.base, stranger.entry + 60) != 0); /* it is taken in */
    lock(&stranger, F_UNLCK, child);
    until_state(&stage, &stranger, GOODBYE); /* by the host: it has no heart */
    stays(&stage, &stranger, GOODBYE);
    ends_by(child, SIGTERM);
    until_state(&stage, &stranger, EMPTY);
    go(&stranger);
    close_stage(&stage);
}

/* A guest that has reserved an entry and got no further dies, and the next one that looks for a
 * free entry has its lock for a moment: the time of that guest has only begun.
 * r[verify hub.death.proof] */
static void who_passes_an_entry_is_not_killed_for_another_that_stayed(void **state)
{
    struct stranger first, next;
    struct stage stage;
    pid_t child;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    come(&next, rapahub_host_path(stage.host), 1);
    child = start_child(&next, false);
    come(&first, rapahub_host_path(stage.host), 1);
    lock(&first, F_WRLCK, getpid());
    assert_true(raw_swap32(first.base, first.entry, EMPTY, RESERVED));
    stays(&stage, &first, RESERVED);
    pause_ms(PATIENCE);
    go(&first);
    lock(&next, F_WRLCK, child);
    stays(&stage, &next, RESERVED);
    ends_by(child, SIGTERM);
    lock(&next, F_UNLCK, child);
    until_state(&stage, &next, EMPTY);
    go(&next);
    close_stage(&stage);
}

/* It named another process, which has nothing of the segment. r[verify hub.death.proof] */
static void nobody_is_killed_for_what_a_guest_says_of_itself(void **state)
{
    const char *const argv[] = {"sleep", "60", NULL};
    const struct process_options options = {.argv = argv, .within_ns = 30 * SECOND};
    struct process_result result;
    struct stranger stranger;
    struct process other;
    struct stage stage;

    (void)state;
    open_stage(&stage, BEAT);
    assert_int_equal(process_start(&options, &other), 0);
    come(&stranger, rapahub_host_path(stage.host), 1);
    lock(&stranger, F_WRLCK, other.pid);
    attach(&stranger);
    say_locked(&stranger);
    until_state(&stage, &stranger, GOODBYE); /* it has no heart */
    stays(&stage, &stranger, GOODBYE);
    process_kill(&other, SIGTERM);
    assert_int_equal(process_finish(&other, &result), 0);
    assert_int_equal(result.signal, SIGTERM); /* and no SIGKILL */
    process_result_fini(&result);
    go(&stranger);
    come(&stranger, rapahub_host_path(stage.host), 1);
    until_state(&stage, &stranger, EMPTY);
    go(&stranger);
    close_stage(&stage);
}

/* It breaks a rule, for which the process that it named would be killed. */
static void break_a_rule(struct stage *stage, struct stranger *stranger, pid_t named)
{
    lock(stranger, F_WRLCK, named);
    attach(stranger);
    say_locked(stranger);
    UNTIL(stage, raw_load32(stranger->base, stranger->entry + 60) != 0); /* it is taken in */
    raw_store32(stranger->base, stranger->entry + 8, 7777);              /* its head */
    UNTIL(stage, stage->violations > 0);
    assert_string_equal(stage->rule, "shm.ring.capacity");
    until_state(stage, stranger, GOODBYE);
    stays(stage, stranger, GOODBYE);
}

/* In a process of its own it names `named`, and waits. It has opened the file itself, so that no
 * other process has its lock. */
static pid_t start_liar(const char *path, pid_t named)
{
    pid_t pid = fork();
    struct stranger stranger;

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    come(&stranger, path, 1);
    lock(&stranger, F_WRLCK, named);
    attach(&stranger);
    say_locked(&stranger);
    while (raw_load32(stranger.base, stranger.entry + 60) == 0) /* it is taken in */
        pause_ms(1);
    raw_store32(stranger.base, stranger.entry + 8, 7777); /* its head */
    for (;;)
        pause_ms(-1);
}

/* A guest that names its host's number, whether the host holds that very lock or not; the host
 * lives. r[verify hub.death.named] */
static void the_host_is_not_killed_for_what_a_guest_says(void **state)
{
    struct stranger stranger;
    struct stage stage;
    pid_t liar;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    come(&stranger, rapahub_host_path(stage.host), 1);
    break_a_rule(&stage, &stranger, getpid());
    go(&stranger);
    close_stage(&stage);
    open_stage(&stage, UINT64_MAX);
    liar = start_liar(rapahub_host_path(stage.host), getpid());
    UNTIL(&stage, stage.violations > 0);
    assert_string_equal(stage.rule, "shm.ring.capacity");
    come(&stranger, rapahub_host_path(stage.host), 1);
    until_state(&stage, &stranger, GOODBYE);
    stays(&stage, &stranger, GOODBYE);
    check_neighbour(&stage);
    ends_by(liar, SIGTERM); /* it was not killed either: it gave no number of its own */
    until_state(&stage, &stranger, EMPTY);
    go(&stranger);
    close_stage(&stage);
}

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    if (status->pid > 0)
        *(int32_t *)user = status->pid;
}

/* A guest that names another guest, started by the host or not. r[verify hub.death.named] */
static void no_other_guest_is_killed_for_what_one_says(void **state)
{
    const struct rapahub_guest_options options = {.chimod = ECHO, .trust = RAPAHUB_TRUST_TRUSTED};
    struct rapahub_guest_id guest;
    struct stranger stranger;
    struct stage stage;
    int32_t named = 0;
    pid_t liar;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    come(&stranger, rapahub_host_path(stage.host), 1); /* so the neighbour has another entry */
    lock(&stranger, F_WRLCK, getpid());
    assert_true(raw_swap32(stranger.base, stranger.entry, EMPTY, RESERVED));
    assert_int_equal(rapahub_host_spawn(stage.host, &options, &guest), 0);
    assert_int_equal(rapahub_host_guests(stage.host, note_pid, &named), 0);
    assert_true(named > 0);
    raw_store32(stranger.base, stranger.entry, EMPTY);
    lock(&stranger, F_UNLCK, getpid());
    liar = start_liar(rapahub_host_path(stage.host), (pid_t)named);
    UNTIL(&stage, stage.violations > 0);
    until_state(&stage, &stranger, GOODBYE);
    stays(&stage, &stranger, GOODBYE);
    assert_int_equal(stage.down, 0); /* the neighbour is there */
    ends_by(liar, SIGTERM);
    go(&stranger);
    close_stage(&stage);
}

/* r[verify shm.segment.peer-state] */
static void a_state_there_is_none_of_costs_that_entry(void **state)
{
    struct stranger stranger;
    struct stage stage;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    come(&stranger, rapahub_host_path(stage.host), 2);
    raw_store32(stranger.base, stranger.entry, 77);
    until_quarantined(&stage, 1);
    check_neighbour(&stage);
    go(&stranger);
    close_stage(&stage);
}

/* r[verify shm.crash.epoch] r[verify shm.guest.attach] */
static void one_that_does_not_raise_its_epoch_breaks_a_rule(void **state)
{
    struct stranger stranger;
    struct stage stage;
    pid_t child;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    come(&stranger, rapahub_host_path(stage.host), 1);
    child = start_child(&stranger, false);
    lock(&stranger, F_WRLCK, child);
    assert_true(raw_swap32(stranger.base, stranger.entry, EMPTY, ATTACHED));
    say_locked(&stranger);
    stays(&stage, &stranger, ATTACHED); /* it has a second for it */
    UNTIL(&stage, stage.violations > 0);
    assert_string_equal(stage.rule, "shm.crash.epoch");
    until_state(&stage, &stranger, GOODBYE);
    reap(child, SIGKILL);
    go(&stranger);
    come(&stranger, rapahub_host_path(stage.host), 1);
    until_state(&stage, &stranger, EMPTY);
    go(&stranger);
    close_stage(&stage);
}

/* r[verify shm.crash.epoch] */
static void one_that_raises_it_late_is_waited_for(void **state)
{
    struct stranger stranger;
    struct stage stage;
    pid_t child;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    come(&stranger, rapahub_host_path(stage.host), 1);
    child = start_child(&stranger, false);
    lock(&stranger, F_WRLCK, child);
    assert_true(raw_swap32(stranger.base, stranger.entry, EMPTY, ATTACHED));
    say_locked(&stranger);
    stays(&stage, &stranger, ATTACHED);
    assert_int_equal(raw_load32(stranger.base, stranger.entry + 60), 0); /* it is never addressed */
    raw_store32(stranger.base, stranger.entry + 4, 1);
    UNTIL(&stage, raw_load32(stranger.base, stranger.entry + 60) != 0);
    assert_int_not_equal(raw_load32(stranger.base, stranger.entry + 60), 0);
    assert_int_equal(stage.violations, 0);
    kill(child, SIGKILL);
    reap(child, SIGKILL);
    go(&stranger);
    come(&stranger, rapahub_host_path(stage.host), 1);
    until_state(&stage, &stranger, EMPTY);
    go(&stranger);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_without_a_lock_is_served_and_never_taken_for_dead),
        cmocka_unit_test(a_dead_process_whose_lock_is_held_is_no_proof),
        cmocka_unit_test(a_free_lock_of_a_process_that_lives_is_no_proof),
        cmocka_unit_test(a_number_that_is_used_again_is_another_process),
        cmocka_unit_test(who_does_not_hold_the_lock_is_not_killed_for_the_entry),
        cmocka_unit_test(who_passes_an_entry_is_not_killed_for_another_that_stayed),
        cmocka_unit_test(nobody_is_killed_for_what_a_guest_says_of_itself),
        cmocka_unit_test(the_host_is_not_killed_for_what_a_guest_says),
        cmocka_unit_test(no_other_guest_is_killed_for_what_one_says),
        cmocka_unit_test(a_state_there_is_none_of_costs_that_entry),
        cmocka_unit_test(one_that_does_not_raise_its_epoch_breaks_a_rule),
        cmocka_unit_test(one_that_raises_it_late_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
