/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that come by themselves, again and again, from several processes: some leave at once, some
 * when the host has taken them in, some are killed anywhere in between. At the end no entry is
 * stuck, no slot lost, and the host is as large as before.
 *
 *     test_attach_storm [--cycles N] [--kills N] [--seed N] [--seconds N]
 */
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/host.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/random.h"
#include "hub/shm/anonymous.h"
#include "hub/shm/peer_table.h"
#include "tests/support/leak.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define CYCLERS    2   /* processes that come and go */
#define KILLERS    2   /* processes that start some to kill them */
#define GUESTS     64  /* entries */
#define SLOTS      4   /* slots of each pool */
#define LIFE_MAX   400 /* us until the signal */
#define SEEN_EVERY 64  /* one in so many stays until the host has admitted it */
#define LEAST      200 /* cycles or kills of one process before it asks whether it is enough */
#ifdef __SANITIZE_ADDRESS__
#define FLAT_BYTES (512 << 20) /* freed memory is kept for a while */
#else
#define FLAT_BYTES (4 << 20)
#endif
#define SETTLE (10 * HUB_SECOND)

struct orders {
    uint64_t cycles, kills, seed, seconds;
};

/* In memory that all processes share. */
struct board {
    struct hub_a32 open; /* the path is there */
    struct hub_a32 stop;
    struct hub_a64 cycles, seen, kills, refused;
    char path[128];
};

struct storm {
    const struct orders *orders;
    struct board *board;
    struct rapahub_host *host;
    pid_t pids[CYCLERS + KILLERS];
    uint64_t began_ns;
    size_t resident; /* early */
    unsigned attached, down;
};

/* ---- the guests ---- */

/* Until the host has made its half of the link, or a moment. */
static bool wait_until_seen(const struct hub_segment_view *view)
{
    uint64_t until = hub_clock_after(200 * HUB_MILLISECOND);

    while (hub_observe(&view->entry->host_wait) == 0 && hub_clock_left(until) > 0)
        pause_ms(1);
    return hub_observe(&view->entry->host_wait) != 0;
}

/* 1 where it was there. */
static int come_and_go(struct board *board, bool stay)
{
    struct hub_segment *segment = NULL;
    struct hub_segment_view view;
    uint32_t peer, epoch;
    int r = hub_anonymous_enter(board->path, &segment, &view, &peer);

    if (r == RAPAHUB_EFULL) {
        hub_add64(&board->refused, 1);
        pause_ms(1);
        return 0;
    }
    if (r < 0 || hub_load_relaxed(&view.entry->host_wait) != 0) /* recovery was not over */
        _exit(6);
    if (hub_peer_table_attach(view.entry, &epoch) < 0)
        _exit(3);
    if (stay && wait_until_seen(&view))
        hub_add64(&board->seen, 1);
    hub_peer_table_goodbye(view.entry);
    hub_segment_release(&segment);
    return 1;
}

static void run_cycler(struct board *board, uint64_t seed)
{
    struct hub_random random;

    hub_random_init(&random, seed);
    while (hub_observe(&board->stop) == 0)
        if (come_and_go(board, hub_random_below(&random, SEEN_EVERY) == 0))
            hub_add64(&board->cycles, 1);
    _exit(0);
}

/* It comes and goes until it is killed; what it does the host cannot foresee. */
static void run_victim(struct board *board, uint64_t seed)
{
    struct hub_random random;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    hub_random_init(&random, seed);
    for (;;)
        (void)come_and_go(board, hub_random_below(&random, 4) == 0);
}

static void kill_one(struct board *board, struct hub_random *random)
{
    const uint64_t life = hub_random_below(random, LIFE_MAX) * HUB_MICROSECOND;
    const uint64_t seed = hub_random_next(random);
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        run_victim(board, seed);
    if (pid < 0)
        _exit(4);
    pause_ns(life);
    kill(pid, SIGKILL);
    if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
        _exit(5);
    hub_add64(&board->kills, 1);
}

static void run_killer(struct board *board, uint64_t seed)
{
    struct hub_random random;

    hub_random_init(&random, seed);
    while (hub_observe(&board->stop) == 0)
        kill_one(board, &random);
    _exit(0);
}

/* Born before the host: it has nothing of it. */
static pid_t start(struct storm *storm, int index)
{
    struct board *board = storm->board;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (hub_observe(&board->open) == 0)
        (void)hub_futex_wait(&board->open, 0, UINT32_MAX, hub_clock_after(HUB_SECOND));
    if (index < CYCLERS)
        run_cycler(board, storm->orders->seed * 1000 + (uint64_t)index);
    run_killer(board, storm->orders->seed * 1000 + (uint64_t)index);
    return 0;
}

/* ---- the host ---- */

static void on_event(void *user, const struct rapahub_event *event)
{
    struct storm *storm = user;

    storm->attached += event->kind == RAPAHUB_EVENT_ATTACHED;
    storm->down += event->kind == RAPAHUB_EVENT_DOWN;
}

static void drop_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

static void open_host(struct storm *storm)
{
    const struct rapahub_host_options options = {.anonymous = true,
                                                 .guests_max = GUESTS,
                                                 .ring_size = 4,
                                                 .slot_size = 64,
                                                 .slot_count = SLOTS,
                                                 .channels_max = 4,
                                                 .heartbeat_ns = UINT64_MAX,
                                                 .on_event = on_event,
                                                 .user = storm};

    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_ERROR);
    assert_int_equal(rapahub_host_create(&options, &storm->host), 0);
    snprintf(storm->board->path, sizeof storm->board->path, "%s", rapahub_host_path(storm->host));
    hub_publish(&storm->board->open, 1);
    hub_futex_wake(&storm->board->open, UINT32_MAX);
}

static size_t resident(void)
{
    unsigned long pages = 0, total = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &total, &pages), 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static bool is_enough(const struct storm *storm)
{
    const struct orders *orders = storm->orders;

    if (orders->seconds > 0 && hub_clock_left(storm->began_ns + orders->seconds * HUB_SECOND) == 0)
        return true;
    return hub_load_relaxed64(&storm->board->cycles) >= orders->cycles &&
           hub_load_relaxed64(&storm->board->kills) >= orders->kills;
}

static void serve(struct storm *storm)
{
    storm->began_ns = hub_clock_now();
    while (!is_enough(storm)) {
        assert_true(rapahub_host_dispatch(storm->host, 10) >= 0);
        if (storm->resident == 0 && hub_load_relaxed64(&storm->board->cycles) > LEAST &&
            hub_load_relaxed64(&storm->board->kills) > LEAST)
            storm->resident = resident();
    }
}

/* The host goes on meanwhile: a process that waits to be seen must be seen. */
static void join_all(struct storm *storm)
{
    hub_publish(&storm->board->stop, 1);
    for (int i = 0; i < CYCLERS + KILLERS; i++) {
        int status = 0;

        while (waitpid(storm->pids[i], &status, WNOHANG) == 0)
            assert_true(rapahub_host_dispatch(storm->host, 1) >= 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- conditions ---- */

/* Like an entry that was never used: except for the epoch and the offsets all is 0. */
static bool is_fresh(const struct hub_segment_view *view)
{
    const struct hub_peer_entry *entry = view->entry;
    const struct hub_a64 *bitmap = (const struct hub_a64 *)(const void *)view->guest_pool;

    return hub_observe(&entry->state) == HUB_PEER_EMPTY &&
           (hub_load_relaxed(&entry->guest_to_host_head) |
            hub_load_relaxed(&entry->guest_to_host_tail) |
            hub_load_relaxed(&entry->host_to_guest_head) |
            hub_load_relaxed(&entry->host_to_guest_tail) | hub_load_relaxed(&entry->guest_wait) |
            hub_load_relaxed(&entry->host_wait)) == 0 &&
           hub_load_relaxed64(bitmap) == (1u << SLOTS) - 1;
}

static uint64_t check_entries(struct storm *storm)
{
    uint64_t epochs = 0, until = hub_clock_after(SETTLE);
    struct hub_segment *segment = NULL;
    struct hub_segment_view view;
    struct hub_geometry geometry;
    uint32_t stuck = 0;

    assert_int_equal(hub_segment_open(storm->board->path, &segment), 0);
    assert_int_equal(hub_segment_check_peer(segment, GUESTS, &view), 0);
    geometry = segment->geometry;
    assert_int_equal(hub_geometry_compute(&geometry.limits, &segment->geometry), 0);
    for (uint32_t peer = 1; peer <= GUESTS; peer++) {
        hub_segment_view(segment, peer, &view);
        while (!is_fresh(&view) && hub_clock_left(until) > 0)
            assert_true(rapahub_host_dispatch(storm->host, 1) >= 0);
        stuck += !is_fresh(&view);
        epochs += hub_load_relaxed(&view.entry->epoch);
    }
    hub_segment_release(&segment);
    assert_int_equal(stuck, 0);
    return epochs;
}

static void report(const struct storm *storm, uint64_t lives)
{
    const struct board *board = storm->board;
    double seconds = (double)(hub_clock_now() - storm->began_ns) / 1e9;

    printf("seed %" PRIu64 ": %" PRIu64 " attached and detached (%" PRIu64 " seen by the host), "
           "%" PRIu64 " killed, %" PRIu64 " found it full, %" PRIu64 " lives in %.1f s: "
           "%.0f cycles and %.0f kills a second\n",
           storm->orders->seed, hub_load_relaxed64(&board->cycles),
           hub_load_relaxed64(&board->seen), hub_load_relaxed64(&board->kills),
           hub_load_relaxed64(&board->refused), lives, seconds,
           (double)hub_load_relaxed64(&board->cycles) / seconds,
           (double)hub_load_relaxed64(&board->kills) / seconds);
}

/* r[verify shm.guest.attach] r[verify shm.guest.detach] r[verify hub.death.recycle]
 * r[verify hub.death.proof] r[verify shm.crash.recovery] */
static void no_entry_is_stuck_and_nothing_grows(void **state)
{
    struct storm storm = {.orders = *state};
    struct leak *leak = leak_begin();
    unsigned descriptors;
    uint64_t lives;

    storm.board =
        mmap(NULL, sizeof *storm.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(storm.board != MAP_FAILED);
    for (int i = 0; i < CYCLERS + KILLERS; i++)
        storm.pids[i] = start(&storm, i);
    open_host(&storm);
    descriptors = count_descriptors();
    serve(&storm);
    join_all(&storm);
    lives = check_entries(&storm);
    report(&storm, lives);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(rapahub_host_quarantined(storm.host), 0);
    if (storm.resident > 0)
        assert_true(resident() < storm.resident + FLAT_BYTES);
    rapahub_host_destroy(storm.host);
    munmap(storm.board, sizeof *storm.board);
    leak_assert_none(leak);
}

static bool take(const char *name, const char *argument, const char *value, uint64_t *to)
{
    if (strcmp(name, argument) != 0)
        return false;
    *to = strtoull(value, NULL, 10);
    return true;
}

int main(int argc, char **argv)
{
    struct orders orders = {.cycles = 20000, .kills = 1000, .seed = 1};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(no_entry_is_stuck_and_nothing_grows, &orders),
    };

    for (int i = 1; i + 1 < argc; i += 2)
        if (!take("--cycles", argv[i], argv[i + 1], &orders.cycles) &&
            !take("--kills", argv[i], argv[i + 1], &orders.kills) &&
            !take("--seed", argv[i], argv[i + 1], &orders.seed) &&
            !take("--seconds", argv[i], argv[i + 1], &orders.seconds))
            return 64;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
