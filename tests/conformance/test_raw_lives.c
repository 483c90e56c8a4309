/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest program under a host that cleans up as soon as it sees a Goodbye, without checking the
 * process, and hands the entry on: life after life in the same entries, with calls open at the end
 * of each. No request runs twice, no word is written to an entry without an owner, every life
 * begins, and none finds its host broken. RAPAHUB_TEST_LIVES says how many of each kind. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/raw_hosting.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_manners.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define JOTTER_MODULE TEST_PREFIX "/tests/modules/jotter.so"
#define NOTE          "note(u64, bytes) -> void"
#define LIVES         6    /* of each kind, in the suite */
#define PATIENCE_MS   5000 /* until a state is seen */
#define LARGE         100  /* bytes beside a number: they take a slot */

extern char **environ;

/* How a life ends, with calls open. */
enum end {
    BY_MESSAGE, /* the host says goodbye, the guest leaves */
    BY_SIGNAL,  /* SIGTERM, which a guest with a ticket does not hear */
    BY_ITSELF   /* SIGTERM, which one without a ticket takes for a request to leave */
};

struct kind {
    uint32_t ring_size, max_guests;
    enum end end;
    bool foreign; /* the host takes no part in waiting, and the segment is a file: it may count
                     modulo */
};

struct lives {
    struct kind kind;
    struct raw_host host;
    struct raw_link link; /* the present life's */
    struct raw_program program, former;
    int module, notes;
    char path[64]; /* path of the notes */
    uint64_t number;
    uint32_t id, written, refused, broken, wrong;
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- all of them ---- */

static void open_lives(struct lives *lives, const struct kind *kind)
{
    struct raw_config config = RAW_HOST_USUAL;

    memset(lives, 0, sizeof(*lives));
    lives->kind = *kind;
    lives->former.pidfd = -1;
    config.ring_size = kind->ring_size;
    config.max_guests = kind->max_guests;
    config.slot_size = 256;
    config.max_payload = 252;
    config.heartbeat_ns = 10000000;
    config.file = kind->end == BY_ITSELF || kind->foreign;
    assert_int_equal(raw_host_create(&config, &lives->host), 0);
    lives->module = open(JOTTER_MODULE, O_RDONLY);
    assert_true(lives->module >= 0);
    snprintf(lives->path, sizeof(lives->path), "/tmp/rapahub-notes-XXXXXX");
    lives->notes = mkostemp(lives->path, O_CLOEXEC);
    assert_true(lives->notes >= 0);
    setenv("RAPAHUB_JOTTER", lives->path, 1);
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint32_t ran_twice(struct lives *lives)
{
    off_t size = lseek(lives->notes, 0, SEEK_END);
    uint64_t *numbers = malloc((size_t)size + 1);
    size_t count = (size_t)size / sizeof(*numbers);
    uint32_t twice = 0;

    assert_non_null(numbers);
    assert_int_equal(pread(lives->notes, numbers, (size_t)size, 0), size);
    qsort(numbers, count, sizeof(*numbers), compare);
    for (size_t i = 1; i < count; i++)
        twice += numbers[i] == numbers[i - 1];
    free(numbers);
    assert_true(count > 0);
    return twice;
}

static void reap(struct lives *lives, struct raw_program *program)
{
    int status;

    if (program->pidfd < 0)
        return;
    status = raw_host_reap(program, CALL_MS);
    lives->refused += status == 70;
    lives->broken += status == 76;
    lives->wrong += status != (lives->kind.end == BY_SIGNAL ? 256 + SIGTERM : 0);
}

static void close_lives(struct lives *lives)
{
    reap(lives, &lives->former);
    assert_int_equal(ran_twice(lives), 0);
    assert_int_equal(lives->written, 0);
    assert_int_equal(lives->refused, 0);
    assert_int_equal(lives->broken, 0);
    assert_int_equal(lives->wrong, 0);
    raw_host_destroy(&lives->host);
    close(lives->module);
    close(lives->notes);
    unlink(lives->path);
}

/* ---- a life ---- */

static void begin_with_ticket(struct lives *lives, uint32_t peer)
{
    char module[32];
    const char *const argv[] = {GUEST, module, "--module-name=jotter.so", NULL};
    int fd = fcntl(lives->module, F_DUPFD, 20), bell;

    assert_int_equal(raw_host_reserve(&lives->host, peer, RAW_BELL_STREAM, &lives->link, &bell), 0);
    snprintf(module, sizeof(module), "--module-fd=%d", fd);
    assert_int_equal(raw_host_spawn(&lives->host, &lives->link, argv, bell, &lives->program), 0);
    close(fd);
    assert_int_equal(raw_host_await(&lives->link, CALL_MS), 0);
}

/* It takes the first entry that is Empty. */
static void begin_without(struct lives *lives)
{
    char path[160];
    char *const argv[] = {(char *)(uintptr_t)GUEST, path, (char *)(uintptr_t)JOTTER_MODULE, NULL};
    uint32_t peer = 0;

    snprintf(path, sizeof(path), "--hub-path=%s", lives->host.path);
    lives->program.pidfd = -1;
    assert_int_equal(posix_spawn(&lives->program.pid, GUEST, NULL, NULL, argv, environ), 0);
    lives->program.pidfd = pidfd_open(lives->program.pid, 0);
    for (int64_t end = now_ms() + CALL_MS; peer == 0 && now_ms() < end; pause_ms(1))
        for (uint32_t i = 1; peer == 0 && i <= lives->kind.max_guests; i++)
            peer = raw_load32(lives->host.base, 128 + 64 * ((uint64_t)i - 1)) == 1 ? i : 0;
    assert_true(peer > 0);
    lives->link.host = true;
    lives->link.bell = lives->link.file = -1;
    assert_int_equal(raw_link_init(&lives->link, lives->host.base, lives->host.size, peer), 0);
    lives->link.epoch = raw_load32(lives->host.base, lives->link.entry + 4);
    raw_store32(lives->host.base, lives->link.own_wait, 1);
    raw_link_read_indices(&lives->link);
}

static void begin_life(struct lives *lives, uint32_t peer)
{
    memset(&lives->link, 0, sizeof(lives->link));
    lives->link.behaviour.foreign = lives->kind.foreign;
    if (lives->kind.end == BY_ITSELF)
        begin_without(lives);
    else
        begin_with_ticket(lives, peer);
    assert_int_equal(raw_module_await_ready(&lives->link, CALL_MS), 0);
    assert_int_equal(raw_module_begin(&lives->link, ++lives->id, CALL_MS), 0);
}

static int request(struct lives *lives)
{
    static const uint8_t load[LARGE];
    struct raw_postcard arguments = {.size = 0};

    raw_postcard_u64(&arguments, ++lives->number);
    raw_postcard_bytes(&arguments, load, lives->number % 3 == 0 ? LARGE : 0);
    return raw_call_request(&lives->link, ++lives->id, raw_call_method(NOTE), &arguments, CALL_MS);
}

/* Some that are answered, so that the tail is anywhere; then as many as the ring holds. */
static void call(struct lives *lives, uint32_t life)
{
    uint32_t open = lives->kind.ring_size < 16 ? lives->kind.ring_size - 2 : 14;
    struct raw_postcard_rest rest;

    for (uint32_t i = 0; i < 1 + life % 7; i++) {
        assert_int_equal(request(lives), 0);
        assert_int_equal(raw_call_await(&lives->link, lives->id, CALL_MS, &rest), 0);
    }
    for (uint32_t i = 0; i < open; i++)
        assert_int_equal(request(lives), 0);
}

/* It takes what comes, and looks at the state as often as it can. */
static void await_goodbye(struct lives *lives)
{
    int64_t end = now_ms() + PATIENCE_MS;
    struct raw_message message;

    while (raw_load32(lives->host.base, lives->link.entry) != 2 && now_ms() < end)
        if (raw_link_ready(&lives->link) > 0)
            (void)raw_link_receive(&lives->link, 0, &message);
    assert_int_equal(raw_load32(lives->host.base, lives->link.entry), 2);
}

static void await_death(struct lives *lives)
{
    struct pollfd death = {.fd = lives->program.pidfd, .events = POLLIN};

    assert_int_equal(poll(&death, 1, CALL_MS), 1);
}

static void end_life(struct lives *lives)
{
    if (lives->kind.end == BY_MESSAGE)
        assert_int_equal(raw_call_goodbye(&lives->link, "enough", CALL_MS), 0);
    else
        pidfd_send_signal(lives->program.pidfd, SIGTERM, NULL, 0);
    if (lives->kind.end == BY_SIGNAL)
        await_death(lives);
    else
        await_goodbye(lives);
    raw_manners_clean_up(&lives->host, lives->link.peer);
}

/* In every other round the next life begins in the entry while this one may still exist; in the
 * others no life has the entry until the process is gone, and writes to it are counted. Without a
 * ticket this guest has the lock of its entry until then. */
static void live(struct lives *lives, uint32_t life)
{
    struct raw_watch watch = {.copy = NULL};
    bool watched = life % 2 == 0 || lives->kind.end == BY_ITSELF;

    begin_life(lives, 1 + life / 2 % lives->kind.max_guests);
    call(lives, life);
    end_life(lives);
    if (watched)
        assert_int_equal(raw_manners_watch(&lives->host, lives->link.peer, &watch), 0);
    reap(lives, &lives->former);
    lives->former = lives->program;
    if (watched)
        reap(lives, &lives->former);
    if (watched)
        lives->written += raw_manners_written(&watch);
    raw_link_fini(&lives->link);
}

static void live_all(const struct kind *kind)
{
    const char *many = getenv("RAPAHUB_TEST_LIVES");
    uint32_t count = many ? (uint32_t)strtoul(many, NULL, 10) : LIVES;
    struct lives lives;

    open_lives(&lives, kind);
    for (uint32_t life = 0; life < count; life++)
        live(&lives, life);
    close_lives(&lives);
}

static void live_in_all_sizes(enum end end, bool foreign)
{
    static const uint32_t rings[] = {4, 16, 256}, guests[] = {1, 3};

    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++)
            live_all(&(struct kind){rings[i], guests[k], end, foreign});
}

/* r[verify shm.guest.detach] r[verify hub.death.guard] r[verify shm.goodbye.guest] */
static void lives_that_end_by_a_message_leave_nothing_behind(void **state)
{
    (void)state;
    live_in_all_sizes(BY_MESSAGE, false);
}

/* An index that was reset does not show whether it counts modulo. r[verify hub.ring.convention]
 * r[verify shm.guest.detach] r[verify hub.death.guard] */
static void lives_under_a_foreign_host_leave_nothing_behind(void **state)
{
    (void)state;
    live_in_all_sizes(BY_MESSAGE, true);
}

/* r[verify hub.death.guard] */
static void lives_that_a_signal_ends_leave_nothing_behind(void **state)
{
    (void)state;
    live_in_all_sizes(BY_SIGNAL, false);
}

/* r[verify shm.guest.detach] r[verify hub.death.guard] r[verify shm.goodbye.guest] */
static void lives_that_leave_at_a_signal_leave_nothing_behind(void **state)
{
    (void)state;
    live_in_all_sizes(BY_ITSELF, false);
}

/* ---- a stopped life ---- */

/* In what it had, another lives, and sleeps. */
static void replace(struct lives *lives)
{
    uint64_t entry = lives->link.entry;

    raw_manners_clean_up(&lives->host, lives->link.peer);
    raw_store32(lives->host.base, entry + 4, lives->link.epoch + 1);
    raw_store32(lives->host.base, entry + 56, 0x00090007);
    raw_store32(lives->host.base, entry + 60, 0x0009001f);
    raw_store32(lives->host.base, entry, 1);
}

/* Stopped with calls open, or asleep with none; given up, replaced, and continued: it writes
 * nothing, clears no sleep bit, and ends as an orphan. r[verify hub.death.guard] r[verify
 * supervise.orphan] */
static void a_guest_that_was_replaced_while_it_was_stopped_writes_nothing(void **state)
{
    const struct kind kind = {16, 1, BY_SIGNAL, false};
    struct lives lives;

    (void)state;
    open_lives(&lives, &kind);
    for (uint32_t life = 0; life < LIVES; life++) {
        struct raw_watch watch;
        siginfo_t info = {0};

        begin_life(&lives, 1);
        call(&lives, life);
        if (life % 2 == 0)
            pause_ms(20); /* it has answered all, and sleeps */
        pidfd_send_signal(lives.program.pidfd, SIGSTOP, NULL, 0);
        assert_int_equal(waitid(P_PIDFD, (id_t)lives.program.pidfd, &info, WSTOPPED | WNOWAIT), 0);
        replace(&lives);
        assert_int_equal(raw_manners_watch(&lives.host, 1, &watch), 0);
        pidfd_send_signal(lives.program.pidfd, SIGCONT, NULL, 0);
        raw_wait_ring(&lives.link);
        assert_int_equal(raw_host_reap(&lives.program, CALL_MS), 75);
        lives.written += raw_manners_written(&watch);
        raw_manners_clean_up(&lives.host, 1);
        raw_link_fini(&lives.link);
    }
    close_lives(&lives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_that_end_by_a_message_leave_nothing_behind),
        cmocka_unit_test(lives_under_a_foreign_host_leave_nothing_behind),
        cmocka_unit_test(lives_that_a_signal_ends_leave_nothing_behind),
        cmocka_unit_test(lives_that_leave_at_a_signal_leave_nothing_behind),
        cmocka_unit_test(a_guest_that_was_replaced_while_it_was_stopped_writes_nothing),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
