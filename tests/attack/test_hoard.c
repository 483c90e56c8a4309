/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that requests far more than it fetches costs its host no more than its budget: everything
 * beyond is refused and reported, and no other guest notices. */
#include <pthread.h>
#include <unistd.h>

#include "tests/attack/hostile.h"
#include "tests/attack/plugins.h"
#include "tests/support/pause.h"

#define CALC  TEST_PREFIX "/tests/modules/calc.so"
#define ASKED 1024
#define LARGE 1000000
#ifdef __SANITIZE_ADDRESS__ /* which keeps 256 MiB of freed memory */
#define MOST (UINT64_C(296) << 20)
#else
#define MOST (UINT64_C(40) << 20) /* bytes that the host may grow by */
#endif
#define PATIENT 3000 /* ms in which the attacker fetches nothing */
#define SOON    2000 /* ms: a call of another guest meanwhile, on a busy machine */

static const struct rapahub_container_id of_another = {{3, 0}, 0};

/* Memory of this process that no other one maps: what /proc/self/statm calls neither shared nor
 * a file's. */
static uint64_t private_bytes(void)
{
    unsigned long long size = 0, resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu %llu", &size, &resident, &shared), 3);
    fclose(file);
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The most that there ever was, whatever the host is doing. */
struct peak {
    pthread_t thread;
    pthread_mutex_t lock;
    bool over;
    uint64_t first, most;
};

static void *watch(void *user)
{
    struct peak *peak = user;
    bool over = false;

    while (!over) {
        uint64_t now = private_bytes();

        peak->most = now > peak->most ? now : peak->most;
        pause_ms(2);
        pthread_mutex_lock(&peak->lock);
        over = peak->over;
        pthread_mutex_unlock(&peak->lock);
    }
    return NULL;
}

static void begin_peak(struct peak *peak)
{
    *peak = (struct peak){.first = private_bytes()};
    pthread_mutex_init(&peak->lock, NULL);
    assert_int_equal(pthread_create(&peak->thread, NULL, watch, peak), 0);
}

static uint64_t end_peak(struct peak *peak)
{
    pthread_mutex_lock(&peak->lock);
    peak->over = true;
    pthread_mutex_unlock(&peak->lock);
    pthread_join(peak->thread, NULL);
    pthread_mutex_destroy(&peak->lock);
    return peak->most > peak->first ? peak->most - peak->first : 0;
}

static int offer_large(void *self, uint32_t seed, struct rapahub_bytes *out)
{
    static uint8_t bytes[LARGE];

    ++*(uint32_t *)self;
    memset(bytes, (int)seed, sizeof(bytes));
    *out = (struct rapahub_bytes){bytes, sizeof(bytes)};
    return 0;
}

static const struct rapahub_method offers[] = {RAPAHUB_METHOD(large, offer_large, bytes, u32),
                                               RAPAHUB_METHOD_END};

static void open_hoard(struct plugins *plugins, enum rapahub_trust trust, uint32_t *runs)
{
    const struct rapahub_container_options offer = {.id = of_offer, .pool_name = "offer"};
    struct rapahub_guest_id another;

    /* The attacker does not beat while it fetches nothing. */
    open_plugins(plugins, trust, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    start(plugins, CALC, of_another, &another);
    start(plugins, RAW, of_attacker, &plugins->attacker);
    check_done(rapahub_host_offer(plugins->host, &offer, offers, runs));
}

/* The outcome of the attacker's requests. */
struct outcome {
    unsigned ended;
    int status;
    int64_t sum;
};

static void on_collected(void *user, int status, const void *result)
{
    struct outcome *outcome = user;

    outcome->ended++;
    outcome->status = status;
    if (status == 0)
        outcome->sum = *(const int64_t *)result;
}

static void begin_collect(struct plugins *plugins, uint32_t pool, uint32_t count,
                          struct outcome *outcome)
{
    const uint32_t ms = count > 1 ? PATIENT : 0;
    const struct rapahub_call call = {.target = of_attacker,
                                      .method = "collect(u32, u32, u32) -> i64",
                                      .arguments = (const void *const[]){&pool, &count, &ms, NULL}};

    *outcome = (struct outcome){0};
    check_done(rapahub_host_call_async(plugins->host, &call, on_collected, outcome, NULL));
}

static uint64_t call_another(struct plugins *plugins)
{
    const int64_t a = 19, b = 23;
    const struct rapahub_call call = {.target = of_another,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = (const void *const[]){&a, &b, NULL}};
    uint64_t begin = now_ms();
    int64_t sum = 0;

    check_done(rapahub_host_call(plugins->host, &call, &sum));
    assert_int_equal(sum, a + b);
    return now_ms() - begin;
}

/* To its end; the longest call of another guest meanwhile. */
static uint64_t see_out(struct plugins *plugins, const struct outcome *outcome)
{
    uint64_t end = now_ms() + 60000, longest = 0;

    while (outcome->ended == 0 && now_ms() < end) {
        uint64_t span = call_another(plugins);

        longest = span > longest ? span : longest;
        check_done(rapahub_host_dispatch(plugins->host, 10));
    }
    assert_int_equal(outcome->ended, 1);
    check_done(outcome->status);
    return longest;
}

static uint32_t share(const struct outcome *outcome, int64_t unit)
{
    return (uint32_t)(outcome->sum / unit) & 0xFFF;
}

/* Each is answered once: as it is, or that it was refused. */
static void check_told(struct plugins *plugins, const struct outcome *outcome)
{
    uint32_t whole = share(outcome, HOSTILE_COLLECTED_WHOLE),
             refused = share(outcome, HOSTILE_COLLECTED_REFUSED),
             dropped = share(outcome, HOSTILE_COLLECTED_DROPPED);

    assert_int_equal(share(outcome, HOSTILE_COLLECTED_WRONG), 0);
    assert_int_equal(whole + refused + dropped, ASKED);
    assert_true(whole >= 10);
    assert_true(refused + dropped > 0);
    assert_int_equal(figure_of(plugins, plugins->attacker, "refused_by_budget"), refused + dropped);
    assert_int_equal(figure_of(plugins, plugins->victim, "refused_by_budget"), 0);
}

/* All is fetched: nothing is kept any more, and it is served as before. */
static void check_served(struct plugins *plugins, uint32_t pool)
{
    struct outcome outcome;

    assert_int_equal(figure_of(plugins, plugins->attacker, "bytes_kept"), 0);
    begin_collect(plugins, pool, 1, &outcome);
    see_out(plugins, &outcome);
    assert_int_equal(outcome.sum, HOSTILE_COLLECTED_WHOLE);
}

static void hoard(enum rapahub_trust trust, uint32_t pool)
{
    struct plugins plugins;
    struct outcome outcome;
    struct peak peak;
    uint64_t longest, grown;
    uint32_t runs = 0;

    open_hoard(&plugins, trust, &runs);
    call_another(&plugins);
    begin_peak(&peak);
    begin_collect(&plugins, pool, ASKED, &outcome);
    longest = see_out(&plugins, &outcome);
    grown = end_peak(&peak);
    print_message("trust %d, pool %u: + %.1f MiB, longest call of another %llu ms\n", (int)trust,
                  pool, (double)grown / (1 << 20), (unsigned long long)longest);
    assert_in_range(grown, 0, MOST);
    assert_in_range(longest, 0, SOON);
    check_told(&plugins, &outcome);
    if (pool == of_offer.pool.major) /* none was run for an answer that is dropped */
        assert_int_equal(runs, share(&outcome, HOSTILE_COLLECTED_WHOLE));
    check_served(&plugins, pool);
    check_victim(&plugins);
    assert_int_equal(plugins.violations + plugins.down, 0);
    close_plugins(&plugins);
}

/* r[verify sec.call.budget] */
static void answers_of_the_host_that_nobody_fetches_are_bounded(void **state)
{
    (void)state;
    hoard(RAPAHUB_TRUST_STANDARD, of_offer.pool.major);
    hoard(RAPAHUB_TRUST_TRUSTED, of_offer.pool.major);
}

/* r[verify sec.call.budget] */
static void so_are_those_of_another_guest(void **state)
{
    (void)state;
    hoard(RAPAHUB_TRUST_STANDARD, of_victim.pool.major);
    hoard(RAPAHUB_TRUST_TRUSTED, of_victim.pool.major);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_the_host_that_nobody_fetches_are_bounded),
        cmocka_unit_test(so_are_those_of_another_guest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
