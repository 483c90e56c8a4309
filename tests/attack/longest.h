/* SPDX-License-Identifier: Apache-2.0 */
/* longest: the longest turn of a host's owner, beside an attacker and an honest neighbour. */
#ifndef TESTS_ATTACK_LONGEST_H
#define TESTS_ATTACK_LONGEST_H

#include <string.h>
#include <time.h>

#include <rapahub/host.h>

#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define LONGEST __attribute__((unused)) static

#define MS       UINT64_C(1000000)
#define TURN_MAX 100 /* ms, for no turn and no call of the neighbour */

LONGEST const struct rapahub_container_id attacker_id = {.pool = {1, 0}},
                                          neighbour_id = {.pool = {2, 0}};

struct scene {
    struct leak *leak;
    struct rapahub_host *host;
    struct rapahub_guest_id attacker;
    unsigned down, violations;
    char rule[64];
    int status; /* status of the attack; 1: it goes on */
    int32_t error;
    uint64_t longest_ms;
};

LONGEST uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

LONGEST void note_event(void *user, const struct rapahub_event *event)
{
    struct scene *scene = user;

    scene->down += event->kind == RAPAHUB_EVENT_DOWN;
    if (event->kind != RAPAHUB_EVENT_VIOLATION)
        return;
    scene->violations++;
    snprintf(scene->rule, sizeof scene->rule, "%s", event->rule);
}

LONGEST void drop_line(void *user, enum rapahub_log_level level, const char *topic,
                       const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

LONGEST void enter(struct scene *scene, const struct rapahub_guest_options *guest,
                   struct rapahub_container_id id, struct rapahub_guest_id *out)
{
    const struct rapahub_container_options container = {.id = id, .pool_name = "attack"};

    assert_int_equal(rapahub_host_spawn(scene->host, guest, out), 0);
    assert_int_equal(rapahub_host_add_container(scene->host, *out, &container), 0);
}

LONGEST void open_scene(struct scene *scene, const char *module, enum rapahub_trust trust,
                        const struct rapahub_supervision *how, uint64_t heartbeat_ns)
{
    const struct rapahub_host_options options = {
        .on_event = note_event, .user = scene, .heartbeat_ns = heartbeat_ns};
    const struct rapahub_guest_options attacker = {
        .chimod = module, .trust = trust, .supervision = how};
    const struct rapahub_guest_options neighbour = {.chimod = PROCESS_CHIMOD("echo"),
                                                    .trust = trust};
    struct rapahub_guest_id unused;

    memset(scene, 0, sizeof *scene);
    scene->status = 1;
    scene->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    assert_int_equal(rapahub_host_create(&options, &scene->host), 0);
    enter(scene, &neighbour, neighbour_id, &unused);
    enter(scene, &attacker, attacker_id, &scene->attacker);
}

/* Takes a turn, and makes a call of the neighbour. */
LONGEST void take_turn(struct scene *scene)
{
    const int64_t value = 4711;
    const void *const arguments[] = {&value, NULL};
    const struct rapahub_call call = {
        .target = neighbour_id, .method = "i64(i64) -> i64", .arguments = arguments};
    uint64_t start_ms = now_ms(), span;
    int64_t same = 0;

    assert_true(rapahub_host_dispatch(scene->host, 1) >= 0);
    assert_int_equal(rapahub_host_call(scene->host, &call, &same), 0);
    assert_int_equal(same, value);
    span = now_ms() - start_ms;
    scene->longest_ms = span > scene->longest_ms ? span : scene->longest_ms;
}

LONGEST void note_end(void *user, int status, const void *result)
{
    struct scene *scene = user;

    scene->status = status;
    if (status == 0 && result)
        memcpy(&scene->error, result, sizeof scene->error);
}

LONGEST void begin(struct scene *scene, const char *method, const void *const *arguments)
{
    const struct rapahub_call call = {
        .target = attacker_id, .method = method, .arguments = arguments, .timeout_ns = 5000 * MS};

    assert_int_equal(rapahub_host_call_async(scene->host, &call, note_end, scene, NULL), 0);
}

LONGEST void close_scene(struct scene *scene)
{
    rapahub_host_destroy(scene->host);
    leak_assert_none(scene->leak);
}

#endif
