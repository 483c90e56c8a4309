/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest program under a host of another make that starts its programs from a thread of a pool:
 * the end of the thread is nothing to a guest, the end of the host is its own, whatever it does
 * then. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/raw_hosting.h"
#include "tests/raw/raw_call.h"

#define STICK "stick() -> void"
#define ECHO  "echo(bytes) -> bytes"
#define SOON  UINT64_C(10000000000) /* ns */
#define GONE  1000                  /* ms: what a guest has to end in */

/* ---- a thread of a pool ---- */

struct worker {
    struct raw_hosting *on;
    const struct raw_config *config;
    enum raw_bell bell;
    pid_t thread;
};

static void *start_guest(void *user)
{
    struct worker *worker = user;

    worker->thread = gettid();
    raw_hosting_open_module(worker->on, worker->config, worker->bell, MIRROR_MODULE);
    return NULL;
}

/* A thread may be joined before the kernel has finished ending it. */
static bool has_ended(void *user)
{
    return tgkill(getpid(), *(const pid_t *)user, 0) < 0 && errno == ESRCH;
}

static void open_in_a_thread(struct raw_hosting *on, enum raw_bell bell)
{
    struct worker worker = {on, &(struct raw_config)RAW_HOST_USUAL, bell, 0};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, start_guest, &worker), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(process_until(has_ended, &worker.thread, SOON));
}

static void check_echo(struct raw_hosting *on)
{
    struct raw_postcard arguments = {.size = 0};
    struct raw_postcard_rest rest;

    raw_postcard_bytes(&arguments, (const uint8_t *)"still here", 10);
    assert_int_equal(
        raw_call_request(&on->link, ++on->id, raw_call_method(ECHO), &arguments, CALL_MS), 0);
    assert_int_equal(raw_call_await(&on->link, on->id, CALL_MS, &rest), 0);
}

static void check_outlives_thread(enum raw_bell bell)
{
    struct raw_hosting on = {0};

    open_in_a_thread(&on, bell);
    check_echo(&on);
    raw_hosting_close(&on, 0);
}

/* r[verify supervise.orphan] */
static void a_guest_outlives_the_thread_that_started_it(void **state)
{
    (void)state;
    check_outlives_thread(RAW_BELL_STREAM);
    check_outlives_thread(RAW_BELL_DGRAM);
}

/* ---- the end of the host ---- */

enum what { IDLE, STUCK, STOPPED };

/* A host that lives until it is killed, and says which process its guest is. */
__attribute__((noreturn)) static void be_host(int to, enum raw_bell bell, enum what what)
{
    struct raw_hosting on = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test must not leave one running */
    open_in_a_thread(&on, bell);
    if (what == STUCK &&
        raw_call_request(&on.link, ++on.id, raw_call_method(STICK), NULL, CALL_MS) < 0)
        _exit(1);
    if (write(to, &on.program.pid, sizeof(on.program.pid)) == sizeof(on.program.pid))
        for (;;)
            pause();
    _exit(1);
}

/* The line of its status begins with `text`. */
static bool status_has(pid_t pid, const char *text)
{
    char path[64], line[256];
    bool has = false;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && !has && fgets(line, sizeof(line), file))
        has = strncmp(line, text, strlen(text)) == 0;
    if (file)
        fclose(file);
    return has;
}

static bool is_stuck(void *user)
{
    return status_has(*(const pid_t *)user, "SigBlk:\tf");
}

static bool is_stopped(void *user)
{
    return status_has(*(const pid_t *)user, "State:\tT");
}

static void check_dies(enum raw_bell bell, enum what what)
{
    siginfo_t info = {0};
    pid_t host, guest;
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    host = fork();
    if (host == 0)
        be_host(pipes[1], bell, what);
    assert_int_equal(read(pipes[0], &guest, sizeof(guest)), sizeof(guest));
    if (what == STUCK)
        assert_true(process_until(is_stuck, &guest, SOON));
    if (what == STOPPED) {
        assert_int_equal(kill(guest, SIGSTOP), 0);
        assert_true(process_until(is_stopped, &guest, SOON));
    }
    kill(host, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)host, &info, WEXITED), 0);
    if (raw_hosting_ends_within(guest, GONE) < 0) {
        kill(guest, SIGKILL);
        fail_msg("a guest outlived its host: bell %d, state %d", (int)bell, (int)what);
    }
    assert_int_equal(waitid(P_PID, (id_t)guest, &info, WEXITED), 0);
    close(pipes[0]);
    close(pipes[1]);
}

/* r[verify supervise.orphan] */
static void a_guest_dies_with_its_host_whatever_it_does(void **state)
{
    struct leak *leak = leak_begin();

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (enum raw_bell bell = RAW_BELL_STREAM; bell <= RAW_BELL_DGRAM; bell++)
        for (enum what what = IDLE; what <= STOPPED; what++)
            check_dies(bell, what);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    leak_assert_none(leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_outlives_the_thread_that_started_it),
        cmocka_unit_test(a_guest_dies_with_its_host_whatever_it_does),
    };

    if (!process_possible())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
