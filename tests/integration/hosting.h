/* SPDX-License-Identifier: Apache-2.0 */
/* hosting: what every integration test does: a host, a guest with a container, calls into it. */
#ifndef TESTS_INTEGRATION_HOSTING_H
#define TESTS_INTEGRATION_HOSTING_H

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/host.h>
#include <rapahub/lifecycle.h>

#include "tests/support/leak.h"
#include "tests/support/testing.h"

#define MODULE(name) TEST_MODULES "/" name ".so"
#define CALC         MODULE("calc")
#define UNUSED       __attribute__((unused))

static const struct rapahub_container_id here = {.pool = {1, 0}};

UNUSED static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Fails with the diagnosis where `r` is a failure. */
#define assert_done(r)                                                                   \
    do {                                                                                 \
        int r_ = (r);                                                                    \
        if (r_ < 0)                                                                      \
            print_error("%s: %s\n", rapahub_error_name(r_), rapahub_last_error()->text); \
        assert_true(r_ >= 0);                                                            \
    } while (0)

/* Fails unless it failed so, with these words in its text. */
#define assert_refused(r, wanted, words)                                                 \
    do {                                                                                 \
        int r_ = (r);                                                                    \
        if (r_ != (wanted) || !strstr(rapahub_last_error()->text, (words)))              \
            print_error("%s: %s\n", rapahub_error_name(r_), rapahub_last_error()->text); \
        assert_int_equal(r_, (wanted));                                                  \
        assert_int_equal(rapahub_last_error()->code, (wanted));                          \
        assert_non_null(strstr(rapahub_last_error()->text, (words)));                    \
    } while (0)

/* The host's events as one text: "ready calc; down calc signal SIGKILL; ". */
struct told {
    char text[65536];
    size_t size;
    unsigned ready, down, restart, failed, violation, output, attached, degraded, restored;
    struct rapahub_guest_id guest; /* guest of the last event */
    uint32_t calls_lost;
    uint64_t due_ns;
    uint32_t restarts_max; /* the limit in the last FAILED */
};

UNUSED static void tell(void *user, const struct rapahub_event *event)
{
    static const char *const words[] = {"ready",  "down",     "restart",  "failed",  "violation",
                                        "output", "attached", "degraded", "restored"};
    struct told *told = user;
    unsigned *const counts[] = {&told->ready,    &told->down,      &told->restart,
                                &told->failed,   &told->violation, &told->output,
                                &told->attached, &told->degraded,  &told->restored};

    __atomic_fetch_add(counts[event->kind], 1, __ATOMIC_RELAXED); /* read by other threads, too */
    told->guest = event->guest;
    if (event->kind == RAPAHUB_EVENT_DOWN)
        told->calls_lost = event->calls_lost;
    if (event->kind == RAPAHUB_EVENT_FAILED)
        told->restarts_max = event->restarts_max;
    if (event->kind == RAPAHUB_EVENT_RESTART)
        told->due_ns = event->due_ns;
    if (told->size < sizeof told->text)
        told->size += (size_t)snprintf(told->text + told->size, sizeof told->text - told->size,
                                       "%s %s %s%s; ", words[event->kind], event->name,
                                       event->cause, event->rule);
}

/* The host of a test. Logs are dropped: a test checks what it needs itself. */
struct hosting {
    struct leak *leak;
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    struct told told;
};

UNUSED static void drop_line(void *user, enum rapahub_log_level level, const char *topic,
                             const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

UNUSED static void open_host(struct hosting *on, struct rapahub_host_options options)
{
    memset(on, 0, sizeof *on);
    on->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    if (!options.on_event) {
        options.on_event = tell;
        options.user = &on->told;
    }
    assert_done(rapahub_host_create(&options, &on->host));
}

UNUSED static void close_host(struct hosting *on)
{
    rapahub_host_destroy(on->host);
    leak_assert_none(on->leak);
}

/* Starts a module, with the container `id` in it. */
UNUSED static int start(struct hosting *on, const char *module, struct rapahub_container_id id,
                        const struct rapahub_supervision *supervision)
{
    const struct rapahub_guest_options guest = {.chimod = module, .supervision = supervision};
    const struct rapahub_container_options container = {.id = id, .pool_name = "test"};
    int r = rapahub_host_spawn(on->host, &guest, &on->guest);

    return r == 0 ? rapahub_host_add_container(on->host, on->guest, &container) : r;
}

UNUSED static void open_calc(struct hosting *on)
{
    open_host(on, (struct rapahub_host_options){0});
    assert_done(start(on, CALC, here, NULL));
}

/* Any method, by its signature and the addresses of its arguments. */
UNUSED static int ask(struct hosting *on, const char *signature, const void *const *arguments,
                      void *result)
{
    const struct rapahub_call call = {.target = here, .method = signature, .arguments = arguments};

    return rapahub_host_call(on->host, &call, result);
}

UNUSED static int add(struct hosting *on, int64_t a, int64_t b, int64_t *sum)
{
    return ask(on, "add(i64, i64) -> i64", (const void *const[]){&a, &b, NULL}, sum);
}

UNUSED static int32_t pid_of(struct hosting *on)
{
    int32_t pid = 0;

    assert_done(ask(on, "pid() -> i32", NULL, &pid));
    return pid;
}

/* Dispatches until the count is there; false after 10 s. */
UNUSED static bool until(struct hosting *on, const unsigned *count, unsigned wanted)
{
    uint64_t end = now_ms() + 10000;

    while (*count < wanted && now_ms() < end)
        if (rapahub_host_dispatch(on->host, 100) < 0)
            return false;
    return *count >= wanted;
}

#endif
