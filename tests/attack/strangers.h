/* SPDX-License-Identifier: Apache-2.0 */
/* strangers: a host that takes guests by a path, and such guests that do what they like. */
#ifndef TESTS_ATTACK_STRANGERS_H
#define TESTS_ATTACK_STRANGERS_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rapahub/host.h>

#include "tests/raw/raw_words.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define STRANGER __attribute__((unused)) static

#define PROGRAM  PROCESS_LIBEXEC("rapahub/rapahub-guest")
#define ECHO     PROCESS_CHIMOD("echo")
#define SECOND   UINT64_C(1000000000)
#define BEAT     (SECOND / 50)
#define EMPTY    0
#define ATTACHED 1
#define GOODBYE  2
#define RESERVED 3

struct stage {
    struct leak *leak;
    struct rapahub_host *host;
    unsigned attached, down, violations;
    char rule[64];
};

STRANGER void on_event(void *user, const struct rapahub_event *event)
{
    struct stage *stage = user;

    stage->attached += event->kind == RAPAHUB_EVENT_ATTACHED;
    stage->down += event->kind == RAPAHUB_EVENT_DOWN;
    if (event->kind != RAPAHUB_EVENT_VIOLATION)
        return;
    stage->violations++;
    snprintf(stage->rule, sizeof stage->rule, "%s", event->rule);
}

STRANGER void drop_line(void *user, enum rapahub_log_level level, const char *topic,
                        const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

STRANGER void open_stage(struct stage *stage, uint64_t heartbeat_ns)
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

STRANGER void close_stage(struct stage *stage)
{
    rapahub_host_destroy(stage->host);
    leak_assert_none(stage->leak);
}

/* A process that has the file mapped, and writes to it as it likes. */
struct stranger {
    int fd;
    uint8_t *base;
    size_t size;
    uint64_t entry;
};

STRANGER void come(struct stranger *stranger, const char *path, uint32_t peer)
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

STRANGER void go(struct stranger *stranger)
{
    munmap(stranger->base, stranger->size);
    close(stranger->fd);
}

STRANGER void lock(struct stranger *stranger, short type, pid_t pid)
{
    const uint64_t peer = (stranger->entry - 128) / 64 + 1;
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)((UINT64_C(1) << 40) + (peer << 32)),
                          .l_len = 1 + pid};

    assert_int_equal(fcntl(stranger->fd, F_OFD_SETLK, &range), 0);
}

/* A lock counts for the entry that says so. */
STRANGER void say_locked(struct stranger *stranger)
{
    raw_store32(stranger->base, stranger->entry + 56, 0x20);
}

/* Attaches as the specification says, without a lock. */
STRANGER void attach(struct stranger *stranger)
{
    assert_true(raw_swap32(stranger->base, stranger->entry, EMPTY, ATTACHED));
    raw_store32(stranger->base, stranger->entry + 4,
                raw_load32(stranger->base, stranger->entry + 4) + 1);
}

STRANGER uint32_t state_of(struct stranger *stranger)
{
    return raw_load32(stranger->base, stranger->entry);
}

STRANGER void dispatch(struct stage *stage, int ms)
{
    assert_true(rapahub_host_dispatch(stage->host, ms) >= 0);
}

STRANGER uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Takes turns until `condition` holds, at most 10 s. */
#define UNTIL(stage, condition)                                              \
    for (uint64_t end_ = now_ms() + 10000; !(condition) && now_ms() < end_;) \
    dispatch(stage, 10)

STRANGER void until_state(struct stage *stage, struct stranger *stranger, uint32_t state)
{
    UNTIL(stage, state_of(stranger) == state);
    assert_int_equal(state_of(stranger), state);
}

STRANGER void until_quarantined(struct stage *stage, uint32_t count)
{
    UNTIL(stage, rapahub_host_quarantined(stage->host) >= count);
    assert_int_equal(rapahub_host_quarantined(stage->host), count);
}

STRANGER void stays(struct stage *stage, struct stranger *stranger, uint32_t state)
{
    for (uint64_t end = now_ms() + 200; now_ms() < end;) {
        dispatch(stage, 10);
        assert_int_equal(state_of(stranger), state);
    }
}

/* An honest one finds the next free entry, and is served. */
STRANGER void check_neighbour(struct stage *stage)
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

#endif
