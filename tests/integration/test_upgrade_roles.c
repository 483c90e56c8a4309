/* SPDX-License-Identifier: Apache-2.0 */
/* Upgrades of a guest with roles. Four publishers push all the time; the guest, a consumer and a
 * producer, passes on what it is given; the test takes that, and counts what is lost and what comes
 * twice. Versions fail or die at each step of the hand-over.
 *
 * RAPAHUB_TEST_ROUNDS: how many upgrades under load, of which each fourth is rolled back; 8.
 */
#include <errno.h>
#include <pthread.h>

#include <rapahub/upgrade.h>

#include "tests/integration/linking.h"
#include "tests/support/pause.h"

#define CROSSING   MODULE("crossing")
#define PUBLISHERS 4
#define ROUNDS     8
#define EACH       25 /* messages of a publisher before a fault, and after */
#define SECOND     UINT64_C(1000000000)
#define SOON       (60 * SECOND)

enum {
    RELEASE_DIES = 5,
    RELEASE_LASTS,
    RELEASE_HANGS,
    SAVE_DIES,
    BACK_DIES
}; /* as in modules/crossing.c */

static const struct rapahub_role relay[] = {
    {.name = "in", .region = "news", .kind = RAPAHUB_REGION_ROLE_CONSUMER, .deliver = true},
    {.name = "out", .region = "passed", .kind = RAPAHUB_REGION_ROLE_PRODUCER},
    {.name = "board", .region = "board", .kind = RAPAHUB_REGION_ROLE_WRITER},
    {.name = "view", .region = "board", .kind = RAPAHUB_REGION_ROLE_READER},
    {.name = NULL}};

struct word {
    uint64_t publisher, number;
};

struct stage;
struct publisher {
    struct stage *stage;
    struct rapahub_producer *producer;
    pthread_t thread;
    uint64_t number, sent;
};

struct stage {
    struct hosting on;
    struct rapahub_guest_id guest;
    struct publisher publishers[PUBLISHERS];
    struct rapahub_consumer *consumer;
    pthread_t thread;
    bool stops, ends;
    uint64_t next[PUBLISHERS], came, lost, doubled;
};

static bool is_set(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set_flag(bool *flag)
{
    __atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static uint64_t read_count(const uint64_t *count)
{
    return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* Messages that came, each counted once. */
static uint64_t came(struct stage *stage)
{
    return read_count(&stage->came) - read_count(&stage->doubled);
}

/* Where its guest is dead for a while, a publisher that waits is told so. */
static void publish(struct publisher *publisher)
{
    const struct word word = {publisher->number, publisher->sent};
    int r;

    do
        r = rapahub_producer_push(publisher->producer, &word, sizeof word, SECOND / 10);
    while (r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_EPEERDEAD);
    assert_done(r);
    publisher->sent++;
}

static void *run_publisher(void *user)
{
    struct publisher *publisher = user;

    while (!is_set(&publisher->stage->stops))
        publish(publisher);
    return NULL;
}

static void grow(uint64_t *count, uint64_t number)
{
    (void)__atomic_add_fetch(count, number, __ATOMIC_RELEASE);
}

static void count(struct stage *stage, const struct word *word)
{
    uint64_t *next = &stage->next[word->publisher % PUBLISHERS];

    grow(&stage->doubled, word->number < *next);
    grow(&stage->lost, word->number > *next ? word->number - *next : 0);
    *next = word->number + 1;
    grow(&stage->came, 1);
}

static void *run_reader(void *user)
{
    struct stage *stage = user;
    struct word word;
    int r;

    while (!is_set(&stage->ends)) {
        r = rapahub_consumer_pop(stage->consumer, &word, sizeof word, SECOND / 100, NULL);
        if (r == 0)
            count(stage, &word);
    }
    return NULL;
}

static void open_regions(struct stage *stage, enum rapahub_region_kind kind)
{
    struct rapahub_region *news, *passed;

    news = make_region(
        &stage->on, "news",
        (struct rapahub_host_region_options){
            .region = {.kind = kind,
                       .cells = 64,
                       .producers = kind == RAPAHUB_REGION_FANIN ? PUBLISHERS : 0,
                       .consumers = kind == RAPAHUB_REGION_FANOUT,
                       .credit = kind == RAPAHUB_REGION_FANOUT ? RAPAHUB_REGION_PARK : 0},
            .route = kind == RAPAHUB_REGION_FANOUT});
    passed = make_region(
        &stage->on, "passed",
        (struct rapahub_host_region_options){.region = {.kind = RAPAHUB_REGION_SPSC, .cells = 64}});
    make_region(
        &stage->on, "board",
        (struct rapahub_host_region_options){.region = {.kind = RAPAHUB_REGION_STATE_LATCH}});
    assert_done(rapahub_consumer_open(passed, NULL, &stage->consumer));
    for (uint32_t i = 0; i < PUBLISHERS; i++) {
        const struct rapahub_producer_options how = {.on_full = RAPAHUB_ON_FULL_BLOCK,
                                                     .index = kind == RAPAHUB_REGION_FANIN ? i : 0};

        stage->publishers[i].stage = stage;
        stage->publishers[i].number = i;
        assert_done(rapahub_producer_open(news, &how, &stage->publishers[i].producer));
    }
}

static void start_relay(struct stage *stage)
{
    const struct rapahub_container_options container = {
        .id = container_of(1), .pool_name = "test", .roles = relay};
    const struct rapahub_supervision again = {.restarts_max = 1000000,
                                              .period_ns = RAPAHUB_FOREVER,
                                              .backoff_initial_ns = 1000000,
                                              .backoff_max_ns = 1000000,
                                              .when_down = RAPAHUB_WHEN_DOWN_WAIT};
    const struct rapahub_guest_options guest = {.chimod = CROSSING,
                                                .name = "relay",
                                                .trust = RAPAHUB_TRUST_TRUSTED,
                                                .supervision = &again,
                                                .container = &container};

    assert_done(rapahub_host_spawn(stage->on.host, &guest, &stage->guest));
}

static void open_stage(struct stage *stage, enum rapahub_region_kind kind)
{
    memset(stage, 0, sizeof *stage);
    open_host(&stage->on, (struct rapahub_host_options){.own_thread = true});
    open_regions(stage, kind);
    start_relay(stage);
    assert_int_equal(pthread_create(&stage->thread, NULL, run_reader, stage), 0);
}

static uint64_t sent(const struct stage *stage)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < PUBLISHERS; i++)
        sum += stage->publishers[i].sent;
    return sum;
}

static void assert_all_came(struct stage *stage)
{
    uint64_t until = now_ms() + SOON / 1000000, wanted = sent(stage);

    while (came(stage) < wanted && now_ms() < until)
        pause_ms(1);
    assert_int_equal(read_count(&stage->lost), 0);
    assert_int_equal(read_count(&stage->doubled), 0);
    assert_int_equal(came(stage), wanted);
}

static void close_stage(struct stage *stage)
{
    set_flag(&stage->ends);
    (void)pthread_join(stage->thread, NULL);
    rapahub_consumer_close(stage->consumer);
    for (unsigned i = 0; i < PUBLISHERS; i++)
        rapahub_producer_close(stage->publishers[i].producer);
    close_host(&stage->on);
}

static int upgrade_within(struct stage *stage, const char *chimod, uint64_t hold_ns,
                          struct rapahub_upgrade_result *result)
{
    const struct rapahub_upgrade_options options = {.chimod = chimod, .hold_ns = hold_ns};
    int r = rapahub_host_upgrade(stage->on.host, stage->guest, &options, result);

    if (r == 0)
        stage->guest = result->guest;
    return r;
}

static int upgrade(struct stage *stage, const char *chimod)
{
    struct rapahub_upgrade_result result;

    return upgrade_within(stage, chimod, 60 * SECOND, &result);
}

static void publish_some(struct stage *stage)
{
    for (unsigned i = 0; i < EACH * PUBLISHERS; i++)
        publish(&stage->publishers[i % PUBLISHERS]);
}

static void be(struct stage *stage, uint32_t fault)
{
    assert_done(ask_of(&stage->on, 1, "be(u32)", (const void *const[]){&fault, NULL}, NULL));
}

/* ---- under load ---- */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static unsigned rounds(void)
{
    const char *given = getenv("RAPAHUB_TEST_ROUNDS");

    return given ? (unsigned)strtoul(given, NULL, 10) : ROUNDS;
}

/* Lets some messages go by before the next upgrade. */
static void await_some(struct stage *stage)
{
    uint64_t wanted = came(stage) + 256, until = now_ms() + SOON / 1000000;

    while (came(stage) < wanted && now_ms() < until)
        pause_ms(1);
    assert_true(came(stage) >= wanted);
}

static void upgrade_under_load(struct stage *stage, uint64_t *blackouts, unsigned count)
{
    struct rapahub_upgrade_result result;
    unsigned back = 0;

    for (unsigned i = 0; i < PUBLISHERS; i++)
        assert_int_equal(pthread_create(&stage->publishers[i].thread, NULL, run_publisher,
                                        &stage->publishers[i]),
                         0);
    for (unsigned i = 0; i < count; i++) {
        bool fails = i % 4 == 3;
        int r;

        await_some(stage);
        r = upgrade_within(stage, fails ? MODULE("crossing_load_fails") : CROSSING, 60 * SECOND,
                           &result);
        if (!fails)
            assert_done(r);
        assert_int_equal(r < 0, fails);
        back += fails;
        blackouts[i] = result.blackout_ns;
    }
    await_some(stage);
    set_flag(&stage->stops);
    for (unsigned i = 0; i < PUBLISHERS; i++)
        (void)pthread_join(stage->publishers[i].thread, NULL);
    assert_int_equal(back, count / 4);
}

static void load(enum rapahub_region_kind kind)
{
    unsigned count = rounds();
    uint64_t *blackouts = test_calloc(count, sizeof *blackouts);
    struct stage stage;

    open_stage(&stage, kind);
    upgrade_under_load(&stage, blackouts, count);
    assert_all_came(&stage);
    qsort(blackouts, count, sizeof *blackouts, by_size);
    print_message("%u upgrades, %u rolled back, %llu messages of %d publishers: lost %llu, doubled "
                  "%llu, blackout p50 %.2f ms, p99 %.2f ms\n",
                  count, count / 4, (unsigned long long)sent(&stage), PUBLISHERS,
                  (unsigned long long)read_count(&stage.lost),
                  (unsigned long long)read_count(&stage.doubled),
                  (double)blackouts[count / 2] / 1e6, (double)blackouts[count - 1] / 1e6);
    close_stage(&stage);
    test_free(blackouts);
}

/* r[verify supervise.role.upgrade] */
static void nothing_is_lost_under_load(void **state)
{
    (void)state;
    load(RAPAHUB_REGION_MPSC);
}

/* r[verify supervise.role.upgrade] r[verify region.keep] A router that is held up does not drop. */
static void nothing_is_lost_behind_a_router(void **state)
{
    (void)state;
    load(RAPAHUB_REGION_FANOUT);
}

/* ---- each kind, and what a module sees of it ---- */

static void cross(enum rapahub_region_kind kind)
{
    struct stage stage;
    uint64_t number = 0;

    open_stage(&stage, kind);
    publish_some(&stage);
    assert_done(upgrade(&stage, CROSSING));
    publish_some(&stage);
    assert_true(upgrade(&stage, MODULE("crossing_load_fails")) < 0);
    publish_some(&stage);
    assert_all_came(&stage);
    assert_done(ask_of(&stage.on, 1, "passed() -> u64", NULL, &number));
    assert_int_equal(number, sent(&stage));
    assert_done(ask_of(&stage.on, 1, "crossings() -> u64", NULL, &number));
    assert_int_equal(number, 101);
    assert_int_equal(number_of(&stage.on, 1, "at_save() -> i64"), RAPAHUB_ESTATE);
    assert_listed(&stage.on, "news", "relay in 0 active; ");
    assert_listed(&stage.on, "passed", "relay out 0 active; ");
    close_stage(&stage);
}

/* r[verify supervise.role.upgrade] */
static void roles_of_each_kind_cross(void **state)
{
    (void)state;
    cross(RAPAHUB_REGION_MPSC);
    cross(RAPAHUB_REGION_FANIN);
    cross(RAPAHUB_REGION_FANOUT);
}

/* r[verify supervise.role.upgrade] */
static void a_writer_and_a_reader_cross(void **state)
{
    static const char *const versions[] = {CROSSING, MODULE("crossing_load_fails"), CROSSING};
    struct stage stage;
    uint64_t value = 7;

    (void)state;
    open_stage(&stage, RAPAHUB_REGION_MPSC);
    assert_done(ask_of(&stage.on, 1, "set(u64)", (const void *const[]){&value, NULL}, NULL));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(upgrade(&stage, versions[i]) < 0, i == 1);
        assert_int_equal(number_of(&stage.on, 1, "get() -> i64"), value++);
        assert_done(ask_of(&stage.on, 1, "set(u64)", (const void *const[]){&value, NULL}, NULL));
    }
    assert_int_equal(number_of(&stage.on, 1, "get() -> i64"), value);
    close_stage(&stage);
}

/* ---- failures and deaths at each step ---- */

static void find_relay(void *user, const struct rapahub_guest_status *status)
{
    if (strcmp(status->name, "relay") == 0)
        ((struct stage *)user)->guest = status->guest;
}

/* Its present life, which serves. */
static void find_guest(struct stage *stage)
{
    uint64_t number;

    assert_done(ask_of(&stage->on, 1, "passed() -> u64", NULL, &number));
    assert_done(rapahub_host_guests(stage->on.host, find_relay, stage));
}

static void fail_with(const char *chimod, uint32_t fault)
{
    bool is_slow = fault == RELEASE_LASTS || fault == RELEASE_HANGS;
    struct rapahub_upgrade_result result;
    struct stage stage;

    open_stage(&stage, RAPAHUB_REGION_MPSC);
    publish_some(&stage);
    if (fault != 0)
        be(&stage, fault);
    assert_true(upgrade_within(&stage, chimod, is_slow ? SECOND / 10 : 60 * SECOND, &result) < 0);
    publish_some(&stage);
    assert_all_came(&stage);
    assert_listed(&stage.on, "news", "relay in 0 active; ");
    find_guest(&stage);
    be(&stage, 0);
    assert_done(upgrade(&stage, CROSSING));
    publish_some(&stage);
    assert_all_came(&stage);
    close_stage(&stage);
}

/* r[verify supervise.role.upgrade] */
static void the_new_one_fails_or_dies_at_each_step(void **state)
{
    (void)state;
    fail_with(MODULE("crossing_init_fails"), 0);
    fail_with(MODULE("crossing_init_dies"), 0);
    fail_with(MODULE("crossing_load_fails"), 0);
    fail_with(MODULE("crossing_load_dies"), 0);
}

/* r[verify supervise.role.upgrade] */
static void the_old_one_dies_at_each_step(void **state)
{
    (void)state;
    fail_with(CROSSING, RELEASE_DIES);
    fail_with(CROSSING, SAVE_DIES);
    fail_with(MODULE("crossing_load_fails"), BACK_DIES);
}

/* It lets them go after all, and has them back. */
static void the_old_one_lets_go_too_late(void **state)
{
    (void)state;
    fail_with(CROSSING, RELEASE_LASTS);
}

/* It cannot be given back what it does not let go: its next life has it. */
static void the_old_one_does_not_let_go(void **state)
{
    (void)state;
    fail_with(CROSSING, RELEASE_HANGS);
}

/* r[verify supervise.role.upgrade] */
static void the_new_one_dies_behind_the_switch(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, RAPAHUB_REGION_MPSC);
    publish_some(&stage);
    assert_all_came(&stage);
    assert_done(upgrade(&stage, CROSSING));
    assert_int_equal(ask_of(&stage.on, 1, "crash()", NULL, NULL), RAPAHUB_EDIED);
    publish_some(&stage);
    assert_all_came(&stage);
    assert_listed(&stage.on, "news", "relay in 0 active; ");
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_of_each_kind_cross),
        cmocka_unit_test(a_writer_and_a_reader_cross),
        cmocka_unit_test(nothing_is_lost_under_load),
        cmocka_unit_test(nothing_is_lost_behind_a_router),
        cmocka_unit_test(the_new_one_fails_or_dies_at_each_step),
        cmocka_unit_test(the_old_one_dies_at_each_step),
        cmocka_unit_test(the_old_one_lets_go_too_late),
        cmocka_unit_test(the_old_one_does_not_let_go),
        cmocka_unit_test(the_new_one_dies_behind_the_switch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
