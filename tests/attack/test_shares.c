/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that ask and ask take no place of the host's own calls, nor of another guest's requests:
 * not in the table of what is under way, and not in the guest that they ask. */
#include <signal.h>

#include "tests/attack/plugins.h"

#define CALC      TEST_PREFIX "/tests/modules/calc.so"
#define CALLER    TEST_PREFIX "/tests/modules/caller.so"
#define ATTACKERS 17
#define GUESTS    (ATTACKERS + 3) /* with the victim, one that asks, and one that is asked */
#define PLACES    16384           /* for calls of the host, and as many for requests of guests */
#define SHARE     (PLACES / GUESTS)
#define ASKED     1000 /* requests of an attacker: together more than 16,384 */
#define TURNS     100  /* in which the host looks at all of them */
#define OWN       200  /* calls of the host */
#ifdef __SANITIZE_ADDRESS__
#define TURN_MAX 1000 /* as the next */
#else
#define TURN_MAX 100 /* milliseconds, with all tables full */
#endif
#define HALF 600 /* for each of two attackers: together more than one guest may have open */

static const struct rapahub_container_id of_calc = {{3, 0}, 0}, of_caller = {{4, 0}, 0};

/* The same for each; their pools begin with 20. */
static struct rapahub_container_id of_one(uint32_t i)
{
    return (struct rapahub_container_id){.pool = {20 + i, 0}};
}

static void on_ended(void *user, int status, const void *result)
{
    (void)result;
    check_done(status);
    ++*(unsigned *)user;
}

static int begin(struct plugins *plugins, struct rapahub_container_id target, const char *method,
                 const void *argument, unsigned *ended)
{
    const struct rapahub_call call = {.target = target,
                                      .method = method,
                                      .arguments = (const void *const[]){argument, NULL},
                                      .timeout_ns = 100000 * MS};

    return rapahub_host_call_async(plugins->host, &call, on_ended, ended, NULL);
}

/* ---- in the host's table ---- */

struct found {
    struct rapahub_guest_id guest;
    int32_t pid;
};

static void find_pid(void *user, const struct rapahub_guest_status *status)
{
    struct found *found = user;

    if (status->guest.group == found->guest.group && status->guest.peer == found->guest.peer)
        found->pid = status->pid;
}

/* Requests to it stay under way. */
static void stop_victim(struct plugins *plugins)
{
    struct found found = {plugins->victim, 0};

    check_done(rapahub_host_guests(plugins->host, find_pid, &found));
    assert_true(found.pid > 0);
    assert_int_equal(kill(found.pid, SIGSTOP), 0);
}

static void attack_all(struct plugins *plugins, struct rapahub_guest_id *attackers)
{
    const uint32_t asked = ASKED;
    unsigned ended = 0;

    for (uint32_t i = 0; i < ATTACKERS; i++)
        start(plugins, RAW, of_one(i), &attackers[i]);
    stop_victim(plugins);
    for (uint32_t i = 0; i < ATTACKERS; i++)
        check_done(begin(plugins, of_one(i), "forge(u32) -> void", &asked, &ended));
    for (uint64_t end = now_ms() + 60000; ended < ATTACKERS && now_ms() < end;)
        check_done(rapahub_host_dispatch(plugins->host, 20));
    assert_int_equal(ended, ATTACKERS);
    for (int i = 0; i < TURNS; i++)
        check_done(rapahub_host_dispatch(plugins->host, 0));
}

/* All calls that wait are looked at in each turn: none of them makes the look at another dearer. */
static void turns_are_short(struct plugins *plugins)
{
    uint64_t longest = 0;

    for (int i = 0; i < TURNS; i++) {
        uint64_t begun = now_ms(), span;

        check_done(rapahub_host_dispatch(plugins->host, 0));
        span = now_ms() - begun;
        longest = span > longest ? span : longest;
    }
    print_message("longest turn beside full tables | %llu ms\n", (unsigned long long)longest);
    assert_true(longest <= TURN_MAX);
}

static void host_calls(struct plugins *plugins)
{
    const int64_t one = 1, two = 2;
    const struct rapahub_call call = {.target = of_calc,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = (const void *const[]){&one, &two, NULL},
                                      .timeout_ns = 100000 * MS};
    unsigned ended = 0;

    for (unsigned i = 0; i < OWN; i++)
        check_done(rapahub_host_call_async(plugins->host, &call, on_ended, &ended, NULL));
    assert_true(until(plugins, &ended, OWN));
}

/* A guest that has asked for nothing yet. */
static void neighbour_calls(struct plugins *plugins)
{
    const int64_t number = 20;
    int64_t result = 0;
    const uint32_t pool = 4;
    const struct rapahub_call call = {.target = of_caller,
                                      .method = "ask(u32, i64) -> i64",
                                      .arguments = (const void *const[]){&pool, &number, NULL},
                                      .timeout_ns = 100000 * MS};

    check_done(rapahub_host_call(plugins->host, &call, &result));
    assert_int_equal(result, 40);
}

static void on_dropped(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ++*(unsigned *)user;
}

/* As many requests as one guest may have do not hinder another guest either. */
static void host_fills(struct plugins *plugins, unsigned *dropped)
{
    const struct rapahub_call call = {
        .target = of_victim, .method = "value() -> i64", .timeout_ns = 100000 * MS};
    unsigned begun = 0;
    int r;

    while ((r = rapahub_host_call_async(plugins->host, &call, on_dropped, dropped, NULL)) == 0)
        begun++;
    assert_int_equal(r, RAPAHUB_EBUSY);
    assert_in_range(begun, PLACES - 64, PLACES);
    neighbour_calls(plugins);
}

static void fill_table(enum rapahub_trust trust)
{
    const struct rapahub_host_options options = {
        .guests_max = GUESTS, .heartbeat_ns = UINT64_MAX, .call_timeout_ns = 100000 * MS};
    struct rapahub_guest_id attackers[ATTACKERS], calc, caller;
    struct plugins plugins;
    unsigned dropped = 0;

    open_plugins(&plugins, trust, options);
    start(&plugins, CALC, of_calc, &calc);
    start(&plugins, CALLER, of_caller, &caller);
    attack_all(&plugins, attackers);
    host_calls(&plugins);
    neighbour_calls(&plugins);
    for (uint32_t i = 0; i < ATTACKERS; i++)
        assert_int_equal(figure_of(&plugins, attackers[i], "requests_refused"), ASKED - SHARE);
    host_fills(&plugins, &dropped);
    turns_are_short(&plugins);
    assert_int_equal(figure_of(&plugins, caller, "requests_refused"), 0);
    assert_int_equal(plugins.violations, 0);
    check_done(rapahub_host_kill(plugins.host, plugins.victim));
    close_plugins(&plugins);
}

/* r[verify sec.call.share] */
static void a_table_that_guests_fill_has_room_for_others(void **state)
{
    (void)state;
    fill_table(RAPAHUB_TRUST_STANDARD);
    fill_table(RAPAHUB_TRUST_TRUSTED);
}

/* ---- in the table of one guest ---- */

/* The victim waits here, so that it receives all requests and answers none. */
struct lingering {
    struct plugins *plugins;
    unsigned forged, answered;
    int status;
};

static int linger(void *self, uint32_t ms)
{
    const uint32_t nap = 20, asked = HALF;
    struct lingering *lingering = self;
    const struct rapahub_call call = {.target = of_calc,
                                      .method = "nap(u32) -> void",
                                      .arguments = (const void *const[]){&nap, NULL}};
    uint64_t end = now_ms() + ms;

    for (uint32_t i = 0; i < 2; i++)
        check_done(
            begin(lingering->plugins, of_one(i), "forge(u32) -> void", &asked, &lingering->forged));
    while (lingering->forged < 2 && now_ms() < end)
        check_done(rapahub_host_call(lingering->plugins->host, &call, NULL));
    lingering->status =
        begin(lingering->plugins, of_victim, "value() -> i64", NULL, &lingering->answered);
    return 0;
}

static const struct rapahub_method offers[] = {RAPAHUB_METHOD(linger, linger, void, u32),
                                               RAPAHUB_METHOD_END};

static void fill_one(enum rapahub_trust trust)
{
    const struct rapahub_container_options offer = {.id = of_offer, .pool_name = "offer"};
    const uint32_t first = 20, ms = 60000;
    const struct rapahub_call call = {.target = of_victim,
                                      .method = "expose(u32, u32) -> void",
                                      .arguments = (const void *const[]){&first, &ms, NULL},
                                      .timeout_ns = 100000 * MS};
    struct rapahub_guest_id attackers[2], calc;
    struct lingering lingering = {.status = 1};
    struct plugins plugins;
    unsigned exposed = 0;
    uint32_t served = 0, entered = 0;

    open_plugins(&plugins, trust, (struct rapahub_host_options){0});
    lingering.plugins = &plugins;
    check_done(rapahub_host_offer(plugins.host, &offer, offers, &lingering));
    start(&plugins, CALC, of_calc, &calc);
    for (uint32_t i = 0; i < 2; i++)
        start(&plugins, RAW, of_one(i), &attackers[i]);
    check_done(rapahub_host_call_async(plugins.host, &call, on_ended, &exposed, NULL));
    assert_true(until(&plugins, &exposed, 1));
    check_done(lingering.status);
    assert_int_equal(lingering.forged, 2);
    assert_true(until(&plugins, &lingering.answered, 1));
    /* One request names the chain it is in, and is served in the middle. */
    check_done(ask_victim(&plugins, "entered() -> u32", &entered));
    for (uint64_t end = now_ms() + 10000; served + entered < 2 * HALF && now_ms() < end;)
        check_done(ask_victim(&plugins, "guests() -> u32", &served));
    assert_int_equal(served + entered, 2 * HALF); /* including those that had to wait */
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(figure_of(&plugins, attackers[i], "requests_refused"), 0);
    close_plugins(&plugins);
}

/* r[verify sec.call.share] */
static void a_guest_that_others_fill_has_room_for_its_host(void **state)
{
    (void)state;
    fill_one(RAPAHUB_TRUST_STANDARD);
    fill_one(RAPAHUB_TRUST_TRUSTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_that_guests_fill_has_room_for_others),
        cmocka_unit_test(a_guest_that_others_fill_has_room_for_its_host),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
