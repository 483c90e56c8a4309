/* SPDX-License-Identifier: Apache-2.0 */
/* trace_scenario: carries out one of four things, and prints from when to when, in nanoseconds of
 * CLOCK_MONOTONIC. trace_calls.py runs it.
 *
 * usage: trace_scenario call|large|death|upgrade */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/host.h>
#include <rapahub/lifecycle.h>
#include <rapahub/supervise.h>
#include <rapahub/upgrade.h>

#define MODULE(name) TEST_MODULES "/" name ".so"
#define LARGE        (100 * 1024)

static const struct rapahub_container_id here = {.pool = {1, 0}};

struct scene {
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    unsigned ready;
    unsigned done;
    int status;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void must(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rapahub_error_name(r), rapahub_last_error()->text);
    exit(1);
}

static void on_event(void *user, const struct rapahub_event *event)
{
    struct scene *scene = user;

    scene->ready += event->kind == RAPAHUB_EVENT_READY;
}

static void on_done(void *user, int status, const void *result)
{
    struct scene *scene = user;

    (void)result;
    scene->status = status;
    scene->done++;
}

static void await(struct scene *scene, const unsigned *count, unsigned wanted)
{
    uint64_t end = now_ns() + UINT64_C(30000000000);

    while (*count < wanted && now_ns() < end)
        must(rapahub_host_dispatch(scene->host, 100), "dispatch");
    if (*count < wanted) {
        fprintf(stderr, "it did not happen\n");
        exit(1);
    }
}

static void open_scene(struct scene *scene, const char *chimod)
{
    const struct rapahub_host_options options = {.on_event = on_event, .user = scene};
    const struct rapahub_guest_options guest = {.chimod = chimod, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options container = {.id = here, .pool_name = "trace"};

    must(rapahub_host_create(&options, &scene->host), "create");
    must(rapahub_host_spawn(scene->host, &guest, &scene->guest), "spawn");
    must(rapahub_host_add_container(scene->host, scene->guest, &container), "add");
    await(scene, &scene->ready, 1);
}

static void call_bytes(struct scene *scene, size_t size)
{
    uint8_t *bytes = calloc(1, size);
    const struct rapahub_bytes in = {bytes, size};
    struct rapahub_bytes out = {0};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo(bytes) -> bytes",
                                      .arguments = (const void *const[]){&in, NULL}};

    must(bytes ? 0 : -1, "memory");
    must(rapahub_host_call(scene->host, &call, &out), "call");
    must(out.size == size ? 0 : -1, "size");
    free(bytes);
}

static int32_t pid_of(struct scene *scene)
{
    const struct rapahub_call call = {.target = here, .method = "pid() -> i32"};
    int32_t pid = 0;

    must(rapahub_host_call(scene->host, &call, &pid), "pid");
    return pid;
}

/* The guest dies with a call open, and is started again. */
static void die(struct scene *scene, int32_t pid)
{
    const uint32_t long_ms = 60000;
    const struct rapahub_call call = {
        .target = here, .method = "nap(u32)", .arguments = (const void *const[]){&long_ms, NULL}};

    must(rapahub_host_call_async(scene->host, &call, on_done, scene, NULL), "asynchronous call");
    must(rapahub_host_dispatch(scene->host, 50), "dispatch");
    must(kill(pid, SIGKILL), "kill");
    await(scene, &scene->done, 1);
    must(scene->status == RAPAHUB_EDIED ? 0 : -1, "status");
    await(scene, &scene->ready, 2);
}

static void upgrade(struct scene *scene)
{
    const struct rapahub_upgrade_options options = {.chimod = MODULE("ledger2")};

    must(rapahub_host_upgrade(scene->host, scene->guest, &options, NULL), "upgrade");
}

static bool is_known(const char *name)
{
    static const char *const names[] = {"call", "large", "death", "upgrade"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    const char *name = argc == 2 ? argv[1] : "";
    struct scene scene = {.ready = 0};
    int32_t pid = 0;
    uint64_t from;

    if (!is_known(name)) {
        fprintf(stderr, "usage: trace_scenario call|large|death|upgrade\n");
        return 2;
    }
    open_scene(&scene, strcmp(name, "upgrade") == 0 ? MODULE("ledger") : MODULE("calc"));
    if (strcmp(name, "death") == 0)
        pid = pid_of(&scene);
    from = now_ns();
    if (strcmp(name, "call") == 0)
        call_bytes(&scene, 8);
    else if (strcmp(name, "large") == 0)
        call_bytes(&scene, LARGE);
    else if (strcmp(name, "death") == 0)
        die(&scene, pid);
    else
        upgrade(&scene);
    printf("%llu %llu\n", (unsigned long long)from, (unsigned long long)now_ns());
    rapahub_host_destroy(scene.host);
    return 0;
}
