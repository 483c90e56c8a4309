/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that pretends to be debugged, by the name of its thread or by a child of its own that
 * traces it, is killed as soon as any other. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/attack/longest.h"

#define START_MS 1000
#define WITHIN   1200 /* ms, for a start that has START_MS */
#define BEAT     (100 * MS)
#define TRIES    5

static const enum rapahub_trust trusts[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};

/* How long it took, in ms. */
static uint64_t start_once(const char *module, enum rapahub_trust trust)
{
    const struct rapahub_supervision hasty = {.start_timeout_ns = START_MS * MS,
                                              .restart = RAPAHUB_RESTART_TEMPORARY};
    const struct rapahub_guest_options guest = {
        .chimod = module, .trust = trust, .supervision = &hasty};
    const struct rapahub_host_options options = {0};
    struct leak *leak = leak_begin();
    struct rapahub_guest_id id;
    struct rapahub_host *host;
    uint64_t start_ms, span;

    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    assert_int_equal(rapahub_host_create(&options, &host), 0);
    start_ms = now_ms();
    assert_true(rapahub_host_spawn(host, &guest, &id) < 0);
    span = now_ms() - start_ms;
    rapahub_host_destroy(host);
    leak_assert_none(leak);
    return span;
}

/* r[verify supervise.watchdog.tracer] */
static void a_start_has_its_time_and_no_more(void **state)
{
    static const char *const modules[] = {TEST_MODULES "/pretender_start.so",
                                          TEST_MODULES "/pretender_traced_start.so"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        uint64_t least = UINT64_MAX;

        for (int n = 0; n < TRIES && least > WITHIN; n++) {
            uint64_t span = start_once(modules[i / 2], trusts[i % 2]);

            least = span < least ? span : least;
        }
        print_message("ended after %llu ms\n", (unsigned long long)least);
        assert_in_range(least, START_MS - 5, WITHIN);
    }
}

static void ends(const char *module, enum rapahub_trust trust,
                 const struct rapahub_supervision *how, uint64_t heartbeat_ns)
{
    struct scene scene;

    open_scene(&scene, module, trust, how, heartbeat_ns);
    begin(&scene, "stop() -> void", NULL);
    for (uint64_t end = now_ms() + 4000; now_ms() < end && scene.down == 0;)
        take_turn(&scene);
    assert_int_equal(scene.down, 1);
    assert_int_equal(scene.status, RAPAHUB_EDIED);
    close_scene(&scene);
}

/* Silent, or stuck in a call. r[verify supervise.watchdog.tracer] r[verify supervise.watchdog]
 * r[verify supervise.stall] */
static void one_that_stands_still_is_stuck(void **state)
{
    const struct rapahub_supervision silent = {.restart = RAPAHUB_RESTART_TEMPORARY,
                                               .abort_ns = RAPAHUB_NONE};
    const struct rapahub_supervision stall = {
        .restart = RAPAHUB_RESTART_TEMPORARY, .abort_ns = RAPAHUB_NONE, .stall_ns = 300 * MS};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        ends(TEST_MODULES "/pretender.so", trusts[i], &silent, BEAT);
        ends(TEST_MODULES "/pretender.so", trusts[i], &stall, UINT64_MAX);
        ends(TEST_MODULES "/pretender_traced.so", trusts[i], &stall, UINT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_has_its_time_and_no_more),
        cmocka_unit_test(one_that_stands_still_is_stuck),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
