/* SPDX-License-Identifier: Apache-2.0 */
/* A guest whose state never ends, or comes one byte at a time, holds neither a save, a load nor an
 * upgrade for longer than its one deadline; and serves on. */
#include <inttypes.h>

#include <rapahub/lifecycle.h>
#include <rapahub/stream.h>
#include <rapahub/upgrade.h>

#include "tests/attack/plugins.h"

#define TIMEOUT_MS 1000 /* for a call, and so for a save and a load */
#define MOST_MS    2500 /* with all that a loaded machine adds */
#define PIECE_MS   50   /* for each byte or piece, far within it */
#define GIB        (UINT64_C(1) << 30)
#define LARGE      (6U << 20) /* a state of so many pieces that they take far longer */

static const struct rapahub_container_id of_loaded = {{2, 0}, 1};

static void open_states(struct plugins *plugins, enum rapahub_trust trust)
{
    const struct rapahub_host_options options = {.call_timeout_ns = TIMEOUT_MS * MS,
                                                 .heartbeat_ns = UINT64_MAX};

    open_plugins(plugins, trust, options);
    start(plugins, RAW, of_attacker, &plugins->attacker);
}

static void lie(struct plugins *plugins, uint64_t size, uint32_t ms)
{
    const struct rapahub_call call = {.target = of_attacker,
                                      .method = "lie(u64, u32) -> void",
                                      .arguments = (const void *const[]){&size, &ms, NULL}};

    check_done(rapahub_host_call(plugins->host, &call, NULL));
}

/* It lost nothing, and takes calls. */
static void serves_on(struct plugins *plugins)
{
    lie(plugins, 1, 0);
    assert_int_equal(plugins->down, 0);
    assert_int_equal(plugins->violations, 0);
    check_victim(plugins);
}

/* One clear line: the subject, the limit, and the remedy. */
static void check_refusal(int r, int code, const char *rule, const char *limit, const char *remedy)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();

    if (r != code || strcmp(last->rule, rule) != 0 || !strstr(last->text, "hostile") ||
        !strstr(last->text, limit) || !strstr(last->text, remedy))
        print_error("%s (%s): %s\n", rapahub_error_name(r), last->rule, last->text);
    assert_int_equal(r, code);
    assert_string_equal(last->rule, rule);
    assert_non_null(strstr(last->text, "hostile"));
    assert_non_null(strstr(last->text, limit));
    assert_non_null(strstr(last->text, remedy));
}

/* ---- save ---- */

static int save(struct plugins *plugins, uint64_t *took_ms)
{
    struct rapahub_sink *sink = NULL;
    uint64_t began;
    int r;

    check_done(rapahub_sink_of_memory(4096, &sink));
    check_done(rapahub_host_plug(plugins->host, of_attacker, true));
    began = now_ms();
    r = rapahub_host_save(plugins->host, of_attacker, sink);
    *took_ms = now_ms() - began;
    rapahub_sink_destroy(sink);
    if (r == 0)
        check_done(rapahub_host_plug(plugins->host, of_attacker, false));
    return r;
}

static void unplug(struct plugins *plugins)
{
    check_done(rapahub_host_plug(plugins->host, of_attacker, false));
    serves_on(plugins);
}

/* r[verify sec.state.size] */
static void a_state_that_is_too_large_is_not_moved(void **state)
{
    static const uint64_t sizes[] = {GIB + 1, UINT64_MAX};
    struct plugins plugins;
    uint64_t took;

    (void)state;
    open_states(&plugins, RAPAHUB_TRUST_STANDARD);
    for (size_t i = 0; i < 2; i++) {
        lie(&plugins, sizes[i], 0);
        check_refusal(save(&plugins, &took), RAPAHUB_EMSGSIZE, "sec.state.size", "1073741824",
                      "keep less");
        assert_in_range(took, 0, TIMEOUT_MS / 2); /* it was not begun */
        unplug(&plugins);
    }
    close_plugins(&plugins);
}

/* r[verify sec.call.time] */
static void a_save_has_one_deadline_over_all_pieces(void **state)
{
    static const enum rapahub_trust trusts[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};
    struct plugins plugins;
    uint64_t took;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_states(&plugins, trusts[i]);
        lie(&plugins, 200, PIECE_MS); /* 10 s */
        check_refusal(save(&plugins, &took), RAPAHUB_ETIMEDOUT, "sec.call.time", "1000 ms",
                      "keep less");
        assert_in_range(took, TIMEOUT_MS / 2, MOST_MS);
        unplug(&plugins);
        close_plugins(&plugins);
    }
}

/* ---- load ---- */

/* Head and bytes as a save writes them; the checksum is checked after the last piece. */
static void make_state(uint8_t *to, uint64_t size)
{
    memset(to, 0, 32);
    memcpy(to, "RAPAHUBS", 8);
    to[8] = 1;
    memcpy(to + 16, &size, sizeof(size));
}

static int load(struct plugins *plugins, uint64_t announced, uint64_t *took_ms)
{
    const struct rapahub_container_options container = {.id = of_loaded, .pool_name = "loaded"};
    uint8_t *data = test_calloc(1, 32 + LARGE);
    struct rapahub_source *source = NULL;
    uint64_t began;
    int r;

    make_state(data, announced);
    check_done(rapahub_source_of_memory(data, 32 + LARGE, &source));
    began = now_ms();
    r = rapahub_host_begin(plugins->host, plugins->attacker, &container, RAPAHUB_BEGIN_INIT,
                           source);
    *took_ms = now_ms() - began;
    rapahub_source_destroy(source);
    test_free(data);
    return r;
}

/* r[verify sec.call.time] r[verify sec.state.size] */
static void so_has_a_load(void **state)
{
    struct plugins plugins;
    uint64_t took;

    (void)state;
    open_states(&plugins, RAPAHUB_TRUST_STANDARD);
    check_refusal(load(&plugins, GIB + 1, &took), RAPAHUB_EMSGSIZE, "sec.state.size", "1073741824",
                  "keep less");
    assert_in_range(took, 0, TIMEOUT_MS / 2);
    lie(&plugins, 1, PIECE_MS);
    check_refusal(load(&plugins, LARGE, &took), RAPAHUB_ETIMEDOUT, "sec.call.time", "1000 ms",
                  "keep less");
    assert_in_range(took, TIMEOUT_MS / 2, MOST_MS);
    serves_on(&plugins);
    close_plugins(&plugins);
}

/* ---- upgrade ---- */

static void check_upgrade(struct plugins *plugins, uint64_t hold_ns, uint64_t *took_ms, int code,
                          const char *const words[3])
{
    const struct rapahub_upgrade_options options = {.chimod = RAW, .hold_ns = hold_ns};
    struct rapahub_guest_id before = plugins->attacker;
    struct rapahub_upgrade_result result;
    uint64_t began = now_ms();
    int r = rapahub_host_upgrade(plugins->host, before, &options, &result);

    *took_ms = now_ms() - began;
    check_refusal(r, code, words[0], words[1], words[2]);
    assert_int_equal(plugins->down, 1); /* the new one */
    plugins->down = 0;
    assert_int_equal(result.guest.epoch, before.epoch);
    assert_int_equal(result.guest.group, before.group);
    serves_on(plugins);
}

/* r[verify sec.state.size] r[verify sec.call.time] r[verify supervise.upgrade.rollback] */
static void neither_holds_an_upgrade(void **state)
{
    static const char *const size[] = {"sec.state.size", "1073741824", "keep less"},
                             *const late[] = {"supervise.upgrade.deadline", "1500 ms", "hold_ns"};
    struct plugins plugins;
    uint64_t took;

    (void)state;
    open_states(&plugins, RAPAHUB_TRUST_STANDARD);
    lie(&plugins, GIB + 1, 0);
    check_upgrade(&plugins, 5000 * MS, &took, RAPAHUB_EMSGSIZE, size);
    lie(&plugins, GIB, 20);
    check_upgrade(&plugins, 1500 * MS, &took, RAPAHUB_ETIMEDOUT, late);
    assert_in_range(took, 1500, 4500);
    close_plugins(&plugins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_that_is_too_large_is_not_moved),
        cmocka_unit_test(a_save_has_one_deadline_over_all_pieces),
        cmocka_unit_test(so_has_a_load),
        cmocka_unit_test(neither_holds_an_upgrade),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
