/* SPDX-License-Identifier: Apache-2.0 */
/* plugins: a host with a victim, and with guests that are no friends of it, at one level of trust.
 */
#ifndef TESTS_ATTACK_PLUGINS_H
#define TESTS_ATTACK_PLUGINS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/host.h>

#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define PLUGINS __attribute__((unused)) static

#define PROGRAM TEST_PREFIX "/tests/hostile-guest"
#define VICTIM  TEST_PREFIX "/tests/attack/victim.so"
#define USURPER TEST_PREFIX "/tests/attack/usurper.so"
#define RAW     PROCESS_CHIMOD("kv") /* under this name PROGRAM attacks */
#define MS      UINT64_C(1000000)
#define PRIVATE 123456 /* the victim's secret */

PLUGINS const struct rapahub_container_id of_victim = {.pool = {1, 0}}, of_attacker = {{2, 0}, 0},
                                          of_offer = {{9, 0}, 0};

struct plugins {
    struct rapahub_host *host;
    struct rapahub_guest_id victim, attacker;
    struct leak *leak;
    enum rapahub_trust trust;
    unsigned down, violations;
    char rule[64];
};

PLUGINS void on_event(void *user, const struct rapahub_event *event)
{
    struct plugins *plugins = user;

    plugins->down += event->kind == RAPAHUB_EVENT_DOWN;
    if (event->kind != RAPAHUB_EVENT_VIOLATION)
        return;
    plugins->violations++;
    snprintf(plugins->rule, sizeof(plugins->rule), "%s", event->rule);
}

PLUGINS void drop_line(void *user, enum rapahub_log_level level, const char *topic,
                       const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

PLUGINS void check_done(int r)
{
    if (r < 0)
        print_error("%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    assert_true(r >= 0);
}

PLUGINS void start(struct plugins *plugins, const char *chimod, struct rapahub_container_id id,
                   struct rapahub_guest_id *out)
{
    static const struct rapahub_supervision never = {
        .restart = RAPAHUB_RESTART_TEMPORARY, .goodbye_ns = 500 * MS, .term_ns = RAPAHUB_NONE};
    const struct rapahub_guest_options guest = {
        .chimod = chimod, .supervision = &never, .trust = plugins->trust};
    const struct rapahub_container_options container = {.id = id, .pool_name = "plugins"};

    check_done(rapahub_host_spawn(plugins->host, &guest, out));
    check_done(rapahub_host_add_container(plugins->host, *out, &container));
}

PLUGINS void open_plugins(struct plugins *plugins, enum rapahub_trust trust,
                          struct rapahub_host_options options)
{
    memset(plugins, 0, sizeof(*plugins));
    plugins->trust = trust;
    plugins->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    options.guest_program = PROGRAM;
    options.on_event = on_event;
    options.user = plugins;
    check_done(rapahub_host_create(&options, &plugins->host));
    start(plugins, VICTIM, of_victim, &plugins->victim);
}

PLUGINS void close_plugins(struct plugins *plugins)
{
    rapahub_host_destroy(plugins->host);
    leak_assert_none(plugins->leak);
}

PLUGINS uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

PLUGINS bool until(struct plugins *plugins, const unsigned *count, unsigned wanted)
{
    uint64_t end = now_ms() + 5000;

    while (*count < wanted && now_ms() < end)
        check_done(rapahub_host_dispatch(plugins->host, 20));
    return *count >= wanted;
}

/* The expected figure of a guest. */
struct wanted {
    const char *name;
    uint64_t value;
};

PLUGINS void look_for(void *user, const struct rapahub_figure *figure)
{
    struct wanted *wanted = user;

    if (strcmp(figure->name, wanted->name) == 0)
        wanted->value += figure->value;
}

PLUGINS uint64_t figure_of(struct plugins *plugins, struct rapahub_guest_id guest, const char *name)
{
    struct wanted wanted = {name, 0};

    check_done(rapahub_host_figures(plugins->host, guest, look_for, &wanted));
    return wanted.value;
}

PLUGINS int ask_victim(struct plugins *plugins, const char *signature, void *result)
{
    const struct rapahub_call call = {.target = of_victim, .method = signature};

    return rapahub_host_call(plugins->host, &call, result);
}

PLUGINS void check_victim(struct plugins *plugins)
{
    int64_t value = 0;
    uint64_t touched = 1;

    check_done(ask_victim(plugins, "value() -> i64", &value));
    assert_int_equal(value, PRIVATE);
    check_done(ask_victim(plugins, "touched() -> u64", &touched));
    assert_int_equal(touched, 0);
}

#endif
