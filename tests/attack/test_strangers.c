/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that come by a path and keep to no rule: without a lock, with somebody else's pid, in a
 * state there is none of. Nothing is used again that one of them may still write to. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rapahub/host.h>

#include "tests/raw/raw_words.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define PROGRAM  PROCESS_LIBEXEC("rapahub/rapahub-guest")
#define ECHO     PROCESS_CHIMOD("echo")
#define SECOND   UINT64_C(1000000000)
#define BEAT     (SECOND / 50)
#define EMPTY    0
#define ATTACHED 1
#define GOODBYE  2

struct stage {
    struct leak *leak;
    struct rapahub_host *host;
    unsigned attached, down, violations;
    char rule[64];
};

static void on_event(void *user, const struct rapahub_event *event)
{
    struct stage *stage = user;

    stage->attached += event->kind == RAPAHUB_EVENT_ATTACHED;
    stage->down += event->kind == RAPAHUB_EVENT_DOWN;
    if (event->kind != RAPAHUB_EVENT_VIOLATION)
        return;
    stage->violations++;
    snprintf(stage->rule, sizeof stage->rule, "%s", event->rule);
}

static void drop_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

static void open_stage(struct stage *stage, uint64_t heartbeat_ns)
{
    const struct rapahub_host_options options = {.anonymous = true,
                                                 .guests_max = 3,
                                                 .slot_size = 4096,
                                                 .slot_count = 8,
                                                 .heartbeat_ns = heartbeat_ns,
                                                 .on_event = on_event,
                                                 .user = stage};

    memset(stage, 0, sizeof *stage);
    stage->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    assert_int_equal(rapahub_host_create(&options, &stage->host), 0);
}

static void close_stage(struct stage *stage)
{
    rapahub_host_destroy(stage->host);
    leak_assert_none(stage->leak);
}

/* One that has the file mapped, and does in it what it likes. */
struct stranger {
    int fd;
    uint8_t *base;
    size_t size;
    uint64_t entry;
};

static void come(struct stranger *stranger, const char *path, uint32_t peer)
{
    struct stat file;

    stranger->fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(stranger->fd >= 0);
    assert_int_equal(fstat(stranger->fd, &file), 0);
    stranger->size = (size_t)file.st_size;
    stranger->base =
        mmap(NULL, stranger->size, PROT_READ | PROT_WRITE, MAP_SHARED, stranger->fd, 0);
    assert_true(stranger->base != MAP_FAILED);
    stranger->entry = 128 + (peer - 1) * UINT64_C(64);
}

static void go(struct stranger *stranger)
{
    munmap(stranger->base, stranger->size);
    close(stranger->fd);
}

static void lock(struct stranger *stranger, short type, pid_t pid)
{
    const uint64_t peer = (stranger->entry - 128) / 64 + 1;
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)((UINT64_C(1) << 40) + (peer << 32)),
                          .l_len = 1 + pid};

    assert_int_equal(fcntl(stranger->fd, F_OFD_SETLK, &range), 0);
}

/* A lock counts for the entry that says so. */
static void say_locked(struct stranger *stranger)
{
    raw_store32(stranger->base, stranger->entry + 56, 0x20);
}

/* As the text has it that knows nothing of locks. */
static void attach(struct stranger *stranger)
{
    assert_true(raw_swap32(stranger->base, stranger->entry, EMPTY, ATTACHED));
    raw_store32(stranger->base, stranger->entry + 4,
                raw_load32(stranger->base, stranger->entry + 4) + 1);
}

static uint32_t state_of(struct stranger *stranger)
{
    return raw_load32(stranger->base, stranger->entry);
}

static void dispatch(struct stage *stage, int ms)
{
    assert_true(rapahub_host_dispatch(stage->host, ms) >= 0);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Takes turns until `condition` holds, at most 10 s. */
#define UNTIL(stage, condition)                                              \
    for (uint64_t end_ = now_ms() + 10000; !(condition) && now_ms() < end_;) \
    dispatch(stage, 10)

static void until_state(struct stage *stage, struct stranger *stranger, uint32_t state)
{
    UNTIL(stage, state_of(stranger) == state);
    assert_int_equal(state_of(stranger), state);
}

static void until_quarantined(struct stage *stage, uint32_t count)
{
    UNTIL(stage, rapahub_host_quarantined(stage->host) >= count);
    assert_int_equal(rapahub_host_quarantined(stage->host), count);
}

static void stays(struct stage *stage, struct stranger *stranger, uint32_t state)
{
    for (uint64_t end = now_ms() + 200; now_ms() < end;) {
        dispatch(stage, 10);
        assert_int_equal(state_of(stranger), state);
    }
}

/* An honest one finds the next free entry, and is served. */
static void check_neighbour(struct stage *stage)
{
    char path[160];
    const char *const argv[] = {PROGRAM, path, ECHO, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 10 * SECOND};
    unsigned attached = stage->attached, down = stage->down;
    struct process_result result;
    struct process process;

    snprintf(path, sizeof path, "--hub-path=%s", rapahub_host_path(stage->host));
    assert_int_equal(process_start(&options, &process), 0);
    UNTIL(stage, stage->attached > attached);
    assert_int_equal(stage->attached, attached + 1);
    process_kill(&process, SIGTERM);
    UNTIL(stage, stage->down > down);
    assert_int_equal(process_finish(&process, &result), 0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
}

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
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that failed leaves none behind */
    if (pid == 0 && leaves)
        go(stranger);
    while (pid == 0)
        poll(NULL, 0, -1);
    return pid;
}

static void reap(pid_t pid, int signal)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

/* The process it named is killed, dead and reaped; but somebody still has the memory mapped.
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

/* The process is dead, its number somebody else's: neither is it missed nor that one killed.
 * r[verify hub.death.proof] */
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
    assert_int_equal(result.signal, SIGTERM); /* and nobody's SIGKILL */
    process_result_fini(&result);
    go(&stranger);
    come(&stranger, rapahub_host_path(stage.host), 1);
    until_state(&stage, &stranger, EMPTY);
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
    assert_int_equal(raw_load32(stranger.base, stranger.entry + 60), 0); /* nobody speaks to it */
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
        cmocka_unit_test(nobody_is_killed_for_what_a_guest_says_of_itself),
        cmocka_unit_test(a_state_there_is_none_of_costs_that_entry),
        cmocka_unit_test(one_that_does_not_raise_its_epoch_breaks_a_rule),
        cmocka_unit_test(one_that_raises_it_late_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
