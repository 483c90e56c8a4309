/* SPDX-License-Identifier: Apache-2.0 */
/* Only a guest that was called from a waiting method may enter that method's chain: a guest that
 * saw the chain, and is no longer in it, forges it and its neighbours. */
#include <pthread.h>

#include "tests/attack/plugins.h"

#define FORGED 250 /* in each wait of the victim */
#define ROUNDS 4   /* in each of four trials */
#define LONG   100

#define CALC TEST_PREFIX "/tests/modules/calc.so"

static uint32_t rounds = ROUNDS;

static const struct rapahub_container_id of_another = {{3, 0}, 0};

/* An offer of the host in which methods wait, and the thread that makes the attacker begin
 * meanwhile. */
struct lingering {
    struct plugins *plugins;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool begun, over;
    int status;
};

static void note(struct lingering *lingering, bool *what)
{
    pthread_mutex_lock(&lingering->lock);
    *what = true;
    pthread_cond_broadcast(&lingering->changed);
    pthread_mutex_unlock(&lingering->lock);
}

static bool is_over(struct lingering *lingering)
{
    bool over;

    pthread_mutex_lock(&lingering->lock);
    over = lingering->over;
    pthread_mutex_unlock(&lingering->lock);
    return over;
}

/* Takes turns, in which the host hears the attacker. */
static int linger(void *self, uint32_t ms)
{
    const uint32_t nap = 20;
    const struct rapahub_call call = {.target = of_another,
                                      .method = "nap(u32) -> void",
                                      .arguments = (const void *const[]){&nap, NULL}};
    struct lingering *lingering = self;
    uint64_t end = now_ms() + ms;
    int r = 0;

    note(lingering, &lingering->begun);
    while (r == 0 && !is_over(lingering) && now_ms() < end)
        r = rapahub_host_call(lingering->plugins->host, &call, NULL);
    return r;
}

static void *forge(void *user)
{
    const uint32_t forged = FORGED;
    const struct rapahub_call call = {.target = of_attacker,
                                      .method = "forge(u32) -> void",
                                      .arguments = (const void *const[]){&forged, NULL},
                                      .timeout_ns = 290000 * MS};
    struct lingering *lingering = user;

    pthread_mutex_lock(&lingering->lock);
    while (!lingering->begun)
        pthread_cond_wait(&lingering->changed, &lingering->lock);
    pthread_mutex_unlock(&lingering->lock);
    lingering->status = rapahub_host_call(lingering->plugins->host, &call, NULL);
    note(lingering, &lingering->over);
    return NULL;
}

static const struct rapahub_method offers[] = {RAPAHUB_METHOD(linger, linger, void, u32),
                                               RAPAHUB_METHOD_END};

static void open_lingering(struct plugins *plugins, struct lingering *lingering,
                           enum rapahub_trust trust)
{
    const struct rapahub_container_options offer = {.id = of_offer, .pool_name = "offer"};
    struct rapahub_guest_id another;

    *lingering = (struct lingering){.plugins = plugins};
    pthread_mutex_init(&lingering->lock, NULL);
    pthread_cond_init(&lingering->changed, NULL);
    open_plugins(plugins, trust, (struct rapahub_host_options){0});
    start(plugins, CALC, of_another, &another);
    start(plugins, RAW, of_attacker, &plugins->attacker);
    check_done(rapahub_host_offer(plugins->host, &offer, offers, lingering));
}

static void close_lingering(struct plugins *plugins, struct lingering *lingering)
{
    close_plugins(plugins);
    pthread_cond_destroy(&lingering->changed);
    pthread_mutex_destroy(&lingering->lock);
}

static void on_exposed(void *user, int status, const void *result)
{
    (void)result;
    check_done(status);
    ++*(unsigned *)user;
}

static uint32_t count_of(struct plugins *plugins, const char *signature)
{
    uint32_t count = UINT32_MAX;

    check_done(ask_victim(plugins, signature, &count));
    return count;
}

static uint32_t entered(struct plugins *plugins)
{
    return count_of(plugins, "entered() -> u32");
}

/* The victim waits, and has in its queue what the attacker forges meanwhile. */
static void forge_once(struct plugins *plugins, struct lingering *lingering, const char *method)
{
    const uint32_t pool = 2, ms = 60000;
    const struct rapahub_call call = {.target = of_victim,
                                      .method = method,
                                      .arguments = (const void *const[]){&pool, &ms, NULL},
                                      .timeout_ns = 120000 * MS};
    unsigned exposed = 0;
    pthread_t thread;

    lingering->begun = lingering->over = false;
    assert_int_equal(pthread_create(&thread, NULL, forge, lingering), 0);
    check_done(rapahub_host_call_async(plugins->host, &call, on_exposed, &exposed, NULL));
    while (exposed == 0)
        check_done(rapahub_host_dispatch(plugins->host, 100));
    pthread_join(thread, NULL);
    check_done(lingering->status);
}

/* All are served, after the wait. */
static void try_to_enter(enum rapahub_trust trust, const char *method)
{
    struct lingering lingering;
    struct plugins plugins;

    open_lingering(&plugins, &lingering, trust);
    for (uint32_t i = 0; i < rounds; i++)
        forge_once(&plugins, &lingering, method);
    assert_int_equal(entered(&plugins), 0);
    assert_int_equal(count_of(&plugins, "guests() -> u32"), rounds * FORGED);
    assert_int_equal(plugins.violations, 0);
    close_lingering(&plugins, &lingering);
}

/* r[verify sec.call.chain] */
static void a_chain_that_was_seen_lets_nobody_in(void **state)
{
    (void)state;
    try_to_enter(RAPAHUB_TRUST_STANDARD, "expose(u32, u32) -> void");
    try_to_enter(RAPAHUB_TRUST_TRUSTED, "expose(u32, u32) -> void");
}

/* Though it is the very chain in which the victim waits. r[verify sec.call.chain] */
static void nor_does_one_whose_call_has_ended(void **state)
{
    (void)state;
    try_to_enter(RAPAHUB_TRUST_STANDARD, "expose_inside(u32, u32) -> void");
    try_to_enter(RAPAHUB_TRUST_TRUSTED, "expose_inside(u32, u32) -> void");
}

/* r[verify sec.call.chain] */
static void who_was_called_from_there_comes_in(void **state)
{
    const uint32_t pool = 2;
    const struct rapahub_call call = {.target = of_victim,
                                      .method = "invite(u32) -> void",
                                      .arguments = (const void *const[]){&pool, NULL}};
    struct lingering lingering;
    struct plugins plugins;

    (void)state;
    open_lingering(&plugins, &lingering, RAPAHUB_TRUST_STANDARD);
    for (uint32_t i = 1; i <= 10; i++) {
        check_done(rapahub_host_call(plugins.host, &call, NULL));
        assert_int_equal(entered(&plugins), i);
    }
    close_lingering(&plugins, &lingering);
}

/* 4,000 in all; with --long 100,000. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_that_was_seen_lets_nobody_in),
        cmocka_unit_test(nor_does_one_whose_call_has_ended),
        cmocka_unit_test(who_was_called_from_there_comes_in),
    };

    if (argc > 1 && strcmp(argv[1], "--long") == 0)
        rounds = LONG;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
