/* SPDX-License-Identifier: Apache-2.0 */
/* A host is killed before each system call it makes, on whichever of its threads, from its creation
 * over the start of its first guest, which then dies, to the moment its next life is ready: also
 * between the birth of a guest and its own program, when the calls are the guest's. No guest is
 * left a second later, and the next host that starts removes all files.
 *
 * One point in some is tried, another one in each run; --every: all. The program starts itself as
 * such a host: test_fault_spawn_sweep host TRUST.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/host.h>

#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/fault/orphans.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRIDE 5
#else
#define STRIDE 2
#endif
#define TRUSTED    "trusted"
#define POINTS_MAX 100000
#define SOON       (30 * HUB_SECOND)
#define OPTIONS                                                                               \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | \
     PTRACE_O_EXITKILL)

/* ---- the host that will be killed ---- */

static void say_nothing(void *user, enum rapahub_log_level level, const char *topic,
                        const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static void count_ready(void *user, const struct rapahub_event *event)
{
    *(unsigned *)user += event->kind == RAPAHUB_EVENT_READY;
}

static int start_guest(struct rapahub_host *host, enum rapahub_trust trust,
                       struct rapahub_guest_id *guest)
{
    const struct rapahub_supervision often = {
        .backoff_initial_ns = 1, .backoff_max_ns = 1, .restarts_max = 256};
    const struct rapahub_container_options container = {.id = {{1, 0}, 0}, .pool_name = "sweep"};
    const struct rapahub_guest_options plugin = {.chimod = PROCESS_CHIMOD("echo"),
                                                 .trust = trust,
                                                 .container = &container,
                                                 .supervision = &often};

    return rapahub_host_spawn(host, &plugin, guest);
}

/* Its end is no part of it: nothing is given back by itself. */
static int be_a_host(enum rapahub_trust trust)
{
    unsigned ready = 0;
    const struct rapahub_host_options options = {
        .name = "sweep", .on_event = count_ready, .user = &ready};
    const uint64_t until = hub_clock_after(SOON);
    struct rapahub_guest_id guest;
    struct rapahub_host *host = NULL;
    int r;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    rapahub_log_to(say_nothing, NULL, RAPAHUB_LOG_ERROR);
    r = rapahub_host_create(&options, &host);
    if (r == 0)
        r = start_guest(host, trust, &guest);
    if (r == 0)
        r = rapahub_host_kill(host, guest);
    while (r >= 0 && ready < 2 && hub_clock_left(until) > 0)
        r = rapahub_host_dispatch(host, 1000);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    _exit(r < 0 || ready < 2);
}

/* ---- the host that is traced and killed ---- */

struct victim {
    pid_t pid;
    uint64_t done;  /* system calls, so far */
    uint64_t until; /* it is killed before this one, from 1 on */
    uint64_t call;  /* number of that call */
    bool in_guest;  /* and who makes it */
    bool killed;
    int status; /* status of its end; only if it was not killed */
};

static int start_victim(struct victim *victim, const char *trust)
{
    victim->pid = fork();
    if (victim->pid == 0) {
        execl("/proc/self/exe", "spawn_sweep", "host", trust, NULL);
        _exit(127);
    }
    return victim->pid < 0 ? -errno : 0;
}

static bool is_of(pid_t tid, pid_t process)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)process, (int)tid);
    return access(path, F_OK) == 0;
}

static void note_call(struct victim *victim, pid_t tid)
{
    struct __ptrace_syscall_info info = {0};

    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY || ++victim->done != victim->until)
        return;
    victim->call = info.entry.nr;
    victim->in_guest = !is_of(tid, victim->pid);
    victim->killed = kill(victim->pid, SIGKILL) == 0;
}

/* A guest is let go when it is its own program. A new thread begins with a stop of its own. */
static void on_stop(struct victim *victim, pid_t tid, int status)
{
    int number = WSTOPSIG(status), event = status >> 16;

    if (event == PTRACE_EVENT_EXEC && tid != victim->pid) {
        (void)ptrace(PTRACE_DETACH, tid, NULL, NULL);
        return;
    }
    if (number == (SIGTRAP | 0x80))
        note_call(victim, tid);
    if (number == (SIGTRAP | 0x80) || number == SIGTRAP || number == SIGSTOP)
        number = 0;
    if (!victim->killed)
        (void)ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)number);
    else if (tid != victim->pid)
        (void)ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

static void follow(struct victim *victim)
{
    int status;
    pid_t tid;

    assert_int_equal(waitpid(victim->pid, &status, 0), victim->pid);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, victim->pid, NULL, (void *)OPTIONS), 0);
    (void)ptrace(PTRACE_SYSCALL, victim->pid, NULL, NULL);
    while (!victim->killed && (tid = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status))
            on_stop(victim, tid, status);
        else if (tid == victim->pid)
            break;
    }
    victim->status = status;
}

/* ---- the sweep ---- */

struct tally {
    uint64_t points, in_guests, files, longest_ns;
};

static void look_behind(const struct victim *victim, struct tally *tally)
{
    uint64_t start = hub_clock_now();

    if (!process_until(orphans_nobody_left, NULL, ORPHANS_GONE)) {
        orphans_show();
        fail_msg("guests outlived their host, which was killed before its system call %" PRIu64
                 ", number %" PRIu64 "%s",
                 victim->done, victim->call, victim->in_guest ? ", in its guest" : "");
    }
    start = hub_clock_now() - start;
    tally->longest_ns = start > tally->longest_ns ? start : tally->longest_ns;
    tally->files += orphans_files_of(victim->pid);
    assert_int_equal(orphans_start_another_host(), 0);
    if (orphans_files_of(victim->pid) != 0)
        fail_msg("a file of the host stays, which was killed before its system call %" PRIu64
                 ", number %" PRIu64,
                 victim->done, victim->call);
}

static bool try_point(uint64_t step, const char *trust, struct tally *tally)
{
    struct victim victim = {.until = step};

    assert_int_equal(start_victim(&victim, trust), 0);
    follow(&victim);
    if (!victim.killed && (!WIFEXITED(victim.status) || WEXITSTATUS(victim.status) != 0))
        fail_msg("the host ended by itself, with status %d", victim.status);
    look_behind(&victim, tally);
    tally->points += victim.killed;
    tally->in_guests += victim.in_guest;
    return victim.killed;
}

static void sweep(enum rapahub_trust trust, uint64_t stride)
{
    uint64_t first = 1 + hub_random_nonce() % stride, step;
    struct tally tally = {0};
    const char *word = trust == RAPAHUB_TRUST_TRUSTED ? TRUSTED : "standard";

    for (step = first; step < POINTS_MAX && try_point(step, word, &tally);)
        step += stride;
    print_message("%" PRIu64 " points, 1 in %" PRIu64 " from %" PRIu64 ", %" PRIu64
                  " of them in a guest before its program: 0 guests left, the last one gone within "
                  "%" PRIu64 " us; %" PRIu64 " files left, and removed by the next host\n",
                  tally.points, stride, first, tally.in_guests, tally.longest_ns / 1000,
                  tally.files);
    assert_true(step < POINTS_MAX);
    assert_true(tally.points > 0 && tally.in_guests > 0);
    assert_true(tally.files > 0 || trust != RAPAHUB_TRUST_TRUSTED);
}

/* r[verify supervise.orphan] r[verify hub.file.sweep] */
static void a_host_of_a_trusted_guest_is_killed_at_any_step(void **state)
{
    sweep(RAPAHUB_TRUST_TRUSTED, *(uint64_t *)*state);
}

/* r[verify supervise.orphan] */
static void a_host_of_a_guest_with_memory_of_its_own_is_killed_at_any_step(void **state)
{
    sweep(RAPAHUB_TRUST_STANDARD, *(uint64_t *)*state);
}

int main(int argc, char **argv)
{
    uint64_t stride = STRIDE;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_host_of_a_trusted_guest_is_killed_at_any_step, &stride),
        cmocka_unit_test_prestate(a_host_of_a_guest_with_memory_of_its_own_is_killed_at_any_step,
                                  &stride),
    };

    if (argc > 2 && strcmp(argv[1], "host") == 0)
        return be_a_host(strcmp(argv[2], TRUSTED) == 0 ? RAPAHUB_TRUST_TRUSTED
                                                       : RAPAHUB_TRUST_STANDARD);
    if (argc > 1 && strcmp(argv[1], "--every") == 0)
        stride = 1;
    if (!process_possible() || !orphans_adopt())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
